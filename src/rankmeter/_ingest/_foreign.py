"""Objects of retrieval libraries, which are recognised without importing these."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rankmeter._ingest._columns import Columns, Side
from rankmeter._ingest._containers import from_listing, from_mapping
from rankmeter._ingest._frames import made_by, origin
from rankmeter.errors import DataError


def is_foreign(data: object) -> bool:
    """Whether this is an object of a retrieval library."""
    return any(made_by(*kind)(data) for kind in _READERS)


def from_foreign(data: Any, side: Side) -> Columns:
    """What the object holds for the side."""
    return next(read for kind, read in _READERS.items() if made_by(*kind)(data))(data, side)


def _run(data: Any, side: Side) -> Columns:
    return from_mapping(data.to_dict(), side, origin(data))


def _qrels(data: Any, side: Side) -> Columns:
    _refuse_rankings(data, side)
    return _run(data, side)


def _dataset(data: Any, side: Side) -> Columns:
    name = "scoreddocs" if side == "rankings" else "qrels"
    if not getattr(data, f"has_{name}")():
        raise DataError(f"The dataset of ir_datasets has no {name}, so it has no {side}.")
    return from_listing(getattr(data, f"{name}_iter")(), side, origin(data))


def _evaluator(data: Any, side: Side) -> Columns:
    _refuse_rankings(data, side)
    return from_mapping(data.relevant_docs, side, origin(data))


def _samples(data: Any, side: Side) -> Columns:
    return from_listing(data.samples, side, origin(data))


def _refuse_rankings(data: object, side: Side) -> None:
    if side == "rankings":
        raise DataError(
            f"{origin(data)} holds judgments and no rankings. Pass it as the ground truth."
        )


_READERS: Mapping[tuple[str, str], Callable[[Any, Side], Columns]] = {
    ("ranx", "Run"): _run,
    ("ranx", "Qrels"): _qrels,
    ("ir_datasets", "Dataset"): _dataset,
    ("sentence_transformers", "InformationRetrievalEvaluator"): _evaluator,
    ("ragas", "EvaluationDataset"): _samples,
}
