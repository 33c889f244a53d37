"""Generated cases: rankings and ground truth with the irregularities of real data."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import get_args
from unittest.mock import patch

import numpy as np

from rankmeter._annexes import is_missing
from rankmeter._choices import SHARED_RANKS, TieRule
from rankmeter._rankings import ties as tie_rules
from rankmeter.metrics import Metric
from reference_lists import Side

GRADES = (-1.0, 0.0, 0.0, 1.0, 1.0, 2.0, 3.0)
RULES = get_args(TieRule)
"""All tie rules: no other file of tests lists them."""
ORDERED = tie_rules.ORDERED
"""The tie rules that put tied items in an order."""
BY_ROW = tie_rules.BY_ROW
"""Those of them whose order depends on the order of the rows."""
SHARED = SHARED_RANKS
"""Those by which tied items share a rank, which most metrics refuse for several relevant items."""


def one_relevant(truth):
    """A ground truth with no more than the first relevant item of each user."""
    relevant = {user: [i for i, gain in own.items() if gain > 0] for user, own in truth.items()}
    return {
        user: {i: gain for i, gain in own.items() if i not in relevant[user][1:]}
        for user, own in truth.items()
    }


def batch(seed, n_users=200, *, max_length=12, n_items=16, ties=False, grades=GRADES):
    """Users with scored lists (short, empty, full) and truths (graded, empty, of one item).

    Returns
    -------
    rankings : dict of user to dict of item to score
    truth : dict of user to dict of item to gain
    """
    rng = np.random.default_rng(seed)
    rankings, truth = {}, {}
    for user in range(n_users):
        length = int(rng.integers(0, max_length + 1))
        items = [f"i{j:02d}" for j in rng.permutation(n_items)[:length]]
        scores = rng.integers(0, 4, length) if ties else rng.permutation(length)
        rankings[f"u{user:04d}"] = dict(zip(items, scores.astype(float).tolist(), strict=True))
        size = min(int(rng.choice([0, 1, 1, 2, 4, 9])), n_items)
        judged = [f"i{j:02d}" for j in rng.permutation(n_items)[:size]]
        truth[f"u{user:04d}"] = dict(zip(judged, rng.choice(grades, size).tolist(), strict=True))
    return rankings, truth


CUTOFFS = (None, 1, 3, 10, 40)


def held(frame, engine):
    """A frame in the form that an engine reads: what is in memory stays there."""
    return frame.lazy() if engine == "disk" else frame


@contextmanager
def parts_of(rows):
    """Cut what the engine ``disk`` reads into parts of a few rows, and not of millions."""
    if is_missing("_large"):
        yield
        return
    from rankmeter._large import parts

    small = partial(parts.cut_into_parts, rows=rows)
    with patch.object(parts, "cut_into_parts", small):
        yield


def of(spec):
    """Cutoffs and options of a metric: all combinations of the values of all options."""
    from rankmeter.testing import variants

    cutoffs = CUTOFFS if spec.cutoff else (None,)
    return [(k, options) for options in variants(spec) for k in cutoffs]


def accepted(spec):
    """Those that the metric does not refuse: a similarity that is given needs a matrix, too."""
    return [
        (k, options)
        for k, options in of(spec)
        if not spec.refuses_together(options) and "given" not in options.values()
    ]


def metric(name, k, options):
    """A metric with options and an optional cutoff."""
    return Metric(name)(**options) if k is None else Metric(name)(**options) @ k


def with_side(seed, **shape):
    """As `batch`, with a `Side`: train with cold users and items, categories, a catalogue."""
    rankings, truth = batch(seed, n_users=40, **shape)
    rng = np.random.default_rng(seed)
    items = [f"i{j:02d}" for j in range(16)]
    users = [*rankings][::2] + ["of train only"]
    chance = np.linspace(0.9, 0.1, 10)
    train = {
        u: {i: 1.0 for i, p in zip(items, chance, strict=False) if rng.random() < p} for u in users
    }
    names = ["action", "drama", "war", "noir"]
    categories = {
        item: {name for name in names if rng.random() < 0.4} for item in items if item != "i05"
    }
    relevant = {u: {i: gain for i, gain in own.items() if gain > 0} for u, own in truth.items()}
    train = {user: own for user, own in train.items() if own}
    catalogue = {*items[:13], "never shown"}
    for own in train.values():
        own.update((item, float(rng.integers(1, 6))) for item in own)
    baseline = {u: rng.permutation(items)[: rng.integers(1, 9)].tolist() for u in [*rankings][3:]}
    propensity = {item: 0.05 + 0.9 * rng.random() for item in items if item != "i03"}
    more = baseline, propensity, [*rankings]
    return rankings, truth, Side(train, categories, catalogue, relevant, *more)
