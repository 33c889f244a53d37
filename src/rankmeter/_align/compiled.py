"""The compiled module of this package; None where pip found no compiler, and Python sorts rows."""

from __future__ import annotations

__all__ = ["rows"]

try:
    from rankmeter._align import _rows as rows
except ImportError:
    rows = None  # type: ignore[assignment]
