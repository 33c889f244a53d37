"""What a comparison found, in words: first the answer, then how large and how sure it is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rankmeter._report.excerpt import Verdict

if TYPE_CHECKING:
    from rankmeter._comparison import Comparison, Difference

__all__ = ["Card", "Headline", "headline", "summary_of"]


@dataclass(frozen=True)
class Headline:
    """The answer in one line, and the sentences that give its size and certainty."""

    title: str
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Card:
    """One metric at a glance.

    Attributes
    ----------
    metric, best, mean : str
    lead : str
        By how much the best system is ahead, and of which.
    sure : bool
        Whether that is significant.
    """

    metric: str
    best: str
    mean: str
    lead: str
    sure: bool


def headline(found: Verdict, comparison: Comparison) -> Headline:
    """What is better, by how much, how sure.

    Parameters
    ----------
    found : Verdict
        On the metric that matters most.
    comparison : Comparison
    """
    d, metric, baseline = found.difference, found.metric, comparison.baseline
    if d is None or math.isnan(d.p):
        why = d.note if d else "no system has a mean"
        return Headline(f"The systems cannot be compared on {metric}", (f"{_capital(why)}.",))
    if d.wins + d.losses == 0 and found.beaten == 0:
        return Headline(f"{d.a} and {d.b} have the same {metric}", (d.sentence(),))
    ahead = d.significant and d.better == found.best
    if baseline and found.best == baseline:
        title = f"No system beats {baseline} on {metric}"
    elif ahead and (baseline or found.beaten == found.others):
        title = f"{found.best} beats {d.b} on {metric}{_gain(d)}"
    elif baseline:
        title = f"No system is shown to beat {baseline} on {metric}"
    else:
        title = f"{found.best} leads on {metric}, but not clearly"
    sentences = [_size(d), _certainty(d, comparison, ahead=ahead)]
    if found.others > 1:
        beaten = f"{found.beaten or 'none'} {'is' if found.beaten <= 1 else 'are'}"
        sentences.append(
            f"Of the {found.others} systems compared with {found.best}, {beaten} significantly "
            "worse than it."
        )
    return Headline(title, tuple(sentences))


def summary_of(found: Verdict, comparison: Comparison) -> Card:
    """One metric at a glance."""
    d = found.difference
    e = comparison.estimates[found.metric, found.best]
    if d is None or math.isnan(d.difference):
        return Card(found.metric, found.best, "–", "no difference to tell", sure=False)
    gain = f"{d.difference:+.4f}" if math.isnan(d.gain) else f"{d.gain:+.1%}"
    return Card(
        found.metric,
        found.best,
        f"{e.mean:.4f}",
        f"{_minus(gain)} against {d.b}",
        sure=d.significant and d.better == found.best,
    )


def _gain(d: Difference) -> str:
    size = abs(d.gain)
    return (
        f" by {size:.1%}" if math.isfinite(size) and size < 10 else f" by {abs(d.difference):.4f}"
    )


def _size(d: Difference) -> str:
    return (
        f"{d.a} reaches {d.mean_a:.4f}, {d.b} {d.mean_b:.4f}: a mean difference of "
        f"{_signed(d.difference)} per user, with an interval from {_signed(d.low)} to "
        f"{_signed(d.high)}. {d.a} is better for {d.wins:,} users, equal for {d.ties:,}, worse for "
        f"{d.losses:,}."
    )


def _certainty(d: Difference, comparison: Comparison, *, ahead: bool) -> str:
    correction = comparison.settings["correction"]
    corrected = "" if correction == "none" else f" after correction ({correction})"
    p = "below 0.0001" if d.p_adjusted < 0.0001 else f"{d.p_adjusted:.4f}"
    said = f"By {d.method}, p is {p}{corrected}"
    if ahead:
        return f"{said}."
    return (
        f"{said}: no difference is shown. With {d.n:,} users, one of {d.detectable:.4f} would be "
        "seen in 80 % of studies."
    )


def _signed(value: float) -> str:
    return _minus(f"{value:+.4f}")


def _minus(text: str) -> str:
    return text.replace("-", "−")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
