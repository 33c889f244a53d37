"""Results as tables and pages."""

from __future__ import annotations
