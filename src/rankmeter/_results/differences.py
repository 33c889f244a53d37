"""One system against another: the difference, how sure it is, and what it means in words."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, get_type_hints

import numpy as np
import polars as pl

from rankmeter._choices import level_of_tests
from rankmeter._evidence.hits import FloatArray
from rankmeter._results.estimates import EqualFields
from rankmeter._results.wording import (
    change_text,
    interval_of_change,
    level_text,
    p_equation,
    p_value_text,
    size_text,
)
from rankmeter.errors import to_one_line
from rankmeter.errors._checks import count_users, counted, words_in_use

SEGMENTS_NOTE = "differences within segments are corrected over segments, metrics and pairs"
MAX_UNEQUAL = 10
"""Differences that the note about segments names; the result has all of them."""


@dataclass(frozen=True)
class Mirror:
    """Which field of a difference a field is, seen from the other system; its own by default."""

    of: str = ""
    negated: bool = False


NEGATED = Mirror(negated=True)


class OwnColumn(NamedTuple):
    """The column of a number in the table of differences, which a narrow terminal leaves out."""

    name: str
    text: Callable[[Any], str]


@dataclass(frozen=True, repr=False, eq=False)
class Difference(EqualFields):
    """One system against another on one metric, over the users that both are averaged for.

    Attributes
    ----------
    metric, segment : str
        ``segment`` is empty for all users.
    a, b : str
        Names of the systems; differences are a minus b.
    mean_a, mean_b : float
    difference, low, high : float
        Mean of the paired differences and its interval. With the correction ``maxt`` the intervals
        of a family hold together. The test is another method than the interval, so that one can
        exclude 0 where the other does not; `sentence` says so.
    p, p_adjusted : float
        Two-sided, before and after the correction; NaN where the test has no result. Segments are
        a family of their own.
    statistic : float
        Statistic of the test.
    method : str
        The test as it was carried out.
    d_z : float
        Mean difference in standard deviations of the differences; with clusters, of those of
        clusters.
    gain, gain_low, gain_high : float
        Relative gain of the mean with its interval: 0.1 is 10 % of the size of the other mean.
    wins, ties, losses : int
        Numbers of users with a better than, equal to, worse than b.
    per_user : bool
        Whether the difference is a mean over users. If users are pooled or the metric is one number
        for all their lists, d_z is NaN, and wins, ties and losses are 0.
    detectable : float
        Minimum detectable effect: the smallest difference that the same number of users would
        show in 80 % of studies, at the level that the correction leaves, if as many users differ
        as in this study: hits that make more users differ are harder to show. NaN if no difference
        on the scale of the metric is large enough.
    n : int
        Users compared.
    significant : bool
        Whether ``p_adjusted`` is at most alpha.
    increasing : bool
        Whether larger values of the metric are better.
    note : str
        Why there is no result, or a caution.
    better : str
        The system that the test favors, significantly or not; empty if neither. For tests of
        means the system with the better mean.
    family : int
        Comparisons that were corrected together.
    alone : bool
        Whether ``p``, before the correction, is at most alpha.
    p_is_bound, p_adjusted_is_bound : bool
        Whether none of the flips that were drawn reaches the difference, so that p is at most this
        number.
    clusters : int
        Clusters that were compared in place of users; 0 without clusters.
    margin : float
        The difference that does not matter; NaN if none was given.
    p_not_worse, p_not_better : float
        One-sided, after Holm's correction: small if a is shown not to be worse than b, or not to
        be better, by the margin or more. NaN without a margin.
    p_equivalent : float
        The larger of the two before the correction, corrected by Holm's method in a family of its
        own: small if a and b are shown to differ by less than the margin.
    p_not_worse_alone, p_not_better_alone : float
        The same before the correction: what a gate uses, which does not depend on other systems.
    share_of_runs : float
        How much of the variance of the difference is due to training runs, not users; NaN without
        several runs of a system.
    confidence : float
        Level of the interval; `alpha`, that of all tests, is 1 - confidence.
    """

    metric: str
    segment: str
    a: Annotated[str, Mirror("b")]
    b: Annotated[str, Mirror("a")]
    mean_a: Annotated[float, Mirror("mean_b")]
    mean_b: Annotated[float, Mirror("mean_a")]
    difference: Annotated[float, NEGATED]
    low: Annotated[float, Mirror("high", negated=True)]
    high: Annotated[float, Mirror("low", negated=True)]
    p: float
    p_adjusted: float
    statistic: Annotated[float, NEGATED]
    method: str
    d_z: Annotated[float, NEGATED, OwnColumn("d_z", functools.partial(change_text, digits=2))]
    gain: float
    gain_low: float
    gain_high: float
    wins: Annotated[int, Mirror("losses")]
    ties: int
    losses: Annotated[int, Mirror("wins")]
    detectable: float
    n: int
    significant: bool
    increasing: bool
    note: str = ""
    better: str = ""
    family: int = 1
    alone: bool = False
    margin: float = math.nan
    p_not_worse: Annotated[float, Mirror("p_not_better")] = math.nan
    p_not_better: Annotated[float, Mirror("p_not_worse")] = math.nan
    p_equivalent: float = math.nan
    p_not_worse_alone: Annotated[float, Mirror("p_not_better_alone")] = math.nan
    p_not_better_alone: Annotated[float, Mirror("p_not_worse_alone")] = math.nan
    share_of_runs: float = math.nan
    per_user: bool = True
    confidence: float = 0.95
    p_is_bound: bool = False
    p_adjusted_is_bound: bool = False
    clusters: int = 0

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Say what replaces a number that was removed."""
            from rankmeter.errors._removed import removed_number_message

            raise AttributeError(removed_number_message(name) or name)

    def to_dict(self) -> dict[str, Any]:
        """All numbers by name."""
        return {**vars(self), "alpha": self.alpha}

    @property
    def differs(self) -> bool:
        """Whether the systems differ for any user, or in the pooled value."""
        return self.wins + self.losses > 0 if self.per_user else self.difference != 0 or self.p < 1

    @property
    def alpha(self) -> float:
        """Level of all tests: 1 - confidence."""
        return level_of_tests(self.confidence)

    @property
    def disagrees(self) -> bool:
        """Whether only the interval or only the test shows a difference."""
        if math.isnan(self.p_adjusted) or math.isnan(self.low):
            return False
        return self.significant == (self.low <= 0.0 <= self.high)

    @property
    def not_worse(self) -> bool:
        """Whether a is shown not to be worse than b by the margin or more (non-inferiority)."""
        return self.p_not_worse <= self.alpha

    @property
    def equivalent(self) -> bool:
        """Whether a and b are shown to differ by less than the margin (two one-sided tests)."""
        return self.p_equivalent <= self.alpha

    @property
    def verdict(self) -> Literal["better", "worse", "equivalent", "undecided", ""]:
        """The answer for a: ``better``, ``worse``, ``equivalent`` or ``undecided``.

        Empty without an answer: there is no test, or the values of all users are the same.
        """
        if math.isnan(self.p):
            return ""
        if self.significant and self.better:
            return "better" if self.better == self.a else "worse"
        if self.equivalent:
            return "equivalent"
        return "undecided" if self.differs else ""

    def __repr__(self) -> str:
        """Format the most important numbers; all others are attributes."""
        subject = f"{self.a!r} − {self.b!r}, {self.metric!r}"
        segment = f", {self.segment!r}" if self.segment else ""
        p, adjusted = self.p_texts()
        return (
            f"Difference({subject}{segment}: {self.size_with_interval()}, "
            f"p={p}, p_adjusted={adjusted}, n={self.n:,})"
        )

    def _repr_html_(self) -> str:
        from rankmeter._results.tables import TextTable

        columns = ("difference", "metric", "mean", f"{level_text(self.confidence)} interval", "p")
        row = (f"{self.a} − {self.b}", self.metric, *self.size_texts(), self.p_texts()[1])
        return TextTable(columns, [row], [self.sentence()]).to_html()

    def size_texts(self) -> tuple[str, str]:
        """The difference and its interval, for tables."""
        ends = (self.difference, self.low, self.high)
        return change_text(*ends), interval_of_change(*ends)

    def p_texts(self) -> tuple[str, str]:
        """The p-value before and after the correction, for tables."""
        return (
            p_value_text(self.p, at_most=self.p_is_bound, exact=self.is_exact),
            p_value_text(self.p_adjusted, at_most=self.p_adjusted_is_bound, exact=self.is_exact),
        )

    @property
    def is_exact(self) -> bool:
        """Whether p is counted, not drawn or approximated."""
        return "(exact)" in self.method

    def size_with_interval(self) -> str:
        """The difference with its interval and the level of it."""
        size, interval = self.size_texts()
        if math.isnan(self.low):
            return size
        return f"{size}, {level_text(self.confidence)} interval {interval}"

    def sentence(self) -> str:
        """The difference in plain words."""
        return to_one_line(self._sentence())

    def _sentence(self) -> str:
        part = f" among {self.segment}" if self.segment else ""
        if math.isnan(self.p):
            return f"{self.a} and {self.b} cannot be compared on {self.metric}{part}: {self.note}."
        if not self.differs and not (self.significant and self.better):
            scope = f" for every one of {count_users(self.n)}" if self.per_user else ""
            return f"{self.a} and {self.b} have the same {self.metric}{part}{scope}."
        if self.verdict == "equivalent":
            return self._equivalence_sentence(part) + self.sources()
        if self.verdict == "undecided":
            return self._undecided_sentence(part) + self.sources()
        d = difference_seen_from(self, self.better)
        if (d.difference < 0) == d.increasing:
            return _contradiction_sentence(d, part)
        return _significance_sentence(d, part) + self.sources()

    def _undecided_sentence(self, part: str) -> str:
        """Sentence for a difference that is not significant."""
        answer = "show no difference" if self.difference == 0.0 else "do not decide"
        sentence = (
            f"The data {answer} between {self.a} and {self.b} on {self.metric}{part}: "
            f"{self.size_with_interval()}{self.other_method()}, {self.p_text()}"
        )
        if self.family > 1 and self.alone:
            sentence += (
                f"; on its own the comparison would count as shown, among {self.family:,} it "
                "does not"
            )
        return f"{sentence}. {self.outlook()}{self._excluded_loss_sentence()}"

    def _equivalence_sentence(self, part: str) -> str:
        """Sentence for a difference that is smaller than the margin."""
        return (
            f"{self.a} and {self.b} are equivalent on {self.metric}{part} within "
            f"±{size_text(self.margin)}: {self.size_with_interval()}, "
            f"{p_equation(self.p_equivalent)} of a larger difference."
        )

    def _excluded_loss_sentence(self) -> str:
        """Sentence on whether a loss of the margin or more is excluded; empty without a margin."""
        if math.isnan(self.margin):
            return ""
        if self.margin == 0.0:
            return " The margin is a share of a mean of 0, within which nothing can be shown."
        answer = "excluded" if self.not_worse else "not excluded"
        return (
            f" That {self.a} is worse by {size_text(self.margin)} or more is {answer} "
            f"({p_equation(self.p_not_worse)})."
        )

    def share_text(self) -> str:
        """The difference as a share of the other mean; empty unless both means are above 0."""
        if not (self.mean_a > 0.0 < self.mean_b and math.isfinite(self.mean_a / self.mean_b)):
            return ""
        share = self.mean_a / self.mean_b - 1.0
        return f"{share:+.1%}" if self.increasing else f"{abs(share):.1%} lower"

    def sources(self) -> str:
        """Sentence on the main source of variance, users or runs; empty without several runs."""
        if math.isnan(self.share_of_runs):
            return ""
        sources = ("runs", words_in_use().users)
        more, less = sources if self.share_of_runs > 0.5 else sources[::-1]
        share = max(self.share_of_runs, 1 - self.share_of_runs)
        return (
            f" {share:.0%} of the variance is between {more}: for a narrower interval, add "
            f"{more}, not more {less}."
        )

    def outlook(self) -> str:
        """A sentence on the smallest difference that the study could have found."""
        changed = self.wins + self.losses
        if not math.isnan(self.detectable):
            return (
                f"This study would have found a true difference of {size_text(self.detectable)} in "
                "4 of 5 cases."
            )
        users = count_users(changed, "differing") if changed < self.n else count_users(self.n)
        units = f"{users} in {counted(self.clusters, 'cluster')}" if self.clusters else users
        return f"With {units} no difference can be shown."

    def p_text(self) -> str:
        """The p-value of this difference in words; in a family, that of the family after it."""
        p = p_equation(self.p, at_most=self.p_is_bound, exact=self.is_exact)
        family = f" (adjusted for {self.family:,} comparisons: {self.p_texts()[1]})"
        return f"{p}{family}" if self.family > 1 else p

    def other_method(self) -> str:
        """Clause on a disagreement of the interval and the test; empty if both agree."""
        verb = "includes" if self.significant else "excludes"
        return f" (the interval, by another method, {verb} 0)" if self.disagrees else ""


