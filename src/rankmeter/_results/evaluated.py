"""One evaluation: its values, its means, its notes and its tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from rankmeter._engine.memory import Source
from rankmeter._engine.scores import UserValues
from rankmeter._evidence.hits import IntArray
from rankmeter._reading.by_user import to_series
from rankmeter._reading.table import POLARS, Frame, Kind
from rankmeter._results.counts import UNUSED_LABELS, count_clusters
from rankmeter._results.estimates import Estimate
from rankmeter._results.result import Logged, check_digits, mean_as_dict
from rankmeter._results.segments import means_by_segment, segment_means_frame
from rankmeter._results.wording import interval_text, level_text, number_text
from rankmeter.conventions._plan import Plan
from rankmeter.errors import UsageError
from rankmeter.errors._checks import (
    check_choice,
    check_integer,
    check_text,
    use_words_of_result,
    words_in_use,
)

if TYPE_CHECKING:
    from rankmeter._results.answer import Answer
    from rankmeter._results.notes import Facts
    from rankmeter._results.tables import TextTable
    from rankmeter._results.verdicts import Headline


class Fingerprints(NamedTuple):
    """What a stored result knows of its data; None where the rankings were not in memory."""

    truth: str | None = None
    lists: str | None = None
    judged_items: int | None = None
    shown_items: int | None = None
    """The judged items that are in some ranking."""


@dataclass(frozen=True, eq=False, repr=False)
class Evaluated(Logged):
    """Means of all metrics of a plan, and the values behind them.

    The attributes are those of `Summary`.
    """

    plan: Plan
    scores: UserValues
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
    fingerprints: Fingerprints | None = None

    @property
    def confidence(self) -> float:
        """Level of the intervals."""
        return self.plan.confidence

    @cached_property
    def values_by_user(self) -> pl.DataFrame:
        """`per_user` in Polars, with the column ``user``."""
        return next(self._pieces_by_user(max(len(self.scores.users), 1)))

    def _pieces_by_user(self, size: int) -> Iterator[pl.DataFrame]:
        """The rows of `values_by_user`, for a fixed number of users at a time."""
        size = check_integer("size", size, least=1)
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
            rows = start + np.flatnonzero(used[start : start + size])
            values = {label: column[rows] for label, column in columns.items()}
            ids = users.gather(to_series(rows))
            yield pl.DataFrame({"user": ids, **values}, nan_to_null=True)

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
            ``"macro"``: the mean of the groups' means, whose `n_users` is the number of groups and
            whose `std` is over groups. Its interval is about other users of these groups, which are
            all the groups there are: each counts the same, however many users it has. Where every
            group has a single user, nothing is known about other users, and there is no interval.

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
        return self.kind.convert_frame(self._group_rows(self._choose_group(group)))

    def _choose_group(self, group: str | None) -> str:
        """Check the name of a grouping of users; None selects the only grouping."""
        names = [*labels_by_group(self)]
        if not names or (group is None and len(names) > 1):
            hint = f"choose one of {', '.join(names)}" if names else "pass groups= when evaluating"
            raise UsageError(f"no group to report by: {hint}", option="group")
        return check_choice("group", names[0] if group is None else group, names)

    @use_words_of_result
    def group_table(self, group: str | None = None) -> TextTable:
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
        macro  mr      1.5000  [1.5000, 1.5000]        2
        """
        name = self._choose_group(group)
        columns = [
            name,
            "metric",
            "mean",
            f"{level_text(self.confidence)} interval",
            words_in_use().users,
        ]
        rows = [
            [segment or "none", metric, *mean_cells(mean, low, high, n)]
            for segment, metric, mean, low, high, _, n in self._group_rows(name).rows()
        ]
        from rankmeter._results.tables import TextTable

        return TextTable(columns, rows, left=2)

    def _group_rows(self, name: str) -> pl.DataFrame:
        """Means by segment for one grouping of users, and macro averages."""
        labels = labels_by_group(self)[name]
        return segment_means_frame(
            means_by_segment(self.plan, self.scores, labels, self.clusters, macro=True)
        )

    def _dict_content(self) -> dict[str, Any]:
        names = labels_by_group(self)
        groups = {name: self._group_rows(name).to_dicts() for name in names}
        return {
            "metrics": {
                label: mean_as_dict(e)
                | {"undefined": e.undefined}
                | ({"random": self.random[label]} if label in self.random else {})
                for label, e in self.estimates.items()
            },
            "users": self.counts,
            **({"groups": groups} if self.groups is not None else {}),
            "cautions": list(self.cautions),
            "notes": list(self.notes),
            "citation": self.cite(),
            "plan": self.plan.to_dict(),
        }

    def to_polars(self) -> pl.DataFrame:
        """One row per metric: metric, mean, low, high, std, n_users, undefined, missing.

        With ``unjudged="bounds"`` also lowest, highest and unjudged.
        """
        frame = pl.DataFrame([vars(e) for e in self.estimates.values()])
        frame = frame if self.plan.has_bounds else frame.drop("lowest", "highest", "unjudged")
        return frame.rename({"label": "metric", "n": "n_users"})

    @use_words_of_result
    def table(self) -> TextTable:
        """The result as a table that can be rendered: text, Markdown, LaTeX, HTML."""
        return self._means_table()

    @use_words_of_result
    def to_latex(self, *, digits: int = 4, caption: str = "", label: str = "") -> str:
        """The means with their intervals in LaTeX, with the rules of the booktabs package.

        The convention is below the last rule.

        Parameters
        ----------
        digits : int
            After the point, from 0 to 15.
        caption, label : str
            Of a ``table`` around the ``tabular``; LaTeX, so they are not escaped.
        """
        return self._means_table(digits).to_latex(
            check_text("caption", caption), check_text("label", label), self.conventions()
        )

    def conventions(self) -> list[str]:
        """What a paper must say of the convention."""
        from rankmeter._results.citation import conventions_of

        return conventions_of(self.plan, [self])

    def _citation(self) -> str:
        from rankmeter._results.citation import sentence_on_means

        means = self.estimates.values()
        return sentence_on_means([*self.estimates], means, self.confidence, self.conventions())

    @use_words_of_result
    def to_markdown(self, *, digits: int = 4) -> str:
        """The headline, the table with `digits` after the point, and the notes in Markdown."""
        return self._answer(digits).to_markdown()

    @use_words_of_result
    def headline(self) -> Headline:
        """The first mean in a line, and sentences on how sure it is and how values are spread."""
        from rankmeter._results.verdicts import mean_headline

        entry = self.plan.metrics[0]
        values = None if entry.spec.whole else self.scores.averaged(entry).values
        e, random = self.estimates[entry.label], self.random.get(entry.label)
        up = entry.spec.increasing
        return mean_headline(e, values, self.confidence, random, increasing=up)

    @use_words_of_result
    def _answer(self, digits: int = 4) -> Answer:
        """The headline, the means, the notes that change a decision, and the rest on request."""
        from rankmeter._results.answer import Answer

        headline, groups = self.headline(), [*map(self.group_table, labels_by_group(self))]
        sentences = [*headline.sentences]
        return Answer(
            headline.title, self._means_table(digits), self.notes, groups, lambda: [sentences]
        )

    def _means_table(self, digits: int = 4) -> TextTable:
        digits = check_digits(digits)
        undefined = any(e.undefined for e in self.estimates.values())
        columns = [
            "metric",
            "mean",
            f"{level_text(self.confidence)} interval",
            words_in_use().users,
        ]
        rows = [
            [
                e.label,
                *mean_cells(e.mean, e.low, e.high, e.n, digits),
                *([f"{e.undefined:,}"] if undefined else []),
                *bound_cells(e, digits),
            ]
            for e in self.estimates.values()
        ]
        from rankmeter._results.tables import TextTable

        columns += ["undefined"] * undefined
        columns += ["lowest", "highest", "unjudged"] * self.plan.has_bounds
        return TextTable(columns, rows, self.notes)

    def facts(self) -> Facts:
        """Facts that are needed to read the means: relevance rule, special cases, counts."""
        from rankmeter._results.notes import evaluation_facts

        return evaluation_facts(self.plan, self.scores, self.read)

    @property
    def read(self) -> dict[str, int]:
        """Counts of the data as read, without the counts of scores, clusters and labels."""
        later_counts = {"clusters", "effective_clusters", *UNUSED_LABELS, *self.scores.counts}
        return {name: count for name, count in self.counts.items() if name not in later_counts}

    def _cluster_counts(self) -> dict[str, dict[str, int]]:
        """Numbers of clusters of the averaged users, by metric; empty without clusters."""
        if self.clusters is None:
            return {}
        return {
            entry.label: count_clusters(self.clusters[self.scores.averaged(entry).users])
            for entry in self.plan.metrics
        }

    @property
    @use_words_of_result
    def notes(self) -> tuple[str, ...]:
        """The facts, how intervals were made, and which values are not means."""
        from rankmeter._results import notes as on

        flat = on.uninformative_intervals(self.estimates.values())
        said = on.notes_on_means(self.plan, {"": {**self.facts(), **flat}})
        said += on.chance_notes(self.random, self.plan) + on.unused_label_notes(self.counts)
        said += on.cluster_notes(self._cluster_counts(), "intervals")
        return (*self.cautions, *said, *on.bootstrap_notes(self.plan), *self.remarks)

    def _plan_text(self) -> str:
        return self.plan.describe()

    def _numbers_to_log(self) -> Iterable[tuple[tuple[str, ...], Mapping[str, float]]]:
        return (((label,), e.numbers()) for label, e in self.estimates.items())


def labels_by_group(result: Evaluated) -> dict[str, pl.Series]:
    """Labels of the users, by grouping of users; empty without groups."""
    return {} if result.groups is None else result.groups.to_dict()


def mean_cells(mean: float, low: float, high: float, n: int, digits: int = 4) -> list[str]:
    """A mean, its interval and its number of users as text."""
    return [number_text(mean, digits), interval_text(low, high, digits), f"{n:,}"]


def bound_cells(e: Estimate, digits: int = 4) -> list[str]:
    """The bounds of a mean and the share of unjudged items as text; empty without bounds."""
    if not e.bounds():
        return []
    ends = [number_text(end, digits) for end in (e.lowest, e.highest)]
    return [*ends, f"{100 * e.unjudged:.3g} %"]
