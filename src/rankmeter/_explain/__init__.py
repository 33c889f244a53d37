"""Why two tools differ on the same data (`walk`), and which settings give a number (`search`)."""

from __future__ import annotations

from rankmeter._explain.walk import explain

__all__ = ["explain"]
