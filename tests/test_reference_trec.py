"""The measures of trec_eval equal their slow definitions, on thousands of irregular cases."""

from __future__ import annotations

import numpy as np
import pytest

import cases
import rankmeter as rm
import reference_trec
from rankmeter.errors import UsageError
from rankmeter.metrics import METRICS, Metric

CUTOFFS = (None, 1, 3, 10, 40)
VARIANTS = {
    "n_ranked": [{}],
    "n_relevant": [{}],
    "n_hits": [{}],
    "n_nonrelevant": [{}, {"negative": "nonrelevant"}],
    "judged": [{}, {"denominator": "k"}, {"negative": "nonrelevant"}],
    "unjudged": [{}, {"denominator": "ranked"}, {"negative": "nonrelevant"}],
    "set_ap": [{}],
    "utility": [{}, {"found": 2.0, "wrong": -0.5, "missed": -1.0, "spared": 0.1, "n_items": 30}],
    "bpref": [{}, {"negative": "nonrelevant"}],
    "infap": [{}, {"epsilon": 0.1}],
    "iprec": [
        {"recall": recall, "rounding": rounding}
        for recall in (0.0, 0.25, 0.3, 0.5, 1.0)
        for rounding in ("trec9", "up", "nearest")
    ],
    "eleven_point": [{}, {"rounding": "up"}, {"rounding": "nearest"}],
    "rprec_mult": [{"multiple": multiple} for multiple in (0.0, 0.2, 0.5, 1.0, 2.5)],
    "yaap": [{}],
    "ideal_dcg": [{}, {"gain": "exp2"}, {"gain": "binary"}]
    + [{"discount": discount} for discount in ("ln", "log10", "jarvelin", "reciprocal")],
    "ndcg_rel": [{}],
    "rndcg": [{}],
    "g": [{}, {"gain": "binary"}],
}
CASES = [
    (name, k, options)
    for name, variants in VARIANTS.items()
    for options in variants
    for k in (CUTOFFS if METRICS[name].cutoff else (None,))
]
CERTAIN = ("bpref", "infap", "iprec", "eleven_point", "yaap", "ndcg_rel", "rndcg", "g")
"""Metrics without a closed form under open ties."""


def metric(name, k, options):
    return Metric(name)(**options) if k is None else Metric(name)(**options) @ k


def compare(rankings, truth, chosen, expected, **choices):
    """Assert every metric's values, NaN where it is undefined."""
    scores = rm.evaluate(rankings, truth, [metric(*case) for case in chosen], **choices).scores
    for case in chosen:
        got = dict(zip(scores.users, scores.values[str(metric(*case))].tolist(), strict=True))
        name, k, options = case
        want = {user: expected(name, user, k, options) for user in rankings}
        assert got == pytest.approx(want, rel=1e-12, abs=1e-14, nan_ok=True), case


def test_the_cases_cover_every_choice_of_every_option():
    for name, variants in VARIANTS.items():
        for option in METRICS[name].options.values():
            given = {variant.get(option.name, option.default) for variant in variants}
            assert given >= set(option.choices), (name, option.name)


@pytest.mark.parametrize("seed", range(4))
def test_values_equal_the_definition_without_ties(seed):
    rankings, truth = cases.batch(seed + 200)
    lists = {u: sorted(items, key=lambda i, s=items: -s[i]) for u, items in rankings.items()}

    def expected(name, user, k, options):
        return reference_trec.value(name, lists[user], truth[user], k, **options)

    compare(rankings, truth, CASES, expected)


def test_values_equal_the_definition_where_a_rule_orders_the_ties():
    rankings, truth = cases.batch(210, ties=True)

    def expected(name, user, k, options):
        scores = rankings[user]
        order = sorted(sorted(scores, reverse=True), key=lambda item: -scores[item])
        return reference_trec.value(name, order, truth[user], k, **options)

    compare(rankings, truth, CASES, expected, ties="item-descending")


def test_expected_values_are_the_mean_over_every_order_of_the_ties():
    rankings, truth = cases.batch(220, n_users=60, max_length=6, n_items=8, ties=True)
    chosen = [case for case in CASES if case[0] not in CERTAIN]

    def expected(name, user, k, options):
        return reference_trec.expected(
            name, list(rankings[user].items()), truth[user], k, **options
        )

    compare(rankings, truth, chosen, expected, ties="expected")


@pytest.mark.parametrize("name", CERTAIN)
def test_what_has_no_closed_form_under_open_ties_says_so(name):
    options = {"recall": 0.5} if name == "iprec" else {}
    tied, certain = {"u": {"a": 1.0, "b": 1.0}}, {"u": {"a": 2.0, "b": 1.0}}
    with pytest.raises(UsageError, match=rf"{name}.*: has no closed form under open ties"):
        rm.evaluate(tied, {"u": {"a": 1, "b": 0}}, metric(name, None, options), ties="expected")
    result = rm.evaluate(certain, {"u": {"a"}}, metric(name, None, options), ties="expected")
    assert np.isfinite(next(iter(result.values())).mean)


def test_bpref_refuses_ties_of_items_that_are_not_relevant():
    scores = {"u": {"a": 3.0, "x": 1.0, "y": 1.0}}
    with pytest.raises(UsageError, match="no closed form"):
        rm.evaluate(scores, {"u": {"a": 1, "x": 0}}, "bpref", ties="expected")


@pytest.mark.parametrize(
    ("spelling", "message"),
    [
        ("iprec@1.5", "recall of iprec must lie between 0 and 1"),
        ("iprec", "iprec needs recall"),
        ("rprec_mult(multiple=-1)", "must be 0 or more"),
        ("infap(epsilon=0)", "must be positive"),
        ("utility(spared=1)", "needs the size of the catalogue"),
    ],
)
def test_options_without_meaning_are_refused(spelling, message):
    with pytest.raises(UsageError, match=message):
        rm.evaluate({"u": ["a"]}, {"u": {"a"}}, spelling)


@pytest.mark.parametrize(
    ("spelling", "canonical"),
    [
        ("iprec_at_recall_0.10", "iprec@0.1"),
        ("11pt_avg", "eleven_point"),
        ("binG", "g(gain=binary)"),
        ("relative_P_5", "precision(denominator=relevant)@5"),
        ("set_map", "set_ap"),
        ("num_rel_ret", "n_hits"),
        ("unj_10", "unjudged@10"),
        ("Rprec_mult_1.20", "rprec_mult@1.2"),
    ],
)
def test_the_names_of_trec_eval_are_understood(spelling, canonical):
    found = rm.metric(spelling)
    assert str(found) == canonical
    assert rm.metric(canonical) == found


@pytest.mark.parametrize(
    ("aggregate", "mean"), [("mean", 0.5), ("geometric", (1 * 0.5 * 1e-5) ** (1 / 3)), ("sum", 1.5)]
)
def test_values_are_averaged_or_added(aggregate, mean):
    lists, truth = [["a", "x"], ["x", "a"], ["x", "y"]], [{"a"}, {"a"}, {"a"}]
    estimate = rm.evaluate(lists, truth, "map", aggregate=aggregate)["map"]
    assert estimate.mean == pytest.approx(mean)
    assert estimate.low < estimate.mean < estimate.high
