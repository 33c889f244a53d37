"""Scores, samples and ranks in: the public functions for what are not lists of items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from rankmeter._choices import TieRule, takes_choices_of
from rankmeter._engine.counted import CountedQueries, refuse_unknown_candidates, score_queries
from rankmeter._engine.memory import Opener, Source
from rankmeter._engine.scores import UserValues
from rankmeter._evidence.hits import IntArray
from rankmeter._rankings.kind import resolve_plan_of_data
from rankmeter._rankings.queries import Queries
from rankmeter._rankings.ties import ORDERED
from rankmeter._reading.by_user import Ids, IdSeries, count_distinct, to_series
from rankmeter._reading.table import POLARS, Kind
from rankmeter._results.estimates import estimate
from rankmeter._results.segments import read_cluster_numbers
from rankmeter._results.summary import Summary, average_scores
from rankmeter._results.wording import number_text
from rankmeter._scores.array_files import (
    is_array_file,
    is_frame_or_path,
    is_path,
    read_array_file,
    read_rank_table,
    row_ids,
    row_label_frame,
    row_labels,
)
from rankmeter._scores.cells import can_hold_several
from rankmeter._scores.known_ranks import count_samples, read_ranks
from rankmeter._scores.labels import align_all
from rankmeter._scores.scores import CountRequest, count_scores
from rankmeter._typed import Like
from rankmeter.conventions import load_convention
from rankmeter.conventions._plan import Plan
from rankmeter.errors import DuplicateError, UsageError
from rankmeter.errors._caution import warn
from rankmeter.errors._checks import LINKS, brief, check_flag, check_number, option_error
from rankmeter.metrics import Metric, Spec

RANK_METRICS = ("mrr", "hits@1", "hits@3", "hits@10")
"""The default metrics of scores and ranks."""
MANY_TIES = 0.01
"""The share of tied targets from which half precision gets a warning."""
PAIRED = 30
"""The number of targets from which it is odd that each is tied with one other candidate."""


@takes_choices_of("scores")
def evaluate_scores(
    scores: Any,
    target: Any = None,
    metrics: str | Metric | Iterable[str | Metric] = RANK_METRICS,
    *,
    negatives: Any = None,
    exclude: Any = None,
    candidates: Any = None,
    target_ids: bool = False,
    users: Any = None,
    groups: Any = None,
    clusters: Any = None,
    tolerance: tuple[float, float] | None = None,
    like: Like | None = None,
    **choices: Any,
) -> Summary:
    """Measure the scores of all items: a matrix of queries × items, or positives with negatives.

    No list is made and nothing is sorted: a rank is one plus the number of higher scores. Scores
    on an accelerator are compared there, and only counts leave it.

    Parameters
    ----------
    scores : array, sparse matrix, frame, pair, list or function
        One row for each query and one column for each item, of NumPy, PyTorch or any library with
        the array API or DLPack, such as JAX and CuPy. Or a SciPy matrix, of which the stored
        entries are the candidates; a pair ``(users, items)`` of factors, whose product
        ``users @ items.T`` is computed some rows at a time; a list of blocks of columns, or a
        function without arguments that returns such blocks, the same ones at each call. With
        `negatives`, the scores of the positives, of shape (n,). The labels of a frame are those of
        `rankmeter.Scores`: frames of targets and exclusions are brought into their order, and
        positions are refused unless the labels are 0, 1, 2 … in order. A score of -inf is not a
        candidate: a true item with such a score stays relevant and is not ranked. This, the
        targets, negatives, exclusions, candidates, users and clusters can also be paths of
        ``.npy``, ``.npz`` and ``.json`` files.
    target : array, list or sparse matrix
        The true items of each row, as columns: an id for each row, ids of shape (n_rows, n) padded
        with -1, a list of ids for each row, a boolean mask, or a matrix of labels, which are
        gains. An array of the shape of the scores holds labels, in which -1 means that the item was
        not judged: it stays a candidate without a gain.
    metrics : str, Metric or iterable of them
        As in `rankmeter.evaluate`.
    negatives : array of shape (n, m) or (m,), optional
        Scores of the negatives of each positive, or of one pool that all positives share.
    exclude : mask, sparse matrix, pair or list, optional
        Cells that are not candidates, such as known true answers or items that were seen: a boolean
        mask, a SciPy matrix, a pair (rows, columns) of index arrays, a list of ids for each row, or
        ids padded with -1. An array of the shape of the scores is a mask.
    candidates : array, list or sparse matrix, optional
        The only items that are ranked: ids or a mask over the columns for all rows, or ids for each
        row in any form of `exclude`.
    target_ids : bool
        Whether an array `target` of the shape of the scores holds ids of columns padded with -1,
        and no labels.
    users : array, list or str, optional
        An id for each row, for `Summary.per_user`. A word is the option `users` of
        `rankmeter.evaluate`: ``all``, ``relevant`` or ``hit``.
    groups : array, list, mapping or frame, optional
        A label for each row, or several by name, for `Summary.by_group`.
    clusters : array, list, mapping or frame, optional
        The cluster of each row; or by user, as in `rankmeter.evaluate`.
    tolerance : tuple of two floats, optional
        Scores within ``tolerance[0] + tolerance[1] * |score of the target|`` of it are tied with
        it; by default those of the tool, which are (1e-5, 1e-4) for LibKGE and 0 for all others.
    like : str, optional
        The tool whose conventions to follow.
    {choices}

    Returns
    -------
    Summary
        A row of `Summary.per_user` is a query. The notes say what a query is, if rows have several
        true items, how many targets are tied, and the means if these were ranked first or last.

    Raises
    ------
    UsageError
        If an option cannot act on scores, or has no such value.
    DataError
        If shapes do not fit, a score is NaN or +inf, or a target is excluded or outside the
        columns; the message names the row.

    Notes
    -----
    Ties: where the form of `target` lets a row have several true items (labels, a mask, lists, ids
    in several columns), values are the expectation over all orders of
    tied items, ``expected``. Where each row has one, or with ``each=True``, the default is
    ``realistic``: a tied target has the mean of its best and its worst rank, so that at a cutoff
    equal scores can have more than chance. ``item`` orders by column. Scores are compared in their
    own precision.

    Examples
    --------
    The true item of the first row has the second highest score, that of the other row is tied for
    the first place: ranks 2 and 1.5, and the mean of 1/2 and 2/3 is 7/12.

    >>> import numpy as np
    >>> import rankmeter as rm
    >>> scores = np.array([[0.9, 0.5, 0.1], [0.7, 0.2, 0.7]])
    >>> result = rm.evaluate_scores(scores, [1, 0], ["mrr", "mr"])
    >>> round(result["mrr"].mean, 4), result["mr"].mean
    (0.5833, 1.75)

    Item 0 of the first row is known to be true, too, and leaves the candidates.

    >>> rm.evaluate_scores(scores, [1, 0], "mr", exclude=[[0], []])["mr"].mean
    1.25

    Items 0 and 1 are both true: one query that finds one of two at the top, or two queries with one
    true item each, which is at the top once the other one has left.

    >>> rm.evaluate_scores(scores[:1], [[0, 1]], "recall@1")["recall@1"].mean
    0.5
    >>> rm.evaluate_scores(scores[:1], [[0, 1]], "recall@1", each=True)["recall@1"].mean
    1.0
    """
    users, choices = users_from_option(users, choices)
    plan = resolve_plan_of_data(
        metrics, like, choices, "scores" if negatives is None else "samples"
    )
    request = replace(
        count_request(plan, tolerance=tolerance, like=like),
        target_ids=check_flag("target_ids", target_ids),
    )
    scores, target, negatives, exclude, candidates = (
        read_array_file(data) if is_path(data) else data
        for data in (scores, target, negatives, exclude, candidates)
    )
    clusters = read_array_file(clusters) if is_array_file(clusters) else clusters
    if negatives is None:
        sides = {"target": target, "exclude": exclude, "candidates": candidates}
        labelled, sides = align_all(scores, sides)
        scores, target = labelled.values, sides.pop("target")
        users = labelled.ids("user", users)
        if can_hold_several(target) and not plan.each:
            plan = resolve_plan_of_data(metrics, like, choices, "scores", several=True)
        queries = count_scores(scores, target, request, **sides)
    else:
        side_args = {
            "target": target, "exclude": exclude, "candidates": candidates,
            "target_ids": target_ids or None,
        }  # fmt: skip
        if name := next((name for name, value in side_args.items() if value is not None), None):
            raise UsageError(
                f"`{name}` has no meaning with `negatives`: scores has the positives", option=name
            )
        queries = count_samples(scores, negatives, request)
    ids, read = _row_ids(users, queries)
    return summary_of(
        plan, CountedQueries(queries, ids), groups=groups, clusters=clusters, read=read,
        tolerance=request.tolerance,
    )  # fmt: skip


@takes_choices_of("ranks")
def evaluate_ranks(
    ranks: Any,
    metrics: str | Metric | Iterable[str | Metric] = RANK_METRICS,
    *,
    candidates: Any = None,
    upper: Any = None,
    users: Any = None,
    groups: Any = None,
    clusters: Any = None,
    like: Like | None = None,
    **choices: Any,
) -> Summary:
    """Measure ranks that another tool has computed, one for each query.

    Parameters
    ----------
    ranks : array, list, frame or path
        1-based ranks of the true items. A rank that ends in .5 is the mean of a tie of two; longer
        ties need `upper`. Or a frame or the path of a file (see Notes).
    metrics : str, Metric or iterable of them
        As in `rankmeter.evaluate`.
    candidates : int, array or path, optional
        Number of candidates among which each item was ranked; needed by the metrics adjusted for
        chance.
    upper : array or path, optional
        The last rank of each tie, of which `ranks` are the first: then every tie rule applies.
    users, groups, clusters, like
        As in `rankmeter.evaluate_scores`.
    {choices}

    Returns
    -------
    Summary

    Raises
    ------
    UsageError
        If a metric needs the number of candidates and it is unknown, or an option cannot act on
        ranks.
    DataError
        If a value is not a rank.

    Notes
    -----
    A frame or file (Parquet, CSV, TSV, JSON Lines) has a column ``rank``, and optionally
    ``candidates`` and ``upper``; ``user`` names the queries, and all other columns of text are
    groups. A ``.npy`` file has the ranks alone, and in a text file without a header there is one
    rank per line.

    Each rank is a query with one relevant item, so the ``precision@5`` of rank 2 is 1/5. The ranks
    of several relevant items of a user are `Positions`.

    Examples
    --------
    >>> import rankmeter as rm
    >>> result = rm.evaluate_ranks([1, 2, 4, 10], ["mrr", "hits@3", "mr"], candidates=100)
    >>> round(result["mrr"].mean, 4), result["hits@3"].mean, result["mr"].mean
    (0.4625, 0.5, 4.25)
    """
    users, choices = users_from_option(users, choices)
    read, kind = read_rank_table(ranks) if is_frame_or_path(ranks) else ({"ranks": ranks}, POLARS)
    candidates, upper = (
        read_array_file(array) if is_path(array) else array for array in (candidates, upper)
    )
    clusters = read_array_file(clusters) if is_array_file(clusters) else clusters
    side_args = {"candidates": candidates, "upper": upper, "users": users, "groups": groups}
    read |= {name: value for name, value in side_args.items() if value is not None}
    plan = resolve_plan_of_data(metrics, like, choices, "ranks")
    queries = read_ranks(read["ranks"], read.get("upper"), read.get("candidates"))
    if not queries.sized:
        refuse_unknown_candidates(plan, queries)
    ids, counts = _row_ids(read.get("users"), queries)
    data = CountedQueries(queries, ids)
    groups = read.get("groups")
    return summary_of(plan, data, groups=groups, clusters=clusters, read=counts, kind=kind)


def users_from_option(users: Any, choices: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Split ``users`` into ids, also from a file, and choices with ``users`` as a word."""
    if is_array_file(users):
        return read_array_file(users), choices
    return (None, {**choices, "users": users}) if isinstance(users, str) else (users, choices)


