"""Data that could mean two things: a table of forms, each with its rows or its error."""

from typing import NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pytest

from rankmeter._ingest import read_interactions, read_rankings, read_truth
from rankmeter.errors import ColumnError, DataError, IdTypeError


class ScoredDoc(NamedTuple):
    """As ir_measures and ir_datasets call it."""

    query_id: str
    doc_id: str
    score: float


class Qrel(NamedTuple):
    query_id: str
    doc_id: str
    relevance: int
    iteration: str = "0"


class Row(NamedTuple):
    user: str
    items: list[str]


class Hit(NamedTuple):
    """Without a user."""

    doc_id: str
    score: float


TUPLES = {
    "user and item": ([("u", "a"), ("u", "b")], "schema=['user', 'item'], orient='row'"),
    "integers": ([(1, 5), (1, 7)], "the tuple (1, 5), and whether its fields are user, item or"),
    "one row": ([(1, 5)], "Row 1 of list"),
    "in a tuple": (((1, 5), (2, 7)), "Row 1 of tuple"),
    "from a generator": (iter([(1, 5), (2, 7)]), "{user: [items]} or a list of lists"),
    "with a number": ([(1, 5, 3.0), (2, 5, 1.0)], "['user', 'item', 'score']"),
    "with a time": ([(1, 5, 3.0, 99), (2, 5, 1.0, 99)], "['user', 'item', 'score', 'time']"),
    "text and integer": ([("d1", 3), ("d2", 1)], "for items of one user, {item: score}"),
}


@pytest.mark.parametrize(("rows", "words"), TUPLES.values(), ids=TUPLES)
def test_tuples_that_may_be_rows_are_refused(rows, words):
    with pytest.raises(DataError) as caught:
        read_rankings(rows)
    assert words in str(caught.value)


@pytest.mark.parametrize(("read", "name"), [(read_truth, "gain"), (read_interactions, "rating")])
def test_tuples_are_refused_on_every_side(read, name):
    with pytest.raises(DataError, match=rf"schema=\['user', 'item', '{name}'\]"):
        read([("u", "a", 3)])


READ = {
    # Tuples that are lists of items, because rows of a table have one length.
    "lists as tuples": (read_rankings, [(5,), (7, 8)], [(0, 5), (1, 7), (1, 8)]),
    "tuples of one": (read_truth, [(5,), (7,)], [(0, 5, 1.0), (1, 7, 1.0)]),
    "tuples of five": (read_rankings, [tuple(range(5))], [(0, i) for i in range(5)]),
    # Pairs of which only one part can be the item.
    "scored": (read_rankings, [("a", 0.9), ("b", 0.3)], [(0, "a", 0.9), (0, "b", 0.3)]),
    "scored in lists": (read_rankings, [["a", 0.9], ["b", 0.3]], [(0, "a", 0.9), (0, "b", 0.3)]),
    "scored by user": (read_rankings, {"u": [("a", 2), ("b", 0.3)]},
                       [("u", "a", 2.0), ("u", "b", 0.3)]),
    "graded by user": (read_truth, {"u": [("a", 2), ("b", 0)]},
                       [("u", "a", 2.0), ("u", "b", 0.0)]),
    "integers scored": (read_rankings, {"u": ((5, 0.9), (7, np.float32(0.5)))},
                        [("u", 5, 0.9), ("u", 7, 0.5)]),
    "scored by row": (read_rankings, [[("a", 0.9)], [("b", 1), ("a", 2)]],
                      [(0, "a", 0.9), (1, "b", 1.0), (1, "a", 2.0)]),
    "scored twice": (read_rankings, {"u": [("a", 0.9), ("a", 0.3)]},
                     [("u", "a", 0.9), ("u", "a", 0.3)]),
    "hits": (read_rankings, {"u": [Hit("a", 0.9)], "v": []}, [("u", "a", 0.9)]),
    # Rows that name their fields.
    "run": (read_rankings, [ScoredDoc("q", "a", 0.9), ScoredDoc("q", "b", 0.3)],
            [("q", "a", 0.9), ("q", "b", 0.3)]),
    "generated run": (read_rankings, iter([ScoredDoc("q", "a", 0.9)]), [("q", "a", 0.9)]),
    "qrels": (read_truth, [Qrel("q", "a", 2), Qrel("q", "b", 0)],
              [("q", "a", 2.0), ("q", "b", 0.0)]),
    "named rows": (read_truth, list(pd.DataFrame({"user": [1], "item": [2], "gain": [3]})
                                    .itertuples(index=False)), [(1, 2, 3.0)]),
    # One value per user.
    "arrays": (read_rankings, {1: np.array([7, 8]), 2: np.array([9])}, [(1, 7), (1, 8), (2, 9)]),
    "polars": (read_rankings, {1: pl.Series([7, 8])}, [(1, 7), (1, 8)]),
    "set": (read_truth, {1: {7}}, [(1, 7, 1.0)]),
}  # fmt: skip


