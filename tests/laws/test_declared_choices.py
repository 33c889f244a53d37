"""The declarations of the choices agree with the functions that take them."""

from __future__ import annotations

import inspect
import typing

import pytest
from test_choices import FUNCTIONS, RANKINGS, TRUTH, call

import rankmeter as rm
from rankmeter._choices import CHOICES, SETTINGS, Alignment, Averaging, EveryChoice, Setting, acting
from rankmeter.errors import UsageError
from rankmeter.metrics import METRICS

pytestmark = pytest.mark.once


def test_the_types_for_type_checkers_are_those_of_the_declarations():
    hints = typing.get_type_hints(EveryChoice)
    assert list(hints) == list(CHOICES)
    for name, choice in CHOICES.items():
        wanted = choice.hint | float if name == "relevant" else choice.hint
        assert hints[name] == typing.Optional[wanted], name  # noqa: UP045 - builds a type


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_function_takes_and_documents_every_choice(function):
    parameters = inspect.signature(function).parameters
    for choice in acting(CHOICES, "rankings").values():
        assert parameters[choice.name].kind is inspect.Parameter.KEYWORD_ONLY
        first = choice.meaning.split(":")[0].split("``")[0]
        assert first in " ".join(function.__doc__.split()), choice.name
    assert "{choices}" not in function.__doc__


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("name", acting(CHOICES, "rankings"))
def test_a_wrong_value_is_refused_by_the_name_of_its_choice(function, name):
    with pytest.raises(UsageError, match=f"`{name}` must be"):
        call(function, **{name: "itme"})


@pytest.mark.parametrize("name", [n for n in CHOICES if n not in SETTINGS])
def test_a_choice_inside_a_metric_is_the_choice_for_that_metric(name):
    choice = CHOICES[name]
    words = choice.words or {"relevant": (">1", ">=2"), "depth": ("2",)}[name]
    for word in words:
        if (name, word) == ("aggregate", "micro"):
            continue
        inside = rm.evaluate(RANKINGS, TRUTH, [f"ndcg({name}={word})@2", "ndcg@2"])
        outside = rm.evaluate(RANKINGS, TRUTH, "ndcg@2", **{name: word})
        mine, other = inside.plan.metrics
        assert mine.switches() == outside.plan.metrics[0].switches()
        assert other.switches() == rm.evaluate(RANKINGS, TRUTH, "ndcg@2").plan.metrics[0].switches()
        label = next(iter(inside))
        assert inside[label].mean == pytest.approx(outside["ndcg@2"].mean, nan_ok=True)


def test_no_option_of_a_metric_has_the_name_of_a_choice():
    for spec in METRICS.values():
        assert not (spec.options.keys() & CHOICES.keys()) - {"n_items"}, spec.name


def test_every_choice_belongs_to_one_part():
    parts = [set(part.__dataclass_fields__) for part in (Alignment, Averaging, Setting)]
    assert sum(map(len, parts)) == len(CHOICES) == len(set.union(*parts))
