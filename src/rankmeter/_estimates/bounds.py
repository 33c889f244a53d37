"""How much ties matter: every mean with the tied targets ranked first, and last."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rankmeter._choices import TieRule
from rankmeter._engine import Scores
from rankmeter._estimates.estimates import estimate
from rankmeter._estimates.wording import number
from rankmeter._plan import Plan


def tie_bounds(plan: Plan, score: Callable[[Plan], Scores], tied: int, n: int) -> str:
    """A note with the share of the targets that are tied, and the bounds of the means.

    `score` gives the scores of another plan for the same data, of whose `n` targets `tied` are
    tied.
    """
    bounds = [_means_of_rule(plan, score, rule) for rule in ("pessimistic", "optimistic")]
    shown = [
        f"{label} {number(min(pair))}–{number(max(pair))}"
        for label, pair in ((label, (bounds[0][label], bounds[1][label])) for label in bounds[0])
        if pair[0] != pair[1]
    ]
    text = f"tied targets: {tied:,} of {n:,} ({100 * tied / n:.3g} %)"
    return text + (f"; ranked last or first: {', '.join(shown)}" if shown else "")


def _means_of_rule(plan: Plan, score: Callable[[Plan], Scores], rule: TieRule) -> dict[str, float]:
    entries = tuple(
        replace(entry, alignment=replace(entry.alignment, ties=rule)) for entry in plan.metrics
    )
    other = replace(plan, metrics=entries, interval="t")
    scores = score(other)
    means = {e.label: estimate(other, e, scores.averaged(e)).mean for e in other.metrics}
    return {label: mean for label, mean in means.items() if mean == mean}  # noqa: PLR0124 - NaN
