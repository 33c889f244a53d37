"""All input forms and their readers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from os import PathLike
from typing import Any, NamedTuple

from rankmeter._annexes import annex
from rankmeter._reading.columns import Columns, MaybeTableError, Side, number_users_of_lists
from rankmeter._reading.frames import (
    class_names,
    class_test,
    is_duckdb_connection,
    is_ids_and_scores,
    is_spark,
    is_sparse,
)
from rankmeter.errors import DataError
from rankmeter.errors._checks import brief


class Form(NamedTuple):
    """Accepted input form, and the function that reads it.

    The function can be named with its module, which is then imported with the first data.
    """

    name: str
    recognize: Callable[[Any], bool]
    reader: str | Callable[[Any, Side], Columns]
    can_be_large: bool = False  # larger than memory, as it is read from disk

    def read(self, data: object, side: Side) -> Columns:
        """Read data of this form."""
        if not isinstance(self.reader, str):
            return self.reader(data, side)
        module, _, function = self.reader.rpartition(".")
        read: Callable[[object, Side], Columns] = getattr(annex(module), function)
        return read(data, side)


def _instance_test(*kinds: type) -> Callable[[Any], bool]:
    return lambda data: isinstance(data, kinds)


def _attribute_test(name: str) -> Callable[[Any], bool]:
    return lambda data: hasattr(data, name)


def _is_listing(data: object) -> bool:
    return isinstance(data, Sequence | AbstractSet | Iterator) and not isinstance(
        data, bytes | bytearray | memoryview
    )


_IRDS = "irds:"
"""How the name of a data set of ir_datasets begins."""
_LIBRARIES = frozenset(
    {
        ("ranx", "Run"),
        ("ranx", "Qrels"),
        ("ir_datasets", "Dataset"),
        ("sentence_transformers", "InformationRetrievalEvaluator"),
        ("ragas", "EvaluationDataset"),
    }
)
"""Package and class of the objects that `libraries` reads."""

# The first form that recognizes the data reads it. Some data fit two forms: a SciPy matrix may
# be a dict, a reader of Arrow batches is an iterator, a Series is an array. So containers of
# Python come after the named packages, and arrays last.
FORMS = (
    Form(
        "irds:NAME of ir_datasets",
        lambda data: isinstance(data, str) and data.startswith(_IRDS),
        "_reading.libraries.from_ir_datasets",
    ),
    Form("a path", _instance_test(str, PathLike), "_formats.files.from_path", can_be_large=True),
    Form("a Polars DataFrame", class_test("polars", "DataFrame"), "_reading.frames.from_polars"),
    Form(
        "a Polars LazyFrame",
        class_test("polars", "LazyFrame"),
        "_reading.frames.from_lazy_frame",
        can_be_large=True,
    ),
    Form("a Polars Series", class_test("polars", "Series"), "_reading.containers.from_series"),
    Form(
        "a pandas DataFrame", class_test("pandas", "DataFrame"), "_reading.other_frames.from_pandas"
    ),
    Form(
        "a pandas Series of lists",
        class_test("pandas", "Series"),
        "_reading.containers.from_pandas_series",
    ),
    Form("a SciPy sparse matrix (users × items)", is_sparse, "_reading.containers.from_sparse"),
    Form(
        "an object of ranx, ir_datasets, sentence-transformers or ragas",
        lambda data: not class_names(type(data).__mro__).isdisjoint(_LIBRARIES),
        "_reading.libraries.from_object",
    ),
    Form(
        "a dict {user: [items]} or {user: {item: number}}",
        _instance_test(Mapping),
        "_reading.shapes.from_mapping",
    ),
    Form(
        "a DuckDB relation",
        class_test("duckdb", "DuckDBPyRelation"),
        "_reading.other_frames.from_duckdb",
    ),
    Form(
        "a DuckDB connection after execute()",
        is_duckdb_connection,
        "_reading.other_frames.from_duckdb_result",
    ),
    Form("a Spark DataFrame", is_spark, "_reading.spark.from_spark"),
    Form(
        "a pyarrow dataset",
        class_test("pyarrow", "Dataset"),
        "_reading.other_frames.from_pyarrow_dataset",
        can_be_large=True,
    ),
    Form(
        "an Arrow table (anything with __arrow_c_stream__)",
        _attribute_test("__arrow_c_stream__"),
        "_reading.other_frames.from_arrow",
    ),
    Form(
        "a pair (ids, scores) of arrays (users × k)",
        is_ids_and_scores,
        "_reading.containers.from_ids_and_scores",
    ),
    Form("a list of lists", _is_listing, "_reading.shapes.from_listing"),
    Form(
        "an array of item ids (users × k)",
        _attribute_test("__array__"),
        "_reading.containers.from_array",
    ),
)


def can_be_large(data: object) -> bool:
    """Whether rankings of this form can be larger than memory."""
    return next((form.can_be_large for form in FORMS if form.recognize(data)), False)


def has_accepted_form(data: object) -> bool:
    """Whether the data have an accepted form."""
    return any(form.recognize(data) for form in FORMS)


def _read_form(form: Form, data: object, side: Side, named: AbstractSet[str]) -> Columns:
    """Read data as a table if it may be one that has one of the `named` columns."""
    try:
        read = form.read(data, side)
    except MaybeTableError as error:
        if named and (table := error.as_table(named)):
            return table
        raise DataError(*error.args) from None
    if named and read.as_table and (table := read.as_table(named)):
        return replace(table, source=read.source, textual=read.textual)
    return read


def read_columns(data: object, side: Side, columns: Mapping[str, str] | None = None) -> Columns:
    """Read data with the first form that recognizes them, up to unchecked columns.

    Data that could be a table are one if `columns` (role → name) names one of its fields.
    """
    for form in FORMS:
        if form.recognize(data):
            # Anything but a mapping to names is refused where the roles are found.
            given = dict(columns.items()) if isinstance(columns, Mapping) else {}
            named = {name for name in given.values() if isinstance(name, str)}
            read = _read_form(form, data, side, named)
            if "user" in given:
                return read
            return number_users_of_lists(read, side, str(given.get("item")))
    subject = "None" if data is None else f"{brief(data)} ({type(data).__name__})"
    accepted = "; ".join(form.name for form in FORMS)
    raise DataError(f"{subject} cannot be read as {side}. Accepted: {accepted}.")
