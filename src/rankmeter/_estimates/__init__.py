"""Numbers from per-user values: means, differences, curves, segments, and what they say."""

from __future__ import annotations
