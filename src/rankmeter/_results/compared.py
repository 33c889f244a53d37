"""The data, notes and tables of a comparison."""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl

from rankmeter._annexes import annex
from rankmeter._choices import Setting
from rankmeter._engine.scores import UserValues
from rankmeter._evidence.hits import FloatArray
from rankmeter._reading.table import POLARS, Frame, Kind
from rankmeter._results.differences import (
    Difference,
    Heterogeneity,
    Lead,
    OwnColumn,
    RankSet,
    declared,
    difference_seen_from,
    segment_notes,
)
from rankmeter._results.estimates import Estimate
from rankmeter._results.reread import refuse_without_ranks
from rankmeter._results.result import Logged, check_digits, mean_as_dict
from rankmeter._results.settings import Values
from rankmeter._results.summary import Summary
from rankmeter._results.tables import Bars, MeanCell, Style, TextTable
from rankmeter._results.wording import (
    group_by_key,
    interval_text,
    level_text,
    number_text,
)
from rankmeter.conventions._plan import Plan
from rankmeter.errors import UsageError
from rankmeter.errors._checks import (
    check_integer,
    count_users,
    counted,
    unknown_word_error,
    use_words_of_result,
    words_in_use,
)

MAX_PAIRS = 3
"""Undecidable pairs that a note names; the result has all of them."""
MAX_UNDECIDED = 3
"""Undecided differences with a sentence each; more of them have one together."""
if TYPE_CHECKING:
    from rankmeter._results.answer import Answer
    from rankmeter._results.on_metric import OnMetric
    from rankmeter._results.verdicts import Headline, Verdict

T = TypeVar("T", Difference, Heterogeneity)


