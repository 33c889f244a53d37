"""Gates: ``--fail-if "ndcg@10<0.2"`` turns a number or a difference into an exit code."""

from __future__ import annotations

import json
import math
import operator
import re
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from rankmeter._cli._command import CommandOption, copy_with_message
from rankmeter._files import is_stored_result
from rankmeter._results.wording import p_equation, size_text
from rankmeter.conventions import translate_metrics
from rankmeter.errors import UsageError, to_one_line
from rankmeter.errors._checks import unknown_word_error

if TYPE_CHECKING:
    from rankmeter._results.comparison import Comparison
    from rankmeter._results.summary import Summary

_COMPARE = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "<": operator.lt,
    ">": operator.gt,
}
_FIGURES = {
    "mean": "the mean",
    "low": "the lower end of the interval",
    "high": "the upper end of the interval",
}
_FORM = re.compile(
    r"\s*+(?P<metric>(?:[^<>()]|\([^()]*\))+?)(?<!\s)(?:\.(?P<figure>mean|low|high))?"
    r"\s*+(?P<sign><=|>=|==|<|>)\s*(?P<limit>[+-]?(?:\d++\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*"
)


class Gate(NamedTuple):
    """A condition under which an evaluation fails."""

    text: str
    metric: str
    figure: str
    """``mean``, or a bound of its interval: ``low``, ``high``."""
    sign: str
    limit: float

    def trips(self, value: float) -> bool:
        """Whether the condition holds; also for NaN, so that a missing number never passes."""
        return math.isnan(value) or bool(_COMPARE[self.sign](value, self.limit))

    def failure_reason(self, result: Summary) -> str:
        """Reason why the gate trips, in words; empty if the gate passes."""
        try:
            estimate = result[self.metric]
        except KeyError as error:
            raise UsageError(f"--fail-if {self.text!r}: {error.args[0]}") from None
        value = float(getattr(estimate, self.figure))
        if self.figure != "mean" and estimate.low == estimate.high:
            value = math.nan  # an interval without width shows that nothing varied, not certainty
        size = "does not exist" if math.isnan(value) else f"is {value:.6g}"
        return f"{_FIGURES[self.figure]} {size}" if self.trips(value) else ""


def exit_on_failures(reasons: Iterable[tuple[str, str]]) -> None:
    """Exit with code 1 if a condition holds, and say why: each has a text, empty if it does not."""
    tripped = [(text, why) for text, why in reasons if why]
    for text, why in tripped:
        click.echo(to_one_line(f"gate {text!r} tripped: {why}"), err=True)
    if tripped:
        click.get_current_context().exit(1)


def fail_if_option(condition: str) -> CommandOption:
    """Build the option ``--fail-if``; `condition` is an example for the help."""
    return CommandOption(
        "conditions --fail-if",
        f"Exit with code 1 if this holds: {condition} May be repeated.",
        multiple=True,
        metavar="CONDITION",
        group="Output",
    )


def read_gate(text: str, like: str | None = None) -> Gate:
    """Parse a condition: metric, optionally ``.low`` or ``.high``, comparison, number.

    The names of metrics may be those of the convention `like`.
    """
    match = _FORM.fullmatch(text)
    if match is None:
        raise UsageError(
            f"--fail-if {text!r} is not a condition: expected a metric, a comparison (<, <=, >, "
            f">=, ==) and a number, such as 'ndcg@10<0.2', or for a bound of the interval "
            "'ndcg@10.low<0.2'"
        )
    try:
        metrics = translate_metrics(match["metric"], like or "rankmeter")
    except UsageError as error:
        raise copy_with_message(error, f"--fail-if {text!r}: {error}") from None
    if len(metrics) != 1:
        raise UsageError(f"--fail-if {text!r}: expected one metric, got {len(metrics)}")
    limit = float(match["limit"])
    return Gate(text, match["metric"], match["figure"] or "mean", match["sign"], limit)


class ComparisonGate(NamedTuple):
    """A condition under which a comparison fails: ``new not shown within 1% of prod on ndcg@10``.

    All gates of a call must pass, so each uses the p of its own test against the margin, without a
    correction (an intersection-union test: Berger, Technometrics 24, 1982).
    """

    text: str
    a: str
    claim: str
    """``shown worse``, ``not shown better`` or ``not shown within``."""
    b: str
    metric: str
    margin: str | None

    def failure_reason(self, comparison: Comparison) -> str:
        """Reason why the gate trips, empty if the gate passes; untestable claims do not pass."""
        try:
            differences = comparison[self.metric]
        except (KeyError, UsageError) as error:
            raise UsageError(f"--fail-if {self.text!r}: {error.args[0]}") from None
        d = next((d for d in differences if {d.a, d.b} == {self.a, self.b}), None)
        if d is None:
            raise UsageError(f"--fail-if {self.text!r}: {self.a} and {self.b} are not compared")
        if d.a != self.a and self.margin is not None and "%" in self.margin:
            raise UsageError(
                f"--fail-if {self.text!r}: {self.margin} would be a share of the mean of {d.b}, "
                f"not of {self.b}. Add --baseline {self.b}"
            )
        from rankmeter._results.differences import difference_seen_from

        d = difference_seen_from(d, self.a)
        if self.margin is not None:
            size = d.size_with_interval()
            why = f"cannot exclude that {d.a} is worse than {d.b} by {size_text(d.margin)} or more"
            passes = d.p_not_worse_alone <= d.alpha
            if d.wins == d.losses == 0:
                size = (
                    f"no difference in {d.ties:,} users, which are too few for this margin: {size}"
                )
            return "" if passes else f"{why}: {size}, {p_equation(d.p_not_worse_alone)}"
        if self.claim == "shown worse":
            passes = d.verdict != "worse" and not math.isnan(d.p)
        else:
            passes = d.verdict == "better"
        return "" if passes else d.sentence()


