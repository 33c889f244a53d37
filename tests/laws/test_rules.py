"""Rules about candidates are signed counts: what they give is what rankings without them give."""

from __future__ import annotations

import dataclasses

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import rankmeter as rm
from rankmeter._choices import CHOICES
from rankmeter._rankings.counts import Candidates, count_at_marks
from rankmeter._rankings.pairs import Groups
from rankmeter._rankings.rank_counts import RankCounts
from rankmeter._reading.by_user import ByUser

METRICS = ["rr", "ndcg@3", "ap", "n_ranked", "judged@2"]
ITEMS = [*"abcdefg"]
runs = st.dictionaries(
    st.sampled_from([*"abcd"]),
    st.dictionaries(st.sampled_from(ITEMS), st.sampled_from([-1.0, -0.0, 0.0, 0.5]), min_size=1),
    min_size=1,
)
truths = st.dictionaries(
    st.sampled_from([*"abcd"]),
    st.dictionaries(st.sampled_from(ITEMS), st.sampled_from([-1, 0, 1, 2]), min_size=1),
    min_size=1,
)
rules = st.fixed_dictionaries(
    {
        "exclude": st.sampled_from(["none", "self"]),
        "pool": st.sampled_from(["all", "judged"]),
        "scope": st.sampled_from(["all", "appended"]),
    }
)


def by_hand(run, truth, chosen):
    """The rankings that a person would make by the rules: user → item → score."""
    made = {}
    for user, scores in run.items():
        judged, own = truth.get(user, {}), chosen["exclude"] == "self"
        kept = {item: score for item, score in scores.items() if not (own and item == user)}
        if chosen["pool"] == "judged":
            kept = {item: score for item, score in kept.items() if judged.get(item, -1) >= 0}
        if chosen["scope"] == "appended":
            absent = [item for item in judged if item not in kept and not (own and item == user)]
            kept |= dict.fromkeys(absent, -np.inf)
        made[user] = kept
    return made


def rows(run):
    triples = [(user, item, score) for user, some in run.items() for item, score in some.items()]
    return pl.DataFrame(triples, {"user": str, "item": str, "score": float}, orient="row")


@given(runs, truths, rules, st.sampled_from(CHOICES["ties"].words))
def test_rules_give_what_the_rankings_made_by_hand_give(run, truth, chosen, ties):
    if chosen["scope"] == "appended":
        truth = {user: judged for user, judged in truth.items() if user in run}
        assume(truth)
    asked = {"ties": ties, "no_overlap": "allow"}
    judged = truth
    if chosen["scope"] == "appended" and chosen["exclude"] == "self":  # which cannot be found
        judged = {u: {i: gain for i, gain in some.items() if i != u} for u, some in truth.items()}
    wanted = rm.evaluate(by_hand(run, truth, chosen), judged, METRICS, **asked).per_user
    for form in (run, rows(run)):
        found = rm.evaluate(form, truth, METRICS, **asked, **chosen).per_user
        assert found.equals(wanted), (found, wanted)


@pytest.mark.parametrize("ties", ["item", "input", "text-descending"])
def test_dictionaries_and_trec_files_with_rules_do_not_become_rows(tmp_path, monkeypatch, ties):
    run = {"a": {"b": 2.0, "a": 2.0, "c": 2.0}, "b": {"a": 1.0, "c": 1.0}}
    qrels = {"a": {"c": 1, "a": 1, "x": 1}, "b": {"c": 1}}
    file, judged = tmp_path / "run.txt", tmp_path / "qrels.txt"
    lines = [(u, i, s) for u, some in run.items() for i, s in some.items()]
    file.write_text("".join(f"{u} Q0 {i} 1 {s} tag\n" for u, i, s in lines))
    lines = [(u, i, g) for u, some in qrels.items() for i, g in some.items()]
    judged.write_text("".join(f"{u} 0 {i} {g}\n" for u, i, g in lines))
    lists = {user: [*some] for user, some in run.items()}
    for chosen in ({"exclude": "self"}, {"pool": "judged"}, {"scope": "appended"}):
        wanted = rm.evaluate(rows(run), qrels, METRICS, ties=ties, **chosen).per_user
        with monkeypatch.context() as patch:
            patch.setattr(ByUser, "frame", lambda made: pytest.fail(f"{type(made)} became rows"))
            for system, truth in ((run, qrels), (file, judged)):
                found = rm.evaluate(system, truth, METRICS, ties=ties, **chosen).per_user
                assert found.equals(wanted)
            rm.evaluate(lists, qrels, METRICS, ties=ties, **chosen)


@given(
    st.lists(st.tuples(st.integers(0, 2), st.sampled_from(ITEMS), st.integers(-1, 1))),
    st.sampled_from(CHOICES["ties"].words),
)
def test_counts_can_be_subtracted(found, ties):
    frame = pl.DataFrame(found, {"user": int, "item": str, "score": float}, orient="row")
    user = frame["user"].to_numpy()
    candidates = Candidates.of(frame, user, Groups.of(user, 3), "score", "float64")
    every = np.arange(frame.height)
    marks = candidates.marks_at(every[::2])
    whole, odd = (
        count_at_marks(c, marks, ties) for c in (candidates, candidates.only(every[1::2]))
    )
    even = count_at_marks(candidates.only(every[::2]), marks, ties)
    for field in dataclasses.fields(RankCounts):
        left, right = getattr(whole - odd, field.name), getattr(even, field.name)
        assert (left is None) == (right is None)
        assert left is None or np.array_equal(left, right), field.name
