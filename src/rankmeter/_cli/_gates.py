"""Gates: ``--fail-if "ndcg@10<0.2"`` turns a number or a difference into an exit code."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from rankmeter._checks import unknown
from rankmeter._cli._command import reworded
from rankmeter._estimates.differences import turned
from rankmeter._report.table import one_line
from rankmeter.conventions import translate_all
from rankmeter.errors import UsageError

if TYPE_CHECKING:
    from rankmeter._results.compared import Compared
    from rankmeter._results.summary import Summary

__all__ = [
    "ComparisonGate",
    "Gate",
    "exit_on",
    "margin_of",
    "read_comparison_gate",
    "read_gate",
]

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
    r"\s*(?P<metric>(?:[^<>()]|\([^()]*\))+?)(?:\.(?P<figure>mean|low|high))?"
    r"\s*(?P<sign><=|>=|==|<|>)\s*(?P<limit>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*"
)


class Gate(NamedTuple):
    """A condition under which an evaluation fails."""

    text: str
    metric: str
    figure: str
    """``mean``, or a bound of its interval: ``low``, ``high``."""
    sign: str
    limit: float

    def find(self, result: Summary) -> float:
        """The number that the gate is about."""
        try:
            found = result[self.metric]
        except KeyError as error:
            raise UsageError(f"--fail-if {self.text!r}: {error.args[0]}") from None
        if self.figure != "mean" and found.low == found.high:
            return math.nan  # an interval without width shows that nothing varied, not certainty
        return float(getattr(found, self.figure))

    def trips(self, value: float) -> bool:
        """Whether the condition holds; it also holds for NaN, so a missing number never passes."""
        return math.isnan(value) or bool(_COMPARE[self.sign](value, self.limit))

    def reason(self, value: float) -> str:
        """What holds, or nothing."""
        found = "does not exist" if math.isnan(value) else f"is {value:.6g}"
        return f"{_FIGURES[self.figure]} {found}" if self.trips(value) else ""


def exit_on(reasons: Iterable[tuple[Gate | ComparisonGate, str]]) -> None:
    """Exit with code 1 if a gate trips, and say why."""
    tripped = [(gate, why) for gate, why in reasons if why]
    for gate, why in tripped:
        click.echo(one_line(f"gate {gate.text!r} tripped: {why}"), err=True)
    if tripped:
        click.get_current_context().exit(1)


def read_gate(text: str, like: str | None = None) -> Gate:
    """Parse a condition: metric, optionally ``.low`` or ``.high``, comparison, number.

    The names of metrics may be those of the convention `like`.
    """
    found = _FORM.fullmatch(text)
    if found is None:
        raise UsageError(
            f"--fail-if {text!r} is not a condition: expected a metric, a comparison (<, <=, >, "
            f">=, ==) and a number, such as 'ndcg@10<0.2', or for a bound of the interval "
            "'ndcg@10.low<0.2'"
        )
    try:
        named = translate_all(found["metric"], like or "rankmeter")
    except UsageError as error:
        raise reworded(error, f"--fail-if {text!r}: {error}") from None
    if len(named) != 1:
        raise UsageError(f"--fail-if {text!r}: expected one metric, got {len(named)}")
    limit = float(found["limit"])
    return Gate(text, found["metric"], found["figure"] or "mean", found["sign"], limit)


class ComparisonGate(NamedTuple):
    """A condition under which a comparison fails: ``new worse than prod on ndcg@10 by 0.005``."""

    text: str
    a: str
    claim: str
    """``worse`` or ``not better``."""
    b: str
    metric: str
    margin: str | None

    def reason(self, found: Compared) -> str:
        """Why the gate trips; empty if it does not. What cannot be tested does not pass."""
        try:
            differences = found[self.metric]
        except (KeyError, UsageError) as error:
            raise UsageError(f"--fail-if {self.text!r}: {error.args[0]}") from None
        d = next((d for d in differences if {d.a, d.b} == {self.a, self.b}), None)
        if d is None:
            raise UsageError(f"--fail-if {self.text!r}: {self.a} and {self.b} are not compared")
        d = turned(d, self.a)
        if self.claim == "not better":
            passes = d.verdict == "better"
        elif self.margin is None:
            passes = d.verdict != "worse" and not math.isnan(d.p)
        else:
            passes = d.not_worse
        return "" if passes else d.sentence()


_CLAIM = re.compile(
    r"\s*(?P<a>.+?)\s+(?:is\s+)?(?P<claim>worse|not better)\s+than\s+(?P<b>.+?)\s+on\s+"
    r"(?P<metric>\S.*?)(?:\s+by\s+(?P<margin>\S+))?\s*"
)


def read_comparison_gate(text: str, systems: Sequence[str] | None) -> ComparisonGate:
    """Parse the condition of a comparison, which names two systems and a metric.

    `systems` are those that exist, if that is known yet.
    """
    found = _CLAIM.fullmatch(text)
    if found is None or (found["margin"] and found["claim"] != "worse"):
        raise UsageError(
            f"--fail-if {text!r} is not a condition: expected 'new worse than prod on ndcg@10', "
            "'new worse than prod on ndcg@10 by 0.005' (or by 1%), or 'new not better than prod "
            "on ndcg@10'"
        )
    for name in (found["a"], found["b"]):
        if systems is not None and name not in systems:
            raise unknown(f"system in --fail-if {text!r}:", name, systems)
    return ComparisonGate(
        text, found["a"], found["claim"], found["b"], found["metric"], found["margin"]
    )


def margin_of(gates: Sequence[ComparisonGate], given: Any) -> Any:
    """The margin of all gates and of ``--margin``, which one comparison tests."""
    margins = dict.fromkeys([*([given] if given else []), *(g.margin for g in gates if g.margin)])
    if len(margins) > 1:
        shown = " and ".join(map(str, margins))
        raise UsageError(f"a comparison has one margin, got {shown}: run it once for each")
    return next(iter(margins), None)
