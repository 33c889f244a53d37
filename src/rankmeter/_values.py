"""Compare values that another tool computed: read → pair → test. `compare` without rankings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import numpy as np
import polars as pl

from rankmeter._checks import number, unknown
from rankmeter._choices import Setting, checked
from rankmeter._engine import Averaged
from rankmeter._estimates.notes import clustered_by
from rankmeter._estimates.paired import PairedTests
from rankmeter._estimates.segments import numbered, users_by_segment, without
from rankmeter._estimates.settings import Common, Correction, Family, Settings, Test
from rankmeter._estimates.values import Values
from rankmeter._hits import BoolArray, IntArray
from rankmeter._ingest import PerUser, read_labels, read_per_user
from rankmeter._results.result import Result
from rankmeter._results.summary import Summary
from rankmeter._results.values import ValueComparison
from rankmeter.errors import RankmeterError, UsageError
from rankmeter.metrics import ADJUSTED, Spec
from rankmeter.metrics import metric as metric_of


def compare_values(
    values: object,
    *,
    baseline: str | None = None,
    lower_is_better: bool | str | Iterable[str] = False,
    scale: tuple[float, float] | None = None,
    test: Test = "auto",
    correction: Correction = "maxt",
    family: Family = "metric",
    common: Common = "all",
    alpha: float = 0.05,
    margin: float | str | Mapping[str, float | str] | None = None,
    segments: object = None,
    gatekeeping: bool = False,
    clusters: object = None,
    n_resamples: int = 9_999,
    confidence: float = 0.95,
    interval: Literal["wilson", "t", "bca", "percentile"] = "wilson",
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
        ``rankmeter evaluate`` wrote, the result of an evaluation, whose users are compared in each
        of its metrics; or a list of these, one for each training run. Values may be negative. A
        user without a value (null, NaN) is left out and counted.
    baseline : str, optional
        The system that all others are compared with; without a baseline, all pairs are compared.
    lower_is_better : bool, str or iterable of str
        Whether lower is better, for all metrics or for those named. Metrics of rankmeter know it.
    scale : tuple of float, optional
        The lowest and the highest possible value. Metrics of rankmeter know it.
    test, correction, family, common, alpha, margin, segments, gatekeeping, clusters, n_resamples
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
        If an option has no such value, there are fewer than two systems or more than 100, or
        several training runs are combined with clusters or another test than t.
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
    options = {"confidence": confidence, "interval": interval, "resamples": resamples, "seed": seed}
    setting = Setting(**{name: checked(name, value) for name, value in options.items()})
    settings = Settings(
        baseline=baseline,
        test=test,
        correction=correction,
        family=family,
        common=common,
        alpha=alpha,
        n_resamples=n_resamples,
        margin=margin,
        gatekeeping=gatekeeping,
    )
    evaluated: list[Summary] = []
    read = read_per_user(_without_results(values, evaluated), columns=columns)
    names = read.frame["system"].unique(maintain_order=True).to_list()
    users = read.frame["user"].unique().sort()
    specs = {entry.label: entry.spec for one in evaluated for entry in one.plan.metrics}
    metrics = _metrics(read.frame, specs, lower_is_better, scale)
    table = [_values(read.frame, users, names, label, *facts) for label, facts in metrics.items()]
    unused: dict[str, int] = {}
    tested = {one.label: one.tested(common) for one in table}
    averaged = np.any([*tested.values()], axis=0)
    drawn = _clusters(clusters, read, users, averaged, unused)
    settings.check_margins(metrics)
    settings.check(names, runs=any(one.runs for one in table), clusters=drawn is not None)
    tests = PairedTests(setting, settings, names, table, drawn)
    parts = {}
    if segments is not None:
        labels, more = read_labels(segments, "segment", users, textual=True)
        unused |= without(labels, averaged, more)
        parts = users_by_segment(labels)
    differences, heterogeneity = tests.differences(parts)
    return ValueComparison(
        tuple(names),
        baseline or "",
        setting,
        {label: up for label, (up, _) in metrics.items()},
        tests.estimates(),
        differences,
        heterogeneity,
        {one.label: one.dropped for one in table},
        {
            **tests.facts(),
            **options,
            **read.counts,
            **unused,
            **({} if drawn is None else clustered_by(drawn, tested)),
        },
        read.frame.select("system", "user", "metric", "seed", "value"),
        evaluated[0].kind if evaluated else read.kind,
    )


def _without_results(values: Any, evaluated: list[Summary]) -> Any:
    """The values with a frame for each result of an evaluation, which `evaluated` collects."""
    if isinstance(values, Result):
        raise UsageError(
            f"a {type(values).__name__} is not a mapping from system to values: name the results "
            "of evaluations, {'A': result, 'B': result}, or pass the per_user of a comparison"
        )
    if isinstance(values, Mapping):
        return {name: _frames_of(str(name), one, evaluated) for name, one in values.items()}
    return values


def _frames_of(name: str, data: Any, evaluated: list[Summary]) -> Any:
    """The values of one system, or of each of its runs."""
    if isinstance(data, list | tuple) and any(isinstance(run, Result) for run in data):
        return [_frames_of(name, run, evaluated) for run in data]
    if not isinstance(data, Summary):
        if isinstance(data, Result):
            raise UsageError(
                f"the values of {name} are a {type(data).__name__}, which is not the result of one "
                "evaluation: pass that of rm.evaluate, rm.evaluate_scores or rm.evaluate_ranks"
            )
        return data
    for entry in data.plan.metrics:
        if entry.averaging.aggregate != "mean" or entry.spec.weighted:
            raise UsageError(
                f"{entry.label} of {name} is not a mean of the values of users: pass the rankings "
                "to rm.compare, or evaluate without this metric"
            )
    evaluated.append(data)
    if data.clusters is None:
        return data.values_by_user
    clusters = pl.DataFrame({"user": data.scores.users, "cluster": data.clusters})
    return data.values_by_user.join(clusters, on="user", maintain_order="left")


def _metrics(
    frame: pl.DataFrame,
    specs: Mapping[str, Spec],
    lower: object,
    scale: tuple[float, float] | None,
) -> dict[str, tuple[bool, tuple[float, float]]]:
    """By label, whether larger is better, and the scale."""
    labels = frame["metric"].unique(maintain_order=True).to_list()
    named = {lower} if isinstance(lower, str) else set() if isinstance(lower, bool) else None
    if named is None:
        named = set(lower)  # type: ignore[call-overload]
    for name in named - set(labels):
        raise unknown("metric in lower_is_better", name, labels)
    if scale is not None:
        low, high = (number("scale", end) for end in scale)
        if low >= high:
            raise UsageError(f"`scale` must be (lowest, highest), got {scale}")
        scale = low, high
    found = {}
    for label in labels:
        up, own = True, (-np.inf, np.inf)
        if spec := specs.get(label) or _spec(label):
            up, own = spec.increasing, (spec.low, spec.high)
        if lower is True or label in named:
            up = False
        found[label] = up, scale or own
    return found


def _spec(label: str) -> Spec | None:
    """What a metric of rankmeter is; None for one of another tool or adjusted for chance."""
    try:
        known = metric_of(label)
    except RankmeterError:
        return None
    return None if ADJUSTED in dict(known.choices) else known.spec


def _values(
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
        own = frame.filter(system=name, metric=label).select("user", "seed", "value")
        own = own.join(rows, on="user")
        seeds = own["seed"].unique(maintain_order=True).to_list()
        table = np.full((len(users), max(len(seeds), 1)), np.nan)
        columns = own["seed"].replace_strict(seeds, range(len(seeds)), return_dtype=pl.Int64)
        table[own["row"].to_numpy(), columns.to_numpy()] = own["value"].to_numpy()
        known = np.flatnonzero(~np.isnan(table).any(axis=1))
        with np.errstate(over="ignore"):  # too large values are refused where they are compared
            averaged.append(Averaged(table[known].mean(axis=1), known, 0, 0))
        runs.append([Averaged(column, known, 0, 0) for column in table[known].T])
    several = any(len(own) > 1 for own in runs)
    return Values(label, increasing, scale, averaged, len(users), runs=runs if several else [])


def _clusters(
    clusters: object,
    read: PerUser,
    users: pl.Series,
    averaged: BoolArray,
    counts: dict[str, int],
) -> IntArray | None:
    """The cluster of each user, given apart or in the data."""
    given = read.clusters if clusters is None else clusters
    if given is None:
        return None
    labels, found = read_labels(given, "cluster", users, textual=True)
    counts.update(without(labels, averaged, found))
    return numbered(labels)
