"""Renderings of results: tables, charts, pages, trackers. They show values and compute nothing."""

from __future__ import annotations
