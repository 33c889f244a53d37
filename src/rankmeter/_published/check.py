"""What a published mean can mean, from the number of users and the range of the metric alone."""

from __future__ import annotations

import html
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from rankmeter._choices import takes_aliases
from rankmeter._results.wording import interval_text, level_text, number_text, p_value_text
from rankmeter.errors import UsageError
from rankmeter.errors._checks import check_fraction, check_integer, check_number, option_error
from rankmeter.metrics import METRICS, Metric
from rankmeter.metrics import metric as read_metric

_MOST_WORK = 10**10
"""Bits that a search for sums of reciprocal ranks may touch."""
_LONGEST = 40
"""Characters of a published number."""


@dataclass(frozen=True)
class MeanCheck:
    """The meaning of a published mean, as far as n and the metric say it.

    Attributes
    ----------
    n : int
        Users.
    mean, against : float
        The published means; the second is that of the other system, or None.
    metric : str or None
    possible, against_possible : bool or None
        Whether any values of n users have this mean, rounded to the digits that were printed.
    below, above : float or None
        The nearest means of n users if it is not possible.
    low, high : float
        An interval of the true mean that covers with the level `confidence`, whatever the values.
    difference_low, difference_high : float or None
        The same of the difference between both means.
    least_p : float or None
        The least p-value that `compare` gives for any values with these means.
    confidence : float
    """

    n: int
    mean: float
    against: float | None
    metric: str | None
    possible: bool
    below: float | None
    above: float | None
    against_possible: bool | None
    low: float
    high: float
    difference_low: float | None
    difference_high: float | None
    least_p: float | None
    confidence: float

    def __str__(self) -> str:
        said = [self._possible_in_words()]
        level = level_text(self.confidence)
        if self.possible:
            text = interval_text(self.low, self.high)
            said.append(f"Whatever the values of users are, {text} covers the true mean ({level}).")
        if self.against is not None and self.against_possible is False:
            said.append(f"No values of {self.n:,} users have the mean {self.against:g}.")
        elif self.least_p is not None:
            assert self.difference_low is not None
            assert self.difference_high is not None
            text = interval_text(self.difference_low, self.difference_high)
            least = p_value_text(self.least_p)
            decided = self.least_p <= 1 - self.confidence
            outcome = "Some data" if decided else "No data"
            said.append(
                f"{outcome} with these means can show which of {self.mean:g} and {self.against:g} "
                f"is better: the least p that they allow is {least}; {text} covers the true "
                f"difference ({level})."
            )
        return " ".join(said)

    __repr__ = __str__

    def _possible_in_words(self) -> str:
        name = f" of {self.metric}" if self.metric else ""
        if self.possible:
            return f"A mean{name} of {self.mean:g} is possible with {self.n:,} users."
        near = [number_text(x, 6) for x in (self.below, self.above) if x is not None]
        return (
            f"A mean{name} of {self.mean:g} is not possible with {self.n:,} users: the nearest "
            f"{'are' if len(near) > 1 else 'is'} {' and '.join(near)}."
        )

    def _repr_html_(self) -> str:
        return "".join(f"<p>{html.escape(line)}</p>" for line in str(self).splitlines())

    def to_dict(self) -> dict[str, Any]:
        """The numbers as plain values."""
        return asdict(self)


@takes_aliases
def check_mean(
    mean: str | float,
    *,
    n: int,
    against: str | float | None = None,
    metric: str | Metric | None = None,
    confidence: float = 0.95,
) -> MeanCheck:
    """Say what a published mean can mean: whether it is possible, and what it can decide.

    Parameters
    ----------
    mean : str or float
        The mean as it was printed: the text ``"0.350"`` has three decimals, the number 0.35 has
        two. ``"35.0%"`` is 0.350. A number without decimals, 0 or 1, is exact.
    n : int
        Users.
    against : str or float, optional
        The mean of another system for the same users.
    metric : str or Metric, optional
        The metric, ``hr@10``. It says which values a user can have: hits 0 and 1, precision@k
        multiples of 1/k, reciprocal ranks 1/r, others any number in their range. Without it, any
        number from 0 to 1.
    confidence : float
        Level of the intervals.

    Returns
    -------
    MeanCheck
        Prints as sentences.

    Raises
    ------
    UsageError
        If a mean is not a number, or the metric has no finite range or no mean over users.

    Notes
    -----
    A mean is possible if n values of users can have it, rounded up or down to its last printed
    digit. The interval is that of Hoeffding's inequality in its sharp form (Journal of the American
    Statistical Association 58, 1963), ``n · kl(mean, μ) ≤ log(2 / α)``: it covers for any
    distribution in the range, so no data with this mean can contradict it. Of hits, it is
    that of Clopper and Pearson (Biometrika 26, 1934). It is wider than an interval that knows the
    values.

    The least p is that of the randomization test where as many users as possible differ, all in the
    same direction: 2 / 2^m for m users, with the mid-p of hits 1 / 2^m. Hits that differ by 3 of
    300 users cannot have less than 1/8. `compare` draws flips if more than 30 users differ, and
    gives 0.0001 for what is less.

    Examples
    --------
    Three users more with a hit:

    >>> import rankmeter as rm
    >>> found = rm.check_mean("0.35", n=300, against="0.34", metric="hr@10")
    >>> found.possible, found.against_possible
    (True, True)
    >>> rm.check_mean("0.3481", n=300, metric="hr@10").possible
    False
    >>> rm.check_mean("0.350", n=300, against="0.340", metric="hr@10").least_p
    0.125
    """
    n = check_integer("n", n, least=1)
    check_fraction("confidence", confidence)
    values = _Values.of(metric)
    printed = _Printed.read("mean", mean)
    window = values.window(printed)
    possible = values.has_total(window, n)
    low, high = values.interval(window, n, confidence, possible=possible)
    nearest = (None, None) if possible else values.nearest(printed.value, n)
    more: tuple[Any, ...] = (None, None, None, None, None)
    if against is not None:
        more = _compare(values, window, _Printed.read("against", against), n, confidence)
    other, other_possible, difference_low, difference_high, least_p = more
    return MeanCheck(
        n, float(printed.value), other, None if metric is None else str(metric), possible,
        *nearest, other_possible, low, high, difference_low, difference_high,
        least_p if possible else None, float(confidence),
    )  # fmt: skip