_CLAIM = re.compile(
    r"(?<=\S)\s+(?:is\s+)?(?:(?P<claim>shown\s+worse|not\s+shown\s+better)\s+than"
    r"|(?P<within>not\s+shown\s+within)\s+(?P<margin>\S+)\s+of)\s+(?=\S)"
)
_AMBIGUOUS = re.compile(r"(?<=\S)\s+(?:is\s+)?(?P<claim>worse|not better)\s+than\s+(?=\S)")
_ON = re.compile(r"(?<=\S)\s+on\s+(?=\S)")
_BY = re.compile(r"(?<=\S)\s+by\s+(?P<margin>\S+)$")


def _split_condition(
    claim: re.Pattern[str], text: str
) -> tuple[re.Match[str], str, str, str] | None:
    """Split a condition into claim, two systems and metric, in linear time; None if malformed."""
    text = text.strip()
    claimed = claim.search(text)
    on = claimed and _ON.search(text, claimed.end())
    if not claimed or not on:
        return None
    return claimed, text[: claimed.start()], text[claimed.end() : on.start()], text[on.end() :]


def read_comparison_gate(text: str, systems: Sequence[str] | None) -> ComparisonGate:
    """Parse the condition of a comparison, which names two systems and a metric.

    `systems` are those that exist, if that is known yet.
    """
    claim_parts = _split_condition(_CLAIM, text)
    if claim_parts is None:
        raise UsageError(f"--fail-if {text!r} {_suggest_condition(text)}")
    claimed, a, b, metric = claim_parts
    for name in (a, b):
        if systems is not None and name not in systems:
            raise unknown_word_error(f"system in --fail-if {text!r}:", name, systems)
    claim = " ".join((claimed["claim"] or claimed["within"]).split())
    return ComparisonGate(text, a, claim, b, metric, claimed["margin"])


def stored_systems(conditions: Iterable[str], known: Collection[str]) -> list[str]:
    """The systems of conditions that are files of results, but for the known ones."""
    parts = (_split_condition(_CLAIM, text) for text in conditions)
    names = dict.fromkeys(name for part in parts if part is not None for name in part[1:3])
    return [name for name in names if name not in known and is_stored_result(name)]


def _suggest_condition(text: str) -> str:
    """Suggest a condition in place of a text that is invalid or ambiguous."""
    unclear = _split_condition(_AMBIGUOUS, text)
    a, b, metric = ("new", "prod", "ndcg@10") if unclear is None else unclear[1:]
    margin_match = unclear and _BY.search(metric)
    metric = metric[: margin_match.start()] if margin_match else metric
    margin = margin_match["margin"] if margin_match else "1%"
    worse = f"'{a} shown worse than {b} on {metric}' (fails if that is shown)"
    within = (
        f"'{a} not shown within {margin} of {b} on {metric}' (fails unless it is shown that {a} is "
        "not worse by so much)"
    )
    better = f"'{a} not shown better than {b} on {metric}'"
    if unclear is None:
        return f"is not a condition: expected {worse}, {within} or {better}"
    does = "does not say what must be shown: write"
    if unclear[0]["claim"] == "not better":
        return f"{does} {better}"
    return f"{does} {within}" if margin_match else f"{does} {worse}, or {within}"


def collect_margins(gates: Sequence[ComparisonGate], margin: Any) -> Any:
    """Collect the margins of gates by metric, or return ``--margin``."""
    margins: dict[str, str] = {}
    for gate in gates:
        if gate.margin is None:
            continue
        if margins.setdefault(gate.metric, gate.margin) != gate.margin:
            raise UsageError(
                f"a metric has one margin, got {margins[gate.metric]} and {gate.margin} for "
                f"{gate.metric}: run the comparison once for each"
            )
    if margins and margin:
        raise UsageError("give the margins in --fail-if or with --margin, not in both")
    return margins or _parse_margin_option(margin)


def _parse_margin_option(margin: Any) -> Any:
    """Parse a ``--margin`` written as a JSON mapping; return other values unchanged."""
    if not isinstance(margin, str) or not margin.lstrip().startswith("{"):
        return margin
    try:
        return json.loads(margin)
    except ValueError:
        raise UsageError(
            f'--margin {margin!r} is not a mapping: expected \'{{"ndcg@10": 0.005, "hr@10": '
            '"1%"}\''
        ) from None
