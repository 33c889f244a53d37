"""The public names of rankmeter, and what each is."""

from __future__ import annotations

import inspect
from functools import cache
from types import ModuleType
from typing import Any

import rankmeter
from rankmeter.metrics import METRICS, Metric


@cache
def modules() -> dict[str, ModuleType]:
    """The public modules by their full name."""
    return {f"rankmeter.{n}": v for n, v in _top().items() if isinstance(v, ModuleType)}


@cache
def objects() -> dict[str, Any]:
    """All other public objects by full name: each once, under its shortest name.

    Metrics are excluded, because they have their own pages.
    """
    found = {f"rankmeter.{n}": v for n, v in _top().items() if not isinstance(v, ModuleType)}
    for module, value in modules().items():
        for name in value.__all__:
            thing = getattr(value, name)
            if not isinstance(thing, ModuleType) and not any(
                thing is one for one in found.values()
            ):
                found[f"{module}.{name}"] = thing
    pages = {spec.function for spec in METRICS.values()}
    return {
        name: value
        for name, value in found.items()
        if not isinstance(value, Metric) and not (inspect.isfunction(value) and value in pages)
    }


@cache
def ready_made() -> dict[str, Metric]:
    """The metrics that the package exports, such as ``rankmeter.NDCG``."""
    return {name: value for name, value in _top().items() if isinstance(value, Metric)}


def _top() -> dict[str, Any]:
    return {name: getattr(rankmeter, name) for name in rankmeter.__all__}