def count_request(
    plan: Plan,
    *,
    tolerance: tuple[float, float] | None = None,
    like: str | None = None,
) -> CountRequest:
    """Build the request to count ranks for the metrics of a plan.

    Raises
    ------
    UsageError
        If the metrics compare scores at different precisions, or close scores cannot be tied.
    """
    precisions = {choices.score_type for choices in plan.metrics_by_alignment()}
    if len(precisions) > 1:
        raise UsageError(
            "the metrics compare scores as float32 and float64: evaluate them one after the other",
            option="score_type",
        )
    ordered = any(choices.ties in ORDERED for choices in plan.metrics_by_alignment())
    is_float32 = precisions == {"float32"}
    tie_tolerance = _tolerance(tolerance, like)
    if any(tie_tolerance) and plan.bad_scores == "worst":
        raise UsageError("bad_scores='worst' cannot tie close scores: pass tolerance=(0, 0)")
    return CountRequest(plan.each, ordered, plan.bad_scores, is_float32, tie_tolerance)


def _tolerance(tolerance: Any, like: str | None) -> tuple[float, float]:
    """The absolute and the relative tolerance of ties, from the caller or else the tool."""
    if tolerance is None:
        return load_convention("rankmeter" if like is None else like).tolerance
    if not isinstance(tolerance, list | tuple) or len(tolerance) != 2:
        raise option_error("tolerance", "two numbers, absolute and relative", tolerance)
    absolute, relative = (check_number("tolerance", part, least=0) for part in tolerance)
    return absolute, relative


