"""Results that a judge of all queries corrects: what its labels are worth, and its bias."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn

import polars as pl

from rankmeter._reading.table import Frame
from rankmeter._results.answer import Answer
from rankmeter._results.comparison import Comparison
from rankmeter._results.estimates import Estimate
from rankmeter._results.notes import Detail, Facts
from rankmeter._results.summary import Summary
from rankmeter._results.tables import TextTable
from rankmeter._results.wording import (
    change_text,
    interval_of_change,
    interval_text,
    level_text,
    number_text,
)
from rankmeter.errors import UsageError
from rankmeter.errors._checks import use_words_of_result, words_in_use


@dataclass(frozen=True, eq=False)
class Judgment:
    """The mean of a system on a metric: corrected, of people alone, and of the judge alone.

    Attributes
    ----------
    corrected, people : Estimate
        The corrected mean, and that of people's queries alone.
    judge : float
        Mean of the judge over all queries.
    bias, bias_low, bias_high : float
        Mean of judge - people over people's queries, and its interval.
    weight : float
        λ, between 0, where the judge is not used, and 1.
    worth : float
        How many queries, judged by people alone, would give the same standard error.
    n, n_all : int
        Queries that people judged, and that the judge judged.
    """

    corrected: Estimate
    people: Estimate
    judge: float
    bias: float
    bias_low: float
    bias_high: float
    weight: float
    worth: float
    n: int
    n_all: int

    def to_dict(self) -> dict[str, float]:
        """The numbers, for JSON."""
        people = {"mean": self.people.mean, "low": self.people.low, "high": self.people.high}
        return {
            "worth": self.worth,
            **{f"people_{name}": value for name, value in people.items()},
            "judge": self.judge,
            "bias": self.bias,
            "bias_low": self.bias_low,
            "bias_high": self.bias_high,
            "weight": self.weight,
        }

    def cells(self) -> list[str]:
        """The numbers as text, for a table."""
        return [
            number_text(self.people.mean),
            interval_text(*self.people.interval),
            number_text(self.judge),
            change_text(self.bias, self.bias_low, self.bias_high),
            interval_of_change(self.bias, self.bias_low, self.bias_high),
            number_text(self.weight, 2),
        ]


def _table(rows: Iterable[Sequence[str]], first: Sequence[str], confidence: float) -> TextTable:
    interval = f"{level_text(confidence)} interval"
    columns = ("people alone", interval, "judge alone", "judge − people", interval, "λ")
    return TextTable((*first, *columns), [*rows], left=len(first))


def _notes(
    worth: Mapping[str, float], found: Mapping[tuple[str, str], Judgment], of: str, sampling: str
) -> tuple[str, ...]:
    """What the labels are worth, first; where the judge is not used; how it was done."""
    users, one = words_in_use().users, next(iter(found.values()))
    texts = [f"{number:,.0f} human-judged {users} on {label}" for label, number in worth.items()]
    judged = f"people judged {one.n:,} of {one.n_all:,}, the judge all"
    said = [f"{of}worth {', '.join(texts)} ({judged})"]
    if unused := [*dict.fromkeys(m for (m, _), j in found.items() if not j.weight)]:
        said.append(
            f"the judge is not used on {', '.join(unused)} (λ = 0): it does not agree with "
            f"people, or too few {users} differ to show it"
        )
    said.append(
        Detail(
            f"means: people − λ × (judge − its mean over all {users}); λ is fitted on the other "
            f"half of people's {users}, which are {sampling} (PPI++)"
        )
    )
    return (*said,)


def _for_papers(found: Mapping[tuple[str, str], Judgment], sampling: str) -> str:
    """What a paper must say of the labels."""
    users, one = words_in_use().users, next(iter(found.values()))
    return (
        f"labels of people for {one.n:,} of {one.n_all:,} {users} ({sampling}), corrected by those "
        "of a judge for all (PPI++)"
    )


class PeopleSummary(Summary):
    """The evaluation by people's labels, which most users have not by design."""

    def facts(self) -> Facts:
        """The facts of an evaluation, but that most users have no labels of people."""
        subject = f"{words_in_use().users} without truth"
        return {name: fact for name, fact in super().facts().items() if name != subject}


