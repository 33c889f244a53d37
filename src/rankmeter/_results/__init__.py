"""What the user holds: results with their numbers, their tables, their charts."""

from __future__ import annotations