def letters_by_system(systems: Sequence[str]) -> dict[str, str]:
    """Assign the letters a, b, …, z, aa, ab, … to systems."""
    alphabet = "abcdefghijklmnopqrstuvwxyz"
    pairs = ("".join(two) for two in itertools.product(alphabet, repeat=2))
    return dict(zip(systems, itertools.chain(alphabet, pairs), strict=False))


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Compared(Logged):
    """Several systems on the same users, with their differences.

    Attributes
    ----------
    systems : tuple of str
        Names, in the order given.
    baseline : str
        The system that all others are compared with; empty if all pairs are compared.
    plan : Plan or Setting
        Every choice behind the values, or, of values of any origin, behind the intervals.
    users : polars.Series
        The users that all systems share.
    by_metric : mapping of str to Values
        The values of each metric under every system.
    estimates : mapping of (str, str) to Estimate
        By metric and system: the mean over the users that the comparison uses.
    differences : tuple of Difference
        All comparisons over all users, then those within segments.
    heterogeneity : tuple of Heterogeneity
        For each comparison over all users, whether the segments have different differences.
    segments_by_user : polars.DataFrame or None
        `segments` in Polars.
    segment_estimates : mapping of (str, str, str) to Estimate
        By segment, metric and system.
    leads : mapping of str to Lead
        By metric, the ranks that a test of all pairs in a single step leaves for each system.
    settings : mapping
        Test, correction, family, confidence, seed, resamples, clusters; the numbers
        of users without a label and of labels without a user.
    clusters : object
        The clusters of the users as given.
    summaries : mapping of str to Summary
        The result of each system alone; empty for values of any origin.
    kind : Kind
        Data frame library (Polars, pandas, Spark) of the returned frames: that of the first input.
    scored : callable
        Gives the scores of every system under another plan: the values behind curves.
    holes : tuple of str
        By which labels of unjudged items a winner would lose, if ``unjudged="bounds"``.
    """

    systems: tuple[str, ...]
    baseline: str
    plan: Setting
    users: pl.Series
    by_metric: Mapping[str, Values]
    estimates: Mapping[tuple[str, str], Estimate]
    differences: tuple[Difference, ...]
    heterogeneity: tuple[Heterogeneity, ...]
    segments_by_user: pl.DataFrame | None
    segment_estimates: Mapping[tuple[str, str, str], Estimate]
    leads: Mapping[str, Lead]
    settings: Mapping[str, Any]
    clusters: object = None
    summaries: Mapping[str, Summary] = field(default_factory=dict)
    kind: Kind = POLARS
    _scored: Callable[[Plan], Mapping[str, UserValues]] = refuse_without_ranks
    holes: tuple[str, ...] = ()

    @property
    def confidence(self) -> float:
        """Level of the intervals."""
        return self.plan.confidence

    @property
    def dropped(self) -> dict[str, int]:
        """Number of users, by metric, with a value for some systems but not for all.

        They are left out of all means and differences.
        """
        return {label: values.n_dropped_users for label, values in self.by_metric.items()}

    @property
    def segments(self) -> Frame | None:
        """Columns ``user`` and ``segment``, as in `per_user`; None without segments."""
        labels = self.segments_by_user
        return None if labels is None else self.kind.convert_frame(labels)

    @property
    def labels(self) -> list[str]:
        """The metrics, by their labels."""
        return [*self.by_metric]

    def _label(self, metric: str) -> str:
        """The label of a metric, by any of its names."""
        if isinstance(metric, str) and metric in self.by_metric:
            return metric
        if isinstance(self.plan, Plan):
            return self.plan[metric].label
        raise unknown_word_error("metric", metric, self.by_metric)

    @abstractmethod
    def _notes_after_test_and_dropped(self) -> tuple[list[str], list[str]]:
        """Notes that follow the test note, and notes that follow the counts of dropped users."""

    @use_words_of_result
    def __getitem__(self, metric: str) -> OnMetric:
        """The means, the answer and the differences over all users, on one metric."""
        from rankmeter._results.on_metric import OnMetric

        label = self._label(metric)
        means, differences = self._means_of(label), self.differences_on(label)
        rows = [
            (name, number_text(e.mean), interval_text(*e.interval)) for name, e in means.items()
        ]
        columns = ("system", label, f"{level_text(self.confidence)} interval")
        tables = (TextTable(columns, rows), self.difference_table(differences))
        return OnMetric(differences, label, means, self.headline(label), tables)

    def differences_on(self, label: str) -> tuple[Difference, ...]:
        """The comparisons on one metric over all users."""
        return (*self._overall_differences.get(label, ()),)

    @cached_property
    def _overall_differences(self) -> dict[str, list[Difference]]:
        """The comparisons over all users, by metric."""
        return group_by_key((d.metric, d) for d in self.differences if not d.segment)

    @use_words_of_result
    def sentences(self) -> tuple[str, ...]:
        """One sentence in plain words per comparison."""
        return tuple(difference.sentence() for difference in self.differences)

    def to_polars(self) -> pl.DataFrame:
        """One row per comparison, a column per attribute of `Difference`."""
        return pl.DataFrame([d.to_dict() for d in self.differences])

    def rank_sets(self, metric: str) -> dict[str, RankSet]:
        """By system, the ranks that the data allow on a metric: all of them without a mean."""
        lead, n = self.leads.get(self._label(metric)), len(self.systems)
        return dict(lead.ranks) if lead else {name: RankSet(None, 1, n) for name in self.systems}

    @property
    def ranks(self) -> Frame:
        """The ranks that the data allow for each system on the first metric, the best first.

        Columns system, mean, rank, low, high, could_be_first. ``rank`` is that of the mean, which
        another sample of users may change; ``low`` is one more than the systems that are shown to
        be better, ``high`` one more than those that are not shown to be worse. All these sets hold
        together at the confidence of the result: they come from a test of all pairs in a single
        step, also with a baseline. ``leads[metric].ranks`` has those of any metric.

        Examples
        --------
        A and B have the item of eight users at rank 1 or 2 by turns, C never: that C is the last
        is shown, and which of A and B is the first is not.

        >>> import rankmeter as rm
        >>> a = [1, 1, 1, 1, 1, 0.5, 0.5, 0.5]
        >>> found = rm.compare_values({"A": a, "B": a[::-1], "C": [0] * 8})
        >>> found.ranks.rows()
        [('A', 0.8125, 1, 1, 2, True), ('B', 0.8125, 1, 1, 2, True), ('C', 0.0, 3, 3, 3, False)]
        """
        sets, means = self.rank_sets(self.labels[0]), self._means_of(self.labels[0])
        rows = [
            {
                "system": name,
                "mean": means[name].mean,
                **ranks.to_dict(),
            }
            for name, ranks in sets.items()
        ]
        frame = pl.DataFrame(rows, schema_overrides={"rank": pl.Int64})
        order = ["rank", "low", "high"]
        return self.kind.convert_frame(frame.sort(order, nulls_last=True, maintain_order=True))

    def top(self, n: int, metric: str | None = None) -> tuple[str, ...]:
        """The systems that could be among the best n, the best first.

        Parameters
        ----------
        n : int
            At least 1.
        metric : str, optional
            Default: the first one.

        Returns
        -------
        tuple of str
            Those of which at most n - 1 systems are shown to be better. With the confidence of the
            result the n best are among them, for every n together.

        Raises
        ------
        UsageError
            If `n` is not an integer ≥ 1, or the metric was not compared.

        Examples
        --------
        >>> import rankmeter as rm
        >>> a = [1, 1, 1, 1, 1, 0.5, 0.5, 0.5]
        >>> found = rm.compare_values({"A": a, "B": a[::-1], "C": [0] * 8})
        >>> found.top(1), found.top(3)
        (('A', 'B'), ('A', 'B', 'C'))
        """
        n = check_integer("n", n, least=1)
        sets = self.rank_sets(self.labels[0] if metric is None else metric)
        ordered = sorted(sets, key=lambda name: sets[name].rank or 0)
        return tuple(name for name in ordered if sets[name].low <= n)

    @use_words_of_result
    def table(self) -> TextTable:
        """Systems × metrics: means, with significance markers against the baseline.

        Without a baseline, a marker is the letter of every system that is significantly worse.
        ``rank`` has the ranks that the data allow on the first metric, as `ranks`.
        """
        rows, ranks = self._mean_cells(), self.rank_sets(self.labels[0]).values()
        styles = {
            (number, column): cell.styles
            for number, row in enumerate(rows.values())
            for column, cell in enumerate(row, 2)
        }
        texts = [
            (title, str(rank), *map(str, row))
            for (title, row), rank in zip(rows.items(), ranks, strict=True)
        ]
        columns = ("system", "rank", *self.labels)
        return TextTable(columns, texts, self.notes, styles=styles, bars=self._bars())

    @use_words_of_result
    def bounds_table(self) -> TextTable:
        """The bounds of each mean over all labels of the unjudged items, and how many there are.

        Raises
        ------
        UsageError
            If they were not asked for (``unjudged="bounds"``).

        Examples
        --------
        The item ``n`` is unjudged.

        >>> import rankmeter as rm
        >>> systems = {"old": {"ann": ["x", "a"]}, "new": {"ann": ["n", "a"]}}
        >>> found = rm.compare(systems, {"ann": {"a": 1, "x": 0}}, "rr", unjudged="bounds")
        >>> found.bounds_table()
        system  metric    mean  lowest  highest  unjudged
        ─────────────────────────────────────────────────
        old     rr      0.5000  0.5000   0.5000       0 %
        new     rr      0.5000  0.5000   1.0000      50 %
        lowest, highest: an unjudged item is not relevant, or has the usual gain, 1
        """
        if not self.plan.has_bounds:
            raise UsageError("there are no bounds: pass unjudged='bounds'")
        table: TextTable = annex("_judge.holes").bounds_table(self)
        return table

    def _bars(self) -> Bars:
        """The intervals of the means on the first metric."""
        label, means = self.labels[0], self._means_of(self.labels[0]).values()
        title = f"{level_text(self.confidence)} interval of {label}"
        return Bars(title, [(e.low, e.mean, e.high) for e in means])

    def _mean_cells(self, digits: int = 4) -> dict[str, list[MeanCell]]:
        """Mean cells by system, with a letter before the name if all pairs are compared."""
        rows: dict[str, list[MeanCell]] = {name: [] for name in self.systems}
        for label in self.labels:
            means, marks = self._means_of(label), self._marks(label)
            ranks, values = self._places(means, label, digits), self.by_metric[label]
            for n, (name, row) in enumerate(rows.items()):
                spread = values.spread_of_runs(n)
                row.append(MeanCell(means[name], ranks[name], marks[name], spread=spread))
        if self.baseline:
            return rows
        letters = letters_by_system(self.systems)
        return {f"{letters[name]} {name}": row for name, row in rows.items()}

    def _places(self, means: Mapping[str, Estimate], label: str, digits: int = 4) -> dict[str, int]:
        """Rank of each system by its printed mean: 1 for the best, 2 for the second, else 0."""
        from rankmeter._results.verdicts import rank_printed_means

        printed = [number_text(e.mean, check_digits(digits)) for e in means.values()]
        ranks = rank_printed_means(printed, increasing=self.by_metric[label].increasing)
        return dict(zip(means, ranks, strict=True))

    def means(self) -> Frame:
        """Systems × metrics: a row for each system, and a column for each metric."""
        columns = {
            label: [self.estimates[label, name].mean for name in self.systems]
            for label in self.labels
        }
        return self.kind.convert_frame(pl.DataFrame({"system": list(self.systems), **columns}))

    def _marks(self, metric: str) -> dict[str, str]:
        """Markers by system: ▲ or ▼ against the baseline, or the letters of beaten systems."""
        letters, marks = letters_by_system(self.systems), dict.fromkeys(self.systems, "")
        for d in self.differences_on(metric):
            if d.significant and self.baseline:
                marks[d.a] = "▲" if d.better == d.a else "▼"
            elif d.significant and d.better:
                marks[d.better] += letters[d.b if d.better == d.a else d.a]
        return marks

    @use_words_of_result
    def _segment_notes(self) -> tuple[str, ...]:
        """Notes on the tests of segments, and on differences that vary between segments."""
        clauses = {
            test: differing_segments_clause(self, d)
            for test in self.heterogeneity
            for d in self.differences_on(test.metric)
            if (d.a, d.b) == (test.a, test.b)
        }
        return (*segment_notes(clauses, self.plan.alpha),)

    @use_words_of_result
    def _significance_note(self, marks: str = "letters: the") -> str:
        """A note on the markers of pairs, called `marks`, and on how differences were tested."""
        marks = f"{marks} systems that are significantly worse"
        if not any(d.significant for d in self.differences):
            marks = "no significant difference"
        elif self.baseline:
            marks = f"▲ ▼ significantly better, worse than {self.baseline}"
        return f"{marks} ({self._how_tested()})"

    def _how_tested(self) -> str:
        """The tests, their correction and their confidence."""
        s = self.settings
        methods = sorted({d.method.split(" (")[0] for d in self.differences if not math.isnan(d.p)})
        corrected = "" if s["correction"] == "none" else f", {s['correction']} over {s['family']}"
        level = f"{level_text(self.confidence)} confidence"
        return f"{', '.join(methods) or 'no test'}{corrected}, {level}"

    def conventions(self) -> list[str]:
        """What a paper must say of the convention; empty for values from elsewhere."""
        from rankmeter._results.citation import conventions_of

        return conventions_of(self.plan, self.summaries.values())

    def _citation(self) -> str:
        from rankmeter._results.citation import sentence_on_comparison

        return sentence_on_comparison(self, self._how_tested())

    def _legend(self, marks: str = "letters: the") -> list[str]:
        """What the `marks` of pairs and the ranks of `table` mean."""
        marks = f"{marks} systems that are shown to be worse"
        if not any(d.significant for d in self.differences if not d.segment):
            marks = "no difference is shown to be more than chance"
        elif self.baseline:
            marks = f"▲ ▼ shown to be better, worse than {self.baseline}"
        label, n = self.labels[0], len(self.labels)
        decides = n > 1 and self.settings["family"] != "everything"
        others = "; other metrics are exploratory" if decides else ""
        users = count_users(max(self.estimates[label, name].n for name in self.systems))
        return [marks, f"rank: possible places on {label} over {users}{others}"]

    def _rank_note(self) -> str:
        """A note on how the ranks were found."""
        n, label = len(self.systems), self.labels[0]
        family = f"all together (single step over {counted(n * (n - 1) // 2, 'pair')}"
        family += f", not only those with {self.baseline})" if self.baseline and n > 2 else ")"
        if self.settings["correction"] == "none":
            family = "each pair alone (no correction)"
        return f"rank: the places on {label} that the data allow, {family}"

    def _contender_notes(self) -> list[str]:
        """A note on the systems that could be first, which a title with a baseline leaves out."""
        lead = self.leads.get(self.labels[0])
        if not self.baseline or lead is None or len(self.systems) < 3:
            return []
        if lead.is_alone:
            return [f"{lead.best} is shown to be better than every other system"]
        *others, last = sorted(lead.contenders, key=lambda name: lead.ranks[name].rank or 0)
        return [f"{', '.join(others)} or {last} could be first"]

    def _undecidable_notes(self) -> list[str]:
        """A note on pairs that no outcome could have decided."""
        label = self.labels[0]
        undecidable = self.leads[label].undecidable if label in self.leads else ()
        if not undecidable:
            return []
        named = "; ".join(f"{a} and {b}" for a, b in undecidable[:MAX_PAIRS])
        more = len(undecidable) - MAX_PAIRS
        named += f"; and {counted(more, 'other pair')}" if more > 0 else ""
        lack = f"too few {words_in_use().users} differ"
        return [f"no outcome of this study could have decided on {label} between {named}: {lack}"]

    @use_words_of_result
    def difference_table(self, differences: Sequence[Difference] | None = None) -> TextTable:
        """Every comparison: difference, interval, wins and losses, p, those with an `OwnColumn`."""
        shown, own = self.differences if differences is None else differences, declared(OwnColumn)
        rows = [
            (
                f"{d.a} − {d.b}" + (f", {d.segment}" if d.segment else ""),
                d.metric,
                *d.size_texts(),
                f"{d.wins:,}/{d.ties:,}/{d.losses:,}" if d.per_user else "–",
                *d.p_texts(),
                *(column.text(getattr(d, name)) for name, column in own.items()),
            )
            for d in shown
        ]
        interval = f"{level_text(self.confidence)} interval"
        columns = ("difference", "metric", "mean", interval, "win/tie/loss", "p", "adjusted p")
        styles: dict[tuple[int, int], tuple[Style, ...]] = {
            (row, columns.index("mean")): ("better",) if d.better == d.a else ("worse",)
            for row, d in enumerate(shown)
            if d.significant and d.better
        }
        names = [column.name for column in own.values()]
        spare = (*names[::-1], "adjusted p")
        return TextTable((*columns, *names), rows, styles=styles, spare=spare)

    def _paired(self, metric: str, a: str, b: str) -> tuple[pl.Series, FloatArray, FloatArray]:
        """Users compared on a metric in systems a and b, with the values in both systems."""
        columns = self.systems.index(a), self.systems.index(b)
        rows, x, y = self.by_metric[metric].paired_values(*columns)
        return self.users[rows], x, y

    @use_words_of_result
    def _answer(self) -> Answer:
        """The headline, the means, the notes that change a decision, and the rest on request."""
        from rankmeter._results.answer import Answer, Part

        headline, labels = self.headline(), self.labels if self.segment_estimates else ()

        def rest() -> list[Part]:
            parts: list[Part] = [*map(self.segment_table, labels[1:]), [*headline.sentences]]
            return [*parts, self.difference_table(), self._difference_sentences()]

        segments = [self.segment_table(label) for label in labels[:1]]
        segments += [self.bounds_table()] if self.plan.has_bounds else []
        folds = counted(len(self.differences), "test")
        return Answer(headline.title, self.table(), self.notes, segments, rest, folds)

    @use_words_of_result
    def _difference_sentences(self) -> list[str]:
        """Sentence for each difference, but a single one for many undecided differences."""
        undecided = [d for d in self.differences if d.verdict == "undecided"]
        if len(undecided) <= MAX_UNDECIDED:
            return [*self.sentences()]
        together = (
            f"The data do not decide {len(undecided):,} of {len(self.differences):,} comparisons: "
            "the table has their intervals, and rankmeter sample-size says how many users would."
        )
        return [*(d.sentence() for d in self.differences if d.verdict != "undecided"), together]

    @use_words_of_result
    def segment_table(self, metric: str | None = None) -> TextTable:
        """Means of each system within segments of the users, on a metric, by default the first.

        Examples
        --------
        >>> import rankmeter as rm
        >>> values = {"old": [0.0, 0.5, 0.5, 0.2], "new": [0.5, 1.0, 0.7, 0.2]}
        >>> labels = {0: "web", 1: "web", 2: "store", 3: "store"}
        >>> rm.compare_values(values, segments=labels).segment_table()
        value by segment  users     old     new
        ───────────────────────────────────────
        store                 2  0.3500  0.4500
        web                   2  0.2500  0.7500
        """
        label = self._label(self.labels[0] if metric is None else metric)
        rows, styles = [], dict[tuple[int, int], tuple[Style, ...]]()
        for row, segment in enumerate(dict.fromkeys(key[0] for key in self.segment_estimates)):
            means = {name: self.segment_estimates[segment, label, name] for name in self.systems}
            ranks = self._places(means, label)
            cells = [MeanCell(e, ranks[name]) for name, e in means.items()]
            rows.append((segment, f"{max(e.n for e in means.values()):,}", *map(str, cells)))
            styles |= {(row, column): cell.styles for column, cell in enumerate(cells, 2)}
        columns = (f"{label} by segment", words_in_use().users, *self.systems)
        return TextTable(columns, rows, styles=styles)

    def _means_of(self, metric: str, systems: Sequence[str] = ()) -> dict[str, Estimate]:
        """Estimates of a metric by system, for all systems or some of them."""
        return {name: self.estimates[metric, name] for name in systems or self.systems}

    def _verdict_on(self, metric: str, systems: Sequence[str] = ()) -> Verdict:
        """Verdict on the best of all systems, or of some systems, on a metric."""
        from rankmeter._results.verdicts import find_best_system

        means, up = self._means_of(metric, systems), self.by_metric[metric].increasing
        lead = None if systems else self.leads.get(metric)
        return find_best_system(
            metric, means, self.differences_on(metric), self.baseline, lead, increasing=up
        )

    @use_words_of_result
    def headline(self, metric: str | None = None) -> Headline:
        """The answer in a line, and the sentences that give its size and certainty.

        Parameters
        ----------
        metric : str, optional
            Default: the first one.
        """
        from rankmeter._results.verdicts import comparison_headline

        label = self._label(self.labels[0] if metric is None else metric)
        outcome = self._verdict_on(label)
        d = outcome.difference
        segments = ("", "")
        if d is not None and (reversed_in := _segments_of_reversal(self, d)):
            segments = (d.a, reversed_in)
        return comparison_headline(outcome, self.baseline, self.settings["correction"], segments)

    @property
    def random(self) -> dict[str, float]:
        """By metric, the expected mean of random rankings of all candidates.

        Empty unless their number is known (``n_items``); without metrics for which the systems are
        averaged over different users.
        """
        chance = [summary.random for summary in self.summaries.values()] or [{}]
        return {m: x for m, x in chance[0].items() if all(x == means.get(m) for means in chance)}

    @property
    def cautions(self) -> tuple[str, ...]:
        """Reasons to doubt that the data are what was meant."""
        cautions = (caution for summary in self.summaries.values() for caution in summary.cautions)
        return tuple(dict.fromkeys((*cautions, *self.holes)))

    @property
    @use_words_of_result
    def notes(self) -> tuple[str, ...]:
        """The notes below the table."""
        from rankmeter._results.notes import (
            Detail,
            bootstrap_notes,
            cluster_notes,
            unused_label_notes,
        )

        s = self.settings
        first, last = self._notes_after_test_and_dropped()
        notes = [*self._legend(), *first, *self._contender_notes(), *self._undecidable_notes()]
        d = self._verdict_on(self.labels[0]).difference
        if d is not None and self.heterogeneity and (said := differing_segments_clause(self, d)):
            notes.append(said)
        notes += [
            f"{label}: {count_users(n)} not common to all systems"
            for label, n in self.dropped.items()
            if n
        ]
        groups = s.get("clusters_by_metric", {})
        notes += [*last, *unused_label_notes(s), *cluster_notes(groups, "tests and intervals")]
        notes += bootstrap_notes(self.plan)
        if s["runs"]:
            from rankmeter._results.citation import runs_text

            notes.append(Detail(f"{words_in_use().users} × runs: {runs_text(s['runs'])}"))
        made = (self._significance_note(), self._rank_note(), *self._segment_notes())
        return (*self.cautions, *notes, *_difference_notes(self), *map(Detail, made))

    def _dict_content(self) -> dict[str, Any]:
        segments: dict[str, dict[str, Any]] = {}
        for (segment, metric, name), e in self.segment_estimates.items():
            segments.setdefault(segment, {}).setdefault(metric, {})[name] = mean_as_dict(e)
        alone = {
            "users": {name: summary.counts for name, summary in self.summaries.items()},
            "cautions": list(self.cautions),
        }
        plan = {"plan": self.plan.to_dict()} if isinstance(self.plan, Plan) else {}
        return {
            "systems": list(self.systems),
            "baseline": self.baseline or None,
            "headline": vars(self.headline()),
            "metrics": {
                label: {name: mean_as_dict(e) for name, e in self._means_of(label).items()}
                for label in self.labels
            },
            "ranks": {
                label: {name: ranks.to_dict() for name, ranks in self.rank_sets(label).items()}
                for label in self.labels
            },
            "undecidable": {
                label: [list(pair) for pair in lead.undecidable]
                for label, lead in self.leads.items()
            },
            "segments": segments,
            "differences": [d.to_dict() | {"sentence": d.sentence()} for d in self.differences],
            "heterogeneity": [vars(test) for test in self.heterogeneity],
            **({"random": self.random} if self.random else {}),
            "dropped_users": self.dropped,
            **(alone if self.summaries else {}),
            "notes": list(self.notes),
            "citation": self.cite(),
            "settings": self.settings,
            **plan,
        }

    def _numbers_to_log(self) -> Iterator[tuple[tuple[str, ...], Mapping[str, float]]]:
        for (label, name), e in self.estimates.items():
            yield (name, label), e.numbers()
        for d in self.differences:
            numbers = {"difference": d.difference, "low": d.low, "high": d.high}
            yield (d.a, "vs", d.b, d.segment, d.metric), numbers | {"p": d.p_adjusted, "n": d.n}