class RankSet(NamedTuple):
    """The rank of a system by its mean, and the ranks that a test of all pairs leaves for it.

    `rank` is None if a system has no mean.
    `low` is one more than the systems that are shown to be better, `high` one more than those that
    are not shown to be worse. All sets of a metric hold together (Mogstad, Romano, Shaikh and
    Wilhelm, Review of Economic Studies 91, 2024).
    """

    rank: int | None
    low: int
    high: int

    @property
    def could_be_first(self) -> bool:
        """Whether no system is shown to be better."""
        return self.low == 1

    def __str__(self) -> str:
        return f"{self.low}" if self.low == self.high else f"{self.low}–{self.high}"

    def to_dict(self) -> dict[str, Any]:
        """All values by name."""
        return {**self._asdict(), "could_be_first": self.could_be_first}


def rank_sets(
    names: Sequence[str], means: FloatArray, shown: Iterable[tuple[int, int]]
) -> dict[str, RankSet]:
    """The ranks of systems by means of which larger ones are better, and those left by tests.

    `shown` has the pairs of columns that differ by a test of all pairs in a single step.
    """
    n, differ = len(means), np.zeros((len(means), len(means)), dtype=bool)
    for i, j in shown:
        differ[i, j] = differ[j, i] = True
    rounding = 4 * np.finfo(np.float64).eps * np.abs(means).max()
    better = means > means[:, None] + rounding  # by row, the systems with a better mean
    counts = (better, differ & better, differ & better.T)
    above, shown_above, shown_below = (mask.sum(axis=1).tolist() for mask in counts)
    sets = zip(above, shown_above, shown_below, strict=True)
    return {
        name: RankSet(rank + 1, low + 1, n - below)
        for name, (rank, low, below) in zip(names, sets, strict=True)
    }