@dataclass(frozen=True, eq=False, repr=False)
class JudgedSummary(PeopleSummary):
    """Means of people's labels that a judge corrects; `scores` are those of people.

    Attributes
    ----------
    judgments : mapping of (str, str) to Judgment
        By metric and, of a comparison, system.
    sampling : str
        How people's queries were chosen.
    """

    judgments: Mapping[tuple[str, str], Judgment] = field(default_factory=dict)
    sampling: str = ""

    @use_words_of_result
    def judge_table(self) -> TextTable:
        """The means of people alone and of the judge alone, and the bias of the judge."""
        rows = [(label, *one.cells()) for (label, _), one in self.judgments.items()]
        return _table(rows, ("metric",), self.confidence)

    @property
    @use_words_of_result
    def notes(self) -> tuple[str, ...]:
        """What the labels are worth, and the notes of an evaluation."""
        worth = {label: one.worth for (label, _), one in self.judgments.items()}
        return (*_notes(worth, self.judgments, "", self.sampling), *super().notes)

    @use_words_of_result
    def _answer(self, digits: int = 4) -> Answer:
        """The answer of an evaluation, with the table of the judge."""
        found = super()._answer(digits)
        return replace(found, tables=[self.judge_table(), *found.tables])

    @use_words_of_result
    def conventions(self) -> list[str]:
        """What a paper must say of the convention and the labels."""
        return [*super().conventions(), _for_papers(self.judgments, self.sampling)]

    def _dict_content(self) -> dict[str, Any]:
        one = next(iter(self.judgments.values()))
        rows = {label: found.to_dict() for (label, _), found in self.judgments.items()}
        facts = {"people": one.n, "all": one.n_all, "sampling": self.sampling}
        return super()._dict_content() | {"judge": {**facts, "metrics": rows}}

    def to_polars(self) -> pl.DataFrame:
        """One row per metric, as for evaluations, with the numbers of the judge."""
        rows = pl.DataFrame([one.to_dict() for one in self.judgments.values()])
        return pl.concat([super().to_polars(), rows], how="horizontal")

    def by_segment(self, segments: object) -> Frame:
        """Refused: the judge corrects the mean over all queries."""
        _refuse("means within segments", segments)

    def gap(self, segments: object) -> Frame:
        """Refused, as `by_segment`."""
        _refuse("means within segments", segments)

    def adjusted(self, metric: str) -> Estimate:
        """Refused: the judge corrects means as they are."""
        _refuse("means adjusted for chance", metric)

    def save(self, path: str | Path) -> None:
        """Refused: a stored result has values of users, which the judge does not correct."""
        _refuse("form to store", path)


def _refuse(what: str, _: object = None) -> NoReturn:
    raise UsageError(f"a result that a judge corrects has no {what}: evaluate without judge=")


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class JudgedComparison(Comparison):
    """Systems by people's labels that a judge corrects; values of users are those of people.

    Attributes
    ----------
    judgments : mapping of (str, str) to Judgment
        By metric and system.
    worth : mapping of str to float
        By metric, how many queries, judged by people alone, would give the standard errors of the
        differences: the fewest of all pairs.
    sampling : str
        How people's queries were chosen.
    """

    judgments: Mapping[tuple[str, str], Judgment]
    worth: Mapping[str, float]
    sampling: str

    @use_words_of_result
    def judge_table(self) -> TextTable:
        """The means of people alone and of the judge alone, and the bias of the judge."""
        rows = [(name, label, *one.cells()) for (label, name), one in self.judgments.items()]
        return _table(rows, ("system", "metric"), self.confidence)

    def misordered(self, metric: str) -> list[tuple[str, str]]:
        """The pairs that the judge alone would order otherwise: what it prefers comes first."""
        label, up = self._label(metric), self.by_metric[self._label(metric)].increasing
        found = {name: self.judgments[label, name] for name in self.systems}
        pairs = []
        for a, b in itertools.combinations(self.systems, 2):
            own = found[a].corrected.mean - found[b].corrected.mean
            judge = found[a].judge - found[b].judge
            if own * judge < 0.0:
                pairs.append((a, b) if (judge > 0.0) == up else (b, a))
        return pairs

    def _order_notes(self) -> list[str]:
        said = []
        for label in self.labels:
            if pairs := self.misordered(label):
                more = f" and {len(pairs) - 3:,} more" if len(pairs) > 3 else ""
                text = ", ".join(f"{a} before {b}" for a, b in pairs[:3])
                said.append(f"the judge alone would order otherwise on {label}: {text}{more}")
        return said

    @property
    @use_words_of_result
    def notes(self) -> tuple[str, ...]:
        """What the labels are worth, the order of the judge alone, the notes of a comparison."""
        first, *others = _notes(self.worth, self.judgments, "differences ", self.sampling)
        return (first, *self._order_notes(), *others, *super().notes)

    @use_words_of_result
    def _answer(self) -> Answer:
        """The answer of a comparison, with the table of the judge."""
        found = super()._answer()
        return replace(found, tables=[self.judge_table(), *found.tables])

    @use_words_of_result
    def conventions(self) -> list[str]:
        """What a paper must say of the convention and the labels."""
        return [*super().conventions(), _for_papers(self.judgments, self.sampling)]

    def _dict_content(self) -> dict[str, Any]:
        one = next(iter(self.judgments.values()))
        rows: dict[str, Any] = {
            label: {
                "differences_worth": worth,
                "misordered": [[*pair] for pair in self.misordered(label)],
                "systems": {name: self.judgments[label, name].to_dict() for name in self.systems},
            }
            for label, worth in self.worth.items()
        }
        facts = {"people": one.n, "all": one.n_all, "sampling": self.sampling}
        return super()._dict_content() | {"judge": {**facts, "metrics": rows}}

    def by_segment(self, segments: object) -> Frame:
        """Refused: the judge corrects means over all queries."""
        _refuse("means within segments", segments)
