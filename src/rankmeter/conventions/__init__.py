"""The conventions: what each known tool means by its metrics, and its names for them."""

from __future__ import annotations

from rankmeter.conventions._names import has_metric, translate, translate_all
from rankmeter.conventions._profiles import (
    Convention,
    convention_names,
    load_convention,
    usage_rank,
)

__all__ = [
    "Convention",
    "convention_names",
    "has_metric",
    "load_convention",
    "translate",
    "translate_all",
    "usage_rank",
]