@dataclass(frozen=True)
class Lead:
    """What a test of all pairs in a single step says of the order of the systems on a metric.

    Attributes
    ----------
    best : str
        The system with the best mean.
    ranks : mapping of str to RankSet
        The rank of each system, and the ranks that the test leaves for it.
    undecidable : tuple of (str, str)
        Pairs between which no outcome of this study could have decided: whatever the signs of
        their differences, the test of all pairs shows none.
    difference : Difference or None
        The best minus the second, where only others are compared with a baseline; the p of its
        family is that of all pairs in a single step.
    """

    best: str
    ranks: Mapping[str, RankSet]
    undecidable: tuple[tuple[str, str], ...] = ()
    difference: Difference | None = None

    @property
    def contenders(self) -> tuple[str, ...]:
        """The systems that could be first: no other system is shown to be better."""
        return tuple(name for name, ranks in self.ranks.items() if ranks.could_be_first)

    @property
    def is_alone(self) -> bool:
        """Whether every other system is shown to be worse."""
        return self.contenders == (self.best,)


def _significance_sentence(d: Difference, part: str) -> str:
    """Sentence for a significant difference in favor of a."""
    lower = "" if d.increasing else ", where lower is better,"
    ends = (d.low, d.high) if d.increasing else (-d.high, -d.low)
    gain = f" ({d.share_text()})" if d.share_text() else ""
    effect = f", |d_z| = {abs(d.d_z):.2f}" if math.isfinite(d.d_z) else ""
    size = abs(d.difference)
    interval = f", {level_text(d.confidence)} interval {interval_of_change(size, *ends)}"
    return (
        f"{d.a} beats {d.b} on {d.metric}{lower}{part} by {size_text(size, *ends)}{gain}"
        f"{'' if math.isnan(d.low) else interval}{d.other_method()}, {d.p_text()}; "
        f"{_wins_clause(d)}{effect}."
    )