def require_plan(result: Compared) -> Plan:
    """Plan of a comparison of rankings or of results; values alone raise a UsageError."""
    if not isinstance(result.plan, Plan):
        raise UsageError("this needs the rankings, or results of evaluations: pass these")
    return result.plan


def differing_segments_clause(result: Compared, d: Difference) -> str:
    """Clause of `segments_clause`, seen from the system that is not the baseline."""
    d = difference_seen_from(d, d.b) if d.a == result.baseline else d
    pairs = _of_same_pair(result.differences, d)
    within = [difference_seen_from(part, d.a) for part in pairs if part.segment]
    from rankmeter._results.verdicts import segments_clause

    return segments_clause(d, within, heterogeneity_p_value(result, d))


def _segments_of_reversal(result: Compared, d: Difference) -> str:
    """Where the test shows `a` worse instead of better, or better instead of worse."""
    if not (d.significant and d.better):
        return ""
    pairs = _of_same_pair(result.differences, d)
    names = [x.segment for x in pairs if x.segment and x.significant and d.better != x.better != ""]
    where = f"for {names[0]}" if len(names) == 1 else f"in {len(names)} segments"
    return f"{'worse' if d.better == d.a else 'better'} {where}" if names else ""


def heterogeneity_p_value(result: Compared, d: Difference) -> float:
    """The p-value of the test that a difference is equal in all segments; NaN if not tested."""
    return next((test.p for test in _of_same_pair(result.heterogeneity, d)), math.nan)


def _of_same_pair(found: Iterable[T], d: Difference) -> Iterator[T]:
    """Those of the same metric and systems, in any order of the systems."""
    return (x for x in found if x.metric == d.metric and {x.a, x.b} == {d.a, d.b})


def _difference_notes(result: Compared) -> list[str]:
    """Notes of single differences, with metrics and segments unless a note holds for all."""
    noted = group_by_key((d.note, d) for d in result.differences if d.note)
    notes = []
    for note, differences in sorted(noted.items()):
        labels = dict.fromkeys(d.metric for d in differences)
        segments = dict.fromkeys(d.segment for d in differences)
        prefix = "" if len(labels) == len(result.labels) else f"{', '.join(labels)}: "
        notes.append(f"{prefix}{note}" + ("" if "" in segments else f" ({', '.join(segments)})"))
    return notes