def _row_ids(users: Any, queries: Queries) -> tuple[Ids | None, Counter[str]]:
    """An id for each query, from the ids of the rows, and counts of converted ids."""
    counts: Counter[str] = Counter()
    if users is None:
        return None, counts
    labels = row_ids(users, queries.facts["rows"], counts)
    return query_ids(queries, labels.gather(queries.row)), counts


def query_ids(queries: Queries, labels: pl.Series) -> Ids:
    """Unique ids of all queries: labels, followed by the target if labels repeat.

    Raises
    ------
    DuplicateError
        If two rows have the same id.
    """
    ids = labels
    if queries.target is not None and count_distinct(labels) < len(labels):
        ids = ids.cast(pl.String) + "/" + pl.Series(queries.target).cast(pl.String)
    if count_distinct(ids) != len(ids):
        repeated = ids.filter(ids.is_duplicated())[0]
        raise DuplicateError(f"duplicate user {brief(repeated)}: give each row its own id")
    return IdSeries(ids)


def summary_of(
    plan: Plan,
    data: CountedQueries,
    *,
    groups: Any = None,
    clusters: Any = None,
    read: Mapping[str, int] | None = None,
    tolerance: tuple[float, float] = (0.0, 0.0),
    kind: Kind = POLARS,
) -> Summary:
    """Score counted queries and average the values, with notes about ties."""
    queries, (scores,) = data.queries, data.run(plan).values()
    unused: dict[str, int] = {}
    n_rows = queries.facts["rows"]
    cluster_ids: IntArray | None = None
    if isinstance(clusters, Mapping | str) or hasattr(clusters, "columns"):
        cluster_ids = read_cluster_numbers(clusters, scores, unused, scores.in_any_mean(plan))
    elif clusters is not None:
        labels = row_labels(clusters, "clusters", n_rows)
        written = labels.to_list()
        number = {label: n for n, label in enumerate(sorted({*written}))}
        cluster_ids = np.array([number[label] for label in written], dtype=np.int64)[queries.row]
    cautions, remarks = _query_cautions(plan, queries), _query_remarks(plan, queries, tolerance)
    warn(*cautions)
    labels_of_groups = None
    if groups is not None:
        row = to_series(queries.row)
        labels_of_groups = pl.DataFrame(
            [labels.gather(row) for labels in row_label_frame(groups, "groups", n_rows)]
        )
        if "relation" in labels_of_groups.columns:
            plan = replace(plan, words=LINKS)
    return average_scores(
        plan,
        scores,
        {**queries.facts, **unused, **(read or {})},
        clusters=cluster_ids,
        cautions=tuple(cautions),
        remarks=tuple(remarks),
        groups=labels_of_groups,
        source=Source(Opener(data.reopen), "", lists=False),
        kind=kind,
    )


