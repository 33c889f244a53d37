"""Results among sampled candidates, next to other results."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rankmeter._rankings.own_truth import NOT_COMPARABLE
from rankmeter._results.summary import Summary


def different_candidates(a: str, result: Summary, b: str, other: Summary) -> Iterator[str]:
    """Yield why two results, of which one is of samples, cannot be compared: unequal candidates."""
    sizes = []
    for each in (result, other):
        scores = each.scores
        facts = next(iter(scores.facts.values()))
        sizes.append(np.sort(facts.n_ranked[scores.in_truth]))
    if not np.array_equal(sizes[0], sizes[1]):
        most = [int(n.max(initial=0)) for n in sizes]
        yield (
            f"{NOT_COMPARABLE}: {a} was ranked among {most[0]:,} candidates and {b} among "
            f"{most[1]:,}"
        )
