"""What a metric needs besides rankings, found by leaving arguments out."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from typing import Any

import rankmeter as rm
from rankmeter.errors import RankmeterError
from rankmeter.metrics import METRICS, Metric, Spec
from rankmeter_docs.example import RANKING, SIDE, given, truth_for
from rankmeter_docs.rst import code, table


@cache
def needs(metric: str) -> str:
    """The arguments without which a metric is refused or has another value."""
    spec = METRICS[metric]
    if not (spec.of_lists or spec.needs_hit_items):
        return "ground truth"
    left = {"truth": {"u": truth_for(spec)}, **SIDE}
    value = _value(spec, left)
    for name in list(left):
        less = {one: data for one, data in left.items() if one != name}
        if _value(spec, less) == value:
            left = less
    texts = ["ground truth" if one == "truth" else code(f"{one}=") for one in left]
    return ", ".join(texts) + (" or judgments by subtopic" if spec.intent_aware else "")


def _value(spec: Spec, known: dict[str, Any]) -> str:
    """The value on the list of the pages; empty if the metric is refused."""
    side = dict(known)
    metric = Metric(spec.name)(**given(spec))
    try:
        found = rm.evaluate({"u": list(RANKING)}, side.pop("truth", None), [metric], **side)
    except RankmeterError:
        return ""
    return repr(found[str(metric)].mean)


def overview() -> str:
    """The list metrics by what they need."""
    found = defaultdict(list)
    for name, spec in METRICS.items():
        if spec.of_lists or spec.needs_hit_items:
            found[needs(name) or "nothing else"].append(f":doc:`{name} </metrics/{name}>`")
    order = sorted(found, key=lambda one: (one.count("="), one))
    rows = [(one, ", ".join(found[one])) for one in order]
    return table(["needs", "metrics"], rows, widths=[32, 68])
