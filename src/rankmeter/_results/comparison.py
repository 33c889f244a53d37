"""Several systems on the same ground truth."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import polars as pl

from rankmeter._annexes import annex
from rankmeter._choices import format_value
from rankmeter._reading.table import Frame
from rankmeter._results.compared import Compared, require_plan
from rankmeter._results.differences import most_moved_users
from rankmeter._results.result import UnavailableMethod, check_digits
from rankmeter._results.segments import means_by_segment, read_segments, segment_means_frame
from rankmeter._results.tables import Means
from rankmeter.conventions._plan import Plan
from rankmeter.errors import UsageError
from rankmeter.errors._checks import (
    check_choice,
    check_flag,
    check_integer,
    check_text,
    use_words_of_result,
)

if TYPE_CHECKING:
    from rankmeter._results.curves import Curve
    from rankmeter._results.walkthrough import Walkthrough

ChartKind: TypeAlias = Literal["forest", "curve", "differences", "segments", "tradeoff"]
"""The kinds of charts."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Comparison(Compared):
    """Several systems over one truth.

    Attributes
    ----------
    plan : Plan
        Every choice behind the values.
    """

    plan: Plan

    @property
    def per_user(self) -> Frame:
        """Columns ``system``, ``user`` and one per metric; a frame as that of `Summary`."""
        frames = [
            summary.values_by_user.select(pl.lit(name).alias("system"), pl.all())
            for name, summary in self.summaries.items()
        ]
        return self.kind.convert_frame(pl.concat(frames))

    def _pieces_by_user(self, size: int) -> Iterator[pl.DataFrame]:
        """The rows of `per_user` in Polars, for a fixed number of users at a time."""
        for name, summary in self.summaries.items():
            for piece in summary._pieces_by_user(size):
                yield piece.select(pl.lit(name).alias("system"), pl.all())

    def by_segment(self, segments: object) -> Frame:
        """Means of every system within segments of the users, as `Summary.by_segment`.

        Parameters
        ----------
        segments : object
            A label per user, in any form that `rankmeter.compare` takes.

        Returns
        -------
        polars.DataFrame, pandas.DataFrame or pyspark.sql.DataFrame
            Columns system, segment, metric, mean, low, high, std, n_users. Users without a label
            come last; their segment is null.

        Raises
        ------
        UsageError
            If there are no segments.
        DataError
            If no user has a label, a user has two, or labels mix text, numbers and booleans.

        Notes
        -----
        For differences within segments, and whether they differ between segments, pass
        ``segments=`` to `rankmeter.compare`.

        Examples
        --------
        >>> import rankmeter as rm
        >>> systems = {"old": {1: ["a", "b"], 2: ["a", "b"]}, "new": {1: ["b"], 2: ["a"]}}
        >>> found = rm.compare(systems, {1: ["b"], 2: ["b"]}, "rr")
        >>> found.by_segment({1: "web", 2: "store"})["system", "segment", "mean"].rows()
        [('old', 'store', 0.5), ('old', 'web', 0.5), ('new', 'store', 0.0), ('new', 'web', 1.0)]
        """
        frames = []
        for name, summary in self.summaries.items():
            labels = read_segments(segments, summary.scores)
            means = means_by_segment(summary.plan, summary.scores, labels, summary.clusters)
            frame = segment_means_frame(means)
            frames.append(frame.select(pl.lit(name).alias("system"), pl.all()))
        return self.kind.convert_frame(pl.concat(frames, how="vertical_relaxed"))

    @use_words_of_result
    def show(
        self,
        user: object,
        metrics: str | Iterable[str] | None = None,
        *,
        systems: str | Iterable[str] | None = None,
    ) -> Walkthrough:
        """How the values of one user are computed in each system, rank by rank.

        Parameters
        ----------
        user : object
            The id, also as text.
        metrics : str or iterable of str, optional
            Only these; default: all of the comparison.
        systems : str or iterable of str, optional
            Only these; default: all of them.

        Returns
        -------
        Walkthrough

        Raises
        ------
        UsageError
            If there is no such user or system, or a system has several runs.
        """
        walks: Walkthrough = annex("_show.trace").show_comparison(self, user, metrics, systems)
        return walks

    @use_words_of_result
    def to_latex(
        self,
        *,
        digits: int = 4,
        intervals: bool = False,
        caption: str = "",
        label: str = "",
    ) -> str:
        """The means in LaTeX, with the rules of the booktabs package.

        The best mean of each metric is bold and the second of at least three underlined, as they
        are printed; a raised sign or raised letters are the significance markers of `table`, with
        their meaning below the last rule, as is the convention. Cutoffs of one metric that follow
        each other are under one head. The mean of a system of several training runs is followed by
        its standard deviation over them, ``±``.

        Parameters
        ----------
        digits : int
            After the point, from 0 to 15.
        intervals : bool
            Whether to add the interval of each mean.
        caption, label : str
            Of a ``table`` around the ``tabular``; LaTeX, so they are not escaped.
        """
        printed = self._means_for_paper(digits, intervals=intervals)
        return printed.to_latex(check_text("caption", caption), check_text("label", label))

    @use_words_of_result
    def to_markdown(self, *, digits: int = 4, intervals: bool = False) -> str:
        """The headline, the means as in `to_latex`, and the notes in Markdown."""
        means = self._means_for_paper(digits, intervals=intervals).to_markdown()
        return self._answer().to_markdown(means)

    def _means_for_paper(self, digits: int, *, intervals: bool) -> Means:
        from rankmeter._results.citation import runs_text

        digits, intervals = check_digits(digits), check_flag("intervals", intervals)
        rows, tested = self._mean_cells(digits), self._significance_note()
        level = self.confidence if intervals else None
        ranks = [str(ranks) for ranks in self.rank_sets(self.labels[0]).values()]
        return Means(
            self.labels,
            rows,
            ranks,
            tested,
            self._rank_note(),
            self.notes,
            digits,
            level,
            self._bars(),
            self.conventions(),
            runs_text(runs) if (runs := self.settings["runs"]) else "",
        )

    def worst(
        self,
        n: int | None = 10,
        metric: str | None = None,
        *,
        system: str | None = None,
        against: str | None = None,
    ) -> Frame:
        """The users with the largest losses of a system against another one, largest first.

        Parameters
        ----------
        n : int, optional
            The number of users; None returns all users, including those who gain.
        metric : str, optional
            Default: the first one.
        system, against : str, optional
            Default: the two systems of the headline; with a baseline, it is `against`.

        Returns
        -------
        polars.DataFrame, pandas.DataFrame or pyspark.sql.DataFrame
            As `per_user`. Columns user, the value of each system as ``"BPR ndcg@10"``, and
            ``difference``: system minus against. Users with equal differences are in order of
            their ids.

        Raises
        ------
        UsageError
            If a system or a metric does not exist, or no user has a value of the metric.

        Examples
        --------
        >>> import rankmeter as rm
        >>> truth = {"ann": {"a"}, "bob": {"b"}}
        >>> old, new = {"ann": ["x", "a"], "bob": ["b"]}, {"ann": ["a"], "bob": ["x", "b"]}
        >>> found = rm.compare({"old": old, "new": new}, truth, "rr", baseline="old")
        >>> found.worst().rows()
        [('bob', 1.0, 0.5, -0.5)]
        >>> found.best().rows()
        [('ann', 0.5, 1.0, 0.5)]
        """
        return self.kind.convert_frame(self._moved_users(n, metric, system, against))

    def best(
        self,
        n: int | None = 10,
        metric: str | None = None,
        *,
        system: str | None = None,
        against: str | None = None,
    ) -> Frame:
        """The users with the largest gains of a system over another one, largest first.

        Parameters, columns and errors are those of `worst`.
        """
        return self.kind.convert_frame(self._moved_users(n, metric, system, against, worst=False))

    def _moved_users(
        self,
        n: int | None = None,
        metric: str | None = None,
        system: str | None = None,
        against: str | None = None,
        *,
        worst: bool = True,
    ) -> pl.DataFrame:
        """`worst` or `best` in Polars."""
        label = self._label(self.labels[0] if metric is None else metric)
        a, b = self._choose_two_systems(label, system, against)
        if self.by_metric[label].whole:
            raise UsageError(f"{label} is computed over all lists at once: no user has one")
        limit = None if n is None else check_integer("n", n, least=1)
        return most_moved_users(*self._paired(label, a, b), (f"{a} {label}", f"{b} {label}"), limit,
                     falling=worst == self.by_metric[label].increasing)  # fmt: skip

    def _choose_two_systems(
        self, label: str, system: str | None, rival: str | None
    ) -> tuple[str, str]:
        """Choose the two systems to show: the given systems, else the systems of the headline."""
        for option, name in (("system", system), ("against", rival)):
            if name is not None:
                check_choice(option, name, self.systems)
        d = self._verdict_on(label).difference or self[label][0]
        a, b = (d.b, d.a) if d.a == self.baseline else (d.a, d.b)
        system = system or (b if rival == a else a)
        usual = self.baseline if self.baseline not in ("", system) else (a if system == b else b)
        rival = rival or usual
        if system == rival:
            raise UsageError(f"{system} is compared with itself: name two systems")
        return system, rival

    def curve(self, metric: str, max_k: int | None = None) -> Curve:
        """``metric@1`` to ``metric@max_k`` of every system, with bands.

        Parameters
        ----------
        metric : str
            A metric of the comparison; its cutoff does not matter.
        max_k : int, optional
            Up to 10,000. Default: the largest cutoff of the plan, at least 20.

        Returns
        -------
        Curve

        Raises
        ------
        UsageError
            If the metric has no cutoff, or `max_k` is out of its range.
        """
        from rankmeter._results.curves import compute_curves, default_max_k

        label = self._label(metric)
        plan = require_plan(self)
        largest = default_max_k(plan) if max_k is None else max_k
        read = {name: summary.read for name, summary in self.summaries.items()}
        entries = [plan[label]]
        return compute_curves(plan, entries, self._scored, largest, self.clusters, read)[label]

    @use_words_of_result
    def plot(
        self,
        kind: ChartKind = "forest",
        *,
        metric: str | None = None,
    ) -> Any:
        """An Altair chart, which saves itself as PNG, SVG, PDF or HTML.

        Parameters
        ----------
        kind : {"forest", "curve", "differences", "segments", "tradeoff"}
            Differences with intervals, metric against k, the distribution of per-user differences,
            means by segment, or list metrics against the first metric of accuracy.
            Curves and trade-offs need rankings or results of evaluations.
        metric : str, optional
            Only this metric; default: all of them, side by side.

        Raises
        ------
        MissingDependencyError
            If Altair is not installed.
        UsageError
            If there is nothing of this kind to draw.
        """
        return annex("_report.plots").plot_comparison(self, kind, metric)

    @use_words_of_result
    def report(
        self,
        path: str | Path,
        *,
        interactive: bool = True,
        queries: object = None,
        items: object = None,
    ) -> Path:
        """Write a self-contained page that opens offline and can be read back.

        Parameters
        ----------
        path : str or Path
            An ``.html`` file.
        interactive : bool, default True
            Whether the page holds the values of all users and the top of their lists, with a script
            to search, filter and compare them. Many users are shortened to the worst, the best and
            a sample. Without a script and on paper the page is the one of ``interactive=False``.
        queries : mapping, frame or file, optional
            The text of each query: ``{query: text}``, or columns for both.
        items : mapping, frame or file, optional
            The title of each item, as for `queries`; otherwise those that `compare` got.

        Returns
        -------
        pathlib.Path
            The path of the page.

        Raises
        ------
        MissingDependencyError
            If the packages of the extra ``report`` are not installed.
        """
        wanted = check_flag("interactive", interactive)
        ask = annex("_report.desk").Interactive(wanted, queries, items)
        annex("_report.comparison_page").write(self, path, ask)
        return Path(path)

    def _plan_text(self) -> str:
        return self.plan.describe()

    def _notes_after_test_and_dropped(self) -> tuple[list[str], list[str]]:
        from rankmeter._results.notes import chance_notes, notes_on_means, uninformative_intervals

        facts = {
            name: {
                **summary.facts(),
                **uninformative_intervals(self.estimates[label, name] for label in self.labels),
            }
            for name, summary in self.summaries.items()
        }
        return notes_on_means(self.plan, facts), chance_notes(self.random, self.plan)


