"""The desk of a page: values and lists of its users, for search, filters and lists side by side.

The page holds it as compressed JSON, in columns. The script `desk.js` reads it.
"""

from __future__ import annotations

import base64
import gzip
import itertools
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from rankmeter._choices import Alignment
from rankmeter._engine.block import Block
from rankmeter._engine.memory import Source, Tables
from rankmeter._evidence.hits import BoolArray, FloatArray, IntArray
from rankmeter._report.texts import Texts, read_texts, refuse_other_ids
from rankmeter._results.segments import users_by_segment
from rankmeter.conventions._plan import MetricPlan
from rankmeter.errors import RankmeterError, spell_out_hidden_characters
from rankmeter.errors._checks import words_in_use

MAX_VALUES = 1_500_000
"""Values of users in one page; beyond, it has some of the users."""
MAX_PLACES = 600_000
"""Places of lists in one page; beyond, it has the lists of some of the users."""
DEPTH = 20
"""Items of a list that are shown, besides the relevant ones further down."""
MOST_RELEVANT = 30
"""Relevant items of a user that are shown."""


@dataclass(frozen=True)
class Interactive:
    """What was asked of the page: whether it has a desk, texts of queries, titles of items."""

    wanted: bool = True
    queries: object = None
    items: object = None

    def read_texts(self, users: pl.Series) -> tuple[Texts, Texts]:
        """The texts of the users and of the items."""
        return read_texts(self.queries, "queries", users), read_texts(self.items, "items")


@dataclass(frozen=True)
class Desk:
    """What a page holds of its users.

    Attributes
    ----------
    entries : sequence of MetricPlan
        The metrics with a value for each user.
    users : polars.Series
        All users.
    values : mapping of str to array of shape (n_users, n_systems)
        By label of the metric; NaN where the user is not averaged.
    sources : mapping of str to Source or None
        By name of the system, in the order of the values.
    baseline : str
        Empty without a baseline.
    pair : pair of str
        The systems that are compared first; of one evaluation, its system twice.
    groups : mapping of str to polars.Series
        Label of each user, by grouping.
    queries, items : Texts
        What is known of the users and the items in words.
    """

    entries: Sequence[MetricPlan]
    users: pl.Series
    values: Mapping[str, FloatArray]
    sources: Mapping[str, Source | None]
    baseline: str
    pair: tuple[str, str]
    groups: Mapping[str, pl.Series] = field(default_factory=dict)
    queries: Texts = field(default_factory=Texts)
    items: Texts = field(default_factory=Texts)


def pack_desk(desk: Desk) -> str:
    """The desk as text of a page: JSON in columns, compressed, in base64."""
    text = json.dumps(
        desk_content(desk), ensure_ascii=False, allow_nan=False, separators=(",", ":")
    )
    return base64.b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode()


