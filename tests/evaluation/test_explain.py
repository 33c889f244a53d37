"""Explanations: the steps from one convention to another, and the search for a number."""

from __future__ import annotations

import json
import math

import pytest

import cases
import rankmeter as rm
from rankmeter.conventions import convention_names, has_metric
from rankmeter.errors import DataError, UsageError

pytestmark = pytest.mark.once

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
        rm.evaluate(RANKINGS, TRUTH, "ndcg@5", like=name).plan["ndcg@5"].choices_by_name()
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
    assert "have the same options" in same.verdict()


def test_renderings(walk):
    data = json.loads(walk.to_json())
    assert data["between"] == ["pytrec_eval", "lenskit"]
    assert len(data["steps"]) == len(walk.steps)
    assert "pytrec_eval" in walk.footnote()
    assert "<table" in walk._repr_html_()
    assert walk.table().to_markdown().startswith("| one option at a time")
    assert walk.to_markdown().startswith(walk.table().to_markdown())
    assert walk.to_latex() == walk.table().to_latex()


@pytest.fixture(scope="module")
def nothing():
    return rm.explain(RANKINGS, TRUTH, "ndcg@5", target="0.300001")


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

    def test_tools_with_equal_values_share_a_line(self):
        value = rm.evaluate(RANKINGS, TRUTH, "ndcg@5", like="sklearn")["ndcg@5"].mean
        found = rm.explain(RANKINGS, TRUTH, "ndcg@5", target=f"{value:.8f}")
        names = [m.convention for m in found.matches if not m.switches]
        assert names[:2] == ["sklearn", "torchmetrics"]
        assert found.table().rows[0][0].startswith("sklearn, torchmetrics")

    def test_the_nearest_settings_are_listed_when_nothing_matches(self, nothing):
        found = nothing
        assert found.matches == ()
        assert found.to_dict()["matches"] == []
        assert found.tried > 1000
        assert len(found.nearest) == 5
        distances = [abs(one.value - 0.300001) for one in found.nearest]
        assert distances == sorted(distances)
        assert len(set(distances)) == 5
        for one in found.nearest:
            turned = rm.metric("ndcg@5")(**one.switches)
            (got,) = rm.evaluate(RANKINGS, TRUTH, turned, like=one.convention).values()
            assert got.mean == pytest.approx(one.value, rel=1e-12)
        assert found.table().columns[0] == "nearest setting"
        assert [name for name, _ in found.table().rows] == [str(one) for one in found.nearest]
        assert len(found.to_dict()["nearest"]) == 5
        for part in (f"among {found.tried:,} settings", "thresholds", "(relevant)", "(like)"):
            assert part in found.verdict()

    @pytest.mark.parametrize("like", ["lenskit", "recbole", "ranx"])
    def test_a_tool_at_a_threshold_is_found_without_naming_either(self, like):
        value = rm.evaluate(RANKINGS, TRUTH, "ndcg@5", like=like, relevant=3)["ndcg@5"].mean
        found = rm.explain(RANKINGS, TRUTH, "ndcg@5", target=f"{value:.9f}")
        assert (like, {"relevant": ">=3"}) in [(m.convention, m.switches) for m in found.matches]

    @pytest.mark.parametrize(
        ("like", "switch"),
        [("torchmetrics", {"undefined": "skip"}), ("lenskit", {"ideal": "ones"})],
    )
    @pytest.mark.parametrize("level", [{}, {"relevant": ">=2"}])
    def test_a_tool_with_a_switch_at_a_threshold_is_found(self, like, switch, level):
        name, choices = "ndcg@5", dict(switch)
        if "ideal" in choices:
            name = f"ndcg(ideal={choices.pop('ideal')})@5"
        (value,) = rm.evaluate(RANKINGS, TRUTH, name, like=like, **choices, **level).values()
        found = rm.explain(RANKINGS, TRUTH, "ndcg@5", target=f"{value.mean:.9f}")
        assert found.matches
        assert any(m.value == pytest.approx(value.mean, rel=1e-12) for m in found.matches)
        assert len(found.matches[0].switches) <= len(switch) + len(level)

    def test_only_tools_that_have_the_metric_are_in_the_lists(self):
        for name in ("ndcg@5", "precision@5", "rr"):
            value = rm.evaluate(RANKINGS, TRUTH, name)[name].mean
            found = rm.explain(RANKINGS, TRUTH, name, target=f"{value:.2f}")
            tools = {m.convention for m in found.matches}
            assert tools
            assert all(has_metric(tool, rm.metric(name).name) for tool in tools)
        for tool, name in (("pykeen", "ndcg"), ("sklearn", "hit_rate"), ("recpack", "ap")):
            assert not has_metric(tool, name)
            assert has_metric("rankmeter", name)

    def test_an_option_of_the_metric_that_was_asked_for_stays(self):
        found = rm.explain(RANKINGS, TRUTH, "ndcg(gain=exp2)@5", target="0.2")
        assert found.matches
        assert all("gain" not in m.switches for m in found.matches)

    def test_large_data_are_searched_in_part_and_that_is_said(self, nothing, monkeypatch):
        whole = nothing
        monkeypatch.setattr("rankmeter._explain.search.MAX_ROWS", 20_000)
        part = rm.explain(RANKINGS, TRUTH, "ndcg@5", target="0.300001")
        assert part.tried < whole.tried
        assert f"except {whole.tried - part.tried:,} settings" in part.verdict()
        assert "but for" not in whole.verdict()

    def test_several_match(self):
        value = rm.evaluate(RANKINGS, TRUTH, "precision@1", undefined="zero")["precision@1"].mean
        found = rm.explain(RANKINGS, TRUTH, "precision@1", target=f"{value:.4f}")
        assert len(found.matches) > 1
        assert "does not show which" in found.verdict()

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
        ({}, "pass either"),
        ({"between": ("lenskit", "ranx"), "target": 0.1}, "pass either"),
        ({"between": "lenskit"}, "two conventions"),
        ({"between": ("lenskit", "ranx"), "like": "spark"}, "leave out `like`"),
        ({"target": "abc"}, "must be a number"),
        ({"target": math.inf}, "finite"),
        ({"target": 0.1, "color": "red"}, "unknown option 'color'"),
    ],
)
def test_wrong_calls(arguments, message):
    with pytest.raises(UsageError, match=message):
        rm.explain(RANKINGS, TRUTH, "rr", **arguments)


