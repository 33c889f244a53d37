"""Times in tables: dates, moments, and numbers that count since 1970."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Literal
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankmeter.errors import ColumnError, InvalidValueError, UsageError
from rankmeter.errors._checks import brief, check_choice

Unit = Literal["s", "ms", "us", "ns"]
"""What a time that is a number counts, since 1970-01-01 UTC."""

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_YEAR_9999 = 253_402_300_799  # its last second
_HUGE = 2.0**63  # larger than any time in any unit
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Clock:
    """The times of a table as numbers.

    ``ticks``, of shape (n_interactions,), are the times if they were numbers, else dates and
    datetimes as counts since 1970. ``zone`` is the time zone of datetimes, ``""`` if they have
    none; None if times were numbers.
    """

    ticks: NDArray[Any]
    per_second: int
    zone: str | None = None

    @classmethod
    def of(cls, frame: pl.DataFrame, *, needed_by: str, unit: Unit | None = None) -> Clock:
        """Read the time column; refuse values that are not times."""
        if unit is not None:
            check_choice("unit", unit, Unit)
        require_column(frame, "time", needed_by=needed_by)
        time = _parse_times(frame["time"])
        if not (time.dtype.is_integer() or time.dtype.is_float() or time.dtype == pl.Datetime):
            raise InvalidValueError(
                f"{needed_by} needs times that are dates, datetimes or numbers, got "
                f"{time.dtype} such as {time.first()!r} in the time column: convert it first"
            )
        n_nan = int(time.is_nan().sum()) if time.dtype.is_float() else 0
        if missing := time.null_count() + n_nan:
            raise InvalidValueError(
                f"{needed_by} needs a time for each interaction; {missing} of {len(time)} "
                "are missing: drop or fill these first"
            )
        ticks = time.to_physical().to_numpy()
        if isinstance(time.dtype, pl.Datetime):
            return cls(ticks, _PER_SECOND[time.dtype.time_unit], time.dtype.time_zone or "")
        fits = [u for u, n in _PER_SECOND.items() if ticks.max(initial=0) <= _YEAR_9999 * n]
        return cls(ticks, _PER_SECOND[unit or [*fits, "ns"][0]])

    def to_tick(self, cut: float | str | date | datetime) -> float:
        """Translate a moment into a number that compares with `ticks`."""
        moment = _parse_moment(cut)
        if not isinstance(moment, datetime):
            if self.zone is None:
                return moment
            raise UsageError(f"`at` must be a date, because the times are dates, got {brief(cut)}")
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=ZoneInfo(self.zone) if self.zone else UTC)
        microseconds = (moment - _EPOCH) // timedelta(microseconds=1)
        ticks, remainder = divmod(microseconds * self.per_second, 10**6)
        return ticks + remainder / 10**6 if remainder else ticks

    def start_of_last_share(self, ratio: float) -> float:
        """Find the time of the first of the last ⌊ratio · n + 1/2⌋ interactions, at least one."""
        n = len(self.ticks)
        first = n - max(int(rounded_share(ratio, n)), 1)
        return np.partition(self.ticks, first)[first].item() if n else 0

    def is_date(self, tick: float) -> bool:
        """Whether a tick is a date; a plain number is one if its year is from 1973 to 9999."""
        return self.zone is not None or 10**8 <= tick / self.per_second <= _YEAR_9999

    def format_time(self, tick: float) -> str:
        """Format a time as text."""
        if not self.is_date(tick):
            return f"{tick}"
        zone = ZoneInfo(self.zone) if self.zone else UTC
        moment = (_EPOCH + timedelta(seconds=tick / self.per_second)).astimezone(zone)
        text = f"{moment:%Y-%m-%d %H:%M:%S}"
        return f"{text} UTC ({tick})" if self.zone is None else f"{text} {self.zone}".rstrip()


def require_column(frame: pl.DataFrame, role: str, *, needed_by: str) -> None:
    """Refuse interactions without a column that a method needs."""
    if role not in frame.columns:
        unused = [name for name in frame.columns if name not in ("user", "item", "rating")]
        timed = [name for name in unused if frame[name].dtype.is_temporal()]
        which = repr(timed[0]) if role == "time" and len(timed) == 1 else "..."
        have = f"the columns are {', '.join(unused)}" if unused else "there is no other column"
        raise ColumnError(
            f"{needed_by} needs a {role} column; besides user and item, {have}: say which one with "
            f"columns={{'{role}': {which}}}"
        )


def rounded_share(ratio: float, n: NDArray[np.int64] | int) -> NDArray[np.int64]:
    """Share of n, rounded: ⌊ratio · n + 1/2⌋."""
    return np.asarray(np.floor(np.multiply(ratio, n) + 0.5), dtype=np.int64)


def _parse_times(time: pl.Series) -> pl.Series:
    """Parse times in text, as integers or ISO 8601; convert dates to datetimes."""
    if time.dtype == pl.String:
        numbers = time.cast(pl.Int64, strict=False)
        if numbers.null_count() == time.null_count():
            return numbers
        if time.str.contains(r"^\d{4}-\d\d-\d\d").all():
            with suppress(pl.exceptions.PolarsError):
                return time.str.to_datetime(time_unit="us")
    return time.cast(pl.Datetime("ms")) if time.dtype == pl.Date else time


def _parse_moment(value: float | str | date | datetime) -> float | datetime:
    """Parse a moment: a datetime, or a number in the unit of the time column."""
    moment: Any = value
    if isinstance(value, str):
        for read in (datetime.fromisoformat, int, float):
            with suppress(ValueError):
                moment = read(value)
                break
    if isinstance(moment, datetime):
        return moment
    if isinstance(moment, date):
        return datetime(moment.year, moment.month, moment.day)  # noqa: DTZ001 - the column's zone
    number = isinstance(moment, int | float | np.number) and not isinstance(moment, bool)
    number = number and not isinstance(moment, np.timedelta64)
    if not number or not -_HUGE < moment < _HUGE:
        raise UsageError(f"`at` must be a date, an ISO 8601 string or a number, got {brief(value)}")
    finite: float = moment.item() if isinstance(moment, np.number) else moment
    return finite
