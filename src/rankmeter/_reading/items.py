"""Read data about items: categories, features, or ids alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from rankmeter._reading.columns import Columns, normalize_name, resolve_roles
from rankmeter._reading.forms import has_accepted_form, read_columns
from rankmeter._reading.frames import is_sparse
from rankmeter._reading.ids import to_ids
from rankmeter._reading.keyed import Keyed, read_keyed, refuse_repeated_items
from rankmeter._reading.numbers import to_typed_series
from rankmeter._reading.table import format_few
from rankmeter.errors import DataError, InvalidValueError
from rankmeter.errors._checks import brief, counted

_LARGEST = 1e150  # whose square is still a float
_NO_CATEGORY = "(no genres listed)"  # in MovieLens
_TITLES = ("title", "movietitle", "itemtitle", "producttitle", "name", "itemname", "productname")
_CATEGORIES = frozenset({"category", "categories", "genre", "genres", "topic", "topics", "tags"})


@dataclass(frozen=True, eq=False)
class Items:
    """Side data of items.

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
    expected = "a mapping from item to categories or vector, a pair (ids, matrix), or a frame or "
    expected += "file with a column for the item"
    if isinstance(data, Mapping):
        if not data:
            raise DataError("items= is empty: pass the categories or features of the items")
        lists = [[value] if isinstance(value, str) else _to_list(value) for value in data.values()]
        if all(isinstance(value, str) for of_item in lists for value in of_item):
            item = to_ids([*data], "item", "items=")
            column = pl.Series("category", lists, dtype=pl.List(pl.String))
            return _items_from_categories(Keyed(item, {}, "items="), column)
        _refuse_unequal_lengths({*map(len, lists)}, "items=")
        return _items_from_pair([*data], lists, "items", expected, ndim=2)
    return _read_pair_or_table(data, "items", expected, ndim=2)


def read_item_numbers(data: object, option: str) -> Items:
    """Read one number for each item, as features with one column.

    Takes a mapping from item to number; a pair (ids, numbers); an array, whose items are 0, 1, …;
    or a frame or file with a column for the item and one of numbers.
    """
    expected = "a mapping from item to number, a pair (ids, numbers), or a frame or file with the "
    expected += "item and one column of numbers"
    if isinstance(data, Mapping):
        return _items_from_pair([*data], [*data.values()], option, expected, ndim=1)
    items = _read_pair_or_table(data, option, expected, ndim=1)
    if items.features is None or items.features.shape[1] != 1:
        raise DataError(f"{option}= must be {expected}: {items.source} has other columns")
    return items


def read_item_ids(data: object, option: str) -> Keyed:
    """Read the distinct ids of items."""
    if isinstance(data, np.ndarray) and data.ndim != 1:
        raise DataError(f"{option}= must have ids in one dimension, got {data.ndim} dimensions")
    if isinstance(data, Mapping | set | frozenset | list | tuple | range | np.ndarray):
        data = list(data)
    if isinstance(data, list | pl.Series):
        rows = Keyed(to_ids(data, "item", f"{option}="), {}, f"{option}=")
    else:
        rows = _read_item_table(read_columns(data, "items"))
    return rows._replace(keys=rows.keys.unique(maintain_order=True))


def _read_item_table(read: Columns, *, all_columns: bool = False) -> Keyed:
    """Read the items of a table and, with `all_columns`, all other columns by name."""
    name = resolve_roles(read, "items", None)["item"]
    other_columns = {other: other for other in read.names if other != name}
    return read_keyed(read, {"item": name, **(other_columns if all_columns else {})})


