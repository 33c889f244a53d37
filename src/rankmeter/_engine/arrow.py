"""Scores as an Arrow record batch, for engines that run in other processes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, fields
from typing import Any

import numpy as np
import polars as pl

from rankmeter import errors as known_errors
from rankmeter._align import Facts
from rankmeter._align.pairs import Refused
from rankmeter._choices import Alignment
from rankmeter._engine.scores import Scores
from rankmeter._ingest import IdSeries
from rankmeter.errors import MissingDependencyError, RankmeterError, UsageError
from rankmeter.metrics import Ratio, states

_KEY = b"rankmeter"
_FLAGS = ("in_truth", "in_rankings", "has_truth")


def to_arrow(scores: Scores) -> Any:
    """Scores as a ``pyarrow.RecordBatch``: a row per user, facts about all users in its metadata.

    Columns: ``user`` where users have names; three flags; a value per metric; relevant and ranked
    items per alignment; part and whole per pooled metric.

    Raises
    ------
    MissingDependencyError
        If pyarrow is not installed.
    """
    pa = _pyarrow()
    columns: dict[str, Any] = {} if scores.ids is None else {"user": scores.users.to_arrow()}
    columns |= {name: getattr(scores, name) for name in _FLAGS}
    columns |= {f"value {i}": column for i, column in enumerate(scores.matrix.T)}
    about = []
    for i, (alignment, facts) in enumerate(scores.facts.items()):
        columns |= {f"relevant {i}": facts.n_relevant, f"ranked {i}": facts.n_ranked}
        about.append(
            {
                "alignment": asdict(alignment),
                "counts": dict(facts.counts),
                "n_found": facts.n_found,
                "repeated_items": asdict(facts.repeated_items),
                "contradictions": asdict(facts.contradictions),
                "n_hits": facts.n_hits,
            }
        )
    for i, (label, state) in enumerate(scores.states.items()):
        if not isinstance(state, Ratio):
            raise UsageError(
                f"{label} is one number for the lists of all users, and has no columns"
            )
        columns |= {f"{name} {i}": column for name, column in state.arrays().items()}
    errors = {
        label: [type(error).__name__, str(error), getattr(error, "extent", None)]
        for label, error in scores.errors.items()
    }
    known = {
        "labels": scores.labels,
        "facts": about,
        "states": {label: type(state).__name__ for label, state in scores.states.items()},
        "errors": errors,
        "textual": scores.textual,
        "lowest": dict(scores.lowest),
    }
    batch = pa.RecordBatch.from_arrays([pa.array(c) for c in columns.values()], list(columns))
    return batch.replace_schema_metadata({_KEY: json.dumps(known).encode()})


def from_arrow(batch: Any) -> Scores:
    """The scores that `to_arrow` wrote.

    Parameters
    ----------
    batch : pyarrow.RecordBatch

    Raises
    ------
    UsageError
        If the batch holds no scores.
    """
    known = json.loads((batch.schema.metadata or {}).get(_KEY, "null"))
    if known is None:
        raise UsageError("expected a record batch of scores, got one without their metadata")

    def array(name: str) -> Any:
        return batch.column(name).to_numpy(zero_copy_only=False)

    facts = {
        Alignment(**one["alignment"]): Facts(
            array(f"relevant {i}"),
            array(f"ranked {i}"),
            one["counts"],
            one["n_found"],
            _refused(one["repeated_items"]),
            _refused(one["contradictions"]),
            one["n_hits"],
        )
        for i, one in enumerate(known["facts"])
    }
    values = [array(f"value {i}") for i in range(len(known["labels"]))]
    n = batch.num_rows
    named = "user" in batch.schema.names
    return Scores(
        IdSeries(pl.Series(batch.column("user"))) if named else None,
        tuple(known["labels"]),
        np.column_stack(values) if values else np.empty((n, 0)),
        array("in_truth"),
        array("in_rankings"),
        array("has_truth"),
        facts,
        {
            label: _state(getattr(states, kind), i, array)
            for i, (label, kind) in enumerate(known["states"].items())
        },
        {label: _error(*parts) for label, parts in known["errors"].items()},
        known["textual"],
        known.get("lowest", {}),
    )


def _state(kind: type[Ratio], i: int, array: Callable[[str], Any]) -> Ratio:
    return kind(
        **{
            field.name: array(f"{field.name} {i}")
            for field in fields(kind)
            if field.name != "names"
        }
    )


def _refused(known: dict[str, Any]) -> Refused:
    return Refused(known["n"], tuple((user, item) for user, item in known["examples"]))


def _error(name: str, message: str, extent: float | None) -> RankmeterError:
    kind: type[RankmeterError] = getattr(known_errors, name)
    return kind(message, extent=extent) if issubclass(kind, UsageError) else kind(message)


def _pyarrow() -> Any:
    try:
        import pyarrow as pa
    except ImportError:
        raise MissingDependencyError(
            "scores in Arrow form need pyarrow: pip install 'rankmeter[pandas]'"
        ) from None
    return pa