def _query_cautions(plan: Plan, queries: Queries) -> list[str]:
    """Reasons to doubt that the targets and their candidates are as intended."""
    n, tied = int(np.count_nonzero(queries.found)), queries.n_tied
    cautions = half_caution(queries.half, tied, n)
    if n >= PAIRED and tied == n and queries.counts.equal.max() == 1:
        cautions.append(
            "every target is tied with exactly one other candidate: if that is the target itself, "
            "take it out of its negatives"
        )
    uncut = [e.label for e in plan.metrics if e.metric.name == "hit_rate" and e.metric.k is None]
    if uncut and n == queries.n:
        cautions.append(
            f"{', '.join(uncut)} has no cutoff, so it is 1 for every item that was ranked: write "
            "hits@10"
        )
    return cautions


def _query_remarks(plan: Plan, queries: Queries, tolerance: tuple[float, float]) -> list[str]:
    """Remarks on the effect of ties and on the definition of a query."""
    n, tied = int(np.count_nonzero(queries.found)), queries.n_tied
    remarks = query_remark(plan, queries.facts)
    above = queries.counts.above
    may_be_of_one = 1 < above.size == queries.n and (np.diff(above) > 0).all()  # as positions are
    of_ranks = all(_is_of_ranks(entry.spec) for entry in plan.metrics)
    if plan.data == "ranks" and (may_be_of_one or not of_ranks):
        remarks.append("each rank is a query with one relevant item (several of a user: Positions)")
    if plan.data == "samples":
        most = int(queries.counts.n_ranked.max(initial=1))
        remarks.append(f"sampled candidates: {most - 1:,}")
    if tied and not queries.facts.get("mean_ranks"):
        remarks.insert(0, tie_bounds_note(plan, lambda plan: score_queries(plan, queries), tied, n))
    if any(tolerance):
        remarks.append(f"tied within {tolerance[0]:g} + {tolerance[1]:g} · |score of the target|")
    if queries.facts["rows"] and not queries.found.size:
        remarks.append("no row has a target: nothing was evaluated")
    return remarks


