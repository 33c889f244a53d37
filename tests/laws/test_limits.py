"""Numbers at the limits of their types, in every form that can hold them and in every role."""

import datetime as dt
import json
from decimal import Decimal
from enum import Enum, IntEnum

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

import rankmeter as rm
from rankmeter._reading.read import read_rankings, read_truth
from rankmeter.errors import FileFormatError, IdTypeError, InvalidValueError

pytestmark = pytest.mark.once

# A form makes the rows of one user from three columns of Python numbers; `dtype` is a hint.


def frame(dtype):
    """A frame whose column under test has a type."""

    def make(columns, role, _):
        series = pl.Series(role, columns[role], dtype=dtype)
        return pl.DataFrame({**columns, role: series})

    return make


def written(name, write):
    def make(columns, _, folder):
        path = folder / name
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        path.write_text(write(rows))
        return path

    return make


def delimited(separator):
    def write(rows):
        lines = [rows[0], *(row.values() for row in rows)]
        return "".join(separator.join(map(str, line)) + "\n" for line in lines)

    return write


def trec(rows):
    """A run or qrels, by what the rows have."""
    if "gain" in rows[0]:
        return "".join(f"{row['user']} 0 {row['item']} {row['gain']}\n" for row in rows)
    return "".join(f"{row['user']} Q0 {row['item']} 1 {row['score']} t\n" for row in rows)


def nested(columns, role, _):
    (number,) = set(columns) - {"user", "item"}
    found = {}
    for user, item, value in zip(columns["user"], columns["item"], columns[number], strict=True):
        found.setdefault(user, {})[item] = value
    return found


def rows_of(columns, *_):
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def nested_json(columns, role, folder):
    (folder / "nested.json").write_text(json.dumps(nested(columns, role, folder)))
    return folder / "nested.json"


def objects(columns, role, _):
    return pd.DataFrame({**columns, role: pd.Series(columns[role], dtype=object)})


def decimals(columns, role, _):
    column = pl.Series([Decimal(value) for value in columns[role]])
    return pl.DataFrame({**columns, role: column})


def python_decimals(columns, role, _):
    return rows_of({**columns, role: [Decimal(value) for value in columns[role]]})


def arrow(columns, *_):
    wide = {name: pa.uint64() if max(column) >= 2**63 else None for name, column in columns.items()}
    return pa.table({name: pa.array(column, wide[name]) for name, column in columns.items()})


def sparse(columns, *_):
    (number,) = set(columns) - {"user", "item"}
    return scipy.sparse.csr_matrix(np.array([columns[number]]))


EXACT = {
    "frame Int64": frame(pl.Int64),
    "frame UInt64": frame(pl.UInt64),
    "frame Int128": frame(pl.Int128),
    "frame Decimal": decimals,
    "pandas": lambda columns, *_: pd.DataFrame(columns),
    "pandas objects": objects,
    "Arrow": arrow,
    "columns": lambda columns, *_: {name: list(column) for name, column in columns.items()},
    "rows": rows_of,
    "rows of Decimal": python_decimals,
    "CSV": written("a.csv", delimited(",")),
    "TSV": written("a.tsv", delimited("\t")),
    "JSON": written("a.json", json.dumps),
    "JSON Lines": written("a.jsonl", lambda rows: "\n".join(map(json.dumps, rows))),
}
"""Forms that hold integers exactly and name their columns."""
UNNAMED = {
    "dict": nested,
    "nested JSON": nested_json,
    "sparse": sparse,
    "TREC": written("a.trec", trec),
}
READ = {"score": read_rankings, "rank": read_rankings, "gain": read_truth}
IDS = ("user", "item")


def table(form, role, values, folder):
    """The table that a form gives, with values in a role."""
    number = role if role in READ else "score"
    columns = {"user": [1] * len(values), "item": list(range(1, len(values) + 1))}
    if role == "user":
        columns["item"] = [1] * len(values)
    columns[number] = [float(n) for n in range(1, len(values) + 1)]
    columns[role] = list(values)
    return READ[number]({**EXACT, **UNNAMED}[form](columns, role, folder))


# Identifiers


@pytest.mark.parametrize("role", IDS)
@pytest.mark.parametrize("form", EXACT)
@pytest.mark.parametrize("number", [2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, 2**63, 2**64 - 1])
def test_integer_ids_of_64_bits_are_exact(form, role, number, tmp_path):
    if (number < 0 and form == "frame UInt64") or (number >= 2**63 and form == "frame Int64"):
        return
    read = table(form, role, [number, 1], tmp_path).frame[role]
    assert read.cast(pl.String).to_list() == [str(number), "1"]


@pytest.mark.parametrize("role", IDS)
@pytest.mark.parametrize("form", ["frame Int128", "frame Decimal", "pandas objects", "columns",
                                  "rows", "rows of Decimal", "JSON", "JSON Lines"])  # fmt: skip
