"""The results that users receive, with their numbers, tables and charts."""

from __future__ import annotations
