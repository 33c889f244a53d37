"""All input forms and their readers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from os import PathLike
from typing import Any, NamedTuple

import polars as pl

from rankmeter._reading.columns import Columns, Side, number_users_of_lists
from rankmeter._reading.containers import (
    from_array,
    from_ids_and_scores,
    from_pandas_series,
    from_sparse,
    is_ids_and_scores,
)
from rankmeter._reading.files import from_path
from rankmeter._reading.frames import (
    class_names,
    class_test,
    describe_type,
    from_arrow,
    from_duckdb,
    from_duckdb_result,
    from_lazy_frame,
    from_pandas,
    from_polars,
    from_pyarrow_dataset,
    is_duckdb_connection,
    is_sparse,
)
from rankmeter._reading.shapes import MaybeTableError, from_listing, from_mapping
from rankmeter._reading.spark import from_spark, is_spark
from rankmeter._reading.table import short_message
from rankmeter.errors import DataError, MissingDependencyError, RankmeterError
from rankmeter.errors._checks import brief


class Form(NamedTuple):
    """Accepted input form."""

    name: str
    recognize: Callable[[Any], bool]
    read: Callable[[Any, Side], Columns]


def _instance_test(*kinds: type) -> Callable[[Any], bool]:
    return lambda data: isinstance(data, kinds)


def _attribute_test(name: str) -> Callable[[Any], bool]:
    return lambda data: hasattr(data, name)


def _is_listing(data: object) -> bool:
    return isinstance(data, Sequence | AbstractSet | Iterator) and not isinstance(
        data, bytes | bytearray | memoryview
    )


def _from_series(data: pl.Series, side: Side) -> Columns:
    """Read a Series: users as a column of a frame, which keeps its type, other sides as a list."""
    if side == "users":
        return from_polars(data.to_frame("user"), side, "polars Series")
    return from_listing(data.to_list(), side, "polars Series")


# ---------------------------------------------------------------------------------------------
# Objects of retrieval libraries, which are recognized without importing these


def _rows_of_ir_dataset(data: Any, side: Side) -> Any:
    name = "scoreddocs" if side == "rankings" else "qrels"
    if not getattr(data, f"has_{name}")():
        raise DataError(f"The dataset of ir_datasets has no {name}, so it has no {side}.")
    return getattr(data, f"{name}_iter")()


_FOREIGN: Mapping[tuple[str, str], Callable[[Any, Side], Any]] = {
    ("ranx", "Run"): lambda run, _: run.to_dict(),
    ("ranx", "Qrels"): lambda qrels, _: qrels.to_dict(),
    ("ir_datasets", "Dataset"): _rows_of_ir_dataset,
    ("sentence_transformers", "InformationRetrievalEvaluator"): lambda data, _: data.relevant_docs,
    ("ragas", "EvaluationDataset"): lambda dataset, _: dataset.samples,
}
"""Package and class → what an object holds for a side, in Python's own containers."""
_JUDGMENTS = frozenset({"Qrels", "InformationRetrievalEvaluator"})
"""Classes of objects without rankings."""


def _from_foreign_object(data: Any, side: Side) -> Columns:
    """Read the data of the side from an object of another library."""
    names, source = class_names(type(data).__mro__), describe_type(data)
    kind = next(kind for kind in _FOREIGN if kind in names)
    if side == "rankings" and kind[1] in _JUDGMENTS:
        raise DataError(f"{source} holds judgments and no rankings. Pass it as the ground truth.")
    values = _FOREIGN[kind](data, side)
    read = from_mapping if isinstance(values, Mapping) else from_listing
    return read(values, side, source)


_IRDS = "irds:"
"""How the name of a data set of ir_datasets begins."""


def _from_ir_datasets(data: str, side: Side) -> Columns:
    """Read the data of the side from a data set of ir_datasets, by name."""
    try:
        import ir_datasets
    except ImportError:
        raise MissingDependencyError(f"{data} needs ir_datasets: pip install ir_datasets") from None
    try:
        dataset = ir_datasets.load(data.removeprefix(_IRDS))
    except KeyError:
        raise DataError(
            f"ir_datasets has no data set {brief(data.removeprefix(_IRDS))}. Its catalogue lists "
            "the names, such as irds:beir/scifact/test."
        ) from None
    try:
        return from_listing(_rows_of_ir_dataset(dataset, side), side, describe_type(dataset))
    except RankmeterError:
        raise
    except Exception as error:  # it downloads, verifies and extracts
        raise DataError(f"ir_datasets cannot read {data}: {short_message(error)}") from error


# ---------------------------------------------------------------------------------------------

# The first form that recognizes the data reads it. Some data fit two forms: a SciPy matrix may
# be a dict, a reader of Arrow batches is an iterator, a Series is an array. So containers of
# Python come after the named packages, and arrays last.
FORMS = (
    Form(
        "irds:NAME of ir_datasets",
        lambda data: isinstance(data, str) and data.startswith(_IRDS),
        _from_ir_datasets,
    ),
    Form("a path", _instance_test(str, PathLike), from_path),
    Form("a Polars DataFrame", class_test("polars", "DataFrame"), from_polars),
    Form("a Polars LazyFrame", class_test("polars", "LazyFrame"), from_lazy_frame),
    Form("a Polars Series", class_test("polars", "Series"), _from_series),
    Form("a pandas DataFrame", class_test("pandas", "DataFrame"), from_pandas),
    Form("a pandas Series of lists", class_test("pandas", "Series"), from_pandas_series),
    Form("a SciPy sparse matrix (users × items)", is_sparse, from_sparse),
    Form(
        "an object of ranx, ir_datasets, sentence-transformers or ragas",
        lambda data: not class_names(type(data).__mro__).isdisjoint(_FOREIGN),
        _from_foreign_object,
    ),
    Form("a dict {user: [items]} or {user: {item: number}}", _instance_test(Mapping), from_mapping),
    Form("a DuckDB relation", class_test("duckdb", "DuckDBPyRelation"), from_duckdb),
    Form("a DuckDB connection after execute()", is_duckdb_connection, from_duckdb_result),
    Form("a Spark DataFrame", is_spark, from_spark),
    Form("a pyarrow dataset", class_test("pyarrow", "Dataset"), from_pyarrow_dataset),
    Form(
        "an Arrow table (anything with __arrow_c_stream__)",
        _attribute_test("__arrow_c_stream__"),
        from_arrow,
    ),
    Form("a pair (ids, scores) of arrays (users × k)", is_ids_and_scores, from_ids_and_scores),
    Form("a list of lists", _is_listing, from_listing),
    Form("an array of item ids (users × k)", _attribute_test("__array__"), from_array),
)


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
