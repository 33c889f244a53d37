"""Explanations: the steps from one convention to another, and the search for a number."""

from __future__ import annotations

import json
import math

import pytest

import cases
import rankmeter as rm
from rankmeter.errors import UsageError

RANKINGS, TRUTH = cases.batch(3, n_users=60, ties=True)


@pytest.fixture(scope="module")
def walk():
    return rm.explain(RANKINGS, TRUTH, "ndcg@5", between=("pytrec_eval", "lenskit"))


def test_the_ends_are_the_numbers_of_the_two_conventions(walk):
    for name, estimate in (("pytrec_eval", walk.start), ("lenskit", walk.end)):
        assert rm.evaluate(RANKINGS, TRUTH, "ndcg@5", like=name)["ndcg@5"].mean == estimate.mean


def test_the_steps_add_up_to_the_whole_difference(walk):
    assert sum(step.change for step in walk.steps) == pytest.approx(walk.end.mean - walk.start.mean)
    assert sum(step.share for step in walk.steps) == pytest.approx(1.0)
    assert walk.steps[-1].value == pytest.approx(walk.end.mean)


def test_every_differing_choice_is_one_step_in_a_stable_order(walk):
    plans = [
        rm.evaluate(RANKINGS, TRUTH, "ndcg@5", like=name).plan["ndcg@5"].switches()
        for name in ("pytrec_eval", "lenskit")
    ]
    differing = [name for name in plans[0] if plans[0][name] != plans[1][name]]
    assert [step.switch for step in walk.steps] == differing
    again = rm.explain(RANKINGS, TRUTH, "ndcg@5", between=("pytrec_eval", "lenskit"))
    assert again.to_dict() == walk.to_dict()


def test_the_users_shown_are_those_who_change_most(walk):
    a = dict(rm.evaluate(RANKINGS, TRUTH, "ndcg@5", like="pytrec_eval").per_user.iter_rows())
    b = dict(rm.evaluate(RANKINGS, TRUTH, "ndcg@5", like="lenskit").per_user.iter_rows())
    change = {u: abs((a.get(u) or 0) - (b.get(u) or 0)) for u in set(a) | set(b)}
    shown = [abs((user.before or 0) - (user.after or 0)) for user in walk.users]
    assert shown == sorted(change.values(), reverse=True)[: len(shown)]
    first = walk.users[0]
    assert first.n_relevant == sum(gain > 0 for gain in TRUTH[first.user].values())
    assert len(first.items) == min(10, len(RANKINGS[first.user]))


def test_a_step_without_effect_is_named_but_not_in_the_way(walk):
    still = [step.switch for step in walk.steps if step.change == 0]
    assert still
    text = repr(walk)
    assert "without effect here: " in text
    assert f"{still[0]}: " not in text


def test_equal_conventions_have_nothing_to_explain():
    same = rm.explain(RANKINGS, TRUTH, "ndcg@5", between=("lenskit", "lenskit"))
    assert same.steps == ()
    assert "make the same choices" in same.verdict()


def test_renderings(walk):
    data = json.loads(walk.to_json())
    assert data["between"] == ["pytrec_eval", "lenskit"]
    assert len(data["steps"]) == len(walk.steps)
    assert "pytrec_eval" in walk.footnote()
    assert "<table" in walk._repr_html_()
    assert walk.table().to_markdown().startswith("| one switch at a time")
    assert walk.to_markdown().startswith(walk.table().to_markdown())
    assert walk.to_latex() == walk.table().to_latex()


