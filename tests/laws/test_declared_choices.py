"""The declarations of the choices agree with the functions that take them."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Mapping

import polars as pl
import pytest
from test_choices import FUNCTIONS, RANKINGS, TRUTH, call

import rankmeter as rm
from rankmeter._choices import (
    ALIASES,
    CHOICES,
    SETTINGS,
    Alignment,
    Averaging,
    EveryChoice,
    Setting,
    active_choices,
)  # fmt: skip
from rankmeter.errors import UsageError
from rankmeter.metrics import METRICS

pytestmark = pytest.mark.once


def test_the_types_for_type_checkers_are_those_of_the_declarations():
    hints = typing.get_type_hints(EveryChoice)
    aliases = {name: hints.pop(name) for name in ALIASES if name in hints}
    assert aliases == {name: hints[ALIASES[name]] for name in aliases}
    assert {*ALIASES} - {*aliases} == {"n_resamples"}  # of comparisons
    assert list(hints) == list(CHOICES)
    for name, choice in CHOICES.items():
        also = {"relevant": float, "gains": Mapping[float, float]}.get(name, choice.hint)
        wanted = choice.hint | also
        assert hints[name] == typing.Optional[wanted], name  # noqa: UP045 - builds a type


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_function_takes_and_documents_every_choice(function):
    parameters = inspect.signature(function).parameters
    for choice in active_choices(CHOICES, "rankings").values():
        assert parameters[choice.name].kind is inspect.Parameter.KEYWORD_ONLY
        first = choice.meaning.split(":")[0].split("``")[0]
        assert first in " ".join(function.__doc__.split()), choice.name
    assert "{choices}" not in function.__doc__


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("name", active_choices(CHOICES, "rankings"))
def test_a_wrong_value_is_refused_by_the_name_of_its_choice(function, name):
    with pytest.raises(UsageError, match=f"`{name}` must be"):
        call(function, **{name: "itme"})


@pytest.mark.parametrize("name", [n for n in CHOICES if n not in SETTINGS])
def test_a_choice_inside_a_metric_is_the_choice_for_that_metric(name):
    choice = CHOICES[name]
    words = choice.words or {"relevant": (">1", ">=2"), "depth": ("2",)}[name]
    side = {"train": {user: [next(iter(items))] for user, items in RANKINGS.items()}}
    side = side if name == "history" else {}
    for word in words:
        if (name, word) == ("aggregate", "micro"):
            continue
        inside = rm.evaluate(RANKINGS, TRUTH, [f"ndcg({name}={word})@2", "ndcg@2"], **side)
        outside = rm.evaluate(RANKINGS, TRUTH, "ndcg@2", **{name: word}, **side)
        mine, other = inside.plan.metrics
        assert mine.choices_by_name() == outside.plan.metrics[0].choices_by_name()
        assert (
            other.choices_by_name()
            == rm.evaluate(RANKINGS, TRUTH, "ndcg@2", **side).plan.metrics[0].choices_by_name()
        )
        label = next(iter(inside))
        assert inside[label].mean == pytest.approx(outside["ndcg@2"].mean, nan_ok=True)


def test_no_option_of_a_metric_has_the_name_of_a_choice():
    for spec in METRICS.values():
        assert not (spec.options.keys() & CHOICES.keys()) - {"n_items", "unjudged"}, spec.name


def test_every_choice_belongs_to_one_part():
    parts = [set(part.__dataclass_fields__) for part in (Alignment, Averaging, Setting)]
    assert sum(map(len, parts)) == len(CHOICES) == len(set.union(*parts))


def test_options_have_other_names():
    values = {"a": [3.0, 1.0, 4.0], "b": [2.0, 0.0, 4.5]}
    compared = [
        rm.compare_values(values, **{name: 50}, **{bootstrap: 70}, interval="bca")
        for name, bootstrap in (("n_permutations", "resamples"), ("n_resamples", "n_bootstrap"))
    ]
    assert compared[0].to_dict() == compared[1].to_dict()
    assert compared[0].to_dict() != rm.compare_values(values).to_dict()
    doubled = pl.DataFrame({"user": ["ann"] * 3, "item": ["a", "b", "a"], "gain": [1.0, 1.0, 2.0]})
    plain = rm.evaluate({"ann": ["b", "a"]}, doubled, "dcg@2", judgements="max")
    for metric, option in (("dcg@2", {"judgments": "max"}), ("dcg(judgments=max)@2", {})):
        found = rm.evaluate({"ann": ["b", "a"]}, doubled, metric, **option)
        assert found[metric].mean == plain["dcg@2"].mean > 2
    systems = {"a": {"ann": ["b", "a"]}, "b": {"ann": ["a", "b"]}}
    evaluator = rm.Evaluator(doubled, "dcg@2", judgments="sum", n_bootstrap=100)
    settings = evaluator.compare(systems, n_resamples=60).to_dict()["settings"]
    assert (settings["n_resamples"], evaluator.plan.resamples) == (60, 100)


def test_an_option_under_two_names_is_refused():
    with pytest.raises(UsageError, match=r"`judgments` and `judg\w+` are the same option"):
        rm.evaluate({}, {"ann": ["a"]}, "rr", judgments="max", judgements="max")
    with pytest.raises(UsageError, match="`n_resamples` and `n_permutations` are the same option"):
        rm.compare_values({"a": [1.0], "b": [2.0]}, n_resamples=50, n_permutations=50)
    with pytest.raises(UsageError, match="cannot act on ranks"):
        rm.evaluate_ranks([1, 2], "rr(judgments=max)")
