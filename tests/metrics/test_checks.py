"""Option checks: one sentence per kind of mistake, and Python values from NumPy scalars."""

from __future__ import annotations

import math
import pickle
from typing import Literal

import numpy as np
import pytest

from rankmeter._results.counts import count_in_words
from rankmeter.errors import UsageError, _checks

pytestmark = pytest.mark.once

Ties = Literal["item", "input"]


def said(check, *args, **bounds):
    with pytest.raises(UsageError) as caught:
        check(*args, **bounds)
    return str(caught.value)


@pytest.mark.parametrize("value", [1, np.int64(1), np.uint8(1)])
def test_integers_are_plain(value):
    assert _checks.check_integer("k", value, least=1) == 1
    assert type(_checks.check_integer("k", value, least=1)) is int


@pytest.mark.parametrize("value", [0, True, 1.0, "1", None, np.float64(2), np.array([True])[0]])
def test_what_is_no_integer_in_range_is_refused(value):
    expected = f"`k` must be an integer ≥ 1, got {value!r}"
    assert said(_checks.check_integer, "k", value, least=1) == expected


@pytest.mark.parametrize(
    ("bounds", "spelled"),
    [
        ({}, ""),
        ({"most": 3}, " ≤ 3"),
        ({"least": 2, "most": 3}, " between 2 and 3"),
    ],
)
def test_ranges_of_integers(bounds, spelled):
    assert (
        said(_checks.check_integer, "n", "x", **bounds)
        == f"`n` must be an integer{spelled}, got 'x'"
    )


@pytest.mark.parametrize("value", [0.5, np.float32(0.5), np.float64(0.5)])
def test_numbers_are_plain(value):
    assert type(_checks.check_number("p", value)) is float
    assert _checks.check_fraction("p", value) == 0.5


@pytest.mark.parametrize(
    ("bounds", "value", "spelled"),
    [
        ({}, "x", "a number, got 'x'"),
        ({}, True, "a number, got True"),
        ({}, math.inf, "a finite number, got inf"),
        ({"above": 0}, 0, "a number > 0, got 0"),
        ({"least": 0}, -1, "a number ≥ 0, got -1"),
        ({"least": 0, "below": 1}, 1, "a number ≥ 0 and < 1, got 1"),
        ({"least": 0, "most": 1}, 2, "a number between 0 and 1, got 2"),
        ({"above": 0, "below": 1}, 2, "a number between 0 and 1, both excluded, got 2"),
        ({"least": 0}, math.nan, "a finite number ≥ 0, got nan"),
    ],
)
def test_ranges_of_numbers(bounds, value, spelled):
    assert said(_checks.check_number, "alpha", value, **bounds) == f"`alpha` must be {spelled}"


@pytest.mark.parametrize("value", [0, 1, 2, -0.5, math.nan])
def test_a_fraction_is_strictly_between_0_and_1(value):
    assert "between 0 and 1, both excluded" in said(_checks.check_fraction, "alpha", value)


@pytest.mark.parametrize("allowed", [Ties, ("item", "input"), {"item": 1, "input": 2}])
def test_choices_offer_what_is_near(allowed):
    assert _checks.check_choice("ties", "item", allowed) == "item"
    message = "`ties` must be one of 'item', 'input', got"
    assert said(_checks.check_choice, "ties", "itme", allowed) == (
        f"{message} 'itme'; did you mean 'item'?"
    )
    assert said(_checks.check_choice, "ties", "zzz", allowed) == f"{message} 'zzz'"
    assert said(_checks.check_choice, "ties", None, allowed) == f"{message} None"
    assert said(_checks.check_choice, "ties", ["item"], allowed) == f"{message} ['item']"


def test_flags():
    assert _checks.check_flag("replace", np.array([0.0])[0] == 1) is False
    assert _checks.check_flag("replace", value=True) is True
    for value in ("yes", 1, None):
        expected = f"`replace` must be True or False, got {value!r}"
        assert said(_checks.check_flag, "replace", value) == expected


def test_unknown_words():
    error = _checks.unknown_word_error("option", "tie", ["ties", "seed"])
    assert str(error) == "unknown option 'tie'; did you mean 'ties'?"
    assert str(_checks.unknown_word_error("option", "zzz", ["ties", "seed"])) == (
        "unknown option 'zzz'; known: 'ties', 'seed'"
    )
    assert (error.allowed, error.got) == (("ties", "seed"), "tie")


def test_what_is_shown_is_one_short_line():
    assert _checks.brief("a\nb") == r"'a\nb'"
    assert _checks.brief(np.zeros((3, 3))).count("\n") == 0
    assert len(_checks.brief("x" * 100)) == 60


def test_errors_carry_what_they_are_about():
    with pytest.raises(UsageError) as caught:
        _checks.check_choice("ties", "itme", Ties)
    for error in (caught.value, pickle.loads(pickle.dumps(caught.value))):
        assert (error.option, error.allowed, error.got) == ("ties", ("item", "input"), "itme")
        assert error.args == (str(error),)
    assert UsageError("text").option is None


def test_numbers_have_nouns_in_the_right_form():
    assert _checks.counted(1, "user") == "1 user"
    assert _checks.counted(0, "user") == "0 users"
    assert _checks.counted(1234, "user") == "1,234 users"
    assert _checks.counted(1, "item has", "items have") == "1 item has"
    assert _checks.counted(2, "item has", "items have") == "2 items have"


def test_words_outside_are_those_of_the_house():
    assert _checks.count_users(3, "other") == "3 other users"
    with _checks.use_words(_checks.LINKS):
        assert _checks.count_users(1) == "1 triple"
        assert _checks.count_items(2, "repeated") == "2 repeated entities"
        assert count_in_words("float_user_ids") == "float triple ids"