def _read_pair_or_table(data: Any, option: str, expected: str, *, ndim: int) -> Items:
    """Read items from a pair (ids, array), from an array alone, or from a table."""
    if isinstance(data, tuple) and len(data) == 2 and (ndim == 1 or _is_matrix(data[1])):
        return _items_from_pair(*data, option, expected, ndim=ndim)
    if _is_matrix(data) if ndim == 2 else isinstance(data, np.ndarray) and data.ndim:
        return _items_from_pair(np.arange(data.shape[0]), data, option, expected, ndim=ndim)
    if not has_accepted_form(data) or isinstance(data, list | tuple):
        raise DataError(f"{option}= must be {expected}, got {brief(data)}")
    return _items_from_columns(_read_item_table(read_columns(data, "items"), all_columns=True))


def _is_matrix(data: object) -> bool:
    return len(getattr(data, "shape", ())) == 2 and not hasattr(data, "columns")


def _items_from_pair(names: Any, values: Any, option: str, expected: str, *, ndim: int) -> Items:
    """Read items from ids and their features: matrix rows, or numbers if `ndim` is 1."""
    source = f"{option}="
    column = pl.Series(names) if isinstance(names, np.ndarray) else names
    column = column if isinstance(column, pl.Series) else list(column)
    item = to_ids(column, "item", source)
    sparse = is_sparse(values)
    matrix: Any = values.tocsr() if sparse else np.asarray(values)
    if matrix.ndim != ndim or matrix.dtype.kind not in "fiub" or not len(item):
        raise DataError(f"{source} must be {expected}, got {brief(values)}")
    if len(item) != matrix.shape[0]:
        raise DataError(
            f"{source} has {counted(len(item), 'id')} and a matrix of "
            f"{counted(matrix.shape[0], 'row')}: each id needs a row"
        )
    refuse_repeated_items(item, source)
    matrix = matrix.astype(np.float64) if sparse else np.ascontiguousarray(matrix, np.float64)
    if ndim == 1:
        return Items(item, None, matrix[:, None], source)
    return Items(item, None, _check_features(matrix, source), source)


def _to_list(value: object) -> list[Any]:
    remedy = ""
    try:
        if not isinstance(value, Mapping):
            return [*value]  # type: ignore[misc]
        remedy = "; for several facts by name pass a frame with a column for each"
    except TypeError:
        pass
    raise DataError(
        f"an item of items= must have a category, a list of categories or a vector, got "
        f"{brief(value)}{remedy}"
    )


def _refuse_unequal_lengths(lengths: set[int | None], source: str) -> None:
    if None in lengths or len(lengths) > 1:
        raise DataError(
            f"the vectors of {source} have different lengths, for example "
            f"{format_few(sorted(lengths, key=str))}: categories are text, and vectors have one "
            f"length"
        )


def _items_from_columns(rows: Keyed) -> Items:
    """Read the columns besides the item as a title, and as categories or features."""
    series = {n: to_typed_series(rows.columns[n], n, untyped=rows.untyped) for n in rows.columns}
    titled = [n for n in series if normalize_name(n) in _TITLES and series[n].dtype == pl.String]
    if not titled:
        return _items_from_series(rows, series)
    title = min(titled, key=lambda n: _TITLES.index(normalize_name(n)))
    table = pl.DataFrame([rows.keys, series.pop(title).alias("title")])
    titles = table.unique("item", keep="first", maintain_order=True)
    if series:
        return replace(_items_from_series(rows, series), titles=titles)
    return Items(titles["item"], None, None, rows.source, rows.textual, titles=titles)


