"""The compiled module; None where pip found no compiler, and Python does the same."""

from __future__ import annotations

__all__ = ["native"]

try:
    from rankmeter import _native as native
except ImportError:
    native = None  # type: ignore[assignment]