def _compare(
    values: _Values, window: Window, other: _Printed, n: int, confidence: float
) -> tuple[float, bool, float, float, float | None]:
    """The other mean, whether it is possible, the interval of the difference, and the least p."""
    others = values.window(other)
    possible = values.has_total(others, n)
    span = values.high - values.low
    low, high = window[0] - others[1], window[1] - others[0]
    ends = _interval((low, high), (-span, span), n, confidence)
    least = values.least_p(window, others, n) if possible and n > 1 else None
    return float(other.value), possible, *ends, least


Window = tuple[Fraction, Fraction]
"""The numbers that are printed as one mean, both ends included."""


@dataclass(frozen=True)
class _Printed:
    """A number as it was printed."""

    value: Fraction
    half: Fraction  # of the last digit

    @classmethod
    def read(cls, name: str, value: Any) -> _Printed:
        """Read a text or a number."""
        text = value
        if not isinstance(value, str) and value is not None:
            text = repr(check_number(name, value)).removesuffix(".0")
        wanted = 'a number as it was printed, such as "0.350"'
        if not isinstance(text, str) or len(text) > _LONGEST:
            raise option_error(name, wanted, value)
        plain = text.strip().removesuffix("%")
        digits, _, power = plain.lower().partition("e")
        try:
            found, exponent = Fraction(digits), int(power or 0)
        except (ValueError, ZeroDivisionError):
            raise option_error(name, wanted, value) from None
        if abs(exponent) > _LONGEST or "/" in digits:
            raise option_error(name, wanted, value)
        scale = Fraction(10) ** (exponent - 2 * ("%" in text))
        decimals = len(digits.replace("_", "").partition(".")[2])
        exact = not decimals and "%" not in text
        return cls(found * scale, Fraction(0) if exact else scale / (2 * 10**decimals))


