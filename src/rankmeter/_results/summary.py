"""The result of an evaluation: every mean with its interval, and the evidence behind it."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from rankmeter._caution import warn
from rankmeter._checks import choice, refused
from rankmeter._engine import Scores, Source, chance
from rankmeter._estimates.estimates import Estimate, estimate, inside, mean_interval
from rankmeter._estimates.notes import (
    UNUSED_LABELS,
    Facts,
    alike,
    chance_notes,
    cluster_notes,
    clustered,
    counts_of,
    facts_of,
    notes_of,
    uneven,
    unused_labels,
)
from rankmeter._estimates.segments import labels_of, masks_of
from rankmeter._estimates.verdicts import histogram_of
from rankmeter._estimates.wording import level, number
from rankmeter._hits import BoolArray, IntArray
from rankmeter._ingest import POLARS, Frame, Kind
from rankmeter._ingest import Table as Read
from rankmeter._plan import Plan
from rankmeter._report import charts
from rankmeter._report.table import Table
from rankmeter._results.reported import Reported
from rankmeter._results.result import Lacking, decimals, drawn_notes, plain_mean
from rankmeter._statistics import moments, t_interval_of
from rankmeter._words import in_its_words, in_words
from rankmeter.errors import UsageError

if TYPE_CHECKING:
    from rankmeter._results.walkthrough import Walkthrough


@dataclass(frozen=True, eq=False, repr=False)
class Summary(Reported, Mapping[str, Estimate]):
    """Means of all metrics of a plan; a mapping from metric to `Estimate`.

    Any name of a metric works: ``result["nDCG@10"]`` is ``result["ndcg@10"]``.

    Attributes
    ----------
    plan : Plan
        Every choice that was made.
    scores : Scores
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
        That of the frames that the result hands out: those of pandas or Spark, with the name and
        type of its users, if the rankings came in such a frame, and else those of Polars.
    """

    plan: Plan
    scores: Scores
    counts: Mapping[str, int]
    estimates: Mapping[str, Estimate]
    clusters: IntArray | None = None
    cautions: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    groups: pl.DataFrame | None = None
    random: Mapping[str, float] = field(default_factory=dict)
    perfect: Mapping[str, float] = field(default_factory=dict)
    source: Source | None = None
    kind: Kind = POLARS

    best = Lacking("the means of perfect rankings are called `perfect`")

    def __getitem__(self, metric: str) -> Estimate:
        if metric in self.estimates:
            return self.estimates[metric]
        return self.estimates[self.plan[str(metric)].label]

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
        return self.kind.frame(self.values_by_user.clone())

    @cached_property
    def values_by_user(self) -> pl.DataFrame:
        """`per_user` in Polars, with the column ``user``."""
        return next(self.pieces_by_user(max(len(self.scores.users), 1)))

    def pieces_by_user(self, size: int) -> Iterator[pl.DataFrame]:
        """The rows of `values_by_user`, those of so many users of the scores at a time."""
        users = self.scores.users
        columns = {}
        used = np.zeros(len(users), dtype=bool)
        for entry in self.plan.metrics:
            averaged = self.scores.averaged(entry)
            column = np.full(len(users), np.nan)
            column[averaged.users] = averaged.values
            used[averaged.users] = True
            columns[entry.label] = column
        for start in range(0, max(len(users), 1), size):
            part = slice(start, start + size)
            values = {label: column[part] for label, column in columns.items()}
            frame = pl.DataFrame({"user": users[part], **values})
            yield frame.filter(pl.Series(used[part])).fill_nan(None)

    @in_its_words
    def show(self, user: object, metrics: str | Iterable[str] | None = None) -> Walkthrough:
        """How the values of one user come about, rank by rank.

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
            If the result has no such user, the rankings were read in pieces, or only sums are kept.
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
        convention rankmeter, relevant >0 · ties item
        """
        from rankmeter._results.walkthrough import Walkthrough, choices_of, entries_of, walk_user

        entries = entries_of(self.plan, metrics)
        walks = walk_user(self.source, self.scores, user, entries)
        return Walkthrough(
            user,
            tuple(("", one) for one in walks),
            choices_of(self.plan, self.facts()),
            self.words,
        )

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
        return self.kind.frame(self._by_label(self._segments(segments)))

    def gap(self, segments: object) -> Frame:
        """How far apart the means of segments are: the mean absolute difference of each two.

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
        from rankmeter._estimates.gaps import gap_values

        labels = self._segments(segments)
        rows = []
        for entry in self.plan.metrics:
            if entry.averaging.aggregate != "mean":
                raise UsageError(f"{entry.label} is not a mean over users, so it has no gap")
            averaged = self.scores.averaged(entry)
            known = labels.gather(averaged.users)
            inside = known.is_not_null().to_numpy()
            group = known.drop_nulls().rank("dense").to_numpy()
            values = gap_values(averaged.values[inside], group)
            found = moments(values)
            own = None if self.clusters is None else self.clusters[averaged.users[inside]]
            low, high = mean_interval(values, found, self.plan, own)
            n = len(np.unique(group))
            rows.append((entry.label, found.mean, max(low, 0.0), high, found.n, n))
        names = ["metric", "gap", "low", "high", "n_users", "n_segments"]
        return self.kind.frame(pl.DataFrame(rows, schema=names, orient="row"))

    def _segments(self, segments: object) -> pl.Series:
        """The segment of each user, null for users without one."""
        labels = labels_of(segments, "segment", self.scores)
        if labels is None:
            raise refused("segments", "a label for each user, such as {user: segment}", segments)
        return labels

    def _by_label(self, labels: pl.Series | None) -> pl.DataFrame:
        rows = []
        masks: list[tuple[str | None, BoolArray]] = [*masks_of(labels).items()]
        if labels is not None:
            masks.append((None, labels.is_null().to_numpy()))
        for segment, mask in masks:
            for entry in self.plan.metrics:
                part = self.scores.averaged(entry).only(mask)
                if segment is None and not part.users.size:
                    continue
                e = estimate(self.plan, entry, part, self.clusters)
                rows.append((segment, e.label, e.mean, e.low, e.high, e.std, e.n))
        names = ["segment", "metric", "mean", "low", "high", "std", "n_users"]
        return pl.DataFrame(rows, schema=names, orient="row")

    def by_group(self, group: str | None = None) -> Frame:
        """Means within the groups that were given as ``groups=``, and their macro averages.

        Parameters
        ----------
        group : str, optional
            One of the ways to group users, if several were given.

        Returns
        -------
        polars.DataFrame, pandas.DataFrame or pyspark.sql.DataFrame
            Columns segment, metric, mean, low, high, std, n_users. The last rows have the segment
            ``"macro"``: the mean of the groups' means, whose interval takes the groups as units
            and whose `n_users` is the number of groups. That interval is about groups like these,
            as relations of other graphs; it is too wide if these are all the groups there are.

        Raises
        ------
        UsageError
            If there is no such way to group users.

        Examples
        --------
        >>> import rankmeter as rm
        >>> result = rm.evaluate_ranks([1, 2, 4], "mrr", groups={"side": ["head", "tail", "tail"]})
        >>> result.by_group("side")["segment", "mean"].rows()
        [('head', 1.0), ('tail', 0.375), ('macro', 0.6875)]
        """
        return self.kind.frame(self._by_group(self._group(group)))

    def _group(self, group: str | None) -> str:
        """A way to group users, which can be left out if there is one."""
        known = [] if self.groups is None else self.groups.columns
        if not known or (group is None and len(known) > 1):
            hint = f"choose one of {', '.join(known)}" if known else "pass groups= when evaluating"
            raise UsageError(f"no group to report by: {hint}", option="group")
        return choice("group", known[0] if group is None else group, known)

    def _by_group(self, name: str) -> pl.DataFrame:
        """`by_group` in Polars."""
        labels = None if self.groups is None else self.groups[name]
        found = self._by_label(labels)
        macro = []
        for entry in self.plan.metrics:
            values = found.filter(metric=entry.label)["mean"].drop_nans().to_numpy()
            m = moments(values)
            low, high = t_interval_of(m, self.confidence) if m.n > 1 else (np.nan, np.nan)
            low, high = inside((entry.spec.low, entry.spec.high), m.mean, low, high)
            macro.append(("macro", entry.label, m.mean, low, high, m.sd, m.n))
        return pl.concat([found, pl.DataFrame(macro, schema=found.schema, orient="row")])

    @in_its_words
    def group_table(self, group: str | None = None) -> Table:
        """`by_group` as a table that can be rendered: text, Markdown, LaTeX, HTML.

        Parameters
        ----------
        group : str, optional
            As in `by_group`.

        Raises
        ------
        UsageError
            If there is no such way to group users.

        Examples
        --------
        >>> import rankmeter as rm
        >>> result = rm.evaluate_ranks([1, 2, 2], "mr", groups={"side": ["head", "tail", "tail"]})
        >>> result.group_table()
        side   metric    mean     95 % interval  queries
        ────────────────────────────────────────────────
        head   mr      1.0000            [–, –]        1
        tail   mr      2.0000  [2.0000, 2.0000]        2
        macro  mr      1.5000  [1.0000, 7.8531]        2
        """
        name = self._group(group)
        columns = [name, "metric", "mean", f"{level(self.confidence)} interval", in_words("users")]
        rows = [
            [segment or "none", metric, *_cells(mean, low, high, n)]
            for segment, metric, mean, low, high, _, n in self._by_group(name).rows()
        ]
        return Table(columns, rows, left=2)

    def adjusted(self, metric: str) -> Estimate:
        """A mean adjusted for chance: 0 is the mean of random rankings, and 1 that of perfect ones.

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
        mean, one, other = ((x - low) / size for x in (e.mean, e.low, e.high))
        std = e.std / abs(size)
        return replace(e, mean=mean, low=min(one, other), high=max(one, other), std=std)

    def _content(self) -> dict[str, Any]:
        return {
            "metrics": {
                label: plain_mean(e)
                | {"undefined": e.undefined}
                | ({"random": self.random[label]} if label in self.random else {})
                for label, e in self.items()
            },
            "users": self.counts,
            **({"groups": self._plain_groups()} if self.groups is not None else {}),
            "cautions": list(self.cautions),
            "notes": list(self._notes()),
            "plan": self.plan.to_dict(),
        }

    def _plain_groups(self) -> dict[str, Any]:
        """By way to group users, the rows of `by_group`."""
        names = [] if self.groups is None else self.groups.columns
        return {name: self._by_group(name).fill_nan(None).to_dicts() for name in names}

    def to_polars(self) -> pl.DataFrame:
        """One row per metric: metric, mean, low, high, std, n_users, undefined, missing."""
        frame = pl.DataFrame([vars(e) for e in self.values()])
        return frame.rename({"label": "metric", "n": "n_users"})

    @in_its_words
    def table(self) -> Table:
        """The result as a table that can be rendered: text, Markdown, LaTeX, HTML."""
        return self._printed()

    @in_its_words
    def to_latex(self, *, digits: int = 4, caption: str = "", label: str = "") -> str:
        """The means with their intervals in LaTeX, with the rules of the booktabs package.

        Parameters
        ----------
        digits : int
            After the point, from 0 to 15.
        caption, label : str
            Of a ``table`` around the ``tabular``; LaTeX, so they are not escaped.
        """
        return self._printed(digits).to_latex(caption, label)

    @in_its_words
    def to_markdown(self, *, digits: int = 4) -> str:
        """The table in Markdown, with `digits` after the point."""
        return self._printed(digits).to_markdown()

    def _printed(self, digits: int = 4) -> Table:
        digits = decimals(digits)
        undefined = any(e.undefined for e in self.values())
        columns = ["metric", "mean", f"{level(self.confidence)} interval", in_words("users")]
        rows = [
            [
                e.label,
                *_cells(e.mean, e.low, e.high, e.n, digits),
                *([f"{e.undefined:,}"] if undefined else []),
            ]
            for e in self.values()
        ]
        return Table([*columns, *(["undefined"] if undefined else [])], rows, self._notes())

    def facts(self) -> Facts:
        """Notes that are needed to read the means."""
        return facts_of(self.plan, self.scores, self.read)

    @property
    def read(self) -> dict[str, int]:
        """The counts of the data as they were read, before any score."""
        others = {"clusters", "effective_clusters", *UNUSED_LABELS, *self.scores.counts}
        return {name: count for name, count in self.counts.items() if name not in others}

    def _clustered(self) -> dict[str, dict[str, int]]:
        """By metric, the numbers of clusters of the users that it averages."""
        if self.clusters is None:
            return {}
        return {
            entry.label: clustered(self.clusters[self.scores.averaged(entry).users])
            for entry in self.plan.metrics
        }

    def _notes(self) -> tuple[str, ...]:
        """The facts, how intervals were made, and which values are not means."""
        notes = notes_of(self.plan, {"": {**self.facts(), **alike(self.values())}})
        notes += chance_notes(self.random, self.plan)
        notes += [*unused_labels(self.counts), *cluster_notes(self._clustered(), "intervals")]
        notes += drawn_notes(self.plan)
        return (*self.cautions, *notes, *self.remarks)

    @in_its_words
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
        if choice("kind", kind, ("means", "distribution")) == "means":
            return charts.side_by_side([charts.means(list(self.values()), self.confidence)])
        shares = [
            charts.distribution(entry.label, *histogram_of(self.scores.averaged(entry).values))
            for entry in self.plan.metrics
        ]
        return charts.side_by_side(shares)

    def _logged(self) -> Iterator[tuple[tuple[str, ...], Mapping[str, float]]]:
        return (((label,), e.numbers()) for label, e in self.items())


def _cells(mean: float, low: float, high: float, n: int, digits: int = 4) -> list[str]:
    """A mean, its interval and its number of users as text."""
    return [number(mean, digits), f"[{number(low, digits)}, {number(high, digits)}]", f"{n:,}"]


def summarise(
    plan: Plan,
    scores: Scores,
    truth: Read,
    rankings: Read,
    clusters: IntArray | None = None,
    unused: Mapping[str, int] | None = None,
) -> Summary:
    """Average the scores, which were made of ground truth and rankings, as the plan says.

    `clusters` has the cluster of each user, and `unused` the counts of labels without effect.
    """
    random, perfect = by_chance(plan, scores, truth)
    doubts = uneven(plan, scores)
    warn(*doubts)
    return summed(
        plan,
        scores,
        {**counts_of(rankings, truth), **(unused or {})},
        clusters=clusters,
        cautions=(*truth.cautions, *rankings.cautions, *doubts),
        kind=rankings.origin.kind,
        random=random,
        perfect=perfect,
    )


def summed(
    plan: Plan,
    scores: Scores,
    read: Mapping[str, int],
    *,
    clusters: IntArray | None = None,
    **more: Any,
) -> Summary:
    """Average the scores as the plan says; `read` has the counts of the data, `more` attributes."""
    estimates = {
        entry.label: estimate(plan, entry, scores.averaged(entry), clusters)
        for entry in plan.metrics
    }
    drawn = {} if clusters is None else clustered(clusters[scores.ever_averaged(plan)])
    counts = {**scores.counts, **read, **drawn}
    return Summary(plan, scores, counts, estimates, clusters, **more)


def with_metrics(result: Summary, labels: Collection[str]) -> Summary:
    """A result with some of its metrics, in this order."""
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


def by_chance(plan: Plan, scores: Scores, truth: Read) -> tuple[dict[str, float], dict[str, float]]:
    """Means of random and of perfect rankings over the users of the result, where both exist."""
    means: tuple[dict[str, float], dict[str, float]] = {}, {}
    entries = [one for one in plan.metrics if one.averaging.aggregate == "mean"]
    if plan.n_items is None or not entries or scores.ids is None:
        return means
    found = chance(truth, plan, plan.n_items)
    for entry in entries:
        users = scores.users.gather(scores.averaged(entry).users)
        both = []
        for one in found:
            inside = one.users.is_in(users.implode()).to_numpy()
            values = one.values[entry.label][inside]
            both.append(float(values.mean()) if values.size else math.nan)
        if not any(map(math.isnan, both)):
            for table, mean in zip(means, both, strict=True):
                table[entry.label] = mean
    return means
