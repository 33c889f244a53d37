"""Rankings in Python's own containers, which are counted where they are."""

from __future__ import annotations

import enum
import itertools
import shutil
import sys
import sysconfig
from collections import OrderedDict, defaultdict
from decimal import Decimal
from pathlib import Path
from random import Random

import numpy as np
import pytest

import cases
from rankmeter import _native, compare, evaluate
from rankmeter._choices import Alignment
from rankmeter._rankings.align import align
from rankmeter._rankings.codes import Codes
from rankmeter._rankings.ground_truth import prepare_truth
from rankmeter._reading import lists as _lists
from rankmeter._reading.by_user import InFrame, Objects
from rankmeter._reading.forms import read_columns
from rankmeter._reading.lists import PythonLists
from rankmeter._reading.read import read_rankings, read_truth
from rankmeter.errors import (
    DataError,
    DuplicateError,
    IdTypeError,
    InvalidValueError,
    RankmeterError,
)

pytestmark = pytest.mark.once

COMPILES = shutil.which("cc") and Path(sysconfig.get_path("include"), "Python.h").exists()
needs_compiled = pytest.mark.skipif(
    not COMPILES and _native.native is None, reason="no compiler with the headers of Python"
)

IN_PLACE = {
    "scores": {"u": {"a": 0.5, "b": 1.5}, "v": {"c": -2.0}},
    "integers": {1: {7: 0.5, -8: 1.5}, 2: {2**63 - 1: 2}},
    "NumPy scalars": {np.str_("u"): {np.int64(7): np.float32(0.5), 8: np.float64(1)}},
    "integer scores": {"u": {"a": 3, "b": 2**53 - 1}},
    "infinite scores": {"u": {"a": float("inf"), "b": float("-inf")}},
    "lists": {"u": ["a", "b"], "v": ["b"]},
    "one list for each row": [[3, 1, 2], [], [5]],
    "other dicts": {"u": OrderedDict(a=0.5), "v": defaultdict(float, b=1.0), "w": {}},
    "non-ASCII text": {"ü": {"é": 1.0, "": 0.5}},
}


@pytest.mark.parametrize("data", IN_PLACE.values(), ids=IN_PLACE)
def test_plain_containers_stay_where_they_are(data):
    table = read_rankings(data)
    assert isinstance(table.rows, PythonLists)
    pairs = data.items() if isinstance(data, dict) else enumerate(data)
    rows = [
        (user, item, *([value[item]] if isinstance(value, dict) else []))
        for user, value in pairs
        for item in value
    ]
    assert table.frame.rows() == rows
    assert table.counts["rows"] == table.height == len(rows)
    assert sorted([*table.users, *table.empty_users]) == sorted(dict(pairs) or range(len(data)))


class Name(enum.StrEnum):
    A = "a"


CLOSER_LOOK = {
    "an enumeration, whose hash is not that of its text": {"u": {Name.A: 1.0}},
    "integers beyond Int64": {"u": {2**63: 1.0}},
    "float ids": {"u": {1.0: 0.5}},
    "users that are floats": {1.0: {"a": 0.5}},
    "decimals": {"u": {"a": Decimal(1)}},
    "integers that no float holds": {"u": {"a": 2**53 + 1}},
    "an item twice": {"u": ["a", "b", "a"]},
    "a list without items and a dict": {"u": [], "v": {"b": 1.0}},
    "pairs": {"u": [("a", 1.0)]},
    "arrays": {"u": np.array(["a", "b"])},
    "sequences": {"u": ("a", "b"), "v": ("c",)},
}


@pytest.mark.parametrize("data", CLOSER_LOOK.values(), ids=CLOSER_LOOK)
def test_other_containers_become_rows(data):
    assert isinstance(read_rankings(data).rows, InFrame)


def test_the_numbers_of_an_ordered_dict_follow_its_order():
    moved = OrderedDict(a=0.0, b=0.0, c=1.0)
    moved.move_to_end("a")
    for read in (read_rankings, read_truth):
        table = read({"u": moved})
        assert isinstance(table.rows, PythonLists)
        number = "score" if read is read_rankings else "gain"
        assert table.frame.select("item", number).rows() == [("b", 0.0), ("c", 1.0), ("a", 0.0)]
    assert evaluate({"u": ["a", "b", "c"]}, {"u": moved}, "rr")["rr"].mean == 1 / 3


