"""The checks of an audit: frames in, findings out."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from rankmeter._audit.findings import Finding, make_finding
from rankmeter.errors._checks import brief
from rankmeter.splits._clock import Clock

_EXAMPLES = 3
_PAIR = ["user", "item"]
FEWEST_LISTS = 10
"""From so many users on, lists that all have all answers are candidates, not recommendations."""


@dataclass(frozen=True, eq=False)
class Parts:
    """Train and test with the same types of ids, and ``tick``, the time, if both have times."""

    train: pl.DataFrame
    test: pl.DataFrame
    clock: Clock | None

    @cached_property
    def rows(self) -> pl.DataFrame:
        """The test rows, with what train knows of their pair, user and item: when, and whether."""
        pairs = self.train.join(self.asked, on=_PAIR, how="semi")
        rows = self.test
        for key, found in ((_PAIR, pairs), (["user"], self.train), (["item"], self.train)):
            name = "_".join(key)
            known = found.group_by(key).agg(self._ends(name))
            rows = rows.join(known, on=key, how="left", maintain_order="left")
        return rows

    def _ends(self, name: str) -> list[pl.Expr]:
        """The number of rows of a group and, with times, the first and the last."""
        n = pl.len().alias(f"{name}_n")
        if self.clock is None:
            return [n]
        tick = pl.col("tick")
        return [n, tick.min().alias(f"{name}_first"), tick.max().alias(f"{name}_last")]

    @property
    def users(self) -> pl.Series:
        """The test users."""
        return self.test["user"].unique(maintain_order=True)

    @cached_property
    def asked(self) -> pl.DataFrame:
        """The test pairs, each once."""
        return self.test.select(_PAIR).unique(maintain_order=True)

    @cached_property
    def n_items(self) -> int:
        """The items of both parts."""
        return pl.concat([self.train["item"], self.test["item"]]).n_unique()

    def examples(self, rows: pl.DataFrame) -> tuple[str, ...]:
        """The first rows in words: user, item and time, as far as they have them."""
        names = [name for name in (*_PAIR, "tick") if name in rows.columns]
        return tuple(
            ", ".join(self._in_words(*cell) for cell in zip(names, row, strict=True))
            for row in rows.select(names).head(_EXAMPLES).iter_rows()
        )

    def _in_words(self, name: str, value: Any) -> str:
        if name == "tick" and self.clock is not None:
            when = self.clock.format_time(value)
            return when.partition(" UTC (")[0] if self.clock.is_date(value) else f"time {when}"
        return f"{name} {brief(value)}"


def check_split(parts: Parts) -> Iterator[Finding]:
    """Find what is in train and test alone."""
    rows, n = parts.rows, parts.test.height
    shared = pl.col("user_item_n").is_not_null()
    if parts.clock is None:
        yield from _rows_found(parts, "shared-pairs", shared)
    else:
        tick = pl.col("tick")
        yield from _rows_found(parts, "shared-pairs", shared & (pl.col("user_item_last") >= tick))
        yield from _rows_found(parts, "later-own", pl.col("user_last") > tick)
        last = parts.train["tick"].max()
        older = rows.filter(tick < last)
        if older.height:
            times = np.sort(parts.train["tick"].to_numpy())
            not_later = np.searchsorted(times, parts.test["tick"].to_numpy(), side="right")
            later = 1.0 - float(np.mean(not_later)) / len(times)
            also = f"on average {100 * later:.1f} % of train is later than a test row"
            yield make_finding("later-train", older.height, n, parts.examples(older), also=also)
        yield from _rows_found(parts, "unborn-items", pl.col("item_first") > tick)
        tied = (pl.col("user_last") == tick) & (pl.col("user_item_last") != tick).fill_null(
            value=True
        )
        yield from _rows_found(parts, "ties-at-cut", tied)
        yield from _rows_found(parts, "repeats", shared & (pl.col("user_item_last") < tick))
    yield from _rows_found(parts, "cold-items", pl.col("item_n").is_null())
    cold = rows.filter(pl.col("user_n").is_null())["user"].unique(maintain_order=True)
    if len(cold):
        examples = parts.examples(cold.to_frame("user"))
        yield make_finding("cold-users", len(cold), len(parts.users), examples)


def _rows_found(parts: Parts, check: str, condition: pl.Expr) -> Iterator[Finding]:
    """Yield a finding if test rows meet a condition."""
    found = parts.rows.filter(condition)
    if found.height:
        yield make_finding(check, found.height, parts.test.height, parts.examples(found))


def check_system(parts: Parts, ranked: pl.DataFrame, system: str) -> Iterator[Finding]:
    """Find what is wrong with the lists of one system for test users."""
    lists = ranked.join(parts.test.select("user").unique(), on="user", how="semi")
    users = parts.users

    def found(check: str, wrong: pl.DataFrame) -> Iterator[Finding]:
        if wrong.height:
            examples = parts.examples(wrong.select(_PAIR))
            yield make_finding(check, wrong.height, lists.height, examples, system=system)

    without = users.filter(~users.is_in(lists["user"].unique().implode()))
    if len(without):
        examples = parts.examples(without.to_frame("user"))
        yield make_finding("missing-lists", len(without), len(users), examples, system=system)
    if not parts.rows["user_item_n"].is_not_null().any():
        seen = lists.join(parts.train, on=_PAIR, how="semi", maintain_order="left")
        yield from found("seen-recommended", seen)
    known = pl.concat([parts.train["item"], parts.test["item"]]).unique()
    yield from found("unknown-recommended", lists.filter(~pl.col("item").is_in(known.implode())))
    if parts.clock is not None:
        last = parts.test.group_by("user").agg(last=pl.col("tick").max())
        first = parts.train.group_by("item").agg(first=pl.col("tick").min())
        timed = lists.join(last, on="user", maintain_order="left")
        timed = timed.join(first, on="item", maintain_order="left")
        yield from found("unborn-recommended", timed.filter(pl.col("first") > pl.col("last")))
    yield from _sampled(parts, lists, system)


def _sampled(parts: Parts, lists: pl.DataFrame, system: str) -> Iterator[Finding]:
    """Find lists of few candidates that were chosen with the answers."""
    n = len(parts.users)
    if have_all_answers(parts, lists) and 2 * lists.height < n * parts.n_items:
        negatives = (lists.height - parts.asked.height) // n
        yield sampled_finding(negatives, n, parts.n_items, system)


def have_all_answers(parts: Parts, lists: pl.DataFrame) -> bool:
    """Whether the lists of many users all have all test items of the user: they are candidates."""
    enough = len(parts.users) >= FEWEST_LISTS
    return enough and not parts.asked.join(lists, on=_PAIR, how="anti").height


def sampled_finding(negatives: int, n_users: int, n_items: int, system: str) -> Finding:
    """Make the finding on candidates that were sampled."""
    k = min(10, max(negatives // 10, 1))
    also = ""
    if 0 < negatives < n_items:
        also = (
            f"hr@{k} among {negatives:,} of {n_items:,} is about the full "
            f"hr@{full_cutoff(k, negatives, n_items):,}"
        )
    return make_finding("sampled-candidates", n_users, n_users, system=system, also=also)


def full_cutoff(k: int, negatives: int, n_items: int) -> int:
    """The rank among all items at which an item is among the first k of a sample half of the time.

    The number of negatives above an item of rank R is binomial, with a share of (R − 1) / (n − 1).
    """
    from scipy.special import betaincinv

    return round(1 + (n_items - 1) * float(betaincinv(k, max(negatives - k, 0) + 1, 0.5)))


def check_systems(parts: Parts, systems: Mapping[str, pl.DataFrame]) -> Iterator[Finding]:
    """Find users with other candidates in two systems, or with lists of other lengths."""
    asked = parts.asked.select("user").unique()
    lists = {
        name: ranked.select(_PAIR).join(asked, on="user", how="semi").unique()
        for name, ranked in systems.items()
    }
    candidates = [name for name, ranked in lists.items() if have_all_answers(parts, ranked)]
    differ: dict[str, dict[object, None]] = {"unequal-candidates": {}, "unequal-lengths": {}}
    for a, b in itertools.combinations(lists, 2):
        sizes = lists[a].group_by("user").len("a")
        sizes = sizes.join(lists[b].group_by("user").len("b"), on="user")
        check, other = "unequal-lengths", pl.col("b")
        if a in candidates and b in candidates:
            both = lists[a].join(lists[b], on=_PAIR).group_by("user").len("both")
            sizes = sizes.join(both, on="user", how="left")
            check, other = "unequal-candidates", pl.min_horizontal("b", "both")
            sizes = sizes.with_columns(a=pl.max_horizontal("a", "b"))
        differ[check] |= dict.fromkeys(sizes.filter(pl.col("a") != other).sort("user")["user"])
    for check, users in differ.items():
        if users:
            examples = tuple(f"user {brief(user)}" for user in itertools.islice(users, _EXAMPLES))
            yield make_finding(check, len(users), len(parts.users), examples)
