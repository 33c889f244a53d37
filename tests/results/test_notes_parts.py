"""Counts and notes of several systems."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankmeter as rm
from rankmeter._reading.by_user import InFrame
from rankmeter._reading.table import Origin, Table
from rankmeter._results.counts import counts_of_tables
from rankmeter._results.notes import (
    WORDS,
    cluster_notes,
    evaluation_facts,
    fact_notes,
    uninformative_intervals,
)

pytestmark = pytest.mark.once


COUNTS = st.dictionaries(
    st.sampled_from(
        [
            "rows",
            "float_user_ids",
            "rounded_scores",
            "rounded_gains",
            "assumed_gains",
            "masked_cells",
        ]
    ),
    st.integers(1, 9),
)


def table(counts):
    frame = pl.DataFrame({"user": [1], "item": [1], "gain": [1.0]})
    return Table(InFrame(frame), "list", origin=Origin(counts=counts))


@given(COUNTS, COUNTS)
def test_every_count_of_both_sides_is_kept(ranked, judged):
    ranked = {name: n for name, n in ranked.items() if not name.endswith("_gains")}
    found = counts_of_tables(table(ranked), table(judged))
    assert {name: found[name] for name in ranked} == ranked
    own = {n if n.endswith("_gains") else f"truth_{n}": count for n, count in judged.items()}
    assert found == {**ranked, **own}


NAMES = st.lists(st.text("abc", min_size=1), min_size=1, max_size=30, unique=True)


@given(NAMES, st.data())
@settings(max_examples=50)
def test_notes_name_every_system_or_say_how_many_are_left(names, data):
    facts = {name: {"what": data.draw(st.sampled_from("123456789ABCDEFG"))} for name in names}
    notes = fact_notes(facts)
    if len({fact["what"] for fact in facts.values()}) == 1:
        assert notes == [facts[names[0]]["what"]]
        return
    left = sum(int(n.split()[3]) for n in notes if n.startswith("what: also in"))
    told = [note.partition(":")[0].split(", ") for note in notes if not note.startswith("what:")]
    shown = {name for named in told for name in named}
    assert len(shown) + left == len(names)


@pytest.mark.parametrize(("n", "rough"), [(29, True), (30, False)])
def test_fewer_than_thirty_clusters_are_rough(n, rough):
    by_metric = {"rr": {"clusters": n, "effective_clusters": n}}
    notes = cluster_notes(by_metric, "intervals")
    assert notes[0] == f"intervals by {n} clusters"
    assert (len(notes) > 1) == rough


@pytest.mark.parametrize(("n", "said"), [(1, False), (2, True)])
def test_an_interval_of_one_user_is_not_called_identical(n, said):
    estimate = rm.evaluate({u: ["a"] for u in range(5)}, {u: {"a"} for u in range(5)}, "rr")["rr"]
    facts = uninformative_intervals([replace(estimate, n=n, low=1.0, high=1.0)])
    assert bool(facts) == said


@pytest.mark.parametrize(("tied", "said"), [(7, False), (8, True)])
def test_ties_beside_ranks_are_noted_if_most_rows_have_them(tied, said):
    """Ranks exist to settle a few ties."""
    rankings = {"u": [("a", 1.0)]}
    result = rm.evaluate(rankings, {"u": {"a"}}, "rr")
    counts = {"rows": 10, "tied_scores_beside_ranks": tied}
    facts = evaluation_facts(result.plan, result.scores, counts)
    assert (WORDS["tied_scores_beside_ranks"] in facts) == said
