"""Each two levels of law, tie rule, door, cutoff, option and choice meet in a cell of `product`."""

from __future__ import annotations

import collections
import itertools
import math
import re
from pathlib import Path

import numpy as np
import pytest
from exceptions_to_laws import EXCEPTIONS
from product import (
    ALL_TIES,
    CUTOFFS,
    LAWS,
    OPTIONS,
    SHARED,
    Cell,
    Trial,
    all_pairs,
    at,
    cell_of,
    design,
    factors,
    fits,
    forms_of,
    legal_variants,
    pairs_of,
    trial,
)
from product_worlds import make, of_one_item

from cases import ORDERED
from rankmeter._choices import CHOICES
from rankmeter.metrics import METRICS, Metric, register, unregister

pytestmark = pytest.mark.once

ROOT = Path(__file__).parents[2]
MANY = ("recall", "precision", "ndcg", "ap", "rr", "hit_rate")
"""Metrics on which an exception for all metrics is tried."""


def summed_up(broken):
    """The first violation of each metric, and how many there are."""
    kinds = collections.defaultdict(list)
    for violation in broken:
        kinds[violation.form.name, violation.what].append(violation)
    lines = [f"{len(found)} times {found[0]}" for found in kinds.values()]
    return "\n".join([f"{len(kinds)} kinds of violations", *lines[:12]])


@pytest.mark.parametrize("name", LAWS)
def test_the_law_holds_under_every_two_levels(name):
    broken, checked = [], 0
    for number, cell in enumerate(design()):
        if cell.law == name:
            step = 1 if LAWS[name].few or cell.given.get("aggregate") == "micro" else 2
            some = forms_of(cell, np.random.default_rng(number), most=1)[number % step :: step]
            one = trial(cell, number, 20, some)
            assert one.forms, f"every metric is refused in {cell}: {set(one.refused.values())}"
            checked += one.checked
            broken += [violation for violation in one.found if not violation.is_excepted]
    assert not broken, summed_up(broken)
    assert checked > 1_000, "the design has few cells of this law: it proves little"


def test_every_two_levels_that_can_be_together_are():
    met = set().union(*map(pairs_of, design()))
    assert all_pairs() <= met
    levels = {level for pair in all_pairs() for level in pair}
    assert levels == {(name, level) for name, own in factors().items() for level in own}


def test_every_value_of_a_choice_is_tried_or_cannot_break_a_law():
    tried = {name: {*OPTIONS.get(name, ()), CHOICES[name].default} for name in CHOICES}
    left = {
        (name, word) for name, choice in CHOICES.items() for word in {*choice.words} - tried[name]
    }
    assert {name for name, _ in left} == {
        "ties",  # a factor of its own
        "undefined", "missing", "extra",  # raise is an error, and nan has no mean
        "duplicates",  # unchecked is error
        "judgements",  # last is the order of the rows
        "bad_scores", "no_overlap",  # of data that have no value
        "unjudged",  # bounds do not change the value next to them
        "history",  # the truth without some items: test_history compares with that
    }  # fmt: skip


@pytest.mark.parametrize("data", ["single", "apart", "graded"])
@pytest.mark.parametrize("ties", ALL_TIES)
def test_every_metric_has_a_value_under_each_tie_rule_that_it_takes(ties, data):
    """A refusal is legal in a cell; but not everywhere."""
    rng = np.random.default_rng(1)
    allowed = {
        name
        for name, spec in METRICS.items()
        if (ties in ORDERED if spec.of_lists else ties != "expected" or spec.open_ties)
    }
    wanted = {
        name
        for name in allowed
        if data != "graded" or ties not in SHARED or ties in METRICS[name].shared
    }
    variants = {name: legal_variants(name) for name in sorted(allowed)}
    forms = (Metric(name)(**own[at]) for name, own in variants.items() for at in (0, -1))
    world, forms = make(rng, 40, data), tuple(dict.fromkeys(forms))
    if data == "single":
        world = of_one_item(world)
    one = Trial(Cell("lies_in_its_range", ties, data=data), rng, world, forms)
    got = one.ask(one.world)
    numbers = zip(got.forms, got.mean.tolist(), strict=True)
    assert {form.name for form, mean in numbers if not math.isnan(mean)} == wanted, one.refused


@pytest.mark.parametrize("ties", SHARED)
def test_cells_in_which_tied_items_share_a_rank_have_metrics_with_cutoffs(ties):
    """Almost all metrics need an order there; their cells have data that give it."""
    cut = [cell for cell in design() if cell.ties == ties and cell.k is not None]
    computed, asked = set(), set()
    for number, cell in enumerate(cut):
        one = trial(cell, number, 8, most=1)
        asked |= {form.name for form in (*one.forms, *one.refused) if form.k}
        computed |= {form.name for form in one.forms if form.k}
    assert cut
    assert asked - computed == set()


# ---------------------------------------------------------------------------------------------
# Exceptions


def names_of(exception):
    return MANY if exception.metrics == "*" else tuple(exception.metrics.split())