@dataclass(frozen=True)
class _Values:
    """The values that a user can have: all from low to high, multiples of a step, or 1/r."""

    low: Fraction
    high: Fraction
    step: Fraction | None = None
    ranks: int | None = None

    @classmethod
    def of(cls, name: str | Metric | None) -> _Values:
        """Those of a metric."""
        if name is None:
            return cls(Fraction(0), Fraction(1))
        if not isinstance(name, str | Metric):
            raise option_error("metric", "the name of one metric, such as 'hr@10'", name)
        one = name if isinstance(name, Metric) else read_metric(name)
        spec, options = METRICS[one.name], dict(one.options)
        low, high = spec.range({**spec.example, **options, "k": one.k}, dict(one.choices))
        averaged = dict(one.choices).get("aggregate", spec.aggregate)
        if averaged != "mean" or not (math.isfinite(low) and math.isfinite(high)):
            raise UsageError(
                f"{one} has no mean of bounded values of users, so its number says nothing about "
                "them: name a metric with a finite range, which is averaged over users"
            )
        ends = Fraction(low), Fraction(high)
        if options or one.choices:
            return cls(*ends)
        if one.name == "hit_rate":
            return cls(*ends, step=Fraction(1))
        if one.name == "precision" and one.k:
            return cls(*ends, step=Fraction(1, one.k))
        return cls(*ends, ranks=one.k if one.name == "rr" else None)

    def window(self, printed: _Printed) -> Window:
        """The means that are printed so and are in the range."""
        ends = printed.value - printed.half, printed.value + printed.half
        if ends[1] < self.low or ends[0] > self.high:
            raise UsageError(
                f"a mean of {float(printed.value):g} is outside the range of the metric, "
                f"{float(self.low):g} to {float(self.high):g}: is it a percentage? Write it with %"
            )
        return max(ends[0], self.low), min(ends[1], self.high)

    def has_total(self, window: Window, n: int) -> bool:
        """Whether the values of n users can have a mean in the window."""
        if self.step is not None:
            return math.ceil(window[0] * n / self.step) <= math.floor(window[1] * n / self.step)
        if (unit := self._unit(n)) is None:
            return True
        first, last = math.ceil(window[0] * n * unit), math.floor(window[1] * n * unit)
        return first <= last and bool(self._sums(n, unit) >> first & ((1 << last - first + 1) - 1))

    def nearest(self, mean: Fraction, n: int) -> tuple[float | None, float | None]:
        """The nearest possible means below and above a mean that is not possible."""
        if self.step is not None:
            below = math.floor(mean * n / self.step)
            return float(below * self.step / n), float((below + 1) * self.step / n)
        unit = self._unit(n)
        assert unit is not None
        sums, place = self._sums(n, unit), math.floor(mean * n * unit)
        below = (sums & ((1 << place + 1) - 1)).bit_length() - 1
        rest = sums >> place + 1
        above = place + (rest & -rest).bit_length()
        return below / (unit * n), above / (unit * n)

    def _unit(self, n: int) -> int | None:
        """The number of which all reciprocal ranks are multiples of 1; None if it is too large."""
        if self.ranks is None:
            return None
        unit = math.lcm(*range(1, min(self.ranks, _LONGEST) + 1))
        return unit if self.ranks <= _LONGEST and n * n * unit * self.ranks <= _MOST_WORK else None

    def _sums(self, n: int, unit: int) -> int:
        """The sums of n values as bits: bit s is 1 if they can have the sum s."""
        assert self.ranks is not None
        sums = 1
        for _ in range(n):
            sums |= _union(sums << unit // rank for rank in range(1, self.ranks + 1))
        return sums

    def interval(
        self, window: Window, n: int, confidence: float, *, possible: bool
    ) -> tuple[float, float]:
        """The interval of the true mean that covers whatever the values are."""
        if self.step == self.high - self.low and possible:
            return _clopper_pearson(
                math.ceil(window[0] * n), math.floor(window[1] * n), n, confidence
            )
        return _interval(window, (self.low, self.high), n, confidence)

    def least_p(self, window: Window, others: Window, n: int) -> float:
        """The least p-value of the randomization test for any values with these means."""
        if self.step is None:
            differing = n if max(window[1] - others[0], others[1] - window[0]) > 0 else 0
            return _p_value(differing, n)
        first, last = (
            [math.ceil(w[0] * n / self.step), math.floor(w[1] * n / self.step)]
            for w in (window, others)
        )
        return _p_value(min(n, max(first[1] - last[0], last[1] - first[0])), n)


def _union(parts: Any) -> int:
    """All bits of some numbers."""
    found = 0
    for part in parts:
        found |= part
    return found


def _p_value(differing: int, n: int) -> float:
    """The p-value if so many of n users differ, all in the same direction and by the same size."""
    if differing <= 0:
        return 1.0
    return math.ldexp(1.0, (0 if 2 * differing <= n else 1) - differing)


def _clopper_pearson(least: int, most: int, n: int, confidence: float) -> tuple[float, float]:
    """The interval of a share, of which the number of hits is known up to rounding."""
    from scipy.stats import beta

    tail = (1.0 - confidence) / 2.0
    low = float(beta.ppf(tail, least, n - least + 1)) if least else 0.0
    high = float(beta.isf(tail, most + 1, n - most)) if most < n else 1.0
    return low, high


def _interval(window: Window, span: Window, n: int, confidence: float) -> tuple[float, float]:
    """The interval of a mean that is printed as the window, of values in a span."""
    width = span[1] - span[0]
    low, high = (float((x - span[0]) / width) for x in window)
    most = math.log(2.0 / (1.0 - confidence)) / n
    down, up = 1.0 - _upper_end(1.0 - low, most), _upper_end(high, most)
    return float(span[0]) + float(width) * down, float(span[0]) + float(width) * up


def _upper_end(mean: float, most: float) -> float:
    """The largest number whose divergence from a mean is at most so large."""
    return _last(lambda x: _divergence(mean, x) <= most, mean, 1.0)


def _divergence(p: float, q: float) -> float:
    """Kullback-Leibler divergence of two shares."""
    parts = ((p, q), (1.0 - p, 1.0 - q))
    return math.fsum(
        0.0 if a <= 0.0 else math.inf if b <= 0.0 else a * math.log(a / b) for a, b in parts
    )


def _last(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The end of the numbers for which a condition holds, from low on."""
    if holds(high):
        return high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return high
