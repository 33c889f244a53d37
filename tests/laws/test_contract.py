"""The contract of every registered metric. No metrics, options or values are listed here.

The limits of a metric are declared where it is registered (``open_ties``, ``reached``,
``refuses``), or in the table below, with the reason.
"""

from __future__ import annotations

import doctest
import functools
import inspect
import re
import textwrap
import tomllib
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

import cases
import rankmeter as rm
import reference
import reference_lists
import reference_trec
from rankmeter.errors import UsageError
from rankmeter.metrics import METRICS, RESERVED, register, unregister
from rankmeter.testing import check_metric

pytestmark = pytest.mark.once

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


NO_MEAN_OVER_ORDERS = {
    "mean_rank": (
        lambda k, options: k is not None and "absent" not in options,
        "orders that find nothing have no value: it is the mean over those that do",
    ),
}
"""Metrics whose value for unresolved ties is defined, but not as the mean over all orders."""


with_side = functools.cache(cases.with_side)


def needs_side(name):
    """Whether a metric needs more than ranks and gains."""
    return METRICS[name].of_lists or METRICS[name].needs_hit_items


def definition(name):
    """The slow definition of a metric: a module of references, and the function there."""
    if needs_side(name):
        function = vars(reference_lists).get(name)
        assert function is not None, f"{name} has no slow definition: write one, from its source"
        missing = METRICS[name].options.keys() - set(inspect.signature(function).parameters)
        assert not missing, f"the slow definition of {name} lacks {', '.join(missing)}"
        return function
    for module in (reference, reference_trec):
        function = vars(module).get(name)
        if function is not None and function.__module__ == module.__name__:
            parameters = list(inspect.signature(function).parameters)
            assert parameters[:3] == ["ranking", "truth", "k"], f"{name} is not a slow definition"
            missing = METRICS[name].options.keys() - set(parameters)
            assert not missing, f"the slow definition of {name} lacks {', '.join(missing)}"
            return module
    raise AssertionError(f"{name} has no slow definition: write one, from its source")


def accepted(name):
    """The cases of a metric, without those that it must refuse."""
    spec = METRICS[name]
    for k, options in cases.of(spec):
        if spec.refuses_together(options):
            with pytest.raises(UsageError):
                rm.evaluate([["a"]], [{"a"}], cases.metric(name, k, options))
    return cases.accepted(spec)


