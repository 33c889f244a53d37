"""Each choice acts on the data that it declares, and is refused for all others."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest
import scipy.sparse

import rankmeter as rm
from command_line import rankmeter as run
from rankmeter._choices import CHOICES, INPUTS, SETTINGS, active_choices
from rankmeter._engine.counted import score_queries
from rankmeter._scores.known_ranks import count_samples, read_ranks
from rankmeter._scores.scores import CountRequest, count_scores
from rankmeter.conventions import convention_names
from rankmeter.conventions._plan import resolve_plan
from rankmeter.errors import RankmeterError, UsageError

pytestmark = [pytest.mark.once, pytest.mark.filterwarnings("ignore")]

METRICS = [
    "rr", "ndcg@2", "auc(n_items=none)", "recall@2", "accuracy@2", "dcg", "r_precision",
    "mean_rank(depth=1)",
]  # fmt: skip
CLOSE = 1 + 1e-12
SCORES = scipy.sparse.csr_matrix(
    [[0.5, 0.5, 0.9, -1, CLOSE, 1], [0.4, -0.1, 0.3, 0.2, 0, 0], [1, 2, 3, 4, 5, 6], [0] * 6]
)
LABELS = np.array([[3, 0, 1, 2, 0, 2], [1, 0, 0, 0, 2, 0], [0] * 6, [0, 1, 0, 0, 0, 0]])
POSITIVE = np.array([0.5, -0.2, 1.0])
NEGATIVES = np.array([[0.5, 0.7, 0.1], [-0.1, -0.3, -0.5], [CLOSE, 0.2, 0.1]])
LOW, HIGH, SIZES = [1, 1, 4], [2, 1, 6], [5, 1, 9]
ODD = np.array([[0.5, np.nan, 0.2]])


def accumulated(scores, target, metrics=METRICS, **options):
    acc = rm.accumulator(metrics, **options)
    acc.update(scores=scores, target=target)
    return acc.compute()


def measured(data, **options):
    """Results on data of one kind, on which all choices for it have an effect."""
    options = {"n_items": 50, **({} if data == "grades" else {"ties": "realistic"}), **options}
    if data == "rankings":
        return [rm.evaluate({"u": ["a", "b"]}, {"u": {"b"}}, METRICS, **options)]
    if data == "samples":
        return [rm.evaluate_scores(POSITIVE, None, METRICS, negatives=NEGATIVES, **options)]
    if data == "grades":
        grades = rm.Grades([[0, 2, 1, 3], [0, 1], [], []], n_relevant=[5, 1, 1, 0])
        return [rm.evaluate(grades, None, METRICS, **options)]
    if data == "ranks":
        return [rm.evaluate_ranks(LOW, METRICS, upper=HIGH, candidates=SIZES, **options)]
    call = rm.evaluate_scores if data == "scores" else accumulated
    found = [call(SCORES, LABELS, METRICS, **options)]
    odd = found if "bad_scores" not in options else [call(ODD, [[0, 2]], METRICS, **options)]
    return [*found, *odd]


FUNCTIONS = {
    "rankings": (rm.evaluate, rm.compare, rm.curve, rm.explain),
    "scores": (rm.evaluate_scores,),
    "ranks": (rm.evaluate_ranks,),
    "batches": (rm.accumulator,),
}
VALUES = {
    "relevant": (">=2", "any"), "depth": (1,), "n_items": (99,), "bugs": (True,), "seed": (5,),
    "confidence": (0.5,), "resamples": (3,), "each": (True,),
}  # fmt: skip
"""Values of the choices that take no words."""
BESIDE = {
    "bad_scores": {"bad_scores": "drop"},
    "gains": {"relevant": ">=2"},
    "seed": {"interval": "bca", "resamples": 9},
    "resamples": {"interval": "bca"},
    "bugs": {"like": "recommenders"},
}
"""What else is chosen where a choice acts only then."""
INERT = [(data, n) for data in INPUTS for n in CHOICES if n not in active_choices(CHOICES, data)]
ACTING = [(data, n) for data in INPUTS for n in active_choices(CHOICES, data) if data != "rankings"]
CELLS = {("scores", "exclude"), ("samples", "exclude")}
"""A parameter of `evaluate_scores` that is not a choice."""


@pytest.mark.parametrize("data", FUNCTIONS)
def test_a_signature_lists_and_documents_the_choices_that_can_act_and_no_others(data):
    for function in FUNCTIONS[data]:
        listed = {n for n in inspect.signature(function).parameters if (data, n) not in CELLS}
        assert listed & CHOICES.keys() == active_choices(CHOICES, data).keys()
        for name in listed & CHOICES.keys():
            assert re.search(rf"^    (\w+, )*{name}(, \w+)*( :|$)", function.__doc__, re.MULTILINE)


@pytest.mark.parametrize(
    ("command", "data"),
    [("evaluate", "rankings"), ("evaluate-scores", "scores"), ("evaluate-ranks", "ranks")],
)
def test_the_help_of_a_command_lists_the_choices_that_can_act_and_no_others(command, data):
    text = run(command, "--help-all").out
    listed = {n for n in CHOICES if f"  --{n.replace('_', '-')}" in text and (data, n) not in CELLS}
    assert listed == active_choices(CHOICES, data).keys()


@pytest.mark.parametrize(("data", "name"), sorted({*INERT} - CELLS))
def test_a_choice_that_cannot_act_is_refused_also_with_its_default(data, name):
    said = rf"`{name}` \(.*\) cannot act on {data}: .*\. Leave it out; it acts on "
    for value in (CHOICES[name].default, *(CHOICES[name].words or VALUES[name])):
        with pytest.raises(UsageError, match=said) as caught:
            measured(data, **{name: value})
        assert caught.value.option == name
        if name not in SETTINGS:
            with pytest.raises(UsageError, match=said):
                resolve_plan(f"rr({name}={value})", data=data)
    assert repr(measured(data, **{name: None})) == repr(measured(data))


@pytest.mark.parametrize(("data", "name"), ACTING)
def test_a_choice_that_can_act_has_an_effect(data, name):
    def outcome(**options):
        try:
            found = measured(data, **(BESIDE.get(name, {}) | options))
        except RankmeterError as error:
            return str(error)
        return [{**one.to_dict(), "plan": 0, "notes": 0} for one in found]

    values = CHOICES[name].words or VALUES[name]
    assert any(outcome(**{name: value}) != outcome() for value in values)


COUNTED = {
    "samples": lambda: count_samples(POSITIVE, NEGATIVES, CountRequest()),
    "ranks": lambda: read_ranks(LOW, HIGH, SIZES),
    "scores": lambda: count_scores(SCORES, LABELS, CountRequest()),
}


@pytest.mark.parametrize(("data", "name"), [one for one in INERT if one[0] in COUNTED])
def test_what_is_refused_would_change_nothing(data, name):
    """By a plan for rankings, which takes every choice."""
    if name in SETTINGS or name == "relevant":  # every item has the gain 1
        return
    queries = COUNTED[data]()
    metrics = METRICS[:-1] if name in ("extra", "scope") else METRICS  # without a cut rank
    usual = resolve_plan(metrics, choices={"n_items": 50, "ties": "realistic"})
    whole = score_queries(usual, queries)
    for value in CHOICES[name].words:
        plan = resolve_plan(metrics, choices={"n_items": 50, "ties": "realistic", name: value})
        found = score_queries(plan, queries)
        np.testing.assert_array_equal(found.matrix, whole.matrix)
        for entry, plain in zip(plan.metrics, usual.metrics, strict=True):
            one, other = found.averaged(entry), whole.averaged(plain)
            np.testing.assert_array_equal(one.values, other.values)


@pytest.mark.parametrize("tool", convention_names())
def test_a_convention_that_makes_choices_which_cannot_act_still_works(tool):
    for data in INPUTS:
        if data != "rankings":
            plan = resolve_plan(["rr", "ap", "ndcg@3"], like=tool, data=data)
            for entry in plan.to_dict()["metrics"].values():
                assert entry.keys() & CHOICES.keys() <= active_choices(CHOICES, data).keys()
            for name in CHOICES.keys() - active_choices(CHOICES, data).keys():
                assert f"\n{name} " not in plan.describe()
    assert rm.evaluate_ranks([1, 2], "rr", like=tool)["rr"].mean == 0.75
    assert rm.evaluate_scores([0.5], negatives=[0.1], metrics="rr", like=tool)["rr"].mean == 1


def test_a_plan_of_ranks_can_be_asked_for_again():
    for like in (None, "pykeen", "sklearn"):
        plan = rm.evaluate_scores(SCORES, LABELS, "rr", like=like, ties="rounded").plan
        assert plan.options() == {**({"like": like} if like else {}), "ties": "rounded"}