class TestTarget:
    def test_a_convention_is_found_before_any_switch(self):
        value = rm.evaluate(RANKINGS, TRUTH, "ndcg@5", like="lenskit")["ndcg@5"].mean
        found = rm.explain(RANKINGS, TRUTH, "ndcg@5", target=f"{value:.6f}")
        assert found.matches[0].convention == "lenskit"
        assert not found.matches[0].switches

    def test_a_single_switch(self):
        value = rm.evaluate(RANKINGS, TRUTH, "ndcg(ideal=ones)@5")["ndcg(ideal=ones)@5"].mean
        found = rm.explain(RANKINGS, TRUTH, "ndcg@5", target=f"{value:.8f}")
        assert any(m.switches == {"ideal": "ones"} for m in found.matches)

    def test_a_pair_of_switches(self):
        label = "ndcg(gain=exp2,discount=jarvelin)@5"
        value = rm.evaluate(RANKINGS, TRUTH, label)[label].mean
        found = rm.explain(RANKINGS, TRUTH, "ndcg@5", target=f"{value:.8f}")
        assert {"gain": "exp2", "discount": "jarvelin"} in [dict(m.switches) for m in found.matches]

    def test_a_threshold(self):
        value = rm.evaluate(RANKINGS, TRUTH, "ap@5", relevant=">=2")["ap@5"].mean
        found = rm.explain(RANKINGS, TRUTH, "ap@5", target=f"{value:.8f}")
        rules = [m.switches["relevant"] for m in found.matches if "relevant" in m.switches]
        assert set(rules) & {">=2", ">1"}

    def test_only_the_printed_digits_count(self):
        value = rm.evaluate(RANKINGS, TRUTH, "rr")["rr"].mean
        found = rm.explain(RANKINGS, TRUTH, "rr", target=round(value, 2))
        assert len(found.matches) >= 1
        assert all(abs(m.value - round(value, 2)) <= 0.005000001 for m in found.matches)
        assert found.matches[0].convention == "rankmeter"

    def test_nothing_matches(self):
        found = rm.explain(RANKINGS, TRUTH, "rr", target="0.99999")
        assert found.matches == ()
        assert "none of" in found.verdict()
        assert found.tried > 20
        assert found.to_dict()["matches"] == []

    def test_several_match(self):
        value = rm.evaluate(RANKINGS, TRUTH, "precision@1", undefined="zero")["precision@1"].mean
        found = rm.explain(RANKINGS, TRUTH, "precision@1", target=f"{value:.4f}")
        assert len(found.matches) > 1
        assert "does not say which" in found.verdict()

    def test_a_switch_without_effect_is_no_match(self):
        """With k = 1 a denominator of min(k, n_ranked) changes nothing: it explains nothing."""
        value = rm.evaluate(RANKINGS, TRUTH, "rr")["rr"].mean
        found = rm.explain(RANKINGS, TRUTH, "rr", target=f"{value:.12f}")
        assert all(not m.switches for m in found.matches)
        sizes = [len(m.switches) for m in found.matches]
        assert sizes == sorted(sizes)

    def test_a_choice_that_is_given_is_not_searched(self):
        found = rm.explain(RANKINGS, TRUTH, "rr", target="0.5", relevant=">=2")
        assert not any("relevant" in m.switches for m in found.matches)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "one of them"),
        ({"between": ("lenskit", "ranx"), "target": 0.1}, "one of them"),
        ({"between": "lenskit"}, "two conventions"),
        ({"between": ("lenskit", "ranx"), "like": "spark"}, "leave out `like`"),
        ({"target": "abc"}, "must be a number"),
        ({"target": math.inf}, "finite"),
        ({"target": 0.1, "colour": "red"}, "unknown option 'colour'"),
    ],
)
def test_wrong_calls(arguments, message):
    with pytest.raises(UsageError, match=message):
        rm.explain(RANKINGS, TRUTH, "rr", **arguments)


def test_one_metric_at_a_time():
    with pytest.raises(UsageError, match="one metric at a time"):
        rm.explain(RANKINGS, TRUTH, "rr ndcg@5", target=0.1)


@pytest.mark.parametrize(
    ("tool", "shown"),
    [("trec_eval", ("c (1)", "b", "a")), ("rankmeter", ("a", "b", "c (1)"))],
)
def test_a_list_is_shown_in_the_order_in_which_it_was_measured(tool, shown):
    """Under equal scores trec_eval takes the last id first, so the relevant item is at rank 1."""
    tied, truth = {"u": {"a": 1.0, "b": 1.0, "c": 1.0}}, {"u": {"c": 1}}
    other = {"trec_eval": "rankmeter", "rankmeter": "trec_eval"}[tool]
    found = rm.explain(tied, truth, "rr", between=(tool, other))
    assert found.start.mean == pytest.approx(1.0 if tool == "trec_eval" else 1 / 3)
    assert found.users[0].items == shown
