"""Numbers from per-user values: means, differences, curves, segments, and verdicts in words."""

from __future__ import annotations