def _is_of_ranks(spec: Spec) -> bool:
    """Whether a metric is meant for one rank per query, and not for lists with many hits."""
    family = spec.function.__module__.rpartition(".")[2]
    return spec.name == "hit_rate" or family in ("link_prediction", "mean_rank", "reciprocal_rank")


def query_remark(plan: Plan, facts: Mapping[str, int]) -> list[str]:
    """A list with a remark if rows have several true items, else empty."""
    if not (n := facts.get("rows_with_several_targets")):
        return []
    per_item = "each true item is one query, ranked without the others"
    rule = per_item if plan.each else "a row is one query"
    return [f"rows with several true items: {n:,} ({rule}; each={plan.each})"]


def half_caution(half: str, tied: int, n: int) -> list[str]:
    """A list with a caution if many targets are tied in a type of few digits, else empty."""
    if not half or tied <= MANY_TIES * n:
        return []
    share = f"{100 * tied / n:.3g} % of the targets are tied in {half}, which has few digits"
    return [f"{share}: compute the scores in float32"]


def tie_bounds_note(plan: Plan, score: Callable[[Plan], UserValues], tied: int, n: int) -> str:
    """Note with the share of tied targets, and the bounds of the means.

    `score` gives the scores of another plan for the same data, of whose `n` targets `tied` are
    tied.
    """
    last = _means_under_tie_rule(plan, score, "pessimistic")
    first = _means_under_tie_rule(plan, score, "optimistic")
    bounds = [
        f"{label} {number_text(min(mean, first[label]))}–{number_text(max(mean, first[label]))}"
        for label, mean in last.items()
        if label in first and mean != first[label]
    ]
    text = f"tied targets: {tied:,} of {n:,} ({100 * tied / n:.3g} %)"
    return text + (f"; ranked last or first: {', '.join(bounds)}" if bounds else "")


def _means_under_tie_rule(
    plan: Plan, score: Callable[[Plan], UserValues], rule: TieRule
) -> dict[str, float]:
    entries = tuple(
        replace(entry, alignment=replace(entry.alignment, ties=rule)) for entry in plan.metrics
    )
    other = replace(plan, metrics=entries, interval="wilson")
    scores = score(other)
    means = {e.label: estimate(other, e, scores.averaged(e)).mean for e in other.metrics}
    return {label: mean for label, mean in means.items() if mean == mean}  # noqa: PLR0124 - NaN
