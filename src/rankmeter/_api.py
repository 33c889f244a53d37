"""The whole flow on one page: read → plan → align and score → summarise. Read this first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from rankmeter._backends import memory
from rankmeter._ingest import Table, is_records, meet, read_rankings, read_truth
from rankmeter._plan import TieRule, resolve
from rankmeter._summary import Summary, summarise
from rankmeter.errors import UsageError
from rankmeter.metrics import Metric

__all__ = ["DEFAULT_METRICS", "evaluate", "read_both"]

DEFAULT_METRICS = ("ndcg@10", "map@10", "mrr@10", "precision@10", "recall@10", "hr@10")
"""What is measured when nothing is asked for."""


def evaluate(
    rankings: object,
    truth: object = None,
    metrics: str | Metric | Iterable[str | Metric] = DEFAULT_METRICS,
    *,
    like: str | None = None,
    bugs: bool = False,
    columns: Mapping[str, Any] | None = None,
    relevant: str | float | None = None,
    gains: Literal["relevant", "positive"] | None = None,
    ties: TieRule | None = None,
    duplicates: Literal["error", "best", "each"] | None = None,
    judgements: Literal["error", "max", "last", "sum"] | None = None,
    scope: Literal["all", "ranked"] | None = None,
    pool: Literal["all", "judged"] | None = None,
    score_type: Literal["float64", "float32"] | None = None,
    depth: int | None = None,
    bad_scores: Literal["error", "drop", "worst"] | None = None,
    missing: Literal["zero", "skip", "raise"] | None = None,
    extra: Literal["ignore", "zero", "raise"] | None = None,
    undefined: Literal["skip", "zero", "one", "raise"] | None = None,
    users: Literal["all", "hit"] | None = None,
    empty: Literal["score", "skip"] | None = None,
    empty_truth: Literal["score", "skip"] | None = None,
    aggregate: Literal["mean", "geometric", "sum"] | None = None,
    no_overlap: Literal["error", "allow"] | None = None,
    n_items: int | None = None,
    confidence: float = 0.95,
) -> Summary:
    """Measure rankings against the truth.

    Parameters
    ----------
    rankings : object
        Ranked items per user, in any form: a Polars, pandas, Arrow or DuckDB frame with columns
        user, item and score (or rank, or neither: the order of the rows counts); a dict from user
        to ranked list or to {item: score}; a list of lists; a (users × k) array; a SciPy sparse
        matrix of scores; the path of a Parquet, CSV, TSV, JSONL or TREC run file.
    truth : object
        Judged items per user, in any form: a frame with columns user, item and optionally gain; a
        dict from user to set, list or {item: gain}; a list of these; a path. May be left out if
        `rankings` are records of the form ``{"predict_list": …, "ground_truth": …}``.
    metrics : str, Metric or iterable of them
        ``"ndcg@10"``, ``"map@5,10"``, ``rm.NDCG(gain="exp2") @ 10``.
    like : str, optional
        The tool whose conventions to follow; see `rankmeter conventions`.
    bugs : bool
        Follow also the outright bugs of that tool, to trace published numbers.
    columns : mapping, optional
        Which column plays which role, where the names do not say it:
        ``{"user": "member", "item": "sku"}``, or one such mapping for each side,
        ``{"rankings": {…}, "truth": {…}}``. Roles: user, item, score, rank, gain.
    relevant : str or float, optional
        Which judged items are relevant: ``">0"`` (default), ``">=4"``, ``">3.5"``, ``"any"``; a
        number t means ``>= t``.
    gains : str, optional
        Which judged items have a gain: the ``relevant`` ones (default), or all ``positive``
        judgements, whatever `relevant` says.
    ties : str, optional
        What decides between equal scores: ``item`` (ascending, default), ``item-descending``,
        ``input``, ``expected`` (exact expectation over all orders), ``optimistic``,
        ``pessimistic``, ``realistic``, ``rounded``.
    duplicates : str, optional
        An item twice in one ranking: ``error`` (default), keep the ``best``, count ``each``.
    judgements : str, optional
        Contradicting judgements: ``error`` (default), ``max``, ``last``, ``sum``.
    scope : str, optional
        ``all`` judged items are to be found (default), or only those ``ranked``.
    pool : str, optional
        ``all`` ranked items take up ranks (default), or only ``judged`` ones.
    score_type : str, optional
        Compare scores as ``float64`` (default) or ``float32``.
    depth : int, optional
        Cut every ranking at this rank first.
    bad_scores : str, optional
        A NaN or null score: ``error`` (default), ``drop`` the row, rank it ``worst``.
    missing : str, optional
        A user with truth but no ranking: ``zero`` (an empty ranking; default), ``skip``, ``raise``.
    extra : str, optional
        A user with a ranking but no truth: ``ignore`` (default), ``zero``, ``raise``.
    undefined : str, optional
        A user without a defined value, as with nothing relevant: ``skip`` (default), ``zero``,
        ``one``, ``raise``.
    users : str, optional
        Average ``all`` of them (default) or only those with a ``hit``.
    empty : str, optional
        A user whose ranking is an empty list: ``score`` it (default) or ``skip``.
    empty_truth : str, optional
        A user whose truth is empty: ``score`` it (default; it is undefined) or ``skip``.
    aggregate : str, optional
        What becomes of the users' values: the ``mean`` (default), the ``geometric`` mean, the
        ``sum``.
    no_overlap : str, optional
        Two sides without any user or item in common: ``error`` (default) or ``allow``.
    n_items : int, optional
        Size of the catalogue, which accuracy needs.
    confidence : float
        Level of the intervals of the means.

    Returns
    -------
    Summary
        ``result["ndcg@10"].mean``, ``.interval``, ``result.per_user``, ``result.plan``.

    Raises
    ------
    UsageError
        If a metric, an option or a choice does not exist.
    DataError
        If the data would make a number wrong: bad scores, duplicates, ids that cannot meet.

    Notes
    -----
    The interval is that of Student's t for the mean of the per-user values: it says how far the
    mean would vary with another sample of users. Every choice stands in ``result.plan``.

    Examples
    --------
    The first relevant item stands at rank 2, so its reciprocal rank is 1/2.

    >>> import rankmeter as rm
    >>> result = rm.evaluate({"ann": ["b", "a", "c"]}, {"ann": {"a"}}, ["rr", "hr@1,2"])
    >>> result["rr"].mean, result["hr@1"].mean, result["hr@2"].mean
    (0.5, 0.0, 1.0)
    """
    plan = resolve(
        metrics,
        like=like,
        overrides={
            "relevant": relevant,
            "gains": gains,
            "ties": ties,
            "duplicates": duplicates,
            "judgements": judgements,
            "scope": scope,
            "pool": pool,
            "score_type": score_type,
            "depth": depth,
            "bad_scores": bad_scores,
            "missing": missing,
            "extra": extra,
            "undefined": undefined,
            "users": users,
            "empty": empty,
            "empty_truth": empty_truth,
            "aggregate": aggregate,
            "no_overlap": no_overlap,
        },
        n_items=n_items,
        confidence=confidence,
        bugs=bugs,
    )
    ranked, judged = read_both(rankings, truth, columns=columns, bad_scores=plan.bad_scores)
    scores = memory.run(ranked, judged, plan)
    return summarise(plan, scores, {**judged.counts, **ranked.counts})


def read_both(
    rankings: object,
    truth: object,
    *,
    columns: Mapping[str, Any] | None = None,
    bad_scores: Literal["error", "drop", "worst"] = "error",
) -> tuple[Table, Table]:
    """Rankings and truth in canonical form, with ids of the same types.

    Parameters
    ----------
    rankings, truth, columns, bad_scores
        As in `evaluate`.

    Raises
    ------
    UsageError, DataError
    """
    if truth is None:
        if not is_records(rankings):
            raise UsageError(
                "truth is missing: pass the judged items as second argument, or records of the "
                "form {'predict_list': […], 'ground_truth': {…}} as the only one"
            )
        truth = rankings
    by_side = _columns_by_side(columns)
    ranked = read_rankings(rankings, columns=by_side["rankings"], bad_scores=bad_scores)
    return meet(ranked, read_truth(truth, columns=by_side["truth"]))


def _columns_by_side(columns: Mapping[str, Any] | None) -> dict[str, Mapping[str, str] | None]:
    """The roles that each side has, from one mapping for both or one for each."""
    if not columns:
        return {"rankings": None, "truth": None}
    if any(isinstance(value, Mapping) for value in columns.values()):
        unknown = set(columns) - {"rankings", "truth"}
        if unknown:
            raise UsageError(f"columns= has a mapping each for rankings and truth, not {unknown}")
        return {"rankings": columns.get("rankings"), "truth": columns.get("truth")}
    known = {"user", "item", "score", "rank", "gain"}
    unknown = set(columns) - known
    if unknown:
        raise UsageError(f"columns= knows the roles {sorted(known)}, not {sorted(unknown)}")
    truth = {role: columns[role] for role in ("user", "item", "gain") if role in columns}
    ranks = {role: columns[role] for role in ("user", "item", "score", "rank") if role in columns}
    return {"rankings": ranks, "truth": truth}
