"""The compiled module, of C; None where pip found no compiler, and Python does the same."""

from __future__ import annotations

try:
    from rankmeter._native import native as native
except ImportError:
    native = None  # type: ignore[assignment]