def agree(name, chosen, rankings, truth, wanted, **choices):
    """Assert that users have the expected value, NaN where the metric is undefined."""
    asked = [cases.metric(name, *case) for case in chosen]
    scores = rm.evaluate(rankings, truth, asked, **choices).scores
    users = list(scores.users)
    # The more cases of options, the fewer users for each: together they have every user.
    shares = min(len(chosen), 5 + len(chosen) // 15)
    for number, (one, (k, options)) in enumerate(zip(asked, chosen, strict=True)):
        share = slice(number % shares, None, shares)
        np.testing.assert_allclose(
            scores.values[str(one)][share],
            [wanted(name, rankings[user], truth[user], k, **options) for user in users[share]],
            rtol=1e-12,
            atol=1e-14,
            err_msg=str(one),
        )


def lists_agree(name, function, *, ties=False, rule="item"):
    """Assert that a metric that needs side data has the values of its slow definition."""
    few = {"max_length": 6, "n_items": 8, "ties": True} if rule == "expected" else {"ties": ties}
    rankings, truth, side = with_side(7, **few)
    given = side.given()
    if ties:  # the rule orders the lists, whatever the options make of them
        spec = METRICS[name]
        chosen = [case for case in cases.of(spec) if case[1] == spec.example]
    else:
        chosen = accepted(name)
    asked = [cases.metric(name, *case) for case in chosen]
    scores = rm.evaluate(rankings, truth, asked, ties=rule, **given)
    ordered = rankings
    if rule != "expected":
        ordered = {user: in_order(scored, rule) for user, scored in rankings.items()}
    for one, (k, options) in zip(asked, chosen, strict=True):
        message = str(one)
        if METRICS[name].whole:
            wanted = function([*ordered.values()], side, k, **options)
            np.testing.assert_allclose(scores[message].mean, wanted, rtol=1e-10, err_msg=message)
            continue
        users = scores.scores.users.to_list()
        wanted = [function(ordered.get(u, {}), side, u, k, **options) for u in users]
        got = scores.scores.values[message]
        np.testing.assert_allclose(got, wanted, rtol=1e-10, atol=1e-12, err_msg=message)


def in_order(scored, rule):
    """The ranked items of one user under a tie rule."""
    items = list(scored) if rule in cases.BY_ROW else sorted(scored)
    items = items[::-1] if rule.endswith("descending") else items
    return sorted(items, key=lambda item: -scored[item])


@functools.cache
def merged(seeds, **shape):
    """The cases of several seeds as one."""
    rankings, truth = {}, {}
    for seed in seeds:
        for whole, part in zip((rankings, truth), cases.batch(seed, **shape), strict=True):
            whole.update({f"{seed} {user}": value for user, value in part.items()})
    return rankings, truth


# ---------------------------------------------------------------------------------------------
# The articles


def equals_its_definition(name):
    module = definition(name)
    if needs_side(name):
        lists_agree(name, module)
        return

    def value(name, scored, truth, k, **options):
        order = sorted(scored, key=lambda item: -scored[item])
        return module.value(name, order, truth, k, **options)

    agree(name, accepted(name), *merged(range(4)), value)


def takes_a_tie_rule_for_an_order_of_the_tied_items(name):
    module = definition(name)
    for rule in cases.ORDERED:
        if needs_side(name):
            lists_agree(name, module, ties=True, rule=rule)
            continue

        def value(name, scored, truth, k, rule=rule, **options):
            return module.value(name, in_order(scored, rule), truth, k, **options)

        # The rule orders the items, whatever the options make of them.
        chosen = [case for case in cases.of(METRICS[name]) if case[1] == METRICS[name].example]
        agree(name, chosen, *merged((11,), n_users=60, ties=True), value, ties=rule)


def means_over_every_order_of_open_ties(name):
    module = definition(name)
    rankings, truth = merged(range(50, 53), n_users=40, max_length=6, n_items=8, ties=True)
    if METRICS[name].needs_hit_items:
        lists_agree(name, functools.partial(reference_lists.expected, module), rule="expected")
        return
    if METRICS[name].of_lists and METRICS[name].open_ties:
        return  # test_rbo_ties has all orders of both lists
    if METRICS[name].of_lists:
        rankings, truth, side = with_side(7, ties=True)
        given = side.given()
        with pytest.raises(UsageError, match="tied items"):
            rm.evaluate(rankings, truth, cases.metric(name, 3, {}), ties="expected", **given)
        return
    if not METRICS[name].open_ties:
        for k, options in cases.of(METRICS[name]):
            with pytest.raises(UsageError, match="unresolved ties"):
                rm.evaluate(rankings, truth, cases.metric(name, k, options), ties="expected")
        return
    excused, _ = NO_MEAN_OVER_ORDERS.get(name, (lambda *_: False, ""))
    chosen = [case for case in accepted(name) if not excused(*case)]

    def value(name, scored, truth, k, **options):
        return module.expected(name, list(scored.items()), truth, k, **options)

    agree(name, chosen, rankings, truth, value, ties="expected")


def obeys_the_laws(name):
    for k in (None, 1, 5):
        check_metric(name, k=k)


def has_options_that_no_choice_of_the_plan_is_called(name):
    taken = METRICS[name].options.keys() & RESERVED
    assert not taken, f"{name} has options that are named like choices: {', '.join(taken)}"


def has_a_formula(name):
    formulas = tomllib.loads((DOCS / "formulas.toml").read_text("utf-8"))
    if name in formulas:
        assert formulas[name].keys() >= {"formula", "reading"}, name
    else:
        said = METRICS[name].function.__doc__ or ""
        assert ".. math::" in said, f"{name} has no formula: write it in the Notes, as `.. math::`"


def is_found_by_its_names(name):
    for known in (name, *METRICS[name].synonyms):
        for written in (known, known.upper(), known.replace("_", "")):
            assert rm.metric(written).name == name, f"{written} is not read as {name}"


ARTICLES = [
    equals_its_definition,
    takes_a_tie_rule_for_an_order_of_the_tied_items,
    means_over_every_order_of_open_ties,
    obeys_the_laws,
    has_options_that_no_choice_of_the_plan_is_called,
    has_a_formula,
    is_found_by_its_names,
]
BUILT_IN = list(METRICS)


@pytest.mark.parametrize("name", BUILT_IN)
@pytest.mark.parametrize("article", ARTICLES, ids=lambda article: article.__name__)
def test_every_metric(name, article):
    article(name)


def test_exceptions_are_of_metrics_that_exist():
    assert NO_MEAN_OVER_ORDERS.keys() <= METRICS.keys()


# ---------------------------------------------------------------------------------------------
# Metrics that break it


@pytest.fixture
def registered():
    """Register metrics for one test."""
    before = set(METRICS)

    def add(function, **facts):
        register("Wrong on purpose", **facts)(function)
        return function.__name__

    yield add
    for name in METRICS.keys() - before:
        unregister(name)


class TestAWrongMetric:
    """A metric that is wrong, with an option that it ignores, like the median rank 2r - 1."""

    @pytest.fixture
    def name(self, registered):
        def halfway_rank(hits, k=None, *, of: Literal["first", "all"] = "first"):
            """Twice the rank of the first hit, less one.

            Parameters
            ----------
            of : {"first", "all"}
                Ignored.
            """
            return np.where(np.isinf(hits.first), np.nan, 2 * hits.first - 1)

        return registered(halfway_rank, low=1, high=np.inf, increasing=False, open_ties=False)

    def test_has_no_slow_definition(self, name):
        with pytest.raises(AssertionError, match="halfway_rank has no slow definition"):
            equals_its_definition(name)

    def test_does_not_agree_with_one(self, name, monkeypatch):
        def halfway_rank(ranking, truth, k, of="first"):
            ranks = [r for r in range(1, len(ranking) + 1) if reference.hit_at(ranking, truth, r)]
            return ranks[0] if ranks else np.nan

        halfway_rank.__module__ = "reference"
        monkeypatch.setattr(reference, name, halfway_rank, raising=False)
        with pytest.raises(AssertionError, match="halfway_rank"):
            equals_its_definition(name)

    def test_ignores_its_option(self, name):
        with pytest.raises(AssertionError, match="the values of the option of of halfway_rank"):
            obeys_the_laws(name)

    def test_cannot_have_an_option_that_is_named_like_a_choice_of_the_plan(
        self, registered, monkeypatch
    ):
        monkeypatch.setattr("rankmeter.metrics._registry.RESERVED", frozenset())

        def halfway_rank(hits, k=None, *, depth: int = 1):
            """Twice the rank of the first hit, less one."""
            return 2 * hits.first - 1

        with pytest.raises(AssertionError, match="depth"):
            has_options_that_no_choice_of_the_plan_is_called(registered(halfway_rank))

    def test_lacks_a_formula(self, name):
        with pytest.raises(AssertionError, match="has no formula"):
            has_a_formula(name)


def neighbours(hits, k=None):
    """Mean over the other users."""
    return np.full(hits.n_users, hits.n_relevant.mean() / 10)


def too_large(hits, k=None):
    """Beyond its range."""
    return hits.n_relevant * 10.0


def whole_numbers(hits, k=None):
    """No floats."""
    return hits.n_relevant


def one_number(hits, k=None):
    """Nothing per user."""
    return np.float64(0.5)


def mutant(hits, k=None):
    """Changes what it is given."""
    hits.rank[:] = 1.0
    return hits.sum(hits.within(k)) * 0.0


def upside_down(hits, k=None):
    """Calls lower ranks better."""
    return hits.sum(hits.rank)


def mean_of_the_span(hits, k=None):
    """Takes the mean of the possible ranks for the rank."""
    return np.where(np.isinf(hits.first), 0.0, 1.0 / hits.first)


def half(hits, k=None):
    """Never reaches what it says."""
    return hits.sum(hits.within(k)) / np.maximum(hits.n_relevant, 1) / 2


def of_the_whole_list(hits, k=None):
    """Depends on what is below the cutoff."""
    return hits.sum(hits.within(k)) / np.maximum(hits.n_ranked, 1)


def ranks_of_negatives(nonrelevant, k=None):
    """Fails on negative gains."""
    nothing = np.sqrt(nonrelevant.gain)
    assert not np.isnan(nothing).any(), "a negative gain"
    return nonrelevant.sum(nothing)


def needy(hits, *, size: float):
    """Has an option without any value to try."""
    return hits.sum(hits.gain) * size


@pytest.mark.parametrize(
    ("function", "facts", "complaint"),
    [
        (neighbours, {}, "depends on the other users"),
        (too_large, {}, "rose above"),
        (whole_numbers, {}, "not float64"),
        (one_number, {}, "not an array|returned shape"),
        (mutant, {}, "changed what it was given"),
        (upside_down, {"high": np.inf}, "gets worse if a relevant item moves up"),
        (mean_of_the_span, {"needs_relevant": False}, "but the mean over all orders is"),
        (half, {}, "of the ideal ranking is not 1"),
        (of_the_whole_list, {}, "depends on unjudged items below the cutoff"),
        (ranks_of_negatives, {}, "a negative gain"),
        (needy, {}, "mark an Example"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_the_laws_find_what_is_wrong(function, facts, complaint, registered):
    name = registered(function, **{"needs_relevant": False, "reached": function is half, **facts})
    with np.errstate(invalid="ignore"), pytest.raises(AssertionError, match=complaint):
        check_metric(name, k=3)


# ---------------------------------------------------------------------------------------------
# The template of CONTRIBUTING.md


def test_the_template_runs_and_obeys_the_laws():
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    template, _ = re.findall(r"^ +```python\n(.*?)^ +```", text, re.DOTALL | re.MULTILINE)
    before = set(METRICS)
    try:
        exec(
            compile(textwrap.dedent(template), "CONTRIBUTING.md", "exec"), {"__name__": "template"}
        )
        (name,) = METRICS.keys() - before
        obeys_the_laws(name)
        is_found_by_its_names(name)
        shown = doctest.DocTestParser().get_doctest(
            METRICS[name].function.__doc__, {}, name, None, lineno=0
        )
        assert doctest.DocTestRunner().run(shown) == (0, 2)
        assert list(rm.evaluate([["a", "b"]], [{"a"}], f"{name}@1")) == [f"{name}@1"]
        with pytest.raises(AssertionError, match="no slow definition"):
            equals_its_definition(name)
    finally:
        for name in METRICS.keys() - before:
            unregister(name)
