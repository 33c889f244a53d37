"""Read objects of retrieval libraries, without importing these."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rankmeter._reading.columns import Columns, Side
from rankmeter._reading.frames import class_names, describe_type
from rankmeter._reading.shapes import from_listing, from_mapping
from rankmeter._reading.table import short_message
from rankmeter.errors import DataError, MissingDependencyError, RankmeterError
from rankmeter.errors._checks import brief


def _rows_of_ir_dataset(data: Any, side: Side) -> Any:
    name = "scoreddocs" if side == "rankings" else "qrels"
    if not getattr(data, f"has_{name}")():
        raise DataError(f"The dataset of ir_datasets has no {name}, so it has no {side}.")
    return getattr(data, f"{name}_iter")()


_ROWS: Mapping[tuple[str, str], Callable[[Any, Side], Any]] = {
    ("ranx", "Run"): lambda run, _: run.to_dict(),
    ("ranx", "Qrels"): lambda qrels, _: qrels.to_dict(),
    ("ir_datasets", "Dataset"): _rows_of_ir_dataset,
    ("sentence_transformers", "InformationRetrievalEvaluator"): lambda data, _: data.relevant_docs,
    ("ragas", "EvaluationDataset"): lambda dataset, _: dataset.samples,
}
"""Package and class → what an object holds for a side, in Python's own containers."""


_JUDGMENTS = frozenset({"Qrels", "InformationRetrievalEvaluator"})
"""Classes of objects without rankings."""


def from_object(data: Any, side: Side) -> Columns:
    """Read the data of the side from an object of another library."""
    names, source = class_names(type(data).__mro__), describe_type(data)
    kind = next(kind for kind in _ROWS if kind in names)
    if side == "rankings" and kind[1] in _JUDGMENTS:
        raise DataError(f"{source} holds judgments and no rankings. Pass it as the ground truth.")
    values = _ROWS[kind](data, side)
    read = from_mapping if isinstance(values, Mapping) else from_listing
    return read(values, side, source)


def from_ir_datasets(data: str, side: Side) -> Columns:
    """Read the data of the side from a data set of ir_datasets, by name."""
    name = data.partition(":")[2]
    try:
        import ir_datasets
    except ImportError:
        raise MissingDependencyError(f"{data} needs ir_datasets: pip install ir_datasets") from None
    try:
        dataset = ir_datasets.load(name)
    except KeyError:
        raise DataError(
            f"ir_datasets has no data set {brief(name)}. Its catalogue lists "
            "the names, such as irds:beir/scifact/test."
        ) from None
    try:
        return from_listing(_rows_of_ir_dataset(dataset, side), side, describe_type(dataset))
    except RankmeterError:
        raise
    except Exception as error:  # it downloads, verifies and extracts
        raise DataError(f"ir_datasets cannot read {data}: {short_message(error)}") from error