NEEDS = (
    "it needs the rankings: pass these, or results of evaluations, to rm.compare. Values of users "
    "have plot(), worst(), to_markdown() and to_latex()"
)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ValueComparison(Comparison):
    """Several systems on the same users, by values of any origin.

    Attributes
    ----------
    plan : Setting
        Confidence, kind and seed of the intervals.
    values : polars.DataFrame
        Columns system, user, metric, seed, value.
    """

    values: pl.DataFrame

    @property
    def increasing(self) -> dict[str, bool]:
        """By metric, whether larger is better."""
        return {label: values.increasing for label, values in self.by_metric.items()}

    @property
    def per_user(self) -> Frame:
        """Columns system, user, metric, seed, value; a frame as those of the values."""
        return self.kind.convert_frame(self.values)

    by_segment: ClassVar[Any] = UnavailableMethod(
        "pass segments= to rm.compare_values, or to rm.compare"
    )
    curve: ClassVar[Any] = UnavailableMethod(NEEDS)
    report: ClassVar[Any] = UnavailableMethod(NEEDS)
    show: ClassVar[Any] = UnavailableMethod(NEEDS)

    def _notes_after_test_and_dropped(self) -> tuple[list[str], list[str]]:
        lower = [f"{name}: lower is better" for name, up in self.increasing.items() if not up]
        missing = self.settings.get("missing_values")
        return [], [*lower, *([f"missing values: {missing:,}"] if missing else [])]

    def _plan_text(self) -> str:
        return "\n".join(
            f"{name:<11} {format_value(value)}" for name, value in self.settings.items()
        )