def desk_content(desk: Desk) -> dict[str, Any]:
    """The columns of a desk, by name."""
    stacked = np.concatenate([*desk.values.values()], axis=1)
    has_value = ~np.isnan(stacked).all(axis=1)
    order = _worst_best_and_sample(_changes(desk), has_value)
    shown = np.sort(order[: MAX_VALUES // max(stacked.shape[1], 1)])
    alignments = [*dict.fromkeys(entry.alignment for entry in desk.entries)]
    per_user = len(alignments) * len(desk.sources) * DEPTH
    listed = np.sort(order[: min(shown.size, MAX_PLACES // per_user)])
    ids = [_clean(str(user)) for user in desk.users.gather(shown).to_list()]
    words = words_in_use()
    return {
        "words": {name: getattr(words, name) for name in ("user", "users", "item", "items")},
        "n_users": int(has_value.sum()),
        "depth": DEPTH,
        "systems": [_clean(name) for name in desk.sources],
        "baseline": _clean(desk.baseline),
        "pair": [*map(_clean, desk.pair)],
        "users": ids,
        "texts": [_clean(text) for text in desk.queries.of(desk.users.gather(shown))],
        "metrics": [
            {
                "label": entry.label,
                "family": entry.label.removesuffix(f"@{entry.metric.k}"),
                "k": entry.metric.k,
                "increasing": bool(entry.spec.increasing),
                "lists": alignments.index(entry.alignment),
                "values": [_column(column) for column in desk.values[entry.label][shown].T],
            }
            for entry in desk.entries
        ],
        "groups": [_group(name, labels, shown) for name, labels in desk.groups.items()],
        **_lists_of_users(desk, alignments, listed, shown),
    }  # fmt: skip


def _clean(text: str) -> str:
    return text if text.isalnum() else spell_out_hidden_characters(text)


def _changes(desk: Desk) -> FloatArray:
    """For each user, by how much the first metric is better in the first system of the pair."""
    entry, names = desk.entries[0], [*desk.sources]
    values = desk.values[entry.label]
    a, b = (values[:, names.index(name)] for name in desk.pair)
    difference: FloatArray = a if desk.pair[0] == desk.pair[1] else a - b
    return difference if entry.spec.increasing else -difference


def _worst_best_and_sample(changes: FloatArray, eligible: BoolArray) -> IntArray:
    """Users in the order in which a page without room for all takes them.

    In turn one that lost most, one that gained most, and one from anywhere.
    """
    users = np.flatnonzero(eligible)
    ranked = users[np.argsort(changes[users], kind="stable")]
    anywhere = np.random.default_rng(0).permutation(users)
    turns = np.stack([ranked, ranked[::-1], anywhere], axis=1).ravel()
    _, first = np.unique(turns, return_index=True)
    order: IntArray = turns[np.sort(first)]
    return order


def _column(values: FloatArray) -> dict[str, Any]:
    """A column as its different values, and for each user which one; -1 without a value."""
    there = ~np.isnan(values)
    distinct, codes = np.unique(values[there], return_inverse=True)
    column = np.full(values.size, -1)
    column[there] = codes
    return {"distinct": to_numbers(distinct), "codes": column.tolist()}


def to_numbers(values: FloatArray) -> list[float | str]:
    """Numbers as JSON has them, which knows infinity as text alone."""
    return [x if math.isfinite(x) else str(x).replace("inf", "Infinity") for x in values.tolist()]


def _group(name: str, labels: pl.Series, shown: IntArray) -> dict[str, Any]:
    """A grouping of the users: its labels, and for each user which one; -1 without a label."""
    column = np.full(len(labels), -1)
    parts = users_by_segment(labels)
    for code, users in enumerate(parts.values()):
        column[users] = code
    return {
        "name": _clean(name),
        "labels": [*map(_clean, parts)],
        "codes": column[shown].tolist(),
    }


def _lists_of_users(
    desk: Desk, alignments: Sequence[Alignment], listed: IntArray, shown: IntArray
) -> dict[str, Any]:
    """The lists of some users by alignment and system, and the items in them."""
    users = desk.users.gather(listed)
    try:
        lists = [_lists_in_alignment(desk, choices, users) for choices in alignments]
    except (RankmeterError, OSError):  # rankings that have changed, or are not there any more
        lists = []
    if not lists or any(found is None for found in lists):
        return {"items": [], "titles": [], "listed": [], "lists": []}
    found = [one for one in lists if one is not None]
    parts = [part for one in found for part in one.item_columns()]
    items = pl.concat(parts)
    # Items of many lists have short codes.
    known = items.value_counts(sort=True)[items.name]
    refuse_other_ids(desk.items, "items", known)
    codes = pl.DataFrame({"item": known, "code": np.arange(len(known))})

    def encode(column: pl.Series) -> list[int]:
        return (
            column.to_frame("item")
            .join(codes, "item", "left", maintain_order="left")["code"]
            .to_list()
        )

    return {
        "items": [_clean(str(item)) for item in known.to_list()],
        "titles": [_clean(text) for text in _titles(desk).of(known)],
        "listed": np.searchsorted(shown, listed).tolist(),
        "lists": [one.to_dict(encode) for one in found],
    }


def _titles(desk: Desk) -> Texts:
    """The titles of the items that were passed for the page, else those passed before."""
    if desk.items.by_id:
        return desk.items
    for source in desk.sources.values():
        data = source.open() if source is not None and source.lists else None
        known = data.side.items if isinstance(data, Tables) else None
        if known is not None and known.titles is not None:
            return Texts({str(item): title for item, title in known.titles.iter_rows() if title})
    return Texts()


@dataclass(frozen=True)
class _Ragged:
    """A column with several values for each user."""

    lengths: IntArray
    items: pl.Series
    numbers: Sequence[float]
    """The rank of each item, or its gain."""

    @classmethod
    def of(cls, user: IntArray, n: int, items: pl.Series, numbers: Iterable[float]) -> _Ragged:
        return cls(np.bincount(user, minlength=n), items, [*numbers])

    def to_dict(self, encode: Any, numbers: str) -> dict[str, Any]:
        return {
            "lengths": self.lengths.tolist(),
            "items": encode(self.items),
            numbers: [int(x) if float(x).is_integer() else x for x in self.numbers],
        }


@dataclass(frozen=True)
class _Lists:
    """The relevant items of some users, and their lists in each system."""

    relevant: _Ragged
    systems: Sequence[_Ragged]

    def item_columns(self) -> list[pl.Series]:
        return [self.relevant.items, *(one.items for one in self.systems)]

    def to_dict(self, encode: Any) -> dict[str, Any]:
        return {
            "relevant": self.relevant.to_dict(encode, "gains"),
            "systems": [one.to_dict(encode, "ranks") for one in self.systems],
        }


def _lists_in_alignment(desk: Desk, choices: Alignment, users: pl.Series) -> _Lists | None:
    """The lists of some users under some choices; None without lists."""
    systems, relevant = [], None
    for source in desk.sources.values():
        data = source.open() if source is not None and source.lists else None
        if source is None or not isinstance(data, Tables):
            return None
        truth, rankings = data.truth, data.systems[source.system]
        block = Block(
            truth.rows_of_users(users),
            {source.system: rankings.rows_of_users(users)},
            side_tables=data.side_tables,
            keep=True,
        )
        aligned = block.align_system(source.system, choices, None, with_names=True)
        if aligned.lists is None or block.tables is None:
            return None
        place = _places(block.users.to_series(), users)
        if relevant is None:
            relevant = _relevant_items(block.prepare_truth(choices).frame, choices, place, users)
        lists = aligned.lists
        nth = np.arange(lists.user.size) - lists.offsets[lists.user]
        user = place[lists.user]
        rows = np.flatnonzero(((nth < DEPTH) | lists.relevant) & (user >= 0))
        rows = rows[np.argsort(user[rows], kind="stable")]
        names = block.tables.items.users.take(lists.item[rows]).to_series().alias("item")
        systems.append(_Ragged.of(user[rows], len(users), names, lists.rank[rows].tolist()))
    return None if relevant is None else _Lists(relevant, systems)


def _places(ids: pl.Series, users: pl.Series) -> IntArray:
    """The place of each id among some users, -1 for others."""
    table = pl.DataFrame({"user": users, "place": np.arange(len(users))})
    places = ids.to_frame("user").join(table, "user", "left", maintain_order="left")["place"]
    found: IntArray = places.fill_null(-1).to_numpy()
    return found


def _relevant_items(
    judged: pl.DataFrame, choices: Alignment, place: IntArray, users: pl.Series
) -> _Ragged:
    """The relevant items of each user, the largest gain first."""
    gain = judged["gain"].to_numpy()
    user = place[judged["code"].to_numpy()]
    rows = np.flatnonzero(choices.is_relevant(gain) & (user >= 0))
    rows = rows[np.lexsort((-gain[rows], user[rows]))]
    runs = (len([*group]) for _, group in itertools.groupby(user[rows].tolist()))
    nth = np.concatenate([[], *map(np.arange, runs)])
    rows = rows[nth < MOST_RELEVANT]
    operator, threshold = choices.threshold
    less = threshold - (operator == ">=") if choices.gains == "above" else 0.0
    items = judged["item"].gather(rows).alias("item")
    return _Ragged.of(user[rows], len(users), items, (gain[rows] - less).tolist())