KEYS = [
    ["a", "b", "", "é", "a\U0001f600", np.str_("c")],
    ["d", "\ud800", Name.A],
    [7, -8, 2**63 - 1, -(2**63), np.int64(5)],
    [1, 2**63, True, 1.0, None],
]
NUMBERS = [
    [0.5, -0.0, 1e308, float("inf"), np.float64(3)],
    [0.5, float("nan"), None, "1", Decimal(1), True],
    [0, 3, -(2**40), 2**53 - 1, np.int32(4)],
    [1, 2**53, 2**53 + 1, 10**400, 0.5],
]


@needs_compiled
@pytest.mark.parametrize("seed", range(300))
def test_compiled_code_reads_what_python_reads(seed, monkeypatch):
    draw = Random(seed)
    keys, numbers = ([some[:2], some] for some in (draw.choice(KEYS), draw.choice(NUMBERS)))
    make = draw.choice([dict, dict, OrderedDict, lambda pairs: defaultdict(float, pairs)])
    data = {}
    for user in range(5):
        chosen = draw.choice(keys)
        some = draw.sample(chosen, draw.randint(0, len(chosen)))
        data[user] = make((key, draw.choice(draw.choice(numbers))) for key in some)
    sought = [draw.choice(draw.choice(keys)) for _ in range(8)]

    def found():
        lists = PythonLists.of([*data], [*data.values()])
        if lists is None:
            return None
        at = np.sort(np.arange(8) % len(lists.users))
        looked_up = lists.look_up_scores(at, Objects(sought, lists.item_type))
        return lists.item_type, lists.offsets.tolist(), lists.numbers.tolist(), repr(looked_up)

    compiled = found()
    rows = outcome_of(data)
    monkeypatch.setattr(_native, "native", None)
    assert rows == outcome_of(data)
    if found() is not None:  # otherwise rows of the same values are made
        assert compiled == found()


@pytest.mark.parametrize("seed", range(100))
def test_compiled_code_reads_and_looks_up_lists_as_python_does(monkeypatch, seed):
    draw = Random(seed)
    kinds = [["a", "b", "é", "c" * 40, np.str_("d")], [1, -7, 2**40, np.int64(5), 2**63 - 1]]
    items = draw.choice(
        [*kinds, kinds[0] + kinds[1], ["a\ud800", "b"], [True, 2], [2**63, 1], [None]]
    )
    data = {
        user: draw.choices(items, k=draw.randint(0, 4))
        if draw.random() < 0.1
        else draw.sample(items, draw.randint(0, len(items)))
        for user in range(draw.randint(1, 9))
    }
    sought = [draw.choice(items) for _ in range(12)]

    def found():
        lists = PythonLists.of([*data], [*data.values()])
        if lists is None:
            return None
        at = np.sort(np.arange(12) % max(len(lists.users), 1))
        looked_up = (
            lists.look_up_scores(at, Objects(sought, lists.item_type)) if len(lists) else None
        )
        return lists.item_type, lists.offsets.tolist(), repr(looked_up)

    compiled = found(), outcome_of(data)
    monkeypatch.setattr(_native, "native", None)
    assert compiled == (found(), outcome_of(data))


def outcome_of(data):
    try:
        return read_rankings(data).frame.rows()
    except RankmeterError as error:
        return f"{type(error)} {error}"


@needs_compiled
def test_compiled_code_reads_plain_dictionaries(monkeypatch):
    monkeypatch.delattr(_lists, "_read_containers")
    for data in (IN_PLACE["scores"], {1: defaultdict(float, {7: 1})}, IN_PLACE["lists"]):
        assert isinstance(read_rankings(data).rows, PythonLists)
    assert isinstance(read_truth({"u": {"a", "b"}, "v": frozenset("a")}).rows, PythonLists)


@needs_compiled
@pytest.mark.parametrize(
    "arguments",
    [
        ([{}], [0, 0], ["a"], 1),
        ([{}], [0], ["a"], 2),
        ([{}], [0], [], 1),
        ([{}], [1], ["a"], 1),
        ([{}], [-1], ["a"], 1),
        ([("a",)], [0], ["a"], 1),
    ],
)
def test_compiled_code_refuses_arrays_that_do_not_fit(arguments):
    containers, at, items, size = arguments
    find, read = _native.native.find, _native.native.read
    for some in (containers, [[*one] for one in containers if isinstance(one, dict)]):
        if some:
            with pytest.raises(ValueError, match="do not fit"):
                find(np.array(at), np.empty(size), some, items)
    with pytest.raises(TypeError):
        read(None, [7])
    with pytest.raises(TypeError):
        find(np.array([0]), np.empty(1), [{}])
    assert read(np.empty(1), [{"a": 1.0, "b": 2.0}]) == 0
    assert read(np.empty(2), [{"a": 1.0}]) == 0
    assert read(None, [("a",)]) == read(None, [{"a": 1.0}]) == 0


