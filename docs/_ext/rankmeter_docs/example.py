"""The example list for every metric, and its picture.

Ranked gains 3, 0, 2, 0, 1, 0, 0, 2, 0, 0; relevant items with the gains 3, 3, 2, 2, 1, 1.
"""

from __future__ import annotations

import math
from functools import cache
from html import escape
from typing import Any

import rankmeter as rm
from rankmeter.metrics import Metric, Spec

RANKING = tuple("abcdefghij")
TRUTH = {"a": 3, "c": 2, "e": 1, "h": 2, "m": 3, "n": 1}
JUDGED_ZERO = ("b", "d", "f")
"""Judged not relevant, for the metrics that use such judgments: ranks 2, 4 and 6."""

SIDE: dict[str, Any] = {
    "train": {"u": ["e", "p"], "v": ["a", "b", "e"], "w": ["a", "b", "c"], "x": ["a", "f"]},
    "items": {
        "a": ["action"], "b": ["action", "drama"], "c": ["drama"], "d": ["action"],
        "e": ["comedy"], "f": ["drama"], "g": ["drama", "noir"], "h": ["noir"],
        "i": ["action"], "j": ["comedy"], "p": ["comedy", "noir"],
    },
    "catalogue": 20,
    "propensity": {"a": 1, "c": 0.5, "e": 0.8, "h": 0.2, "m": 0.5, "n": 0.25},
    "baseline_lists": {"u": ["a", "e", "b", "p", "c", "d", "m", "h", "f", "g"]},
}  # fmt: skip
"""What is known besides: the history of four users, categories of the items, the catalogue,
how likely the relevant items were seen, and the list of another system."""

LOST = tuple(gain for item, gain in TRUTH.items() if item not in RANKING)
CATALOGUE = len(set(RANKING) | set(TRUTH))


def truth_for(spec: Spec) -> dict[str, int]:
    """The relevance judgments for a metric."""
    return {**TRUTH, **dict.fromkeys(JUDGED_ZERO, 0)} if asks(spec) else dict(TRUTH)


def asks(spec: Spec) -> bool:
    """Whether a metric uses items judged not relevant."""
    return "nonrelevant" in spec.needs


def given(spec: Spec) -> dict[str, Any]:
    """Values for the required options."""
    found = {name: CATALOGUE if name == "n_items" else v for name, v in spec.example.items()}
    for name, option in spec.options.items():
        if option.required and name not in found:
            raise LookupError(f"{spec.name} needs {name}: annotate it with an Example")
    return found


@cache
def values(*metrics: Metric) -> list[float]:
    """The values of the list, by one metric at several cutoffs."""
    return [one.mean for one in _result(*metrics).values()]


def steps(metric: Metric) -> str:
    """How the value of the list is computed, as HTML."""
    return f"{_scrolling('The steps')}{_result(metric).show('u')._repr_html_()}</div>"


def _scrolling(label: str) -> str:
    """The start of a part that a keyboard can scroll."""
    return f'<div class="rm-scroll" tabindex="0" role="region" aria-label="{label}">'


def _result(*metrics: Metric) -> rm.Summary:
    spec = metrics[0].spec
    side = SIDE if spec.of_lists or spec.needs_hit_items else {}
    try:
        return rm.evaluate({"u": list(RANKING)}, {"u": truth_for(spec)}, metrics, **side)
    except rm.errors.UsageError as error:
        lacking = f"{error}: add it to SIDE of docs/_ext/rankmeter_docs/example.py"
        raise LookupError(lacking) from None


def shown(number: float) -> str:
    """A value in the format of the pages."""
    return "–" if math.isnan(number) else f"{number:.4f}"


def picture(spec: Spec | None = None) -> str:
    """The list as an HTML table: ranks, gains, and the value at each k of a metric with cutoff."""
    ranks = range(1, len(RANKING) + 1)
    lost = f'<th scope="col" class="rm-lost" colspan="{len(LOST)}">not found</th>'
    head = "".join(f'<th scope="col">{rank}</th>' for rank in ranks) + lost
    gains = [_cell(TRUTH.get(item, 0), known=_known(spec, item)) for item in RANKING]
    gains += [_cell(gain, style="rm-lost") for gain in LOST]
    rows = [
        f'<tr><th scope="row">rank</th>{head}</tr>',
        f'<tr><th scope="row">gain</th>{"".join(gains)}</tr>',
    ]
    if spec is not None and spec.cutoff:
        metric = Metric(spec.name)(**given(spec))
        found = values(*(metric @ k for k in ranks))
        rows.append(_bars(f"{spec.name}@k", found, spec))
    body = "".join(rows)
    table = f'<table class="rm-list"><tbody>{body}</tbody></table>'
    return f"{_scrolling('The example list')}{table}</div>"


def _known(spec: Spec | None, item: str) -> bool:
    return spec is None or not asks(spec) or item in truth_for(spec)


def _cell(gain: int, *, style: str = "", known: bool = True) -> str:
    text = str(gain) if known else '<abbr title="not judged">?</abbr>'
    return f'<td class="{f"rm-g{gain} {style}".strip()}"><b>{text}</b></td>'


def _bars(name: str, found: list[float], spec: Spec) -> str:
    finite = [abs(v) for v in found if math.isfinite(v)]
    top = spec.high if math.isfinite(spec.high) else max(finite, default=1.0) or 1.0
    cells = "".join(
        f'<td class="rm-bar"><i style="--v:{0 if math.isnan(v) else min(abs(v) / top, 1):.3f}"></i>'
        f"{'–' if math.isnan(v) else f'{v:.3g}' if v >= 100 else f'{v:.3f}'}</td>"
        for v in found
    )
    return f'<tr><th scope="row">{escape(name)}</th>{cells}<td colspan="{len(LOST)}"></td></tr>'
