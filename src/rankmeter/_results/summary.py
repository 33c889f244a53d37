"""The result of an evaluation: every mean with its interval, and the evidence behind it."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import polars as pl

from rankmeter._annexes import annex
from rankmeter._engine.block import random_and_perfect_scores
from rankmeter._engine.scores import UserValues
from rankmeter._evidence.hits import IntArray
from rankmeter._reading.table import Frame, Table
from rankmeter._results.counts import count_clusters, counts_of_tables, uneven_weight_cautions
from rankmeter._results.estimates import Estimate, estimate
from rankmeter._results.evaluated import Evaluated
from rankmeter._results.result import UnavailableMethod
from rankmeter._results.segments import (
    means_by_segment,
    read_segments,
    segment_gap_frame,
    segment_means_frame,
)
from rankmeter.conventions._plan import Plan
from rankmeter.errors import UsageError
from rankmeter.errors._caution import warn
from rankmeter.errors._checks import check_flag, use_words_of_result

if TYPE_CHECKING:
    from rankmeter._results.walkthrough import Walkthrough


@dataclass(frozen=True, eq=False, repr=False)
class Summary(Evaluated, Mapping[str, Estimate]):
    """Means of all metrics of a plan; a mapping from metric to `Estimate`.

    Any name of a metric works: ``result["nDCG@10"]`` is ``result["ndcg@10"]``.

    Attributes
    ----------
    plan : Plan
        Every choice that was made.
    scores : UserValues
        The values behind the means.
    counts : mapping of str to int
        Counts of rows read, dropped, merged and missing.
    estimates : mapping of str to Estimate
        By label of the metric.
    clusters : int64 array of shape (n_users,) or None
        The cluster of each user of the scores, if users share clusters.
    cautions : tuple of str
        Reasons to doubt that the data are what was meant.
    remarks : tuple of str
        Further notes, such as how much ties matter.
    groups : polars.DataFrame or None
        The groups of each user of the scores, a column for each way to group them.
    random, perfect : mapping of str to float
        By metric, the expected mean of random rankings of all candidates, and the mean of perfect
        ones; empty unless the number of candidates is known (``n_items``).
    source : Source or None
        What was given to evaluate, for `show`: references, no copies.
    kind : Kind
        Data frame library of the returned frames: pandas or Spark, with the name and type of
        their users, if the rankings are such a frame, and otherwise Polars.
    fingerprints : Fingerprints or None
        Of a stored result, those of its ground truth and its lists.
    """

    best: ClassVar[Any] = UnavailableMethod("the means of perfect rankings are called `perfect`")

    def __getitem__(self, metric: str) -> Estimate:
        if isinstance(metric, str) and metric in self.estimates:
            return self.estimates[metric]
        return self.estimates[self.plan[metric].label]

    def __iter__(self) -> Iterator[str]:
        return iter(self.estimates)

    def __len__(self) -> int:
        return len(self.estimates)

    @property
    def per_user(self) -> Frame:
        """One row per user that any metric averages: ``user`` and a column per metric.

        A value set by a rule (a missing user's 0) is shown as it counts; a user that a metric does
        not average is null there. The frame is a copy: changing it does not change the result. It
        is a frame of pandas or Spark, with its name of the users, if the rankings came in one, and
        else a Polars frame. A Spark DataFrame has the rows of `values_by_user`, which Spark gets
        when it is made.
        """
        return self.kind.convert_frame(self.values_by_user.clone())

    @use_words_of_result
    def show(self, user: object, metrics: str | Iterable[str] | None = None) -> Walkthrough:
        """How the values of one user are computed, rank by rank.

        Rankings and ground truth are read once more from what was given to `evaluate`, to which the
        result refers, and the metrics are computed again for this user while their steps are noted.
        Of scores and ranks, only the ranks of the judged items are known.

        Parameters
        ----------
        user : object
            The id, also as text.
        metrics : str or iterable of str, optional
            Only these; default: all of the result.

        Returns
        -------
        Walkthrough
            Shows itself as text, HTML or Markdown; `to_dict` has all numbers.

        Raises
        ------
        UsageError
            If the result has no such user, the rankings are in Spark, or only sums are kept.
        DataError
            If rankings or ground truth have changed since.

        Examples
        --------
        >>> import rankmeter as rm
        >>> result = rm.evaluate({"ann": ["x", "b", "a"]}, {"ann": {"a": 3, "b": 1}}, "ndcg@2")
        >>> result.show("ann")
        ndcg@2 of user ann = 0.1738
        rank  item  gain  discount    term     sum
        ──────────────────────────────────────────
        1     x
        2     b        1    0.6309  0.6309  0.6309
        3     a        3    0.5000       0  0.6309
        <BLANKLINE>
        the perfect ranking:
        rank  item  gain  discount    term     sum
        ──────────────────────────────────────────
        1     a        3         1       3       3
        2     b        1    0.6309  0.6309  3.6309
        <BLANKLINE>
        dcg = 0.6309
        dcg of the ideal = 3.6309
        ndcg@2 = dcg / ideal = 0.6309 / 3.6309 = 0.1738
        convention rankmeter: items with a gain above 0 are relevant
        of tied items the item that sorts first comes first
        """
        walkthrough: Walkthrough = annex("_show.trace").show_evaluation(self, user, metrics)
        return walkthrough

    def by_segment(self, segments: object) -> Frame:
        """Means within segments of the users.

        Parameters
        ----------
        segments : object
            A label per user, in any form that `rankmeter.compare` takes.

        Returns
        -------
        polars.DataFrame, pandas.DataFrame or pyspark.sql.DataFrame
            Columns segment, metric, mean, low, high, std, n_users. Users without a label come last;
            their segment is null.

        Raises
        ------
        UsageError
            If there are no segments.
        DataError
            If no user has a label, a user has two, or labels mix text, numbers and booleans.
        """
        labels = read_segments(segments, self.scores)
        means = means_by_segment(self.plan, self.scores, labels, self.clusters)
        return self.kind.convert_frame(segment_means_frame(means))

    def gap(self, segments: object) -> Frame:
        """The gap between segments: the mean absolute pairwise difference of their means.

        Parameters
        ----------
        segments : object
            A label per user, in any form that `rankmeter.compare` takes.

        Returns
        -------
        polars.DataFrame, pandas.DataFrame or pyspark.sql.DataFrame
            Columns metric, gap, low, high, n_users, n_segments. Users without a label are left out.

        Raises
        ------
        UsageError
            If a metric is not a mean over users, or there are no segments.

        Notes
        -----
        The interval is that of the jackknife over users. Segments that are alike differ by chance,
        too: the gap is above 0 with any finite number of users. Source: the MAD of Deldjoo et al.,
        A flexible framework for evaluating user and item fairness in recommender systems, User
        Modeling and User-Adapted Interaction 2021.

        Examples
        --------
        >>> import rankmeter as rm
        >>> lists = {"ann": ["a"], "bob": ["x"], "cat": ["x"]}
        >>> result = rm.evaluate(lists, dict.fromkeys(lists, {"a"}), "hr@1")
        >>> result.gap({"ann": "new", "bob": "new", "cat": "old"})["gap"].to_list()
        [0.5]
        """
        labels = read_segments(segments, self.scores)
        return self.kind.convert_frame(
            segment_gap_frame(self.plan, self.scores, labels, self.clusters)
        )

    def adjusted(self, metric: str) -> Estimate:
        """A mean adjusted for chance: 0 for random rankings, 1 for perfect rankings.

        ``(mean - random) / (best - random)``, and its interval likewise; it can be negative. As in
        the adjusted mean reciprocal rank of link prediction, for any metric of hits. The metric
        ``ndcg(adjusted)@10`` adjusts the value of each user instead, which can then be compared.

        Parameters
        ----------
        metric : str
            Any name of a metric of the result.

        Raises
        ------
        UsageError
            If the number of candidates is not known, or the metric has no value by chance.

        Examples
        --------
        One of four items is relevant: at rank 1 it gives 1, and at random 1/4 of the time.

        >>> import rankmeter as rm
        >>> truth, lists = {"ann": {"a"}, "bob": {"b"}}, {"ann": ["a"], "bob": ["x"]}
        >>> result = rm.evaluate(lists, truth, "hr@1", n_items=4, relevant=">0")
        >>> result["hr@1"].mean, result.random["hr@1"], round(result.adjusted("hr@1").mean, 4)
        (0.5, 0.25, 0.3333)
        """
        e = self[metric]
        if e.label not in self.random:
            raise UsageError(
                f"{e.label} has no value by chance: pass n_items=, the number of candidates, and "
                "choose a metric of hits"
            )
        low, size = self.random[e.label], self.perfect[e.label] - self.random[e.label]
        if not size:
            raise UsageError(f"every ranking has the same {e.label}: there is nothing to adjust")
        mean, bound, other = ((x - low) / size for x in (e.mean, e.low, e.high))
        std = e.std / abs(size)
        e = replace(e, low=min(bound, other), high=max(bound, other), mean=mean, std=std)
        return replace(e, lowest=math.nan, highest=math.nan, unjudged=math.nan)

    @use_words_of_result
    def plot(self, kind: Literal["means", "distribution"] = "means") -> Any:
        """An Altair chart, which saves itself as PNG, SVG, PDF or HTML.

        Parameters
        ----------
        kind : {"means", "distribution"}
            The means with their intervals, or the distribution of the users' values.

        Raises
        ------
        MissingDependencyError
            If Altair is not installed.
        UsageError
            If the kind is unknown.
        """
        return annex("_report.plots").plot_evaluation(self, kind)

    @use_words_of_result
    def report(
        self,
        path: str | Path,
        *,
        segments: object = None,
        interactive: bool = True,
        queries: object = None,
        items: object = None,
    ) -> Path:
        """Write a self-contained page that opens offline and can be read back.

        It has all means, how the values of the users are spread, the users with the worst and the
        best values, and the plan. Curves against k, the ranks of the first hits, the popularity of
        what is shown and the lists need the rankings once more: they are left out where these
        cannot be read again, or have changed since.

        Parameters
        ----------
        path : str or Path
            An ``.html`` file.
        segments : mapping or frame, optional
            A label per user, or a frame with the columns ``user`` and ``segment``: also show the
            means within segments.
        interactive : bool, default True
            Whether the page holds the values of all users and the top of their lists, with a script
            to search, filter and compare them. Many users are shortened to the worst, the best and
            a sample. Without a script and on paper the page is the one of ``interactive=False``.
        queries : mapping, frame or file, optional
            The text of each query: ``{query: text}``, or columns for both.
        items : mapping, frame or file, optional
            The title of each item, as for `queries`; otherwise those that `evaluate` got.

        Returns
        -------
        pathlib.Path
            The path of the page.

        Raises
        ------
        MissingDependencyError
            If the packages of the extra ``report`` are not installed.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> import rankmeter as rm
        >>> lists = {"ann": ["b", "a"], "bob": ["b"], "cat": ["a"]}
        >>> result = rm.evaluate(lists, {user: {"a"} for user in lists}, "rr ndcg@2")
        >>> with TemporaryDirectory() as folder:
        ...     page = Path(folder, "report.html")
        ...     written = result.report(page, segments={"ann": "new", "bob": "new", "cat": "old"})
        ...     written.read_text("utf-8")[:15]
        '<!doctype html>'
        """
        wanted = check_flag("interactive", interactive)
        ask = annex("_report.desk").Interactive(wanted, queries, items)
        annex("_report.summary_page").write(self, path, segments, ask)
        return Path(path)

    @use_words_of_result
    def save(self, path: str | Path) -> None:
        """Store the result in a file: values by user, plan, fingerprints of the data.

        `rankmeter.load_result` reads it, and `rankmeter.compare` takes the path as a system:
        ``rm.compare({"new": result, "prod": "prod.result"})``. Rankings in memory are read once
        more for the fingerprints.

        Parameters
        ----------
        path : str or Path
            A file whose name ends in ``.result``.

        Raises
        ------
        UsageError
            If the file has another name, or the result has no values of users.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> import rankmeter as rm
        >>> result = rm.evaluate({"ann": ["b", "a"]}, {"ann": {"a"}}, "rr")
        >>> with TemporaryDirectory() as folder:
        ...     result.save(Path(folder, "prod.result"))
        ...     rm.load_result(Path(folder, "prod.result"))["rr"].mean
        0.5
        """
        annex("_stored.file").save_result(self, path)


def summarize(
    plan: Plan,
    scores: UserValues,
    truth: Table,
    rankings: Table,
    clusters: IntArray | None = None,
    unused: Mapping[str, int] | None = None,
) -> Summary:
    """Average the scores of rankings and ground truth as the plan says.

    `clusters` has the cluster of each user, and `unused` the counts of labels without effect.
    """
    random, perfect = random_and_perfect_means(plan, scores, truth)
    doubts = uneven_weight_cautions(plan, scores)
    warn(*doubts)
    summary = average_scores(
        plan,
        scores,
        {**counts_of_tables(rankings, truth), **(unused or {})},
        clusters=clusters,
        cautions=(*truth.origin.cautions, *rankings.origin.cautions, *scores.cautions, *doubts),
        kind=rankings.origin.kind,
        random=random,
        perfect=perfect,
    )
    add_bounds = annex("_judge.bounds").with_bounds if plan.has_bounds else None
    return add_bounds(summary, truth, rankings) if add_bounds else summary


def average_scores(
    plan: Plan,
    scores: UserValues,
    read: Mapping[str, int],
    *,
    clusters: IntArray | None = None,
    **attributes: Any,
) -> Summary:
    """Average the scores as the plan says; `read` has the counts of the data."""
    estimates = {
        entry.label: estimate(plan, entry, scores.averaged(entry), clusters)
        for entry in plan.metrics
    }
    cluster_counts = {} if clusters is None else count_clusters(clusters[scores.in_any_mean(plan)])
    counts = {**scores.counts, **read, **cluster_counts}
    return Summary(plan, scores, counts, estimates, clusters, **attributes)


def restrict_to_metrics(result: Summary, labels: Collection[str]) -> Summary:
    """Restrict a result to some metrics, in the order of `labels`."""
    entries = tuple(result.plan[label] for label in labels)
    if entries == result.plan.metrics:
        return result
    return replace(
        result,
        plan=replace(result.plan, metrics=entries),
        estimates={label: result.estimates[label] for label in labels},
        random={label: x for label, x in result.random.items() if label in labels},
        perfect={label: x for label, x in result.perfect.items() if label in labels},
    )


def rename_metrics_as_in(first: Summary, result: Summary) -> Summary:
    """Rename the metrics of `result` as in `first` where the metrics are equal."""
    by_metric = {entry.requested: entry.label for entry in first.plan.metrics}
    names = {e.label: by_metric.get(e.requested, e.label) for e in result.plan.metrics}
    if all(name == label for label, name in names.items()):
        return result

    def rename_keys(by_label: Mapping[str, Any]) -> dict[str, Any]:
        return {names.get(label, label): value for label, value in by_label.items()}

    entries = (replace(entry, label=names[entry.label]) for entry in result.plan.metrics)
    scores = result.scores
    estimates = {names[x]: replace(e, label=names[x]) for x, e in result.estimates.items()}
    return replace(
        result,
        plan=replace(result.plan, metrics=tuple(entries)),
        scores=replace(
            scores,
            labels=tuple(names.get(label, label) for label in scores.labels),
            states=rename_keys(scores.states),
            errors=rename_keys(scores.errors),
            ends=rename_keys(scores.ends),
        ),
        estimates=estimates,
        random=rename_keys(result.random),
        perfect=rename_keys(result.perfect),
    )


def random_and_perfect_means(
    plan: Plan, scores: UserValues, truth: Table
) -> tuple[dict[str, float], dict[str, float]]:
    """Means of random and of perfect rankings over the users of the result, where both exist."""
    means: tuple[dict[str, float], dict[str, float]] = {}, {}
    entries = [entry for entry in plan.metrics if entry.averaging.aggregate == "mean"]
    if plan.n_items is None or not entries or scores.ids is None:
        return means
    pair = random_and_perfect_scores(truth, plan, plan.n_items)
    judged = pl.DataFrame({"user": pair[0].users}).with_row_index()
    joined = pl.DataFrame({"user": scores.users}).join(
        judged, "user", "left", maintain_order="left"
    )
    rows = joined["index"].cast(pl.Int64).fill_null(-1).to_numpy()
    for entry in entries:
        users = np.sort(rows[scores.averaged(entry).users])
        users = users[users >= 0]
        pair_means = [t.values[entry.label][users].mean() for t in pair] if users.size else []
        if pair_means and not any(map(math.isnan, pair_means)):
            for table, mean in zip(means, pair_means, strict=True):
                table[entry.label] = float(mean)
    return means
