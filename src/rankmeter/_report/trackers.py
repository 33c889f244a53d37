"""Results for experiment trackers: flat names that each accepts, and how each receives them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import Any

from rankmeter.errors import UsageError

BATCH = 1000
"""The most metrics that MLflow takes in one request."""


def safe_name(label: str) -> str:
    """A name of letters, digits and underscores, as every tracker accepts: ``ndcg_at_10``."""
    return re.sub(r"\W+", "_", label.replace("@", "_at_")).strip("_").replace("__", "_") or "_"


def flatten(groups: Iterable[tuple[tuple[str, ...], Mapping[str, float]]]) -> dict[str, float]:
    """Numbers by safe name: ``mean`` under the name alone, the others with their kind at the end.

    A group is the parts of a name, and numbers by kind. NaN is left out: a tracker would draw it as
    a number. It is an error if different names become the same.
    """
    values: dict[str, float] = {}
    origins: dict[str, tuple[str, ...]] = {}
    for names, numbers in groups:
        stem = "_".join(safe_name(part) for part in names if part)
        stem = f"_{stem}" if stem[0].isdigit() else stem
        for kind, number in numbers.items():
            name = stem if kind == "mean" else f"{stem}_{kind}"
            if origins.setdefault(name, names) != names:
                raise UsageError(
                    f"{' '.join(origins[name])!r} and {' '.join(names)!r} would both be logged as "
                    f"{name!r}: give one of them another name"
                )
            if math.isfinite(number):
                values[name] = float(number)
    return values


def send(values: Mapping[str, float], to: Any, *, step: int | None, run_id: str | None) -> None:
    """Pass numbers to a tracker of any kind that `Summary.log` supports; none is imported here."""
    at = {} if step is None else {"step": step}
    client = hasattr(to, "log_metric") and not hasattr(to, "log_metrics")
    if client != (run_id is not None):
        raise UsageError(
            "run_id= is the run that an MlflowClient writes to: "
            + ("client.create_run(experiment_id).info.run_id" if client else "pass it with one")
        )
    if client:
        for name, value in values.items():
            to.log_metric(run_id, name, value, **at)
    elif hasattr(to, "log_metrics"):
        names = list(values)
        for start in range(0, len(names), BATCH):
            to.log_metrics({name: values[name] for name in names[start : start + BATCH]}, **at)
    elif _is_wandb(to):
        to.log(dict(values), **at)
    elif hasattr(to, "add_scalar"):
        for name, value in values.items():
            to.add_scalar(name, value, step)
    elif callable(to):
        for name, value in values.items():
            to(name, value, **at)
    else:
        raise UsageError(
            "`to` must be mlflow, an MlflowClient, a wandb run, an object with add_scalar or a "
            f"callable(name, value), got {type(to).__name__}"
        )


def _is_wandb(to: Any) -> bool:
    home = to.__name__ if isinstance(to, ModuleType) else type(to).__module__
    return home.partition(".")[0] == "wandb"