@needs_compiled
@pytest.mark.parametrize("container", [["a"], {"a": 1}])
def test_what_cannot_be_hashed_or_compared_is_an_error(container):
    class Odd(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, _):
            raise ZeroDivisionError

    for item, error in (([], TypeError), (Odd("a"), ZeroDivisionError)):
        with pytest.raises(error):
            _native.native.find(np.array([0]), np.empty(1), [container], [item])


@needs_compiled
@pytest.mark.parametrize(
    ("value", "error"),
    [("x", TypeError), (None, TypeError), (object(), TypeError), ([], TypeError), (1j, TypeError),
     (10**400, OverflowError), (-(10**400), OverflowError)],
    ids=["text", "null", "object", "list", "complex", "large", "low"],
)  # fmt: skip
def test_a_value_that_is_no_number_is_an_error(value, error):
    """A dictionary can change after it was read, and before its items are found."""
    for items in (["a"], ["b", "a"], ["a", "b"]):
        n = len(items)
        with pytest.raises(error):
            _native.native.find(np.zeros(n, dtype=np.int64), np.empty(n), [{"a": value}], items)
    found = np.empty(3)
    _native.native.find(np.zeros(3, dtype=np.int64), found, [{"a": -1, "b": -1.0}], [*"abc"])
    np.testing.assert_array_equal(found, [-1.0, -1.0, np.nan])


@needs_compiled
def test_compiled_code_keeps_no_reference():
    key, number, native = "k" * 50, 0.123, _native.native
    data = [{key: number} for _ in range(100)]
    before = sys.getrefcount(key), sys.getrefcount(number)
    found = np.empty(100)
    for _ in range(10):
        native.read(found, data)
        native.find(np.arange(100), found, data, [key] * 100)
        assert native.read(None, [[key, "b"], {key}]) == 1
        assert native.read(None, [[key, key]]) == native.read(None, [[key, number]]) == 0
        native.find(np.arange(100), found, [[key]] * 100, [key] * 100)
    assert (sys.getrefcount(key), sys.getrefcount(number)) == before


@pytest.mark.parametrize("score", [float("nan"), np.float64("nan"), None])
def test_missing_scores_are_refused_as_in_rows(score):
    with pytest.raises(InvalidValueError, match="1 of 2 scores of dict are missing or NaN: user"):
        evaluate({"u": {"a": score, "b": 1.0}}, {"u": ["b"]}, "rr")
    with pytest.raises(DuplicateError, match="1 repeated item in the rankings"):
        evaluate({"u": ["a", "b", "a"]}, {"u": ["b"]}, "rr")
    with pytest.raises(IdTypeError, match="of type boolean"):
        evaluate({"u": {True: 1.0}}, {"u": ["b"]}, "rr")
    with pytest.raises(IdTypeError, match="mix types"):
        evaluate({"u": {"a": 1.0}, "v": {1: 1.0}}, {"u": ["b"]}, "rr")
    with pytest.raises(InvalidValueError, match="half of a surrogate pair"):
        evaluate({"u": {"a\ud800": 1.0, "b": 1.0}}, {"u": ["b"]}, "rr")


CHOICES = [
    Alignment(ties=ties, score_type=score_type, **more)
    for ties, score_type, more in itertools.product(
        cases.RULES,
        ["float64", "float32"],
        [{}, {"depth": 3}, {"scope": "appended"}, {"pool": "judged"}, {"retrieved": "positive"}],
    )
]


