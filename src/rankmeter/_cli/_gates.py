"""Gates: ``--fail-if "ndcg@10<0.2"`` turns a number into an exit code."""

from __future__ import annotations

import math
import operator
import re
from typing import NamedTuple

from rankmeter._cli._command import reworded
from rankmeter._results.summary import Summary
from rankmeter.conventions import translate_all
from rankmeter.errors import UsageError

__all__ = ["Gate", "read_gate"]

_COMPARE = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "<": operator.lt,
    ">": operator.gt,
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
