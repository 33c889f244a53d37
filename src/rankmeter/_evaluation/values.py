"""Compare values that another tool computed: read → pair → test. `compare` without rankings."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import replace
from os import PathLike
from typing import Any, Literal

import numpy as np
import polars as pl

from rankmeter._choices import Setting, check_choice, takes_aliases
from rankmeter._engine.scores import Averaged
from rankmeter._evaluation.by_user import Systems, compare_by_user
from rankmeter._evaluation.question import (
    equalize_metric_names,
    read_stored_results,
    refuse_different_options,
    results_by_name,
)
from rankmeter._reading.columns import names_for_role
from rankmeter._reading.forms import read_columns
from rankmeter._reading.per_user import read_per_user
from rankmeter._results.comparison import ValueComparison
from rankmeter._results.estimates import UNBOUNDED
from rankmeter._results.result import Result
from rankmeter._results.segments import Population
from rankmeter._results.settings import Correction, Family, Settings, Test, Values
from rankmeter._results.summary import Summary
from rankmeter.errors import RankmeterError, UsageError
from rankmeter.errors._checks import check_number, list_values, option_error, unknown_word_error
from rankmeter.metrics import ADJUSTED
from rankmeter.metrics import metric as metric_of

OPTIONS = ("confidence", "interval", "resamples", "seed")
"""The options of `evaluate` that act on values."""


@takes_aliases
def compare_values(
    values: object,
    *,
    baseline: str | None = None,
    lower_is_better: bool | str | Iterable[str] = False,
    scale: tuple[float, float] | None = None,
    test: Test = "auto",
    correction: Correction = "maxt",
    family: Family = "metric",
    margin: float | str | Mapping[str, float | str] | None = None,
    segments: object = None,
    clusters: object = None,
    n_permutations: int = 9_999,
    confidence: float = 0.95,
    interval: Literal["wilson", "bca"] = "wilson",
    resamples: int = 2_000,
    seed: int = 0,
    columns: Mapping[str, str] | None = None,
) -> ValueComparison:
    """Compare per-user values of any origin: another tool, another kind of metric.

    Parameters
    ----------
    values : object
        A frame or file with the columns system, user and value, optionally metric, cluster and
        seed; or, in place of metric and value, a column for each metric, as ``per_user`` of a
        comparison has. Or a mapping from system to its values: a mapping from user to value, an
        array in the same order of users for all systems, a frame or file that ``--per-user`` of
        ``rankmeter evaluate`` wrote, the result of an evaluation or its file, whose users are
        compared in each of its metrics; or a list of these, one for each training run. Values may
        be negative. A user without a value (null, NaN) is left out and counted.
    baseline : str, optional
        The system that all others are compared with; without a baseline, all pairs are compared.
    lower_is_better : bool, str or iterable of str
        Whether lower is better, for all metrics or for those named. Metrics of rankmeter know it.
    scale : tuple of float, optional
        The lowest and the highest possible value. Metrics of rankmeter know it.
    test, correction, family, margin, segments, clusters
        As in `compare`.
    n_permutations
        As in `compare`.
    confidence, interval, resamples, seed
        As in `evaluate`.
    columns : mapping, optional
        Which column has which role: system, user, value, metric, cluster, seed.

    Returns
    -------
    ValueComparison
        ``found.differences``, ``found.sentences()``, ``found.table()``, ``found.to_dict()``.

    Raises
    ------
    UsageError
        If an option has no such value, a system has no value of a metric that another has, there
        are fewer than two systems or more than 100, or several training runs are combined with
        clusters or another test than t.
    DataError
        If a value is not a number or is above 1e100, or a user has two values of one system and
        metric.

    Notes
    -----
    The tests and their sources are those of `compare`.

    Examples
    --------
    The differences are 1, 1, 1, 1, 1 and 2. All six have the same sign, which happens in 2 of the
    64 choices of signs.

    >>> import rankmeter as rm
    >>> old, new = [3, 1, 4, 1, 5, 9], [4, 2, 5, 2, 6, 11]
    >>> (found,) = rm.compare_values({"old": old, "new": new}, baseline="old").differences
    >>> round(found.difference, 4), found.p
    (1.1667, 0.03125)
    """
    options = dict(zip(OPTIONS, (confidence, interval, resamples, seed), strict=True))
    setting = Setting(**{name: check_choice(name, value) for name, value in options.items()})
    settings = Settings(
        baseline=baseline, test=test, correction=correction, family=family,
        n_resamples=n_permutations, margin=margin, segments=segments, clusters=clusters,
    )  # fmt: skip
    return compare_stored_values(values, setting, settings, lower_is_better, scale, columns)


def compare_stored_values(
    values: Any,
    setting: Setting,
    settings: Settings,
    lower: object = False,
    scale: tuple[float, float] | None = None,
    columns: Mapping[str, str] | None = None,
    *,
    is_complete: bool = False,
) -> ValueComparison:
    """Read and compare per-user values, with checked options.

    If `is_complete`, the values answer one question, whose options the result does not repeat.
    """
    values, results = values_of_results(values)
    read = read_per_user(values, columns=columns)
    read = read._replace(frame=_with_equal_spellings(read.frame))
    names = read.frame["system"].unique(maintain_order=True).to_list()
    users = read.frame["user"].unique().sort()
    known = {
        e.label: (e.spec.increasing, e.range)
        for result in results.values()
        for e in result.plan.metrics
    }
    metrics = _directions_and_scales(read.frame, known, lower, scale)
    _refuse_missing_metrics(read.frame, names, metrics)
    by_metric = [
        _metric_values(read.frame, users, names, label, *facts) for label, facts in metrics.items()
    ]
    settings.check_margins(metrics)
    n_runs = {name: len(runs) for name, runs in zip(names, by_metric[0].runs, strict=False)}
    if settings.clusters is None:
        settings = replace(settings, clusters=read.clusters)
    settings.check_systems(names, runs=bool(n_runs))
    facts = {} if is_complete else {name: getattr(setting, name) for name in OPTIONS}
    return compare_by_user(
        ValueComparison, setting, settings,
        Systems(names, by_metric, Population(users, textual=True)),
        facts={"runs": n_runs or None, **facts, **read.counts},
        values=read.frame.select("system", "user", "metric", "seed", "value"),
        kind=next(iter(results.values())).kind if results else read.kind,
    )  # fmt: skip


def values_of_results(values: Any) -> tuple[Any, dict[str, Summary]]:
    """Replace the results among systems by the values of their users; return both.

    Raises
    ------
    UsageError
        If `values` is one result, or the results have other options for a metric.
    """
    if isinstance(values, Result):
        raise UsageError(
            f"a {type(values).__name__} is not a mapping from system to values: name the results "
            "of evaluations, {'A': result, 'B': result}, or pass the per_user of a comparison"
        )
    if not isinstance(values, Mapping):
        return values, {}
    values = equalize_metric_names(read_stored_results(values))
    results = results_by_name(values)
    refuse_different_options(results)
    frames = {id(result): _values_by_user(name, result) for name, result in results.items()}
    systems = {
        name: [frames.get(id(run), run) for run in data] if isinstance(data, list | tuple)
        else frames.get(id(data), data)
        for name, data in values.items()
    }  # fmt: skip
    return systems, results


def is_per_user_table(data: object) -> bool:
    """Whether a frame or file has values of users, as ``per_user`` of a result, and no items."""
    if not (hasattr(type(data), "columns") or isinstance(data, str | PathLike)):
        return False
    try:
        names = read_columns(data, "users").names
    except RankmeterError:
        return False
    return bool(names_for_role("user", names)) and not names_for_role("item", names)


def _with_equal_spellings(frame: pl.DataFrame) -> pl.DataFrame:
    """Give a metric its first spelling in all systems, such as `mrr` where another has `MRR`."""
    spellings: dict[object, list[str]] = {}
    for label in frame["metric"].unique(maintain_order=True):
        try:
            spellings.setdefault(metric_of(label), []).append(label)
        except RankmeterError:  # a metric of another tool
            continue
    renamed = {label: labels[0] for labels in spellings.values() for label in labels}
    rows = frame.select("system", "metric").unique()
    rows = rows.with_columns(to=pl.col("metric").replace(renamed))
    distinct = rows.filter(rows.select("system", "to").is_duplicated())["to"]
    renamed = {label: to for label, to in renamed.items() if to not in distinct}
    return frame.with_columns(pl.col("metric").replace(renamed))


def _refuse_missing_metrics(
    frame: pl.DataFrame, names: Iterable[str], metrics: Iterable[str]
) -> None:
    """Refuse a metric that only some systems have."""
    rows = frame.select("system", "metric").unique().rows()
    for name, label in itertools.product(names, metrics):
        if (name, label) not in rows:
            other = next(system for system, metric in rows if metric == label)
            raise UsageError(
                f"{other} and {name} do not answer the same question: {other} has {label}, and "
                f"{name} has not"
            )


def _values_by_user(name: str, result: Summary) -> pl.DataFrame:
    """The values of the users of a result, with clusters if the result has clusters."""
    for entry in result.plan.metrics:
        if entry.averaging.aggregate != "mean" or entry.spec.weighted:
            raise UsageError(
                f"{entry.label} of {name} is not a mean of the values of users: pass the rankings "
                "to rm.compare, or evaluate without this metric"
            )
    if result.clusters is None:
        return result.values_by_user
    clusters = pl.DataFrame({"user": result.scores.users, "cluster": result.clusters})
    return result.values_by_user.join(clusters, on="user", maintain_order="left")


def _directions_and_scales(
    frame: pl.DataFrame,
    known: Mapping[str, tuple[bool, tuple[float, float]]],
    lower: object,
    scale: tuple[float, float] | None,
) -> dict[str, tuple[bool, tuple[float, float]]]:
    """Map each label to whether larger values are better, and to the scale."""
    labels = frame["metric"].unique(maintain_order=True).to_list()
    names = (
        [] if isinstance(lower, bool) else list_values("lower_is_better", "names of metrics", lower)
    )
    for name in names:
        if not isinstance(name, str) or name not in labels:
            raise unknown_word_error("metric in lower_is_better", name, labels)
    if scale is not None:
        of_scale = [
            check_number("scale", end) for end in list_values("scale", "(lowest, highest)", scale)
        ]
        if len(of_scale) != 2 or of_scale[0] >= of_scale[1]:
            raise option_error("scale", "(lowest, highest)", scale)
        scale = of_scale[0], of_scale[1]
    properties = {}
    for label in labels:
        up, ends = known.get(label) or _direction_and_range(label)
        if lower is True or label in names:
            up = False
        properties[label] = up, scale or ends
    return properties


def _direction_and_range(label: str) -> tuple[bool, tuple[float, float]]:
    """Of a metric of rankmeter, whether larger is better and its range; else up and any number."""
    try:
        metric = metric_of(label)
    except RankmeterError:
        return True, UNBOUNDED
    choices = dict(metric.choices)
    if ADJUSTED in choices:
        return True, UNBOUNDED
    ends = metric.spec.range({**dict(metric.options), "k": metric.k}, choices)
    return metric.spec.increasing, ends


def _metric_values(
    frame: pl.DataFrame,
    users: pl.Series,
    names: list[str],
    label: str,
    increasing: bool,
    scale: tuple[float, float],
) -> Values:
    """The values of one metric: users × runs of each system, and their mean over runs."""
    averaged, runs = [], []
    rows = users.to_frame("user").with_row_index("row")
    for name in names:
        of_system = frame.filter(system=name, metric=label).select("user", "seed", "value")
        of_system = of_system.join(rows, on="user")
        seeds = of_system["seed"].unique(maintain_order=True).to_list()
        table = np.full((len(users), max(len(seeds), 1)), np.nan)
        columns = of_system["seed"].replace_strict(seeds, range(len(seeds)), return_dtype=pl.Int64)
        table[of_system["row"].to_numpy(), columns.to_numpy()] = of_system["value"].to_numpy()
        complete = np.flatnonzero(~np.isnan(table).any(axis=1))
        with np.errstate(over="ignore"):  # too large values are refused where they are compared
            averaged.append(Averaged(table[complete].mean(axis=1), complete, 0, 0))
        runs.append([Averaged(column, complete, 0, 0) for column in table[complete].T])
    several = any(len(of_system) > 1 for of_system in runs)
    return Values(label, increasing, scale, averaged, len(users), runs=runs if several else [])