@pytest.mark.parametrize("values", [[2**64, 1], [2**63, -1], [-(2**63) - 1, 1]])
def test_integer_ids_of_more_than_64_bits_are_refused(form, role, values, tmp_path):
    with pytest.raises(IdTypeError, match="no 64-bit integer"):
        table(form, role, values, tmp_path)


FLOATS = {
    "frame": lambda values, dtype: pl.Series(values, dtype=dtype),
    "pandas": lambda values, dtype: pd.Series(values, dtype=str(dtype).lower()),
    "NumPy": lambda values, dtype: np.array(values, dtype=str(dtype).lower()),
    "NumPy scalars": lambda values, dtype: list(np.array(values, dtype=str(dtype).lower())),
    "Arrow": lambda values, dtype: pa.array(np.array(values, dtype=str(dtype).lower())),
    "scalar next to an integer": lambda values, dtype: [
        np.array(values[0], dtype=str(dtype).lower())[()], 1
    ],
    "integer next to a scalar": lambda values, dtype: [
        values[0], np.array(1, dtype=str(dtype).lower())[()]
    ],
}  # fmt: skip
LIMITS = {"Float16": 2**11, "Float32": 2**24, "Float64": 2**53}


TYPED = [
    (form, dtype)
    for form in FLOATS
    for dtype in LIMITS
    # Polars 1 has no Float16, and reads that of Arrow as Float32.
    if hasattr(pl, dtype) or form not in ("frame", "Arrow")
]


@pytest.mark.parametrize("role", IDS)
@pytest.mark.parametrize(("form", "dtype"), TYPED)
@pytest.mark.parametrize("sign", [1, -1])
def test_float_ids_are_refused_from_the_first_that_may_be_another(form, role, dtype, sign):
    limit = LIMITS[dtype]
    type_ = getattr(pl, dtype, dtype)

    def read(value):
        made = FLOATS[form]([value, 1], type_)
        columns = {"user": [1, 2], "item": [1, 2], role: made}
        if form == "pandas":
            return read_rankings(pd.DataFrame(columns))
        if form == "Arrow":
            return read_rankings(pa.table(columns))
        if form == "NumPy":
            return read_rankings(made.reshape(2, 1))
        if form == "frame":
            return read_rankings(pl.DataFrame(columns))
        return read_rankings(columns)

    for value in (limit, limit + 1):
        with pytest.raises(IdTypeError, match=f"floats of {limit} or more"):
            read(sign * value)
    role = "item" if form == "NumPy" else role
    read = read(sign * (limit - 1))
    assert read.frame[role].to_list() == [sign * (limit - 1), 1]
    assert read.counts[f"float_{role}_ids"] == 2


@pytest.mark.parametrize("form", ["dict", "JSON", "JSON Lines"])
@pytest.mark.parametrize("values", [[2**53 + 1, 1.0], [2**53, 1.0], [1.0, 10**400]])
def test_large_integers_beside_floats_are_refused(form, values, tmp_path):
    data = {"u": values}
    if form == "JSON":
        data = tmp_path / "a.json"
        data.write_text(json.dumps({"u": values}))
    if form == "JSON Lines":
        data = tmp_path / "a.jsonl"
        data.write_text("\n".join(json.dumps({"user": 1, "item": item}) for item in values))
    with pytest.raises(IdTypeError, match=r"floats of 9007199254740992 or more|not integers"):
        read_rankings(data)


def test_decimals_that_are_no_whole_numbers_are_no_ids():
    for value in (Decimal("1.5"), Decimal("Infinity"), Decimal("1e-30")):
        with pytest.raises(IdTypeError, match="not integers"):
            read_rankings({"u": [value, 1]})
    assert read_rankings({"u": [Decimal("7.00"), 8]}).frame["item"].to_list() == [7, 8]


class Text(str, Enum):  # noqa: UP042 - before Python 3.11 this is how it is written
    A = "a"
    B = "b"


class Number(IntEnum):
    A = 1
    B = 2


class Plain(Enum):
    A = "a"
    B = "b"


