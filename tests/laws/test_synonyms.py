"""Two names of one metric have the same number under every convention, or the result says why not.

A tool can have one of the names with options of its own, such as ``map`` of recommenders.
"""

import pytest

import rankmeter as rm
from rankmeter.conventions import convention_names
from rankmeter.errors import RankmeterError

pytestmark = pytest.mark.once

NAMES = {name: (name, *spec.synonyms) for name, spec in rm.metrics.METRICS.items() if spec.synonyms}
RANKINGS, TRUTH = {1: [1, 2, 3], 2: [3, 9]}, {1: [1, 2, 3, 4, 5], 2: [9]}


def plans(names, tool):
    """The plan of all names that the tool can compute; None if these are fewer than two."""
    known = []
    for name in names:
        try:
            known.append(rm.Evaluator(metrics=name, like=tool).plan.metrics[0].label)
        except RankmeterError:
            continue
    return rm.Evaluator(metrics=known, like=tool).plan if len(known) > 1 else None


@pytest.mark.parametrize("tool", convention_names())
def test_synonyms_agree_or_the_plan_says_which_option_differs(tool):
    for name, names in NAMES.items():
        for cutoff in ("", "@2"):
            plan = plans([f"{name}{cutoff}" for name in names], tool)
            if plan is None:
                continue
            choices = [(e.metric, e.choices_by_name()) for e in plan.metrics]
            note = "\n".join(note for note in plan.notes if note.startswith("names of one metric"))
            if all(own == choices[0] for own in choices):
                assert not note, (name, note)
            else:
                for entry in plan.metrics:
                    assert f" {entry.label} " in note, (name, cutoff)


def test_every_result_says_which_synonym_has_which_option():
    metrics, said = ["map@2", "ap@2"], "map@2 denominator=relevant; ap@2 denominator=min"
    found = rm.evaluate(RANKINGS, TRUTH, metrics, like="recommenders")
    assert found["map@2"].mean != found["ap@2"].mean
    compared = rm.compare({"A": RANKINGS, "B": TRUTH}, TRUTH, metrics, like="recommenders")
    for result in (found, compared):
        for text in (repr(result), result.to_latex(), result.to_markdown(), result.to_json()):
            assert said in " ".join(text.split())


@pytest.mark.parametrize("metrics", [["map@2"], ["ap@2"], ["ap@2", "ap(denominator=k)@2"]])
def test_names_that_say_their_options_have_no_note(metrics):
    assert "names of one metric" not in repr(
        rm.evaluate(RANKINGS, TRUTH, metrics, like="recommenders")
    )


def test_synonyms_agree_without_a_convention():
    found = rm.evaluate(RANKINGS, TRUTH, ["ap@2", "ndcg@2"])
    assert found["map@2"] == found["ap@2"]
    assert rm.evaluate(RANKINGS, TRUTH, "map@2")["map@2"].mean == found["ap@2"].mean


def test_each_name_that_was_asked_for_is_shown():
    names = ["ap@5", "map@5", "mrr@5", "rr@5"]
    found = rm.evaluate(RANKINGS, TRUTH, [*names, "ap@5", rm.metric("rr@5")])
    assert list(found) == names
    assert found["ap@5"].mean == found["map@5"].mean
    assert found["MAP@5"].mean == found["average_precision@5"].mean
    assert found.per_user.columns == ["user", *names]
    assert all(f"\n{name} " in str(found) for name in names)
    assert list(rm.evaluate(RANKINGS, TRUTH, "ap@5 map@5")) == ["ap@5", "map@5"]
    both = rm.compare({"A": RANKINGS, "B": TRUTH}, TRUTH, names)
    assert both["map@5"][0].difference == both["ap@5"][0].difference
    assert [entry.label for entry in both.plan.metrics] == names


def test_names_of_one_metric_choose_it_once_among_results():
    found = rm.evaluate(RANKINGS, TRUTH, ["ap@5", "rr"])
    both = rm.compare({"A": found, "B": found}, metrics=["ap@5", "map@5"])
    assert [entry.label for entry in both.plan.metrics] == ["ap@5"]