def test_one_metric_at_a_time():
    with pytest.raises(UsageError, match="expected one metric"):
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


def test_items_that_tie_in_single_precision_are_shown_as_they_were_measured():
    close, truth = {"u": {"a": 1.0 + 1e-9, "b": 1.0}}, {"u": {"b": 1}}
    found = rm.explain(close, truth, "rr", between=("trec_eval_9", "rankmeter"))
    assert found.start.mean == 1.0
    assert found.users[0].items == ("b (1)", "a")


def small(seed):
    """A few users: some without a ranking, without truth, with nothing relevant, without hits."""
    rankings, truth = cases.batch(seed, n_users=6, ties=True)
    some = list(truth)
    truth = {**truth, some[0]: {"nothing": 1}, some[1]: dict.fromkeys(truth[some[1]], 0)}
    return rankings, truth


MEASURED = ("ndcg@3", "ap@3", "precision@3", "rr", "recall@3", "hit_rate@3")


@pytest.mark.parametrize("first", convention_names())
def test_the_steps_between_any_two_conventions_are_numbers_and_add_up(first):
    later = [name for name in convention_names() if name > first]  # each pair once
    for n, second in enumerate(later, start=len(first)):
        pair = (first, second) if n % 2 else (second, first)
        rankings, truth = small(n)
        try:
            walk = rm.explain(rankings, truth, MEASURED[n % len(MEASURED)], between=pair)
        except DataError:
            assert "pykeen" in pair  # refuses users without a ranking
            continue
        ends, changes = (walk.start.mean, walk.end.mean), [step.change for step in walk.steps]
        if any(map(math.isnan, ends)):
            assert sum(map(math.isnan, changes)) <= 1 or all(map(math.isnan, ends))
            continue
        assert not any(map(math.isnan, changes))
        assert sum(changes) == pytest.approx(ends[1] - ends[0], abs=1e-12)
        if walk.steps:
            assert walk.steps[-1].value == ends[1]


def test_undefined_is_turned_away_from_nan_first_and_to_nan_last():
    rankings, truth = {"u": ["a", "b"], "v": ["c"]}, {"u": ["b"], "v": ["z"]}
    for pair in (("rankereval", "evidently"), ("evidently", "rankereval")):
        walk = rm.explain(rankings, truth, "ap@2", between=pair)
        order = [step.switch for step in walk.steps]
        assert order[0 if pair[0] == "rankereval" else -1] == "undefined"
        assert sum(s.change for s in walk.steps) == pytest.approx(walk.end.mean - walk.start.mean)
        assert "nan:" not in walk.verdict()
        largest = max(walk.steps, key=lambda step: abs(step.change))
        assert f"chiefly {largest.switch}" in walk.verdict()


def test_an_end_without_a_number_is_explained_by_what_takes_it_away():
    rankings, truth = {"u": ["a", "b"], "v": ["c"]}, {"u": {"b": 1}, "v": {"c": 0}}
    walk = rm.explain(rankings, truth, "ap@2", between=("rankereval", "evidently"))
    assert math.isnan(walk.start.mean)
    assert "whether there is a mean at all depends on undefined" in walk.verdict()
    assert "nan:" not in walk.verdict()
    assert "+nan" not in repr(walk) + walk.footnote()
    assert walk.to_dict()["steps"][0]["change"] is None


def test_tools_that_lack_the_metric_are_named_in_a_note():
    walk = rm.explain(RANKINGS, TRUTH, "ndcg@5", between=("libkge", "ranx"))
    said = "LibKGE has no ndcg; its conventions are applied to rankmeter's ndcg"
    assert walk.notes[0] == said
    assert said in repr(walk)
    assert walk.to_dict()["notes"][0] == said
    search = rm.explain(RANKINGS, TRUTH, "ndcg@5", like="libkge", target="0.5")
    assert said in search.notes
