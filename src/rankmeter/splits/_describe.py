"""Summaries of interactions: size, distribution, repeats, missing values."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import asdict, astuple, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankmeter._reading.read import read_interactions
from rankmeter._results.result import Result, pages_of_data
from rankmeter._results.tables import TextTable
from rankmeter.errors import DataError, MissingDependencyError
from rankmeter.errors._calls import answers_calls
from rankmeter.errors._checks import counted
from rankmeter.splits._clock import Clock
from rankmeter.splits._explore import Cold, activity, events, most_popular, over_time, popularity
from rankmeter.splits._split import html_table, html_title

_FEW = 20  # more distinct ratings are shown in classes
_CLASSES = 10


@dataclass(frozen=True)
class Spread:
    """Quantiles and mean of a quantity.

    Quantiles interpolate linearly: the p-quantile of n sorted values is at place 1 + p · (n − 1).
    """

    mean: float
    min: float
    q25: float
    median: float
    q75: float
    q90: float
    q99: float
    max: float

    @classmethod
    def of(cls, values: NDArray[Any]) -> Spread:
        """Summarize at least one finite value."""
        quantiles = np.quantile(values, [0, 0.25, 0.5, 0.75, 0.9, 0.99, 1])
        return cls(math.fsum(values) / len(values), *map(float, quantiles))


@dataclass(frozen=True)
class Times:
    """When the interactions happened; a number that can count from 1970 is also written as a date.

    ``days`` from the first to the last are None if times are numbers that cannot count from 1970.
    """

    first: str
    last: str
    days: float | None


@dataclass(frozen=True, repr=False)
class Description(Result):
    """The result of `describe`.

    Attributes
    ----------
    interactions, users, items : int
        Rows, distinct users, distinct items.
    density : float
        Share of the users × items pairs that occur.
    per_user, per_item : Spread
        Interactions of a user, of an item.
    gini : float
        How unevenly the interactions are distributed over the items: 0 if all have the same number,
        close to 1 if few have them all. Σ (2i − n − 1) xᵢ / (n Σ xᵢ) over the items' numbers of
        interactions x₁ ≤ … ≤ xₙ.
    top_items : int
        Number of items in the most popular 1 %, rounded up: at least one.
    top_share : float
        Their share of the interactions.
    repeated_pairs : int
        Rows beyond the first of each pair of user and item.
    repeated_rows : int
        Rows that equal an earlier row in all columns.
    ratings : Spread or None
        Of the ratings, if the data has any.
    rating_counts : dict of str to int
        How often each rating occurs; with more than 20 different ones, how many lie in
        each of ten classes of the same width, ``"[low, high)"``.
    missing_ratings, missing_times : int
        Interactions without a (finite) rating, without a time.
    times : Times or None
        The first and the last time, if the data has any.
    activity : dict of str to int
        How many users have 1 interaction, 2 to 3, 4 to 7 and so on.
    popularity : dict of str to float
        Share of the interactions that the most popular ``"1 %"`` of the items, ``"5 %"`` and so on
        have; their numbers of items are rounded up.
    most_popular : dict of str to int
        The ten items with the most interactions, with their number.
    events : dict of str to int or None
        How often each kind of event occurs, if a column ``event``, ``action``, ``behavior`` or the
        like has kinds as text.
    by_month : dict of str to int or None
        Interactions by month, by year if these are more than 120; None without dates.
    cold : Cold or None
        How much of the last tenth of the interactions, by time, is of users and of items that do
        not occur before; None without times.
    """

    interactions: int
    users: int
    items: int
    density: float
    per_user: Spread
    per_item: Spread
    gini: float
    top_items: int
    top_share: float
    repeated_pairs: int
    repeated_rows: int
    ratings: Spread | None = None
    rating_counts: dict[str, int] | None = None
    missing_ratings: int = 0
    times: Times | None = None
    missing_times: int = 0
    activity: dict[str, int] = field(default_factory=dict)
    popularity: dict[str, float] = field(default_factory=dict)
    most_popular: dict[str, int] = field(default_factory=dict)
    events: dict[str, int] | None = None
    by_month: dict[str, int] | None = None
    cold: Cold | None = None

    def plot(self) -> Any:
        """Charts of activity, popularity, top items, ratings, events, time and what is new.

        Returns
        -------
        altair.ConcatChart

        Raises
        ------
        MissingDependencyError
            If Altair is not installed.
        """
        return pages_of_data().plot(self.to_dict())

    def report(self, path: str | Path) -> Path:
        """Write a page with these charts, all facts and the numbers behind the charts.

        Parameters
        ----------
        path : str or Path
            Of the page, ``data.html``: one file that needs no network.

        Returns
        -------
        Path

        Raises
        ------
        MissingDependencyError
            If a package of the extra ``report`` is not installed.
        """
        page, facts = pages_of_data(), self._fact_rows()
        page.write(self.to_dict(), self._headline(), facts, self.table(), path)
        return Path(path)

    def to_polars(self) -> pl.DataFrame:
        """The distribution of interactions per user, per item, and of ratings: a row for each."""
        rows = [{"of": name, **asdict(s)} for name, s in self._spread_by_name().items()]
        return pl.DataFrame(rows)

    def table(self) -> TextTable:
        """The distribution of interactions per user, per item, and of ratings, with the facts."""
        facts = [f"{name} {text}" for name, text in self._fact_rows()]
        return TextTable(("", *_COLUMNS), self._spread_rows(), (self._headline(), *facts))

    def _dict_content(self) -> dict[str, Any]:
        return asdict(self)

    def __repr__(self) -> str:
        rows = [("", *_COLUMNS), *self._spread_rows()]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        table = [
            f"{row[0]:<{widths[0]}}"
            + "".join(f"  {cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True))
            for row in rows
        ]
        facts = [f"{name:<11}{text}" for name, text in self._fact_rows()]
        bars = [
            f"{'' if n else 'ratings':11}{line}" for n, line in enumerate(self._histogram_lines())
        ]
        return "\n".join([self._headline(), "", *table, "", *facts, *bars])

    def _repr_html_(self) -> str:
        counts = [(rating, f"{n:,}") for rating, n in (self.rating_counts or {}).items()]
        spreads = html_table(self._spread_rows(), ("", *_COLUMNS))
        facts, bars = html_table(self._fact_rows()), html_table(counts, ("rating", "count"))
        with suppress(MissingDependencyError):
            bars = self.plot().to_inline_svg()
        return html_title(self._headline()) + spreads + facts + bars

    def _headline(self) -> str:
        return (
            f"{counted(self.interactions, 'interaction')} of {counted(self.users, 'user')} with "
            f"{counted(self.items, 'item')}, density {100 * self.density:.3g} %"
        )

    def _spread_rows(self) -> list[tuple[str, ...]]:
        return [
            (name, *map(_format_number, astuple(s))) for name, s in self._spread_by_name().items()
        ]

    def _spread_by_name(self) -> dict[str, Spread]:
        spreads = {"per user": self.per_user, "per item": self.per_item, "rating": self.ratings}
        return {name: spread for name, spread in spreads.items() if spread}

    def _fact_rows(self) -> list[tuple[str, str]]:
        top = "item has" if self.top_items == 1 else f"1 % ({self.top_items:,} items) have"
        share = f"{100 * self.top_share:.3g} %"
        facts = [("popularity", f"Gini {self.gini:.3f}; the top {top} {share} of the interactions")]
        if self.times:
            days = "" if self.times.days is None else f", {_format_number(self.times.days)} days"
            facts.append(("times", f"{self.times.first} to {self.times.last}{days}"))
        if self.cold:
            users, items = (f"{100 * x:.3g} %" for x in (self.cold.users, self.cold.items))
            facts.append(("cold", f"in the last tenth: {users} by new users, {items} of new items"))
        if self.events:
            facts.append(("events", _format_counts(self.events)))
        repeated = {"user and item": self.repeated_pairs, "whole rows": self.repeated_rows}
        missing = {"ratings": self.missing_ratings, "times": self.missing_times}
        facts.append(("repeated", _format_counts(repeated)))
        if any(missing.values()):
            facts.append(("missing", _format_counts(missing)))
        return facts

    def _histogram_lines(self) -> list[str]:
        if not self.rating_counts:
            return []
        labels, top = max(map(len, self.rating_counts)), max(self.rating_counts.values())
        return [
            f"{rating:>{labels}}  {n:>{len(f'{top:,}')},}  {'#' * round(40 * n / top)}".rstrip()
            for rating, n in self.rating_counts.items()
        ]


_COLUMNS = ("mean", "min", "25 %", "median", "75 %", "90 %", "99 %", "max")


@answers_calls
def describe(data: Any, *, columns: dict[str, str] | None = None) -> Description:
    """Describe interactions: size, density, distribution, ratings, times, repeats.

    Parameters
    ----------
    data : table or path
        Interactions: user, item, perhaps rating and time.
    columns : dict of str to str, optional
        Names of the columns: ``{"user": "uid", "time": "ts"}``.

    Returns
    -------
    Description
        Prints as a table, in a notebook with charts; has `plot`, `report`, `to_dict`, `to_polars`,
        `to_markdown` and `to_latex`.

    Raises
    ------
    DataError
        There are no interactions, or the times cannot be read.

    Notes
    -----
    Users and items without any interaction do not occur in the data, so the smallest number per
    user and per item is 1, and the Gini coefficient is over the items that occur.

    Examples
    --------
    >>> ratings = pl.DataFrame(
    ...     {"user": [1, 1, 2, 2], "item": ["a", "b", "a", "a"], "rating": [4, 2, 5, 5]}
    ... )
    >>> describe(ratings)
    4 interactions of 2 users with 2 items, density 75 %
    <BLANKLINE>
              mean  min  25 %  median  75 %  90 %  99 %  max
    per user     2    2     2       2     2     2     2    2
    per item     2    1   1.5       2   2.5   2.8  2.98    3
    rating       4    2   3.5     4.5     5     5     5    5
    <BLANKLINE>
    popularity Gini 0.250; the top item has 75 % of the interactions
    repeated   user and item: 1, whole rows: 1
    ratings    2  1  ####################
               4  1  ####################
               5  2  ########################################
    """
    frame = read_interactions(data, columns=columns)
    if frame.is_empty():
        raise DataError("the data have users but no interactions: nothing to describe")
    users, items = (
        frame[name].value_counts()["count"].to_numpy().astype(np.int64) for name in ("user", "item")
    )
    pairs = frame.select("user", "item").n_unique()
    top = math.ceil(len(items) / 100)
    comparable = [name for name, dtype in frame.schema.items() if dtype != pl.Object]
    return Description(
        interactions=frame.height,
        users=len(users),
        items=len(items),
        density=pairs / (len(users) * len(items)),
        per_user=Spread.of(users),
        per_item=Spread.of(items),
        gini=_gini_coefficient(items),
        top_items=top,
        top_share=float(np.sort(items)[-top:].sum() / frame.height),
        repeated_pairs=frame.height - pairs,
        repeated_rows=frame.height - frame.select(comparable).n_unique(),
        activity=activity(users),
        popularity=popularity(items),
        most_popular=most_popular(frame),
        events=events(frame),
        **_describe_ratings(frame),
        **_describe_times(frame),
    )


def _gini_coefficient(counts: NDArray[np.int64]) -> float:
    n = len(counts)
    weights = 2 * np.arange(1, n + 1) - n - 1
    return float((weights * np.sort(counts)).sum() / (n * counts.sum()))


def _describe_ratings(frame: pl.DataFrame) -> dict[str, Any]:
    if "rating" not in frame.columns:
        return {}
    ratings = frame["rating"].filter(frame["rating"].is_finite().fill_null(value=False)).to_numpy()
    missing = frame.height - len(ratings)
    if not len(ratings):
        return {"missing_ratings": missing}
    values, n = np.unique(ratings, return_counts=True)
    labels = [str(value).removesuffix(".0") for value in values.tolist()]
    if len(values) > _FEW:
        n, edges = np.histogram(ratings, bins=_CLASSES)
        labels = [f"[{low:.6g}, {high:.6g})" for low, high in pairwise(edges.tolist())]
        labels[-1] = labels[-1][:-1] + "]"
    return {
        "ratings": Spread.of(ratings),
        "rating_counts": dict(zip(labels, n.tolist(), strict=True)),
        "missing_ratings": missing,
    }


def _describe_times(frame: pl.DataFrame) -> dict[str, Any]:
    if "time" not in frame.columns:
        return {}
    timed = frame.filter(pl.col("time").is_not_null())
    if timed["time"].dtype.is_float():
        timed = timed.filter(pl.col("time").is_not_nan())
    missing = frame.height - timed.height
    if timed.is_empty():
        return {"missing_times": missing}
    clock = Clock.of(timed, needed_by="describe")
    first, last = clock.ticks.min().item(), clock.ticks.max().item()
    dated = clock.is_date(first) and clock.is_date(last)
    days = (last - first) / (clock.per_second * 86_400) if dated else None
    return {
        "times": Times(clock.format_time(first), clock.format_time(last), days),
        "missing_times": missing,
        **over_time(timed, clock),
    }


def _format_counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{name}: {n:,}" for name, n in counts.items())


def _format_number(value: float) -> str:
    """Format a number with a few significant digits."""
    if value == round(value):
        return f"{round(value):,}"
    return f"{value:,.1f}" if abs(value) >= 100 else f"{value:.3g}"
