"""How results look: tables, charts, pages, trackers. Values come in, nothing is computed here."""

from __future__ import annotations
