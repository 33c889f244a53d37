"""Data about items: categories, features, or their ids alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from rankmeter._checks import counted, shown
from rankmeter._ingest._columns import Columns, plain, resolve
from rankmeter._ingest._forms import find, is_accepted
from rankmeter._ingest._ids import ids
from rankmeter._ingest._messages import some
from rankmeter._ingest._numbers import typed
from rankmeter.errors import DataError, InvalidValueError

_NO_CATEGORY = "(no genres listed)"  # in MovieLens


@dataclass(frozen=True, eq=False)
class Items:
    """What is known of some items.

    Attributes
    ----------
    ids : polars.Series
        Each item once.
    categories : polars.DataFrame or None
        Columns item and category, each pair once.
    features : array, SciPy sparse matrix or None
        A row for each of `ids`.
    source : str
    textual : bool
        Whether the ids were read from text.
    notes : tuple of str
        What a reader should know: columns that are not used, and values that are split.
    titles : polars.DataFrame or None
        Columns item and title, each item once.
    """

    ids: pl.Series
    categories: pl.DataFrame | None
    features: Any
    source: str
    textual: bool = False
    notes: tuple[str, ...] = ()
    titles: pl.DataFrame | None = None


def read_items(data: object) -> Items:
    """Read categories or features of items.

    Takes a mapping from item to its category, its categories or its vector; a pair of ids and a
    matrix with a row for each; a matrix, whose rows are the items 0, 1, …; or a frame or file with
    a column for the item. Its other columns are a title or name; text or lists of text (categories,
    also joined by ``|``), lists or arrays of numbers (a vector), or numbers and flags (together a
    vector).
    """
    if isinstance(data, Mapping):
        return _of_mapping(data)
    if _is_matrix(data):
        matrix: Any = data
        return _of_matrix(np.arange(matrix.shape[0]), matrix)
    if isinstance(data, tuple) and len(data) == 2 and _is_matrix(data[1]):
        return _of_matrix(*data)
    if not is_accepted(data) or isinstance(data, list | tuple):
        raise DataError(
            f"items= must be a mapping from item to categories or vector, a pair (ids, matrix), or "
            f"a frame or file with a column for the item, got {shown(data)}"
        )
    return _of_columns(find(data, "items"))


def read_item_ids(data: object, what: str) -> tuple[pl.Series, str, bool]:
    """Ids of items, each once, with their source and whether they were read from text."""
    if isinstance(data, Mapping):
        data = list(data)
    if isinstance(data, np.ndarray) and data.ndim != 1:
        raise DataError(f"{what}= must have ids in one dimension, got {data.ndim} dimensions")
    if isinstance(data, set | frozenset | list | tuple | range | np.ndarray):
        data = list(data)
        column = ids(data, "item", f"{what}=", Counter())
        return column.unique(maintain_order=True), f"{what}=", False
    if isinstance(data, pl.Series):
        column = ids(data, "item", f"{what}=", Counter())
        return column.unique(maintain_order=True), f"{what}=", False
    found = find(data, "items")
    name = resolve(found, "items", None)["item"]
    column = ids(found.fetch([name])[name], "item", found.source, Counter(), untyped=found.untyped)
    return column.unique(maintain_order=True), found.source, found.textual


def read_item_numbers(data: object, what: str) -> Items:
    """Read one number for each item, as features with one column.

    Takes a mapping from item to number; a pair (ids, numbers); an array, whose items are 0, 1, …;
    or a frame or file with a column for the item and one of numbers.
    """
    wanted = "a mapping from item to number, a pair (ids, numbers), or a frame or file with the "
    wanted += "item and one column of numbers"
    if isinstance(data, Mapping):
        data = [*data], [*data.values()]
    if isinstance(data, np.ndarray) and data.ndim:
        data = np.arange(len(data)), data
    if isinstance(data, tuple) and len(data) == 2:
        item, values = ids([*data[0]], "item", f"{what}=", Counter()), np.asarray(data[1])
        if values.shape != (len(item),) or not len(item) or values.dtype.kind not in "fiub":
            raise DataError(f"{what}= must be {wanted}, got {shown(data[1])}")
        _each_once(item, f"{what}=")
        return Items(item, None, values.astype(np.float64)[:, None], f"{what}=")
    if not is_accepted(data) or isinstance(data, list | tuple):
        raise DataError(f"{what}= must be {wanted}, got {shown(data)}")
    found = _of_columns(find(data, "items"))
    if found.features is None or found.features.shape[1] != 1:
        raise DataError(f"{what}= must be {wanted}: {found.source} has other columns")
    return found


def _is_matrix(data: object) -> bool:
    return len(getattr(data, "shape", ())) == 2 and not hasattr(data, "columns")


def _of_matrix(names: object, matrix: Any) -> Items:
    sparse = type(matrix).__module__.startswith("scipy.sparse")
    values: Any = matrix.tocsr().astype(np.float64) if sparse else _floats(np.asarray(matrix))
    column = pl.Series(names) if isinstance(names, np.ndarray) else names
    column = column if isinstance(column, pl.Series) else list(column)  # type: ignore[call-overload]
    item = ids(column, "item", "items=", Counter())
    if len(item) != values.shape[0]:
        raise DataError(
            f"items= has {counted(len(item), 'id')} and a matrix of "
            f"{counted(values.shape[0], 'row')}: each id needs a row"
        )
    _each_once(item, "items=")
    _finite(values.data if sparse else values, "items=")
    return Items(item, None, values, "items=")


def _floats(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if values.dtype.kind not in "fiub":
        raise DataError(f"the features of items= must be numbers, got an array of {values.dtype}")
    return np.ascontiguousarray(values, dtype=np.float64)


def _of_mapping(data: Mapping[Any, Any]) -> Items:
    if not data:
        raise DataError("items= is empty: pass the categories or features of the items")
    names, values = list(data), list(data.values())
    item = ids(names, "item", "items=", Counter())
    if all(isinstance(value, str) for value in values):
        column = pl.Series("category", values, dtype=pl.String)
        return _with_categories(item, pl.DataFrame([item, column]), "items=", textual=False)
    lists = [value if isinstance(value, str) else _listed(value) for value in values]
    lists = [[value] if isinstance(value, str) else value for value in lists]
    if all(isinstance(x, str) for value in lists for x in value):
        table = pl.DataFrame({"item": item, "category": pl.Series(lists, dtype=pl.List(pl.String))})
        return _with_categories(item, table.explode("category"), "items=", textual=False)
    lengths = {len(value) for value in lists}
    if len(lengths) > 1:
        raise DataError(
            f"the vectors of items= have different lengths, for example {some(sorted(lengths))}: "
            "categories are text, and vectors have one length"
        )
    return _of_matrix(item, _floats(np.array(lists)))


def _listed(value: object) -> list[Any]:
    try:
        return [*value]  # type: ignore[misc]
    except TypeError:
        raise DataError(
            f"an item of items= must have a category, a list of categories or a vector, got "
            f"{shown(value)}"
        ) from None


def _of_columns(found: Columns) -> Items:
    """The columns besides the item are categories or features."""
    name = resolve(found, "items", None)["item"]
    others = [other for other in found.names if other != name]
    columns = found.fetch([name, *others])
    item = ids(columns[name], "item", found.source, Counter(), untyped=found.untyped)
    series = {n: typed(columns[n], n, untyped=found.untyped) for n in others}
    named = [n for n in others if plain(n) in _TITLES and series[n].dtype == pl.String]
    if not named:
        return _described(found, item, series)
    title = min(named, key=lambda n: _TITLES.index(plain(n)))
    table = pl.DataFrame([item, series.pop(title).alias("title")])
    titles = table.unique("item", keep="first", maintain_order=True)
    if series:
        return replace(_described(found, item, series), titles=titles)
    return Items(titles["item"], None, None, found.source, found.textual, titles=titles)


_TITLES = ("title", "movietitle", "itemtitle", "producttitle", "name", "itemname", "productname")


def _described(found: Columns, item: pl.Series, others: Mapping[str, pl.Series]) -> Items:
    """The categories or features of the items in some columns."""
    kinds: dict[str, dict[str, pl.Series]] = {"text": {}, "number": {}, "vector": {}, "other": {}}
    for other, series in others.items():
        kinds[_kind(series.dtype)][other] = series
    text, notes = kinds["text"], []
    known = {n: s for n, s in text.items() if plain(n) in _CATEGORIES}
    if len(text) > 1 and len(known) == 1:
        text = known
    if len(text) > 1 or len(kinds["vector"]) > 1 or (kinds["vector"] and kinds["number"]):
        raise DataError(
            f"{found.source} has several columns that could describe the items: "
            f"{some([n for k in kinds.values() for n in k], 12)}. Keep the item and one column of "
            "categories, or one vector, or columns of numbers."
        )
    features: Any = None
    if kinds["vector"]:
        (vectors,) = kinds["vector"].values()
        _each_once(item, found.source)
        features = _stacked(vectors, found.source)
    elif kinds["number"] and not text:
        _each_once(item, found.source)
        table = pl.DataFrame(list(kinds["number"].values()))
        features = table.cast(pl.Float64).to_numpy()
        _finite(features, found.source)
    if not text:
        if features is None:
            raise DataError(
                f"{found.source} has no column with categories or features of the items: its "
                f"columns are {some(found.names, 12)}"
            )
        if kinds["other"]:
            notes.append(f"{found.source}: not used: {some(kinds['other'], 6)}")
        return Items(item, None, features, found.source, found.textual, tuple(notes))
    ((named, values),) = text.items()
    split = values.dtype == pl.String and values.str.contains("|", literal=True).any()
    unused = [other for other in others if other != named]
    if split or unused:
        how = ", split at |" if split else ""
        left = f"; not used: {some(unused, 6)}" if unused else ""
        notes.append(f"{found.source}: categories are in {named!r}{how}{left}")
    if split:
        values = values.str.split("|")
    table = pl.DataFrame([item, values.alias("category")])
    if values.dtype == pl.List:
        table = table.explode("category")
    return _with_categories(item, table, found.source, found.textual, tuple(notes))


_CATEGORIES = frozenset({"category", "categories", "genre", "genres", "topic", "topics", "tags"})


def _kind(dtype: pl.DataType) -> str:
    if dtype in (pl.List, pl.Array):
        inner = dtype.inner  # type: ignore[attr-defined]
        return "text" if inner in (pl.String, pl.Categorical) else "vector"
    if dtype in (pl.String, pl.Categorical, pl.Enum):
        return "text"
    return "number" if dtype.is_numeric() or dtype == pl.Boolean else "other"


def _stacked(vectors: pl.Series, source: str) -> np.ndarray[Any, Any]:
    """The vectors of a column as the rows of a matrix."""
    values = vectors.arr.to_list() if vectors.dtype == pl.Array else vectors
    lengths = values.list.len().unique().to_list()
    if None in lengths or len(lengths) > 1:
        raise DataError(f"the vectors of {source} have different lengths: {some(lengths)}")
    flat = values.explode().cast(pl.Float64).to_numpy()
    _finite(flat, source)
    return np.ascontiguousarray(flat.reshape(len(values), -1))


def _finite(values: np.ndarray[Any, Any], source: str) -> None:
    if not np.isfinite(values).all():
        raise InvalidValueError(
            f"{int((~np.isfinite(values)).sum())} features of {source} are missing or infinite: "
            "fill them, or leave these items out"
        )


def _each_once(item: pl.Series, source: str) -> None:
    twice = item.filter(item.is_duplicated()).unique()
    if len(twice):
        raise DataError(
            f"{counted(len(twice), 'item')} of {source} occur several times, for example "
            f"{some(twice)}: an item has one row"
        )


def _with_categories(
    item: pl.Series,
    table: pl.DataFrame,
    source: str,
    textual: bool,
    notes: tuple[str, ...] = (),
) -> Items:
    table = table.with_columns(pl.col("category").cast(pl.String).str.strip_chars())
    known = pl.col("category").is_not_null() & ~pl.col("category").is_in(["", _NO_CATEGORY])
    pairs = table.filter(known).unique(maintain_order=True)
    return Items(item.unique(maintain_order=True), pairs, None, source, textual, notes)
