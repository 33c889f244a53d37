"""Conditions of --fail-if, as they are read."""

from __future__ import annotations

import math

import pytest

import rankmeter as rm
from command_line import rankmeter
from rankmeter._cli._gates import read_comparison_gate, read_gate
from rankmeter.errors import UsageError


def test_a_number_that_does_not_exist_is_no_reason_to_pass():
    assert all(read_gate(f"rr{sign}0").trips(math.nan) for sign in ("<", "<=", ">", ">=", "=="))


def test_a_number_at_the_limit_trips_only_a_condition_that_includes_it():
    assert [read_gate(f"rr{sign}0.5").trips(0.5) for sign in ("<", "<=", ">", ">=", "==")] == [
        False, True, False, True, True,
    ]  # fmt: skip


@pytest.mark.parametrize(
    "parts",
    [
        ("mrr", " ", "x"),
        ("mrr<", "1", "x"),
        ("mrr", "==1", ""),
        ("a", " ", "x"),
        ("", "a shown worse than ", ""),
        ("a worse than b on c", " by", ""),
        ("a worse than b on c", " ", "x"),
    ],
    ids=repr,
)
def test_a_condition_of_any_length_is_read_in_linear_time(parts):
    start, many, end = parts
    text = start + many * 200_000 + end  # in quadratic time each takes more than a minute
    for read in (read_gate, lambda text: read_comparison_gate(text, ["a", "b"])):
        with pytest.raises(UsageError, match="--fail-if"):
            read(text)


MARGIN = {"old": [0.5, 0.4, 0.6, 0.5] * 40, "new": [0.1, 0.2, 0.1, 0.0] * 40}


def test_a_share_is_one_of_the_mean_that_the_condition_names():
    text = "new not shown within 79% of old on value"  # new has lost 80%: less than 400% of itself
    gate = read_comparison_gate(text, None)
    with_baseline = rm.compare_values(MARGIN, baseline="old", margin=gate.margin)
    assert "is worse than old by 0.3950 or more" in gate.failure_reason(with_baseline)
    last = rm.compare_values({"new": MARGIN["new"], "old": MARGIN["old"]}, margin=gate.margin)
    assert "is worse than old by 0.3950 or more" in gate.failure_reason(last)
    for other in ({}, {"baseline": "new"}):
        compared = rm.compare_values(MARGIN, margin=gate.margin, **other)
        with pytest.raises(
            UsageError, match=r"share of the mean of new, not of old.*--baseline old"
        ):
            gate.failure_reason(compared)
    absolute = read_comparison_gate("new not shown within 0.39 of old on value", None)
    for other in ({}, {"baseline": "old"}, {"baseline": "new"}):
        compared = rm.compare_values(MARGIN, margin=0.39, **other)
        assert "is worse than old by 0.3900 or more" in absolute.failure_reason(compared)


def test_of_two_systems_the_one_whose_share_is_meant_is_the_baseline(tmp_path):
    (tmp_path / "truth.csv").write_text("user,item\n" + "".join(f"u{n},a\n" for n in range(60)))
    for name, at in (("old", 1), ("new", 2)):
        rows = (
            f"u{n},{item},{score}\n"
            for n in range(60)
            for item, score in (("a", 3 - at), ("b", 1.5))
        )
        (tmp_path / f"{name}.csv").write_text("user,item,score\n" + "".join(rows))
    systems = [f"{name}={tmp_path / name}.csv" for name in ("old", "new")]
    condition = "new not shown within 1% of old on rr"
    done = rankmeter(
        "compare", tmp_path / "truth.csv", *systems, "-m", "rr", "--fail-if", condition
    )
    assert done.code == 1
    assert "new is worse than old by 0.0100 or more" in done.err


def test_systems_without_a_difference_and_too_few_users_are_said_to_be_so():
    same = {"old": [0.5, 0.4, 0.6, 0.5] * 5, "new": [0.5, 0.4, 0.6, 0.5] * 5}
    gate = read_comparison_gate("new not shown within 1% of old on value", None)
    reason = gate.failure_reason(rm.compare_values(same, baseline="old", margin=gate.margin))
    assert (
        "no difference in 20 users, which are too few for this margin: +0.0000, 95 % interval ["
        in reason
    )
