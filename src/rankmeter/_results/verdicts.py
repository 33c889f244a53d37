"""Who leads a comparison, and its headline."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankmeter._evidence.hits import FloatArray
from rankmeter._results.estimates import Estimate
from rankmeter._results.wording import (
    level_text,
    number_text,
    odds_text,
    p_equation,
    signed_text,
    size_text,
)
from rankmeter.errors import spell_out_hidden_characters, to_one_line
from rankmeter.errors._checks import count_users, words_in_use

if TYPE_CHECKING:
    from rankmeter._results.differences import Difference, Lead

MAX_NAMED = 3
"""Segments that a title names."""
FACTOR = 2.0
"""A greater relative gain is written as a factor: 300 % more is 4 times as much."""


@dataclass(frozen=True)
class Verdict:
    """The best system on a metric, and the difference that its lead rests on.

    `ranked` has all systems, the best first, and `mean` is that of the best. `difference` is the
    best minus its rival: the baseline, or the runner-up if no baseline is given or the baseline is
    the best; None without any mean. Of the `others` that the best is compared with, `beaten` are
    significantly worse. `leaders` have the best mean as it is printed: the best, and its equals.
    `undecided` are those that could be first, the best first. `lead` is what a test of all pairs
    says; None for some of the systems.
    """

    metric: str
    ranked: list[str]
    leaders: list[str]
    mean: float
    difference: Difference | None
    beaten: int
    others: int
    undecided: tuple[str, ...] = ()
    lead: Lead | None = None

    @property
    def best(self) -> str:
        """The best system."""
        return self.ranked[0]

    @property
    def is_sure(self) -> bool:
        """Whether the lead of the best system is significant."""
        d = self.difference
        return d is not None and d.significant and d.better == self.best

    @property
    def is_worse_than_rival(self) -> bool:
        """Whether the best of some systems is significantly worse than its rival."""
        d = self.difference
        return d is not None and d.significant and d.better != self.best

    @property
    def lead_text(self) -> str:
        """Lead of the best system and the name of its rival, as text."""
        d = self.difference
        if d is None or math.isnan(d.difference):
            return "no difference to show"
        if d.difference == 0.0:
            return f"no difference from {d.b}"
        if not self.is_relative:
            return f"{signed_text(d.difference, d.low, d.high)} against {d.b}"
        return f"{_relative_text(d.gain, d.gain)} {'' if d.gain > FACTOR else 'against '}{d.b}"

    @property
    def is_relative(self) -> bool:
        """Whether the lead and its interval are shown as a share of the mean of the rival."""
        d = self.difference
        return d is not None and bool(d.share_text()) and not math.isnan(d.gain_low)

    @property
    def interval_text(self) -> str:
        """The interval of the lead in the unit of `lead_text`; empty without an interval."""
        d = self.difference
        if d is None or math.isnan(d.low):
            return ""
        if self.is_relative:
            ends = _relative_text(d.gain_low, d.gain), _relative_text(d.gain_high, d.gain)
        else:
            ends = (signed_text(d.low, d.difference), signed_text(d.high, d.difference))
        return f"[{', '.join(ends)}]"


def _relative_text(gain: float, lead: float) -> str:
    """A relative gain: as a factor where the lead is one, else in percent."""
    if lead > FACTOR:
        return f"{1 + gain:,.3g} times"
    return f"{gain:+.1%}".replace("-", "−")


def find_best_system(
    metric: str,
    means: Mapping[str, Estimate],
    differences: Sequence[Difference],
    baseline: str,
    lead: Lead | None = None,
    *,
    increasing: bool,
) -> Verdict:
    """Find the best system and the difference that its lead rests on.

    `differences` are those on this metric over all users, also with systems that are not in
    `means`. Systems without a mean are ranked last.
    """
    value = {name: -e.mean if increasing else e.mean for name, e in means.items()}
    ranked = sorted(means, key=lambda name: (math.isnan(value[name]), value[name]))
    best = ranked[0]
    from rankmeter._results.differences import difference_seen_from

    of_best = [difference_seen_from(d, best) for d in differences if best in (d.a, d.b)]
    # The baseline first, then the others by rank.
    ranks = {name: rank for rank, name in enumerate(ranked)}
    of_best.sort(key=lambda d: (d.b != baseline, ranks.get(d.b, len(ranked))))
    beaten = {d.b for d in of_best if d.significant and d.better == best}
    first = leading_systems(means, increasing=increasing)
    # Without a baseline, those that could be first; the best alone can lead by way of another one.
    rivals = lead.contenders if lead and not baseline and len(lead.contenders) > 1 else ()
    undecided = tuple(n for n in ranked if (n in rivals if rivals else n not in beaten))
    return Verdict(
        metric, ranked, first, means[best].mean, next(iter(of_best), None), len(beaten),
        len(of_best), undecided, lead,
    )  # fmt: skip


def rank_printed_means(means: Sequence[str], *, increasing: bool) -> list[int]:
    """Rank printed means: 1 for the best, 2 for the second of at least three, else 0.

    Equal means have equal ranks; if all means are equal, every rank is 0.
    """
    values = [None if text in ("–", "nan") else float(text.replace(",", "")) for text in means]
    kinds = sorted({value for value in values if value is not None}, reverse=increasing)
    if len(kinds) < 2:
        return [0] * len(means)
    ranks = {kinds[0]: 1, kinds[1]: 2 if len(means) > 2 else 0}
    return [0 if value is None else ranks.get(value, 0) for value in values]


def leading_systems(means: Mapping[str, Estimate], *, increasing: bool) -> list[str]:
    """Systems with the best printed mean, several in case of ties."""
    printed = {name: number_text(e.mean) for name, e in means.items() if not math.isnan(e.mean)}
    ranks = rank_printed_means([*printed.values()], increasing=increasing)
    return [name for name, rank in zip(printed, ranks, strict=True) if rank == 1] or [*printed]


@dataclass(frozen=True)
class Headline:
    """The answer in one line, and the sentences that give its size and certainty."""

    title: str
    sentences: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "title", to_one_line(self.title))
        object.__setattr__(self, "sentences", tuple(map(to_one_line, self.sentences)))

    def to_html(self) -> str:
        """The title and the sentences as paragraphs."""
        import html

        title, *sentences = (
            html.escape(spell_out_hidden_characters(text)) for text in (self.title, *self.sentences)
        )
        return f"<p><strong>{title}</strong></p>{''.join(f'<p>{text}</p>' for text in sentences)}"

    _repr_html_ = to_html


def segments_clause(d: Difference, within: Sequence[Difference], p: float) -> str:
    """Clause on segments whose answer differs from the answer of `d`; empty if none is shown.

    `within` has the same comparison in each segment, and `p` is that of equal differences.
    """
    unequal = bool(p <= d.alpha)
    by_answer: dict[str, list[str]] = {"worse": [], "better": [], "no difference shown": []}
    for part in within:
        answer = part.verdict if part.verdict in by_answer else "no difference shown"
        by_answer[answer].append(part.segment)
    if not unequal and not (by_answer["worse"] and d.verdict != "worse"):
        return ""
    n_agreeing = len(by_answer.get(d.verdict, ()))
    if unequal and len(within) / 2 < n_agreeing < len(within):
        del by_answer[d.verdict]  # most segments are as the headline says: name the others
    else:
        del by_answer["no difference shown"]
    every = f"all {len(within)}{', by different amounts' * unequal}"
    answers = [
        f"{verb} in {_join_names(names) if len(names) < len(within) else every}"
        for verb, names in by_answer.items()
        if names
    ]
    return ": ".join(filter(None, ["not the same for all segments" * unequal, ", ".join(answers)]))


def _join_names(names: Sequence[str]) -> str:
    """Join names; beyond `MAX_NAMED`, count the remaining names."""
    n_named = MAX_NAMED if len(names) > MAX_NAMED + 1 else len(names)
    suffix = f" and {len(names) - n_named} more" if len(names) > n_named else ""
    return ", ".join(names[:n_named]) + suffix


def comparison_headline(
    verdict: Verdict, baseline: str, correction: str, segments: tuple[str, str] = ("", "")
) -> Headline:
    """One line on which system is better, with sentences on the size of the difference.

    `segments` names a system, and says in which segments it is worse or better instead.
    """
    d, metric = verdict.difference, verdict.metric
    if d is None or math.isnan(d.p):
        why = d.note if d else "no system has a mean"
        why = f"{why[:1].upper()}{why[1:]}."
        return Headline(f"The systems cannot be compared on {metric}", (why,))
    if not d.differs and verdict.beaten == 0 and verdict.others == 1:
        return Headline(f"{d.a} and {d.b} have the same {metric}", (d.sentence(),))
    title = _title(verdict, d, baseline)
    system, reversed_in = segments
    if reversed_in:
        title += ", but " if title.startswith(system) else f"; {system} "
        title += reversed_in
    interval = (
        f", with a {level_text(d.confidence)} interval from "
        f"{signed_text(d.low, d.high)} to {signed_text(d.high, d.low)}"
    )
    mean = "mean " if d.per_user else ""
    size = f"a {mean}difference of {signed_text(d.difference, d.low, d.high)}"
    size = f"no {mean}difference" if d.difference == 0.0 else size
    words = words_in_use()
    answer = (
        f"{d.a} reaches {number_text(d.mean_a)}, {d.b} {number_text(d.mean_b)}: "
        f"{size}{f' per {words.user}' if d.per_user else ''}"
        f"{'' if math.isnan(d.low) else interval}."
    )
    if d.per_user:
        answer += (
            f" {d.a} is better for {count_users(d.wins)}, equal for {d.ties:,}, worse for "
            f"{d.losses:,}."
        )
    same = f"{_join_names(verdict.leaders)} have the same mean."
    sentences = [answer, *([same] if baseline and len(verdict.leaders) > 1 else [])]
    sentences += _certainty_sentences(d, correction, sure=verdict.is_sure)
    if verdict.lead and verdict.lead.difference:
        sentences.append(f"First and second: {verdict.lead.difference.sentence()}")
    if verdict.others > 1:
        beaten = f"{verdict.beaten or 'none'} {'is' if verdict.beaten <= 1 else 'are'}"
        sentences.append(
            f"Of the {verdict.others} systems compared with {verdict.best}, {beaten} significantly "
            "worse than it."
        )
    return Headline(title, tuple(sentences))


def _title(verdict: Verdict, d: Difference, baseline: str) -> str:
    """One line on who is better; "leads" needs a test of all pairs together."""
    metric, best = verdict.metric, verdict.best
    if baseline and verdict.others == 1 and d.margin > 0 and not d.significant:
        return _margin_title(d, metric, baseline)
    if baseline and best == baseline:
        return f"No system beats {baseline} on {metric}"
    all_beaten = verdict.beaten == verdict.others
    if verdict.is_sure and (baseline or all_beaten):
        alone = verdict.others > 1 and verdict.lead is not None and verdict.lead.is_alone
        if alone and not baseline:
            return f"{best} leads on {metric}{_gain_text(d)}, ahead of {d.b}"
        return f"{best} beats {d.b} on {metric}{_gain_text(d)}"
    if d.verdict == "equivalent":
        return f"{d.a} and {d.b} are equivalent on {metric} within ±{size_text(d.margin)}"
    if baseline:
        return f"No system is shown to beat {baseline} on {metric}"
    if d.difference == 0.0:
        if not d.differs and verdict.lead and {*verdict.lead.contenders} == {d.a, d.b}:
            return f"{d.a} and {d.b} lead on {metric}, with the same values"
        return f"The data show no difference between {d.a} and {d.b} on {metric}"
    if verdict.others == 1:
        return f"The data do not decide between {d.a} and {d.b} on {metric}"
    n = len(verdict.undecided)
    named = f"{', '.join(verdict.undecided[:-1])} or {verdict.undecided[-1]}"
    named = named if n <= MAX_NAMED else f"Any of {n} systems"
    return f"{named} could be first on {metric}"


def _margin_title(d: Difference, metric: str, baseline: str) -> str:
    """One line on a system whose difference from the baseline was tested against a margin."""
    from rankmeter._results.differences import difference_seen_from

    d = difference_seen_from(d, d.b if d.a == baseline else d.a)
    if d.verdict == "equivalent":
        return f"{d.a} and {d.b} are equivalent on {metric} within ±{size_text(d.margin)}"
    shown, better = ("within", ", or better") if d.not_worse else ("not shown within", "")
    return f"{d.a} is {shown} {size_text(d.margin)} of {d.b} on {metric}{better}"


def _gain_text(d: Difference) -> str:
    if not d.share_text():
        return f" by {size_text(d.difference)}"
    if d.gain > FACTOR:
        return f" by a factor of {1 + d.gain:,.3g}"
    return f" by {abs(d.gain):.1%}"


def _certainty_sentences(d: Difference, correction: str, *, sure: bool) -> list[str]:
    """Sentences with the conclusion of the test: how often chance gives such a difference, exactly.

    First by its own p, then by that of its family.
    """
    if d.verdict == "equivalent":
        return [d.sentence()]
    of = "sum of ranks" if d.method.startswith("Wilcoxon") else "difference"
    event = f"a {of} at least this large"
    ties = ", where those exactly as large count half" if d.method.startswith("mid-p") else ""
    users, odds = words_in_use().users, odds_text(d.p, at_most=d.p_is_bound)
    odds = f"in {odds} such samples of {users}{ties}"
    sentences = [f"If both were equally good, {event} would still appear {odds}."]
    family = ""
    if d.family > 1:
        family = f" ({correction}, {d.family:,} comparisons: {d.p_texts()[1]})"
        odds = odds_text(d.p_adjusted, at_most=d.p_adjusted_is_bound)
        at_most = "" if correction == "maxt" or odds.startswith("fewer") else "at most "
        sentences.append(
            f"The largest of {d.family:,} such differences would be this large in {at_most}{odds}."
        )
    if not sure:
        answer = "show no difference" if d.difference == 0.0 else "do not decide"
        sentences.append(f"The data {answer}. {d.outlook()}")
    p = p_equation(d.p, at_most=d.p_is_bound, exact=d.is_exact)
    return [*sentences, f"{d.method[:1].upper()}{d.method[1:]}: {p}{family}."]


@dataclass(frozen=True)
class Quantiles:
    """Quantiles of the values of the users, and the number of users with the worst value.

    Attributes
    ----------
    n, at_worst : int
        Users, and those with the worst value that anyone has.
    worst : float
    quartiles : tuple of float
        A quarter, half and three quarters of the users have at most these values.
    """

    n: int
    at_worst: int
    worst: float
    quartiles: tuple[float, ...]


def compute_quantiles(values: FloatArray, *, increasing: bool) -> Quantiles:
    """Compute quantiles of values; NaN without values."""
    if not values.size:
        return Quantiles(0, 0, math.nan, (math.nan,) * 3)
    worst = float(values.min() if increasing else values.max())
    # As NumPy's quantile, which imports masked arrays for it.
    place, ordered = np.array([0.25, 0.5, 0.75]) * (values.size - 1), np.sort(values)
    below, above = ordered[np.floor(place).astype(int)], ordered[np.ceil(place).astype(int)]
    quartiles = tuple((below + (above - below) * (place % 1)).tolist())
    return Quantiles(values.size, int(np.count_nonzero(values == worst)), worst, quartiles)


def mean_headline(
    e: Estimate,
    values: FloatArray | None,
    confidence: float,
    random: float | None,
    *,
    increasing: bool,
) -> Headline:
    """Headline with the mean, and sentences on its interval and on the spread of the values."""
    if math.isnan(e.mean):
        return Headline(f"{e.label} has no mean", (f"No {words_in_use().user} has a value.",))
    sentences = []
    spread = None if values is None else compute_quantiles(values, increasing=increasing)
    if not math.isnan(e.low):
        ends = f"from {number_text(e.low)} to {number_text(e.high)}"
        sentences.append(f"The {level_text(confidence)} interval is {ends}.")
    if spread is not None and spread.n > 1:
        _, half, high = spread.quartiles
        sentences.append(
            f"{count_users(spread.at_worst)} of {spread.n:,} "
            f"{'has' if spread.at_worst == 1 else 'have'} the worst value, "
            f"{number_text(spread.worst)}. Half of the {words_in_use().users} have at most "
            f"{number_text(half)}, three quarters at most {number_text(high)}."
        )
    if random is not None:
        sentences.append(f"Random rankings of all candidates reach {number_text(random)}.")
    over = "all lists" if spread is None else count_users(e.n)
    return Headline(f"{e.label} is {number_text(e.mean)} over {over}", tuple(sentences))
