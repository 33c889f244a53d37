"""The whole flow on one page: plan → read → open an engine → run → summarize. Read this first."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Unpack

from rankmeter._annexes import annex
from rankmeter._choices import Choices, takes_choices
from rankmeter._engine import open_data
from rankmeter._engine.choose import EngineName, parse_engine
from rankmeter._engine.memory import Data, Opener, Source
from rankmeter._engine.side import Given
from rankmeter._evaluation.question import DEFAULT_METRICS, Question
from rankmeter._results.segments import read_cluster_numbers
from rankmeter._results.summary import Summary, summarize
from rankmeter._typed import Like
from rankmeter.errors import RankmeterWarning
from rankmeter.errors._checks import use_words
from rankmeter.metrics import Metric

ONE = "rankings"
"""The name of the only system."""


@takes_choices
def evaluate(
    rankings: object,
    truth: object = None,
    metrics: str | Metric | Iterable[str | Metric] = DEFAULT_METRICS,
    *,
    like: Like | None = None,
    columns: Mapping[str, Any] | None = None,
    clusters: object = None,
    train: object = None,
    items: object = None,
    catalogue: object = None,
    baseline_lists: object = None,
    propensity: object = None,
    collapse: object = None,
    judge: object = None,
    judged: object = None,
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
        matrix of scores; the path of a Parquet, CSV, TSV, JSONL or TREC run file; or
        `rankmeter.Scores`, `rankmeter.Sampled`, `rankmeter.Ranks`, `rankmeter.Grades`,
        `rankmeter.Positions`.
    truth : object, optional
        Judged items per user, in any form: a frame with columns user, item and optionally gain; a
        dict from user to set, list or {item: gain}; a list of these; a path. May be left out if
        `rankings` are records of the form ``{"predict_list": …, "ground_truth": …}``, or if all
        metrics are list metrics, which need no ground truth. Left out for `rankmeter.Sampled`,
        `rankmeter.Ranks`, `rankmeter.Grades` and `rankmeter.Positions`, which have their own, and
        for lists of 0 and 1 that repeat, which are read as `rankmeter.Grades`. An integer is the
        relevant item of one user, whose items are a flat list.
    metrics : str, Metric or iterable of them
        ``"ndcg@10"``, ``"map@5,10"``, ``rm.NDCG(gain="exp2") @ 10``. A choice inside the
        parentheses holds for this metric alone: ``"ndcg(ties=expected)@10"``,
        ``"rr(relevant=2)@10"``.
    like : str, optional
        The tool, or ``tool==version``, whose conventions to follow; see `rankmeter conventions`.
    columns : mapping, optional
        Which column has which role, if the names do not say so:
        ``{"user": "member", "item": "sku"}``, or one such mapping for each side,
        ``{"rankings": {…}, "truth": {…}}``. Roles: user, item, score, rank, gain, subtopic;
        None if no column has the role: with ``{"gain": None}`` every row is a relevant item.
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
        The items that could be shown, or their number, for metrics such as coverage. Without it
        these are the items of `train`, as the result says.
    baseline_lists : object, optional
        Rankings of the same users by a system with which to compare what is shown, such as the
        most popular items, for metrics of the unexpected.
    propensity : object, optional
        How likely each item was seen, so that it could be judged, above 0 and at most 1, for
        metrics that count rare items more: a mapping from item to number, a pair (ids, numbers),
        or a frame or file with the item and a column of numbers.
    collapse : object, optional
        What ranked items are parts of, such as chunks of documents: a rule (``before:#`` or
        ``#`` is the text before the first ``#``, ``regex:PATTERN`` its group), or a mapping, frame
        or file from part to whole. A whole item is at the place of its best part; the others are
        counted as ``collapsed_items``. The ground truth names whole items.
    judge : object, optional
        Labels of a judge, such as a language model, for all queries, in any form that `truth`
        takes; `truth` then has the labels of people for some of the queries. Means are those of
        people, corrected by the judge (PPI++): they are right whatever the judge is worth, and the
        intervals are narrower where it agrees with people. ``result.judge_table()`` has its bias.
    judged : str, optional
        With `judge`, how the queries were chosen that people judged: ``random``, a random sample of
        those of the judge; or ``probability``, with the probability of each in the column of that
        name of `truth`, which alone says as much. Without one of them a judge is refused.
    engine : str
        ``memory`` holds all rankings in memory. ``disk`` cuts them into parts of whole users and
        measures one part after the other; the results are the same. So does ``spark`` with
        Spark DataFrames, and Parquet files that Spark can read. ``auto`` chooses ``spark`` for
        Spark DataFrames, and ``disk`` for files and queries that do not fit into memory.
    memory : str or int, optional
        Memory limit of ``disk``, ground truth excluded: ``"2GiB"``, ``"500MB"``, or a number of
        bytes. Data above it makes ``auto`` choose ``disk``, and ``spark`` broadcasts this much at a
        time. Default: the free memory, but at most 2 GiB for ``disk`` and ``spark``.
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
    side_data = Given(train, items, catalogue, baseline_lists, propensity, collapse)
    reading = parse_engine(engine, memory)
    question = Question(truth, metrics, like, choices, side_data, columns, reading, clusters)
    if judge is None and judged is None:
        return evaluate_question(question, rankings)
    corrected: Summary = annex("_judge.judged").evaluate_judged(question, rankings, judge, judged)
    return corrected


def evaluate_question(question: Question, rankings: object) -> Summary:
    """Evaluate rankings: read → open an engine → run → summarize."""
    plan, judged, systems, side = question.read({ONE: rankings})
    scores = open_data(judged, systems, side=side).run(plan)[ONE]
    unused: dict[str, int] = {}
    averaged = None if question.clusters is None else scores.in_any_mean(plan)
    cluster_ids = read_cluster_numbers(question.clusters, scores, unused, averaged)
    with use_words(plan.words):
        summary = summarize(plan, scores, judged, systems[ONE], cluster_ids, unused)
    unread = replace(question, side_data=replace(question.side_data))
    reopen = Opener(functools.partial(_reread_data, unread, rankings))
    return replace(summary, source=Source(reopen, ONE, lists=systems[ONE].rows.has_lists))


def _reread_data(question: Question, rankings: object) -> Data:
    """Read the data of an evaluation again, without repeating warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankmeterWarning)
        _, judged, systems, side = question.read({ONE: rankings})
    return open_data(judged, systems, side=side)
