"""Counts and notes of several systems."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankmeter._reading.by_user import InFrame
from rankmeter._reading.table import Origin, Table
from rankmeter._results.notes import counts_of_tables, fact_notes

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
    facts = {name: {"what": data.draw(st.sampled_from("123456789abcdefg"))} for name in names}
    notes = fact_notes(facts)
    if len({fact["what"] for fact in facts.values()}) == 1:
        assert notes == [f"what: {facts[names[0]]['what']}"]
        return
    left = sum(int(n.split()[3]) for n in notes if n.startswith("what: also in"))
    shown = {name for note in notes for name in names if f"what ({note[6:].partition(')')[0]})" in
             note and name in note[6:].partition(")")[0].split(", ")}  # fmt: skip
    assert len(shown) + left == len(names)