def _wins_clause(d: Difference) -> str:
    """Clause with the wins and losses of a, or only with the number of users if pooled."""
    users = count_users(d.n)
    if not d.per_user:
        return f"over {users} together"
    return f"better for {d.wins:,}, worse for {d.losses:,} of {users}"


def _contradiction_sentence(d: Difference, part: str) -> str:
    """Sentence for a test that favors a although b has the better mean."""
    return (
        f"The results for {d.a} and {d.b} on {d.metric}{part} contradict each other: "
        f"the {d.method} test favors {d.a} ({d.p_text()}; {_wins_clause(d)}), but the mean "
        f"of {d.b} is better by {size_text(d.difference)}."
    )


def difference_seen_from(d: Difference, system: str) -> Difference:
    """Swap a and b unless `system` is a; after a swap the relative gain has no interval."""
    if d.a == system:
        return d
    seen = {
        name: -getattr(d, mirror.of or name) if mirror.negated else getattr(d, mirror.of or name)
        for name, mirror in declared(Mirror).items()
    }
    gain = (d.mean_b - d.mean_a) / abs(d.mean_a) if d.mean_a else math.nan
    return replace(d, **seen, gain=gain, gain_low=math.nan, gain_high=math.nan)


@functools.cache
def declared(kind: type) -> dict[str, Any]:
    """The fields of a difference that have a `Mirror`, or an `OwnColumn`."""
    hints = get_type_hints(Difference, include_extras=True).items()
    noted = [(name, note) for name, hint in hints for note in getattr(hint, "__metadata__", ())]
    return {name: note for name, note in noted if isinstance(note, kind)}