def _items_from_series(rows: Keyed, columns: Mapping[str, pl.Series]) -> Items:
    """Read the categories or features of the items from some columns."""
    item, source = rows.keys, rows.source
    text, numbers, vectors, other = (
        {name: column for name, column in columns.items() if _kind_of_column(column.dtype) == kind}
        for kind in ("text", "number", "vector", "other")
    )
    categories = {
        name: column for name, column in text.items() if normalize_name(name) in _CATEGORIES
    }
    if len(text) > 1 and len(categories) == 1:
        text = categories
    if len(text) > 1 or len(vectors) > 1 or (vectors and numbers):
        raise DataError(
            f"{source} has several columns that could describe the items: "
            f"{format_few([*text, *numbers, *vectors, *other], 12)}. Keep the item and one column "
            f"of categories, or one vector, or columns of numbers."
        )
    if not (text or vectors or numbers):
        raise DataError(
            f"{source} has no column with categories or features of the items: its columns are "
            f"{format_few([item.name, *columns], 12)}"
        )
    features: Any = None
    if vectors or (numbers and not text):
        refuse_repeated_items(item, source)
        if vectors:
            features = _stack_vectors(next(iter(vectors.values())), source)
        else:
            table = pl.DataFrame(list(numbers.values())).cast(pl.Float64)
            features = _check_features(table.to_numpy(), source)
    if text:
        return _items_from_text(
            rows, *next(iter(text.items())), [name for name in columns if name not in text]
        )
    notes = (f"{source}: not used: {format_few(other, 6)}",) if other else ()
    return Items(item, None, features, source, rows.textual, notes)


def _items_from_text(rows: Keyed, name: str, values: pl.Series, unused: list[str]) -> Items:
    """Read categories from a column of lists or of text; text is split at ``|``."""
    split = values.dtype == pl.String and values.str.contains("|", literal=True).any()
    notes: tuple[str, ...] = ()
    if split or unused:
        split_note = ", split at |" if split else ""
        unused_note = f"; not used: {format_few(unused, 6)}" if unused else ""
        notes = (f"{rows.source}: categories are in {name!r}{split_note}{unused_note}",)
    return _items_from_categories(rows, values.str.split("|") if split else values, notes)


def _items_from_categories(rows: Keyed, column: pl.Series, notes: tuple[str, ...] = ()) -> Items:
    table = pl.DataFrame([rows.keys, column.alias("category")])
    if column.dtype == pl.List:
        table = table.explode("category")
    table = table.with_columns(pl.col("category").cast(pl.String).str.strip_chars())
    is_category = pl.col("category").is_not_null() & ~pl.col("category").is_in(["", _NO_CATEGORY])
    pairs = table.filter(is_category).unique(maintain_order=True)
    items = rows.keys.unique(maintain_order=True)
    return Items(items, pairs, None, rows.source, rows.textual, notes)


def _kind_of_column(dtype: pl.DataType) -> str:
    if dtype in (pl.List, pl.Array):
        inner = dtype.inner  # type: ignore[attr-defined]
        return "text" if inner in (pl.String, pl.Categorical) else "vector"
    if dtype in (pl.String, pl.Categorical, pl.Enum):
        return "text"
    return "number" if dtype.is_numeric() or dtype == pl.Boolean else "other"


def _stack_vectors(vectors: pl.Series, source: str) -> np.ndarray[Any, Any]:
    """Stack the vectors of a column as the rows of a matrix."""
    values = vectors.arr.to_list() if vectors.dtype == pl.Array else vectors
    _refuse_unequal_lengths({*values.list.len()}, source)
    flat = values.explode().cast(pl.Float64).to_numpy()
    return np.ascontiguousarray(_check_features(flat.reshape(len(values), -1), source))


def _check_features(features: Any, source: str) -> Any:
    """Refuse missing or infinite features, and vectors whose squares overflow or underflow."""
    values = features.data if hasattr(features, "tocsr") else features
    if not np.isfinite(values).all():
        raise InvalidValueError(
            f"{int((~np.isfinite(values)).sum())} features of {source} are missing or infinite: "
            "fill them, or leave these items out"
        )
    if values.size:
        largest = abs(features).max(axis=1)
        largest = largest.toarray().ravel() if hasattr(largest, "toarray") else largest
        extreme = (largest > _LARGEST) | ((largest > 0) & (largest < 1 / _LARGEST))
        if extreme.any():
            raise InvalidValueError(
                f"the largest number is above {_LARGEST:g} or below {1 / _LARGEST:g} in "
                f"{counted(int(extreme.sum()), 'vector')} of {source}, for example "
                f"{largest[extreme][0]:g}; its square would be infinite or 0: scale the features"
            )
    return features