def test_exceptions_are_of_laws_metrics_and_levels_that_exist():
    every = factors()
    for exception in EXCEPTIONS:
        assert {*exception.laws.split()} <= LAWS.keys()
        assert {*names_of(exception)} <= METRICS.keys()
        for name, levels in exception.when.items():
            if name.startswith("own."):
                options = [METRICS[metric].options[name[4:]] for metric in names_of(exception)]
                assert all({*levels} <= {*option.values} for option in options)
            elif name not in ("what", "cut"):
                assert {*levels} <= {*every[name]}


@pytest.mark.parametrize("exception", EXCEPTIONS, ids=lambda one: f"{one.metrics}: {one.reason}")
def test_exceptions_are_stated_where_a_reader_looks(exception):
    if not exception.said:
        return
    if exception.page == "choices":
        texts = [choice.meaning for choice in CHOICES.values()]
        assert any(exception.said in text for text in texts)
    elif exception.page:
        text = " ".join((ROOT / "docs" / exception.page).read_text("utf-8").split())
        assert exception.said in text
    else:
        for name in names_of(exception):
            text = " ".join(METRICS[name].function.__doc__.split())
            assert re.search(exception.said, text), name


def cells_for(exception, names, rng):
    """Cells at the levels of an exception, each with forms of some of its metrics."""
    every = factors()
    fixed = {n: v for n, v in exception.when.items() if n in every}
    own = {n[4:]: v for n, v in exception.when.items() if n.startswith("own.")}
    for law in itertools.cycle(exception.laws.split()):
        levels = {"law": law, "family": "hits 0"}
        levels |= {n: v[rng.integers(len(v))] for n, v in fixed.items()}
        for factor in (n for n in every if n not in levels and n not in OPTIONS):
            fitting = [v for v in every[factor] if fits(levels, factor, v)]
            if not fitting:
                break
            levels[factor] = fitting[rng.integers(len(fitting))]
        else:
            forms = [
                at(Metric(name)(**options), levels["k"])
                for name in names
                for options in legal_variants(name)
                if all(
                    options.get(n, METRICS[name].options[n].default) in values
                    for n, values in own.items()
                )
            ]
            yield cell_of(levels), forms


def is_needed(exception, names, tries):
    """Whether a metric breaks a law where the exception permits it."""
    cells = cells_for(exception, names, np.random.default_rng(0))
    for number, (cell, forms) in enumerate(itertools.islice(cells, tries)):
        found = trial(cell, number, (160, 6, 1000)[number % 3], forms).found
        if any(map(exception.holds_for, found)):
            return True
    return False


# ---------------------------------------------------------------------------------------------
# Metrics that break a law


def too_large(hits, k=None):
    """Beyond its range."""
    return hits.n_relevant * 10.0


def misses(hits, k=None):
    """Calls misses good."""
    return hits.depth(k) - hits.count(k)


def length(hits, k=None):
    """Calls long lists good."""
    return hits.depth(k) + 0.0


def late(hits, k=None):
    """Calls low ranks good."""
    return hits.sum(hits.rank)


def at_the_mean(hits, k=None):
    """Takes the mean rank for the rank."""
    return np.where(np.isinf(hits.first), 0.0, 1.0 / hits.first)


def hopeful(hits, k=None):
    """Takes the mean rank for the rank, where that is better than the mean."""
    return np.where(np.isinf(hits.first), 0.0, 100.0 - hits.first**2)


def neighbours(hits, k=None):
    """Depends on the other users."""
    return np.full(hits.n_users, hits.rank.sum())


@pytest.mark.parametrize(
    ("law", "function", "levels"),
    [
        ("lies_in_its_range", too_large, {"high": 1.0}),
        ("losing_a_hit_is_never_better", misses, {}),
        ("a_miss_at_the_end_is_never_better", length, {}),
        ("a_hit_that_moves_up_is_never_worse", late, {}),
        ("nothing_beats_the_ideal_ranking", late, {}),
        ("lies_between_the_orders", at_the_mean, {"ties": "expected"}),
        ("constant_scores_do_not_beat_chance", hopeful, {"ties": "realistic"}),
        ("users_do_not_matter_to_each_other", neighbours, {}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_law_finds_a_metric_that_breaks_it(law, function, levels):
    levels = dict(levels)
    register("Wrong on purpose", high=levels.pop("high", np.inf), reached=False)(function)
    try:
        cell = Cell(law, data="single", **levels)
        found = trial(cell, 0, 60, [Metric(function.__name__)]).found
        assert {violation.form.name for violation in found} == {function.__name__}
        assert function.__name__ in summed_up(found)
    finally:
        unregister(function.__name__)


def test_a_cell_is_made_again_by_its_seed():
    cell = next(cell for cell in design() if cell.law == "lies_in_its_range")
    one, other = (trial(cell, 3, 20, most=1) for _ in range(2))
    assert one.forms == other.forms
    assert one.world.dicts() == other.world.dicts()
    assert {k for k in CUTOFFS if k} == {1, 2, 3, 5}
