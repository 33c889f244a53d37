"""Errors that name a way out: each part of these sentences is asked for, word for word."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import rankmeter as rm
from command_line import rankmeter
from rankmeter._choices import CHOICES
from rankmeter._reading.doubts import (
    _common_list_length,
    are_gains,
    hints_without_ids,
    threshold_caution,
)
from rankmeter._reading.read import read_truth
from rankmeter.errors import RankmeterError, UsageError
from rankmeter.errors._removed import REMOVED_OPTIONS, REMOVED_WORDS
from rankmeter.errors._synonyms import SYNONYMS

pytestmark = pytest.mark.once

LISTS, TRUTH = {"u": ["a", "b"]}, {"u": {"b"}}
GRADES = "rm.Grades("


@pytest.mark.parametrize("gains", [[3, 0, 2], [0.5, 10, 0], [[3, 1], [0, 0]]])
def test_numbers_that_may_be_gains_lead_to_grades(gains):
    assert GRADES in "".join(hints_without_ids(gains))


@pytest.mark.parametrize("ids", [[31, 0, 2], [0.25, 1], [-1, 2], [10.5], [[3, 1], [77, 0]]])
def test_numbers_that_cannot_be_gains_do_not(ids):
    assert GRADES not in "".join(hints_without_ids(ids))


def test_repeated_numbers_are_gains_only_if_they_are_grades():
    assert are_gains([[3, 3, 1], [2, 0, 2]])
    assert not are_gains([[77, 77, 1], [2, 0, 2]])
    assert not are_gains([[-3, -3, 1], [2, 0, 2]])


@pytest.mark.parametrize("grades", [8, 20])
def test_ratings_of_up_to_twenty_grades_are_asked_about(grades):
    ratings = [0.5, *((20 - i) / 2 for i in range(grades - 1))]
    truth = read_truth({"u": {f"i{i}": rating for i, rating in enumerate(ratings)}})
    assert threshold_caution(truth)


@pytest.mark.parametrize(("n", "length"), [(9, 0), (10, 10)])
def test_long_lists_have_ten_judgments(n, length):
    truth = read_truth({user: [f"{user}{i}" for i in range(n)] for user in "abc"})
    assert _common_list_length(truth) == length


@pytest.mark.parametrize("name", ["k", "cutoff", "cutoffs", "n", "top_k", "top_n", "topk", "topn"])
def test_a_cutoff_by_any_name_becomes_part_of_the_metric(name):
    with pytest.raises(UsageError) as caught:
        rm.evaluate(LISTS, TRUTH, "rr", **{name: 7})
    remedy = "a cutoff is part of the metric string, such as ndcg@10, or ndcg@5,10,20 for several"
    written = "write rm.evaluate(rankings, truth, 'rr@7')"
    assert str(caught.value) == f"unknown option '{name}': {remedy}; {written}"
    with pytest.raises(UsageError, match=f"`{name}` is called `max_k`; write rm.curve"):
        rm.curve(LISTS, TRUTH, "ndcg", **{name: 7})


def test_another_option_is_no_cutoff():
    with pytest.raises(UsageError) as caught:
        rm.evaluate(LISTS, TRUTH, "rr", threshold=7)
    assert "@" not in str(caught.value)


def test_what_replaces_a_removed_word_is_a_word():
    found = 0
    for (option, _), sentence in REMOVED_WORDS.items():
        for name, word in re.findall(r"(\w+)='([^']+)'", sentence):
            values = {"A": [1.0, 2.0, 3.0], "B": [1.0, 1.0, 3.0]}
            assert rm.compare_values(values, **{name: word}).settings[name] == word
            found += 1
        if option in CHOICES:
            assert "interval" in sentence
    assert found >= 8


def test_what_replaces_a_removed_option():
    assert REMOVED_OPTIONS["alpha"].endswith("an alpha of 0.01 is a confidence of 0.99")
    assert "are over the users with a value under every system" in REMOVED_OPTIONS["common"]
    assert "within segments are a family of their own" in REMOVED_OPTIONS["gatekeeping"]
    assert "interval='bca'" in REMOVED_WORDS["interval", "percentile"]
    assert "leave `interval` out" in REMOVED_WORDS["interval", "t"]


@pytest.mark.parametrize("option", SYNONYMS)
def test_a_word_of_others_is_answered_with_the_right_one(option):
    heard = set()
    for word, others in SYNONYMS[option].items():
        for other in others.split():
            with pytest.raises(UsageError, match=rf"did you mean '{word}'\?$") as caught:
                rm.compare({"A": LISTS, "B": LISTS}, TRUTH, "rr", **{option: other})
            assert word in caught.value.allowed
            assert other not in {*caught.value.allowed, *heard}
            heard.add(other)


def test_a_word_of_others_need_not_be_text_and_the_command_line_knows_it():
    for found, word in [(0, "zero"), (math.nan, "nan"), ("NULL", "nan")]:
        with pytest.raises(UsageError, match=f"did you mean '{word}'"):
            rm.evaluate(LISTS, TRUTH, "rr", undefined=found)
    told = rankmeter("evaluate", "x.csv", "y.csv", "--aggregate", "macro").err
    assert "'micro'; did you mean 'mean'?" in " ".join(told.split())


RANKS = [
    (
        lambda: rm.evaluate_ranks([1, 2.25], "rr"),
        "rank 2.25 of row 1 is neither an integer nor the mean of two ranks",
    ),
    (
        lambda: rm.evaluate_ranks([3], "rr", upper=[2]),
        (
            "`upper` must give the last rank of each tie: integers, one for each of the ranks, and "
            "not below the first rank, which is in `ranks`"
        ),
    ),
    (
        lambda: rm.evaluate_ranks([1, 0, -2], "rr"),
        "rank 0.0 of row 1 is not a rank: ranks are 1 or more; 2 such values in all",
    ),
    (
        lambda: rm.evaluate_ranks([1, "x"], "rr"),
        "'x' of row 1 of `ranks` is not a number: write ranks such as 3 or 2.5, one for each query",
    ),
    (
        lambda: rm.evaluate_ranks([1, 2**60], "rr"),
        (
            f"1 rank is above 2^53 in `ranks`, for example {2**60} of row 1. If they mark items "
            "that were not ranked, drop these rows; if higher is better, they are scores: pass "
            "them to evaluate_scores"
        ),
    ),
    (
        lambda: rm.evaluate_ranks([[1, 4]], "rr"),
        (
            "`ranks` must be one rank for each query, got 2 ranks in one row: [1, 4]. If each is "
            "of another query, pass one list, [1, 4]. If they are the ranks of the relevant items "
            "of one user: rm.evaluate(rm.Positions([[1, 4]]), metrics=metrics), with n_relevant= "
            "if some were not ranked"
        ),
    ),
    (
        lambda: rm.evaluate_ranks([1, 5, 9], "rr", candidates=4),
        "rank 5 of row 1 is beyond its 4 candidates; 2 such ranks in all",
    ),
    (
        lambda: rm.evaluate_ranks([1, 5], "rr", candidates=np.array([9, 9, 9])),
        (
            "`candidates` must be an integer, or one for each of 2 ranks, got an array of shape "
            "(3,) and type int64"
        ),
    ),
    (
        lambda: rm.evaluate_ranks([1, 2], "rr", candidates=np.array([9, 2**63], dtype=np.uint64)),
        (
            f"`candidates` of row 1 is {2**63}: pass the number of candidates of each rank, of "
            "at most 2^62"
        ),
    ),
]


@pytest.mark.parametrize(("call", "sentence"), RANKS)
def test_sentences_about_ranks(call, sentence):
    with pytest.raises(RankmeterError) as caught:
        call()
    assert str(caught.value) == sentence