@pytest.mark.parametrize(("read", "data", "rows"), READ.values(), ids=READ)
def test_data_that_can_mean_one_thing_are_read(read, data, rows):
    assert read(data).frame.rows() == rows


def test_named_tuples_of_the_other_side_may_be_swapped():
    with pytest.raises(ColumnError, match="are the two arguments swapped"):
        read_truth([ScoredDoc("q", "a", 0.9)])
    with pytest.raises(ColumnError, match="the two arguments are swapped"):
        read_rankings([Qrel("q", "a", 1)])


@pytest.mark.parametrize("pair", [(0.5, "a"), (5, 2), ("a", "b"), ("a", True), (True, 0.5)])
def test_pairs_of_a_user_that_may_be_read_both_ways_are_refused(pair):
    with pytest.raises(IdTypeError, match=r"type tuple .* pass \{item: number\}"):
        read_rankings({"u": [pair, pair]})


def test_named_tuples_and_others_do_not_mix():
    with pytest.raises(DataError, match="Row 2 of list"):
        read_rankings([ScoredDoc("q", "a", 0.9), ("q", "b", 0.3)])
    assert read_rankings([Row("u", ["a", "b"])]).frame.rows() == [("u", "a"), ("u", "b")]


VALUES = {
    "integers": [3, 2, 1],
    "floats": [0.9, 0.5, 0.25],
    "whole floats": [3.0, 2.0, 1.0],
    "booleans": [True, False, True],
    "text": ["a", "b", "c"],
}
INDEXES = {
    "counts rows": [0, 1, 2],
    "integers": [7, 8, 9],
    "text": ["x", "y", "z"],
}
VALUES_ARE_ITEMS, INDEX_IS_ITEMS, REFUSED = "values", "index", "refused"
READINGS = {
    ("integers", "counts rows"): VALUES_ARE_ITEMS,
    ("integers", "integers"): REFUSED,
    ("integers", "text"): INDEX_IS_ITEMS,
    ("floats", "counts rows"): REFUSED,
    ("floats", "integers"): INDEX_IS_ITEMS,
    ("floats", "text"): INDEX_IS_ITEMS,
    ("whole floats", "counts rows"): REFUSED,
    ("whole floats", "integers"): INDEX_IS_ITEMS,
    ("whole floats", "text"): INDEX_IS_ITEMS,
    ("booleans", "counts rows"): REFUSED,
    ("booleans", "integers"): INDEX_IS_ITEMS,
    ("booleans", "text"): INDEX_IS_ITEMS,
    ("text", "counts rows"): VALUES_ARE_ITEMS,
    ("text", "integers"): VALUES_ARE_ITEMS,
    ("text", "text"): VALUES_ARE_ITEMS,
}


def read_series(series, reading):
    """The rows that a user with a Series must have."""
    pairs = zip(series.index, series, strict=True)
    if reading == INDEX_IS_ITEMS:
        return [("u", item, float(gain)) for item, gain in pairs]
    return [("u", item, 1.0) for _, item in pairs]


@pytest.mark.parametrize(("values", "index"), READINGS)
@pytest.mark.parametrize("form", [lambda s: {"u": s}, lambda s: pd.Series([s], index=["u"])])
def test_a_series_of_a_user_is_read_where_its_items_are_certain(values, index, form):
    reading = READINGS[values, index]
    series = pd.Series(VALUES[values], index=INDEXES[index])
    if reading == REFUSED:
        with pytest.raises(DataError, match=r"User 'u' .* \.tolist\(\) .* \.to_dict\(\)"):
            read_truth(form(series))
    else:
        assert read_truth(form(series)).frame.rows() == read_series(series, reading)


def test_every_kind_of_series_has_a_reading():
    assert READINGS.keys() == {(value, index) for value in VALUES for index in INDEXES}


def test_names_say_what_a_series_holds():
    index = [7, 8, 9]
    for name in ("item", "movieId", "product_id"):
        items = pd.Series([3, 2, 1], index=index, name=name)
        assert read_truth({"u": items}).frame.rows() == read_series(items, VALUES_ARE_ITEMS)
        gains = pd.Series([3, 2, 1], index=pd.Index(index, name=name))
        assert read_truth({"u": gains}).frame.rows() == read_series(gains, INDEX_IS_ITEMS)


def test_the_groups_of_a_frame_are_lists_of_its_items():
    frame = pd.DataFrame({"user": ["u", "v", "u"], "item": [7, 8, 9]})
    groups = dict(iter(frame.groupby("user")["item"]))
    assert read_rankings(groups).frame.rows() == [("u", 7), ("u", 9), ("v", 8)]


def test_a_series_without_values_is_a_user_without_items():
    table = read_truth({"u": pd.Series([], dtype=float), "v": ["a"]})
    assert table.empty_users.to_list() == ["u"]


def test_a_series_with_two_levels_of_index_is_refused():
    index = pd.MultiIndex.from_tuples([("a", 1), ("b", 2)])
    with pytest.raises(DataError, match="tuple"):
        read_truth({"u": pd.Series([0.5, 0.25], index=index)})