def difference_schema() -> dict[str, Any]:
    """The JSON schema of a difference: what `Difference.to_dict` gives, and its sentence."""
    number: dict[str, Any] = {"$ref": "#/$defs/number"}
    kinds = {float: number, int: {"type": "integer", "minimum": 0}, bool: {"type": "boolean"}}
    text = {"type": "string"}
    fields = {name: kinds.get(hint, text) for name, hint in get_type_hints(Difference).items()}
    properties = {**fields, "alpha": number, "sentence": text}
    return {"type": "object", "required": [*properties], "properties": properties}


def most_moved_users(
    users: pl.Series,
    x: FloatArray,
    y: FloatArray,
    names: tuple[str, str],
    n: int | None,
    *,
    falling: bool,
) -> pl.DataFrame:
    """Frame of the n users with the largest losses, or gains, from y to x; all users without n."""
    first, second = names
    columns = {"user": users, second: y, first: x, "difference": x - y}
    frame = pl.DataFrame(columns).sort(["difference", "user"], descending=[not falling, False])
    if n is None:
        return frame
    side = pl.col("difference") < 0 if falling else pl.col("difference") > 0
    return frame.filter(side).head(n)


@dataclass(frozen=True)
class Heterogeneity:
    """Test of whether a difference is equal in all segments.

    Attributes
    ----------
    metric, a, b : str
    statistic : float
        Cochran's Q: the squared distances of the segments' differences from their weighted mean,
        in units of their variances.
    p : float
        By Welch's analysis of variance. Where all differences of a segment are equal, as those of
        cold users, where all systems score 0, its variance is that of the interval of its
        difference; NaN if that has none.
    n : int
        Segments.
    """

    metric: str
    a: str
    b: str
    statistic: float
    p: float
    n: int


def segment_notes(clauses: Mapping[Heterogeneity, str], alpha: float) -> list[str]:
    """Notes on the tests within segments, and on differences that segments do not share.

    `clauses` say for each test in which segments the answer is another one.
    """
    tests = [*clauses]
    if not tests:
        return []
    n = max(test.n for test in tests)
    if len(tests) == 1:
        (test,) = tests
        q = f"Q = {test.statistic:.1f}, {p_equation(test.p)}"
        answer = "a segment has no variation" if math.isnan(test.p) else q
        pair = f"{test.metric}, {test.a} − {test.b}"
        if test.p < alpha:
            return [SEGMENTS_NOTE, f"{pair}: {clauses[test]} ({answer})"]
        return [SEGMENTS_NOTE, f"{pair}: the same in all {n} segments? {answer}"]
    unequal = sorted((test for test in tests if test.p < alpha), key=lambda test: test.p)
    pairs = [
        f"{test.a} − {test.b} on {test.metric} ({p_equation(test.p)}"
        f"{clauses[test].partition('not the same for all segments')[2]})"
        for test in unequal
    ]
    answers = [f"yes for {', '.join(pairs[:MAX_UNEQUAL])}"] if pairs else []
    answers += [f"{len(pairs) - MAX_UNEQUAL} more in `heterogeneity`"] * (len(pairs) > MAX_UNEQUAL)
    untested = sum(math.isnan(test.p) for test in tests)
    if n_equal := len(tests) - len(unequal) - untested:
        answers.append(f"not shown for {counted(n_equal, 'other') if pairs else n_equal}")
    if untested:
        answers.append(f"not testable for {untested}, as a segment has no variation")
    return [SEGMENTS_NOTE, f"do differences vary between the {n} segments? {'; '.join(answers)}"]