@pytest.mark.parametrize("make", [
    lambda ids: {ids[0]: list(ids)},
    lambda ids: [{"user": ids[0], "item": item} for item in ids],
    lambda ids: {"user": [ids[0]] * 2, "item": list(ids)},
    lambda ids: pd.DataFrame({"user": pd.Series([ids[0]] * 2, dtype=object),
                              "item": pd.Series(list(ids), dtype=object)}),
    lambda ids: {ids[0]: np.array(list(ids), dtype=object)},
], ids=["dict", "rows", "columns", "pandas", "array"])  # fmt: skip
class TestObjects:
    def test_members_of_an_enumeration_of_ids_are_their_values(self, make):
        assert read_rankings(make(tuple(Text))).frame.rows() == [("a", "a"), ("a", "b")]
        assert read_rankings(make(tuple(Number))).frame.rows() == [(1, 1), (1, 2)]

    def test_members_of_any_other_enumeration_are_refused(self, make):
        with pytest.raises(IdTypeError, match=r"ids .* are of type Plain .*Use their values"):
            read_rankings(make(tuple(Plain)))

    @pytest.mark.parametrize(
        "value",
        [
            np.timedelta64(5, "ns"),
            np.timedelta64(5, "D"),
            np.datetime64("2024-01-02"),
            np.datetime64("2024", "Y"),
            dt.datetime(2024, 1, 2, tzinfo=dt.UTC),
            dt.date(2024, 1, 2),
            dt.timedelta(5),
        ],
    )
    def test_times_are_refused(self, make, value):
        with pytest.raises(IdTypeError, match="ids are integers or strings"):
            read_rankings(make((value, value)))


@pytest.mark.parametrize("kind", ["m8[ns]", "m8[D]", "M8[ns]", "M8[D]", "M8[Y]"])
def test_arrays_of_times_are_refused(kind):
    with pytest.raises(IdTypeError, match="ids are integers or strings"):
        read_rankings(np.array([[5, 6]], dtype=kind))
    with pytest.raises(InvalidValueError, match="is not a number"):
        read_rankings({"u": {"a": np.array(5, dtype=kind)[()]}})


# Numbers


@pytest.mark.parametrize("form", EXACT)
@pytest.mark.parametrize("rank", [2**53 + 1, 2**60, 2**63 - 1, 2**63, 2**64 - 1])
def test_ranks_above_the_exact_integers_are_refused(form, rank, tmp_path):
    if rank >= 2**63 and form == "frame Int64":
        return
    with pytest.raises(InvalidValueError, match=r"above 2\^53"):
        table(form, "rank", [1, rank], tmp_path)
    assert table(form, "rank", [1, 2**53], tmp_path).frame["rank"].to_list() == [1.0, 2.0**53]


@pytest.mark.parametrize("role", ["score", "gain"])
@pytest.mark.parametrize("form", [*EXACT, *UNNAMED])
@pytest.mark.parametrize(("values", "n"), [
    ([2**60, 2**60 + 1, 5], 1),
    ([2**53, 2**53 + 1, 2**53 + 2], 1),
    ([2**53 + 1, 2**60 + 1, 2**63 - 1], 3),
    ([2**53, 2**60, 5], 0),
])  # fmt: skip
def test_integers_that_no_float_holds_are_counted_in_every_form(form, role, values, n, tmp_path):
    read = table(form, role, values, tmp_path)
    assert read.frame[role].to_list() == list(map(float, values))
    assert read.counts == {"rows": 3} | ({f"rounded_{role}s": n} if n else {})


@pytest.mark.parametrize("form", ["rows", "CSV", "JSON", "JSON Lines", "dict", "TREC"])
def test_an_integer_is_counted_beside_floats_too(form, tmp_path):
    read = table(form, "score", [2**60 + 1, 0.5, float(2**60)], tmp_path)
    assert read.counts == {"rows": 3, "rounded_scores": 1}


def test_decimals_are_rounded_without_a_count(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(
        "user,item,score\n1,a,0.1234567890123456789\n1,b,0.12345678901234568\n1,c,1e23\n"
    )
    assert read_rankings(path).counts == {"rows": 3}


@pytest.mark.parametrize("form", ["rows", "CSV", "JSON", "JSON Lines", "dict", "TREC"])
def test_an_integer_beyond_all_floats_is_infinite(form, tmp_path):
    assert table(form, "score", [10**400, 1], tmp_path).counts == {"rows": 2, "infinite_scores": 1}
    with pytest.raises(InvalidValueError, match="infinite"):
        table(form, "gain", [-(10**400), 1], tmp_path)


@pytest.mark.parametrize("name", ["a.json", "a.jsonl"])
def test_an_integer_that_python_does_not_read_is_refused(name, tmp_path):
    (tmp_path / name).write_text('{"user": 1, "item": 2, "score": ' + "9" * 5000 + "}")
    with pytest.raises(FileFormatError, match="an integer with too many digits"):
        read_rankings(tmp_path / name)


def test_the_result_says_what_was_rounded(tmp_path):
    (tmp_path / "a.csv").write_text(f"user,item,score\n1,a,{2**60}\n1,b,{2**60 + 1}\n")
    found = rm.evaluate(tmp_path / "a.csv", {"1": {"a": 1, "b": 2**53 + 1}}, "mrr")
    assert {"rounded scores: 1", "rounded gains: 1"} <= set(found.table().notes)
    assert "rounded scores: 1" in str(found)
    assert not any("rounded" in note for note in rm.evaluate([[1]], [[1]], "mrr").table().notes)
