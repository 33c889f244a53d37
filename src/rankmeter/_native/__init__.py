"""The compiled C module; None if pip found no compiler: then Python computes the same results."""

from __future__ import annotations

try:
    from rankmeter._native import native as native
except ImportError:
    native = None  # type: ignore[assignment]
