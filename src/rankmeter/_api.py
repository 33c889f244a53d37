"""The whole flow on one page: plan → read → open an engine → run → summarise. Read this first."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, Unpack

from rankmeter._caution import warn
from rankmeter._checks import refused, shown
from rankmeter._choices import Choices, takes_choices
from rankmeter._compare import compare_tables
from rankmeter._engine import Data, EngineName, Reading, Source, open_data, reading
from rankmeter._estimates.curves import Curve, curves_of
from rankmeter._estimates.notes import counts_of
from rankmeter._estimates.segments import clusters_of
from rankmeter._estimates.settings import Common, Correction, Family, Settings, Test
from rankmeter._ingest import (
    Table,
    all_relevant,
    is_records,
    look_like_labels,
    look_misread,
    meet_all,
    no_judgments,
    read_collapse,
    read_truth,
)
from rankmeter._plan import Plan, resolve
from rankmeter._results.comparison import Comparison
from rankmeter._results.summary import Summary, summarise
from rankmeter._side import Given, Side, read_side
from rankmeter._words import USERS, Words, speaking
from rankmeter.errors import DataError, RankmeterWarning, UsageError
from rankmeter.metrics import Metric

__all__ = ["DEFAULT_METRICS", "compare", "curve", "evaluate", "read_all"]

DEFAULT_METRICS = ("ndcg@10", "map@10", "mrr@10", "precision@10", "recall@10", "hr@10")
"""The default metrics."""
ONE = "rankings"
"""The name of the only system."""


@takes_choices
def evaluate(
    rankings: object,
    truth: object = None,
    metrics: str | Metric | Iterable[str | Metric] = DEFAULT_METRICS,
    *,
    like: str | None = None,
    columns: Mapping[str, Any] | None = None,
    clusters: object = None,
    train: object = None,
    items: object = None,
    catalogue: object = None,
    baseline_lists: object = None,
    propensity: object = None,
    collapse: object = None,
    engine: EngineName = "auto",
    memory: str | int | None = None,
    **choices: Unpack[Choices],
) -> Summary:
    """Measure rankings against the ground truth.

    Parameters
    ----------
    rankings : object
        Ranked items per user, in any form: a Polars, pandas, Arrow or DuckDB frame with columns
        user, item and score (or rank, or neither: then row order is the ranking); a dict from user
        to ranked list or to {item: score}; a list of lists; a (users × k) array; a SciPy sparse
        matrix of scores; the path of a Parquet, CSV, TSV, JSONL or TREC run file.
    truth : object
        Judged items per user, in any form: a frame with columns user, item and optionally gain; a
        dict from user to set, list or {item: gain}; a list of these; a path. May be left out if
        `rankings` are records of the form ``{"predict_list": …, "ground_truth": …}``, or if all
        metrics measure what was shown, whatever is relevant.
    metrics : str, Metric or iterable of them
        ``"ndcg@10"``, ``"map@5,10"``, ``rm.NDCG(gain="exp2") @ 10``. A choice inside the
        parentheses holds for this metric alone: ``"ndcg(ties=expected)@10"``,
        ``"rr(relevant=2)@10"``.
    like : str, optional
        The tool whose conventions to follow; see `rankmeter conventions`.
    columns : mapping, optional
        Which column has which role, if the names do not say so:
        ``{"user": "member", "item": "sku"}``, or one such mapping for each side,
        ``{"rankings": {…}, "truth": {…}}``. Roles: user, item, score, rank, gain.
    clusters : object, optional
        Users that resemble each other (sessions of one person, both sides of one triple): a
        mapping from user to cluster, pairs, a pandas Series, or a frame or file with the columns
        user and cluster.
        Intervals and tests then count clusters as independent, not users. Do not
        use it for runs with several training seeds, which all have the same users.
    train : object, optional
        The interactions that the systems learned from, for metrics of novelty and popularity: any
        form with columns user and item, such as a frame, a path, or a dict from user to items.
    items : object, optional
        What is known of the items, for metrics of diversity: a mapping from item to its categories
        or vector, a frame or file with the item and its categories or features, or a pair
        (ids, matrix). A column ``title`` or ``name`` is shown where items are.
    catalogue : object, optional
        The items that could be shown, or their number, for metrics such as coverage.
    baseline_lists : object, optional
        Rankings of the same users by a system with which to compare what is shown, such as the
        most popular items, for metrics of the unexpected.
    propensity : object, optional
        How likely each item was seen, so that it could be judged, above 0 and at most 1, for
        metrics that count rare items more: a mapping from item to number, a pair (ids, numbers),
        or a frame or file with the item and a column of numbers.
    collapse : object, optional
        What ranked items are parts of, such as chunks of documents: a rule (``before:#`` is the
        text before the first ``#``, ``regex:PATTERN`` its group), or a mapping, frame or file from
        part to whole. A whole item is at the place of its best part; the others are counted as
        ``collapsed_items``. The ground truth names whole items.
    engine : str
        ``memory`` holds all rankings in memory. ``disk`` reads them in pieces, several times, and
        keeps only the rows with judged items; the results are the same. So does ``spark`` with
        Spark DataFrames, and Parquet files that Spark can read. ``auto`` chooses ``spark`` for
        Spark DataFrames, and ``disk`` for files and queries that do not fit into memory.
    memory : str or int, optional
        What ``disk`` may use besides the ground truth and the rows with judged items: ``"2GiB"``,
        ``"500MB"``, or a number of bytes; ``auto`` chooses ``disk`` for what does not fit into it.
        ``spark`` broadcasts that much at a time. Default: what is free, of which ``disk`` and
        ``spark`` use at most 2 GiB.
    {choices}

    Returns
    -------
    Summary
        ``result["ndcg@10"].mean``, ``.interval``, ``result.per_user``, ``result.plan``.

    Raises
    ------
    UsageError
        If a metric, an option or a value of an option does not exist.
    DataError
        If the data would make a number wrong: bad scores, duplicates, ids that cannot match.

    Notes
    -----
    The interval says how far the mean would vary with another sample of users. For a metric with a
    bounded scale it is Wilson's with an effective number of users, and for others Student's t.
    Every option is shown in ``result.plan``.

    Examples
    --------
    The first relevant item is at rank 2, so its reciprocal rank is 1/2.

    >>> import rankmeter as rm
    >>> result = rm.evaluate({"ann": ["b", "a", "c"]}, {"ann": {"a"}}, ["rr", "hr@1,2"])
    >>> result["rr"].mean, result["hr@1"].mean, result["hr@2"].mean
    (0.5, 0.0, 1.0)
    """
    how = reading(engine, memory)
    plan = resolve(metrics, like=like, choices=choices)
    known = Given(train, items, catalogue, baseline_lists, propensity, collapse)
    read = functools.partial(_read, rankings, truth, plan, columns, how, known)
    judged, systems, side = read()
    words = _words_of(judged, systems)
    scores = open_data(judged, systems, side=side).run(plan)[ONE]
    said = how.said(systems.values(), [scores])
    plan = replace(plan, engine=said, side=side.notes, words=words)
    unused: dict[str, int] = {}
    averaged = None if clusters is None else scores.ever_averaged(plan)
    drawn = clusters_of(clusters, scores, unused, averaged)
    with speaking(words):
        found = summarise(plan, scores, judged, systems[ONE], drawn, unused)
    return replace(found, source=Source(functools.partial(_again, read), ONE))


def _words_of(judged: Table, systems: Mapping[str, Table]) -> Words:
    """The words of the ground truth, or of rankings, if they differ from those of the house."""
    found = (table.origin.words for table in (judged, *systems.values()))
    return next((words for words in found if words != USERS), USERS)


def _read(
    rankings: object,
    truth: object,
    plan: Plan,
    columns: Mapping[str, Any] | None,
    how: Reading,
    known: Given,
) -> tuple[Table, dict[str, Table], Side]:
    """The ground truth, the rankings and the side data of an evaluation."""
    judged, systems = read_all(
        {ONE: rankings}, truth, plan, columns=columns, how=how, collapse=known.collapse
    )
    return judged, systems, read_side(known, systems[ONE], plan.n_items)


def _again(read: Callable[[], tuple[Table, dict[str, Table], Side]]) -> Data:
    """The data of an evaluation, read again without the warnings of the first time."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankmeterWarning)
        judged, systems, side = read()
    return open_data(judged, systems, side=side)


@takes_choices
def compare(
    systems: Mapping[str, object],
    truth: object,
    metrics: str | Metric | Iterable[str | Metric] = DEFAULT_METRICS,
    *,
    baseline: str | None = None,
    test: Test = "auto",
    correction: Correction = "maxt",
    family: Family = "metric",
    common: Common = "all",
    alpha: float = 0.05,
    segments: object = None,
    n_resamples: int = 9_999,
    margin: float | str | None = None,
    like: str | None = None,
    columns: Mapping[str, Any] | None = None,
    clusters: object = None,
    train: object = None,
    items: object = None,
    catalogue: object = None,
    baseline_lists: object = None,
    propensity: object = None,
    collapse: object = None,
    engine: EngineName = "auto",
    memory: str | int | None = None,
    **choices: Unpack[Choices],
) -> Comparison:
    """Compare systems over one truth, user by user.

    Parameters
    ----------
    systems : mapping of str to object
        2 to 100 named rankings, each in any form that `evaluate` takes; or, for a system with
        several training runs (seeds), a list of them: ``{"A": [run1, run2, run3], "B": …}``.
        Users and runs then both vary, and differences are tested over both.
    truth : object
        As in `evaluate`.
    metrics : str, Metric or iterable of them
        As in `evaluate`.
    baseline : str, optional
        The system that all others are compared with; without a baseline, all pairs are compared.
    test : str
        ``auto``: randomization up to 100,000 users, else ``t``. Also ``randomization`` (Fisher's,
        by sign flips: exact with few users, else drawn), ``t``, ``bootstrap``, ``tukey`` and
        ``randomized-tukey`` (all pairs at once, users as blocks); ``wilcoxon`` and ``sign``, which
        do not test means, with a warning.
    correction : str
        ``maxt`` (Westfall and Young's step-down maxT, on the flips that all comparisons share; the
        intervals of a family then hold together; ``holm`` for tests that flip no signs), ``holm``,
        ``bonferroni``, ``benjamini-hochberg`` or ``none``, over a family.
    family : str
        Which comparisons are corrected together: those of each ``metric``, or ``all``. Those over
        all users are a family, and those within segments another.
    common : str
        Means over the users that are averaged for ``all`` systems (the others are counted); or
        each system's mean over its own users and each difference over the users of the ``pair``.
    alpha : float
        Level at which a corrected p is called significant.
    segments : object, optional
        A label per user: ``{"ann": "new", …}``, pairs, a pandas Series, or a frame or file with
        the columns user and segment, as `by_activity` and `by_popularity` make. Every comparison
        is repeated within each. A difference is significant there only if it is also significant
        over all users; the segments share the alpha that remains after that step.
    n_resamples : int
        Number of sign flips, or bootstrap samples, that a test draws: more where a correction or a
        p-value close to alpha needs them.
    margin : float or str, optional
        The largest difference that does not matter, ``0.005``, or as a share of the other mean,
        ``"1%"``. Then it is also tested whether systems are equivalent within the margin, and
        whether one is not worse than the other by the margin or more.
    like, columns
        As in `evaluate`.
    clusters : object, optional
        As in `evaluate`; tests then compare clusters, not users.
    train, items, catalogue, baseline_lists, propensity, collapse, engine, memory
        As in `evaluate`.
    {choices}

    Returns
    -------
    Comparison

    Raises
    ------
    UsageError
        If a metric, an option or a value of an option does not exist, or options contradict.
    DataError
        If the data cannot be read with certainty, or lack what an option asks for, or values are
        above 1e100, whose differences overflow.

    Notes
    -----
    Every system sees the same users in the same order: the truth is aligned once. A difference is
    that of the other system minus the baseline. Why these defaults: Smucker, Allan and Carterette,
    CIKM 2007; Urbano, Lima and Hanjalic, SIGIR 2019.

    Examples
    --------
    Two users are too few for any conclusion, and the comparison says so.

    >>> import rankmeter as rm
    >>> truth = {"ann": {"a"}, "bob": {"b"}}
    >>> old, new = {"ann": ["x", "a"], "bob": ["x", "b"]}, {"ann": ["a"], "bob": ["b"]}
    >>> systems = {"old": old, "new": new}
    >>> difference = rm.compare(systems, truth, "rr", baseline="old")["rr"][0]
    >>> difference.difference, difference.p, difference.significant
    (0.5, 0.5, False)
    """
    if not isinstance(systems, Mapping) or _holds_systems(truth):
        swapped = ": the systems come first, rm.compare(systems, truth)"
        wanted = "a mapping from name to rankings, such as {'A': …, 'B': …}"
        found = type(systems).__name__ + (swapped if isinstance(truth, Mapping) else "")
        raise UsageError(f"`systems` must be {wanted}, got {found}", option="systems")
    settings = Settings(
        baseline=baseline,
        test=test,
        correction=correction,
        family=family,
        common=common,
        alpha=alpha,
        n_resamples=n_resamples,
        margin=margin,
    )
    plan = resolve(metrics, like=like, choices=choices)
    flat, runs = _separate_runs(systems)
    how = reading(engine, memory)
    judged, tables = read_all(flat, truth, plan, columns=columns, how=how, collapse=collapse)
    side = read_side(
        Given(train, items, catalogue, baseline_lists, propensity, collapse), judged, plan.n_items
    )
    words = _words_of(judged, tables)
    plan = replace(plan, side=side.notes, words=words)
    with speaking(words):
        return compare_tables(
            tables, judged, plan, settings, segments=segments, clusters=clusters, runs=runs,
            side=side,
        )  # fmt: skip


@takes_choices
def curve(
    rankings: object,
    truth: object,
    metric: str | Metric,
    max_k: int,
    *,
    like: str | None = None,
    columns: Mapping[str, Any] | None = None,
    clusters: object = None,
    train: object = None,
    items: object = None,
    catalogue: object = None,
    baseline_lists: object = None,
    propensity: object = None,
    collapse: object = None,
    **choices: Unpack[Choices],
) -> Curve:
    """Measure one metric at every cutoff from 1 to `max_k`, to choose how many items to show.

    Parameters
    ----------
    rankings, truth : object
        As in `evaluate`.
    metric : str or Metric
        Its cutoff, if it has one, does not matter.
    max_k : int
        The largest cutoff, up to 10,000.
    like, columns, clusters, train, items, catalogue, baseline_lists, propensity, collapse
        As in `evaluate`.
    {choices}

    Returns
    -------
    Curve
        ``curve.frame``, ``curve.best_k()``, ``curve.smallest_good_k()``.

    Raises
    ------
    UsageError
        If a metric, an option or a value of an option does not exist, or options contradict.
    DataError
        If the data cannot be read with certainty, or lack what an option asks for.

    Examples
    --------
    One relevant item, at rank 2: precision is best at k = 2.

    >>> import rankmeter as rm
    >>> found = rm.curve([["x", "a", "y"]], [{"a"}], "precision", 3)
    >>> [round(mean, 2) for mean in found.frame["mean"]], found.best_k()
    ([0.0, 0.5, 0.33], {'rankings': 2})
    """
    plan = resolve(metric, like=like, choices=choices)
    if len(plan.metrics) != 1:
        raise UsageError(f"a curve needs exactly one metric, got {len(plan.metrics)}")
    entry = plan.metrics[0]
    judged, systems = read_all({ONE: rankings}, truth, plan, columns=columns, collapse=collapse)
    side = read_side(
        Given(train, items, catalogue, baseline_lists, propensity, collapse), judged, plan.n_items
    )
    plan = replace(plan, side=side.notes, words=_words_of(judged, systems))
    scored, counts = (
        open_data(judged, systems, side=side).run,
        {ONE: counts_of(systems[ONE], judged)},
    )
    return curves_of(plan, [entry], scored, max_k, clusters, counts)[entry.label]


def read_all(
    systems: Mapping[str, object],
    truth: object,
    plan: Plan,
    *,
    columns: Mapping[str, Any] | None = None,
    how: Reading = Reading(),  # noqa: B008 - it never changes
    collapse: object = None,
) -> tuple[Table, dict[str, Table]]:
    """Ground truth and rankings in canonical form, with ids of the same types.

    Reasons to doubt that they are what was meant become warnings, and `cautions` of the tables.

    Parameters
    ----------
    systems : mapping of str to object
        Rankings by name, each in any form that `evaluate` takes.
    truth, columns
        As in `evaluate`; the truth may be left out if one system holds records of both.
    plan : Plan
        Gives the rule for bad scores.
    how : Reading
        In memory or in pieces.
    collapse
        As in `evaluate`.

    Raises
    ------
    UsageError
        If a metric, an option or a value of an option does not exist, or options contradict.
    DataError
        If the data cannot be read with certainty, or lack what an option asks for.
    """
    alone = truth is None and plan.needs_no_truth
    if truth is None and not alone:
        truth = next(iter(systems.values()), None)
        if len(systems) != 1 or not is_records(truth):
            raise UsageError(
                "truth is missing: pass the judged items as the second argument, or records of the "
                "form {'predict_list': […], 'ground_truth': {…}} as the only argument"
            )
    by_side, collapsing = _columns_by_side(columns), read_collapse(collapse)
    tables: dict[str, Table] = {}
    for name, rankings in systems.items():
        if str(name) in tables:
            raise UsageError(f"two systems are called {str(name)!r}")
        try:
            table = how.read(rankings, by_side["rankings"], plan)
            tables[str(name)] = table if collapsing is None else collapsing(table)
        except DataError as error:
            if len(systems) == 1:
                raise
            raise type(error)(f"System {str(name)!r}: {error}") from None
    if alone:
        judged = no_judgments(next(iter(tables.values())))
    else:
        judged = read_truth(how.opened(truth), columns=by_side["truth"])
    judged, tables = meet_all(judged.doubted(look_like_labels(judged)), tables)
    if plan.assumes_relevance:
        judged = judged.doubted(all_relevant(judged))
    tables = {name: how.sifted(one, judged, plan) for name, one in tables.items()}
    tables = {name: one.doubted(look_misread(one, judged)) for name, one in tables.items()}
    for table in (judged, *tables.values()):
        warn(*table.cautions)
    return judged, tables


def _separate_runs(
    systems: Mapping[str, object],
) -> tuple[dict[str, object], dict[str, list[str]] | None]:
    """Every run under a name of its own, and the runs of each system if any has several."""
    flat: dict[str, object] = {}
    names: dict[str, list[str]] = {}
    for name, rankings in systems.items():
        several = isinstance(rankings, list | tuple) and rankings and not is_records(rankings)
        if not several or not all(map(_is_run, rankings)):  # type: ignore[call-overload]
            rankings = [rankings]  # noqa: PLW2901
        for number, one in enumerate(rankings, 1):  # type: ignore[arg-type, var-annotated]
            own = str(name) if len(rankings) == 1 else f"{name}, run {number}"  # type: ignore[arg-type]
            if own in flat:
                raise UsageError(f"two systems are called {own!r}")
            flat[own] = one
            names.setdefault(str(name), []).append(own)
    return flat, names if len(flat) > len(names) else None


def _is_run(data: object) -> bool:
    """Whether this is the rankings of several users: a mapping, a frame or a file."""
    if isinstance(data, str):
        return Path(data).exists()
    return not isinstance(data, list) and _holds_lists(data)


def _holds_systems(data: object) -> bool:
    """Whether this is a mapping from name to rankings, so not ground truth."""
    return isinstance(data, Mapping) and bool(data) and all(map(_holds_lists, data.values()))


def _holds_lists(data: object) -> bool:
    """Whether this is data of several users, and not the judged items of one."""
    if isinstance(data, Mapping | list):
        inner = data.values() if isinstance(data, Mapping) else data
        return any(isinstance(one, Mapping | list | set | frozenset) for one in inner)
    return isinstance(data, PathLike) or hasattr(data, "columns")


def _columns_by_side(columns: Mapping[str, Any] | None) -> dict[str, Mapping[str, str] | None]:
    """The roles that each side has, from one mapping for both or one for each."""
    if columns is None:
        return {"rankings": None, "truth": None}
    if not isinstance(columns, Mapping) or not all(isinstance(role, str) for role in columns):
        raise refused("columns", "a mapping from role to column name", columns)
    if any(isinstance(value, Mapping) for value in columns.values()):
        unknown = set(columns) - {"rankings", "truth"}
        if unknown:
            raise UsageError(
                f"columns= takes one mapping each for rankings and truth, got "
                f"{shown(sorted(unknown))}"
            )
        return {"rankings": columns.get("rankings"), "truth": columns.get("truth")}
    known = {"user", "item", "score", "rank", "gain"}
    unknown = set(columns) - known
    if unknown:
        raise UsageError(f"the roles in columns= are {sorted(known)}, not {shown(sorted(unknown))}")
    truth = {role: columns[role] for role in ("user", "item", "gain") if role in columns}
    ranks = {role: columns[role] for role in ("user", "item", "score", "rank") if role in columns}
    return {"rankings": ranks, "truth": truth}