@pytest.mark.parametrize("seed", range(6))
def test_counting_in_place_is_counting_rows(seed):
    draw = Random(seed)
    ids = [*range(-3, 20)] if seed % 2 else [*map(str, range(-3, 20)), "é", "Z", "a\U0001f600"]
    tied = [0.0, -0.0, 1.0, float("inf")]
    users = draw.sample(ids, 9)
    items = {user: draw.sample(ids, draw.randint(0, 15)) for user in users}
    ranked = (
        items
        if seed == 5
        else {
            u: {i: draw.gauss(0, 1) if seed == 2 else draw.choice(tied) for i in some}
            for u, some in items.items()
        }
    )
    judged = {
        user: {item: draw.randint(-1, 2) for item in draw.sample(ids, draw.randint(1, 9))}
        for user in draw.sample(users, 6) + [draw.choice(list(set(ids) - set(users)))]
    }
    rankings, truth = read_rankings(ranked), read_truth(judged)
    assert isinstance(rankings.rows, PythonLists)
    rows = rankings.with_rows(rankings.frame)
    codes = Codes.of_tables(truth, rankings)
    assert codes.users.to_list() == Codes.of_tables(truth, rows).users.to_list()
    for choices in CHOICES:
        prepared = prepare_truth(truth, codes, choices)
        here, there = align(rankings, prepared), align(rows, prepared)
        assert (here.in_rankings == there.in_rankings).all()
        assert here.facts.counts == there.facts.counts, choices
        assert here.facts.n_found == there.facts.n_found
        for one, other in ((here.hits, there.hits), (here.nonrelevant, there.nonrelevant)):
            for name in ("offsets", "rank", "gain", "n_relevant", "n_ranked"):
                np.testing.assert_array_equal(
                    getattr(one, name), getattr(other, name), str(choices)
                )
            np.testing.assert_array_equal(one.span.low, other.span.low)
            np.testing.assert_array_equal(one.span.high, other.span.high)


def test_some_users_of_lists():
    table = read_rankings({"u": {"a": 1.0}, "v": {"b": 2.0, "a": 1.0}, "w": {}})
    part = table.rows_of_user("v")
    assert isinstance(part.rows, PythonLists)
    assert part.frame.rows() == [("v", "b", 2.0), ("v", "a", 1.0)]
    assert part.empty_users.to_list() == []
    assert table.rows_of_user("w").empty_users.to_list() == ["w"]


def test_all_items_of_all_dictionaries_are_looked_at():
    data = {u: {f"{u}{i}": float(i) for i in range(u % 5)} for u in range(40)}
    table = read_rankings(data)
    assert isinstance(table.rows, PythonLists)
    assert table.frame["score"].to_list() == [i for u in range(40) for i in range(u % 5)]
    data[39]["bad"] = True
    with pytest.raises(InvalidValueError, match="not a number"):
        read_rankings(data)


@pytest.mark.parametrize("change", [dict.clear, lambda items: items.update(a=-9.0, b=9.0)])
def test_what_becomes_of_the_input_later_changes_no_curve(change):
    run = {"u": {"a": 1.0, "b": 0.5}, "v": {"a": 0.2, "b": 0.5}}
    lists = {"u": ["b", "a"], "v": ["b", "a"]}
    found = compare({"x": run, "y": lists}, {"u": ["a"], "v": ["a"]}, "ndcg@2")
    before = found.curve("ndcg@2", 2).frame
    change(run["u"])
    lists["v"].clear()
    assert found.curve("ndcg@2", 2).frame.equals(before)


TRUTHS = {
    **{name: data for name, data in IN_PLACE.items() if "infinite" not in name},
    "sets": {"u": {"a", "b"}, "v": frozenset("c"), "w": set()},
    "gains": {1: {7: 3, 8: 0}, 2: {}, 3: {7: -1}},
}


@pytest.mark.parametrize("data", TRUTHS.values(), ids=TRUTHS)
@pytest.mark.parametrize("read", [read_truth, read_rankings])
def test_plain_containers_are_read_as_any_others(data, read, monkeypatch):
    if read is read_rankings and any(isinstance(one, set | frozenset) for one in _values(data)):
        assert PythonLists.of([*data], [*data.values()]) is not None
        with pytest.raises(DataError, match="a set has no order"):
            read(data)
        return
    assert read_columns(data, "truth").lists is not None
    plain = read(data)
    monkeypatch.setattr(PythonLists, "of", lambda *_: None)
    any_ = read(data)
    assert plain.frame.equals(any_.frame)
    assert plain.frame.schema == any_.frame.schema
    assert plain.empty_users.to_list() == any_.empty_users.to_list()
    assert (plain.order, plain.origin) == (any_.order, any_.origin)


def _values(data):
    return data.values() if isinstance(data, dict) else data


def test_infinite_gains_are_refused_in_place_too():
    with pytest.raises(InvalidValueError, match="1 of 2 gains of dict are missing or infinite"):
        read_truth({"u": {"a": float("inf"), "b": 1.0}})


def test_lists_that_change_after_they_were_read_are_refused():
    lists = {"u": ["a", "b"], "v": ["b", "c"]}
    table = read_rankings(lists)
    assert not table.rows.has_changed
    lists["u"].remove("a")
    assert table.rows.has_changed
    with pytest.raises(DataError, match="has changed since it was read"):
        table.rows.items()
