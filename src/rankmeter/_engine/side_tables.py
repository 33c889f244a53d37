"""Side data as arrays over the codes of all items."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from rankmeter._choices import Alignment
from rankmeter._engine.side import Side
from rankmeter._evidence.hits import BoolArray, IntArray, ratio
from rankmeter._evidence.lists import (
    Catalogue,
    Features,
    Intents,
    Likeness,
    Lists,
    Popularity,
    Profiles,
    Propensity,
    Similarity,
)
from rankmeter._rankings.codes import Codes, distinct_ids
from rankmeter._rankings.counts import Candidates
from rankmeter._rankings.ground_truth import contributed_gains, gains_by_choice
from rankmeter._rankings.history import judgments_of_history
from rankmeter._rankings.listing import Listing, list_first_candidates
from rankmeter._rankings.pairs import Groups, bit_width, merge_judgments, sort_keys
from rankmeter._reading.by_user import Ids, as_ids, to_series
from rankmeter._reading.table import Table, refuse_values
from rankmeter.errors import NoOverlapError
from rankmeter.metrics import SIDE_DATA, require
from rankmeter.metrics.long_tail import Border, mask_border_items

_FEW = 10
"""Users or items of training data and lists that can be other ones than those of the rankings."""


@dataclass(frozen=True, eq=False)
class SideTables:
    """Evidence about the items of some rankings and of their side data."""

    side: Side
    systems: Mapping[str, Table]
    truth: Table

    @cached_property
    def items(self) -> Codes:
        """Codes of all items: indices in sorted order."""
        side = self.side
        tables = self.truth, *self.systems.values()
        columns = [items for table in tables for items in table.rows.listed_items()]
        columns += [] if side.train is None else [side.train["item"]]
        columns += [] if side.items is None else [side.items.ids]
        columns += [] if side.catalogue is None else [side.catalogue]
        columns += [] if side.baseline is None else [side.baseline.frame["item"]]
        columns += [] if side.propensity is None else [side.propensity["item"]]
        return Codes(distinct_ids([*map(as_ids, columns)]))

    def evidence(self, name: str, users: Codes, choices: Alignment) -> Any:
        """Return evidence by name for the users of a block, in the order of the users.

        Raises
        ------
        UsageError
            If the evidence was not passed.
        """
        if name == "baseline":
            evidence: Any = self.baseline(users, choices)
        else:
            evidence = self.profiles(users) if name == "profiles" else getattr(self, name)
        evidence = require(evidence, name)
        has_overlap = self._user_overlap if name in ("profiles", "baseline") else self._item_overlap
        if not has_overlap.get(name, True):
            argument, _ = SIDE_DATA[name]
            noun = "user" if has_overlap is self._user_overlap else "item"
            raise NoOverlapError(
                f"{argument}= has no {noun} in common with rankings and truth. Check that they "
                f"use the same ids, and that {argument}= is of the same data"
            )
        return evidence

    @cached_property
    def _item_overlap(self) -> dict[str, bool]:
        """Flags by name: whether evidence shares an item with the rankings or the ground truth.

        Few training items may all be missing from rankings and truth by chance: they are accepted.
        """
        is_named = np.zeros(self.items.n, dtype=bool)
        for table in (self.truth, *self.systems.values()):
            for items in table.rows.listed_items():
                is_named[self.items.encode(items)] = True
        has_overlap = {
            name: bool((table.known & is_named).any())
            for name in ("popularity", "propensity", "features", "categories")
            if (table := getattr(self, name)) is not None
        }
        if self.catalogue is not None and self.catalogue.item is not None:
            has_overlap["catalogue"] = bool((self.catalogue.item & is_named).any())
        has_overlap["likeness"] = has_overlap.get("features", True)
        if self.popularity is not None and self.popularity.known.sum() < _FEW:
            has_overlap["popularity"] = True
        return has_overlap

    @cached_property
    def _user_overlap(self) -> dict[str, bool]:
        """Flags by name: whether evidence shares a user with the rankings or the ground truth."""
        side = self.side
        users = {
            "profiles": None if self.training_profiles is None else self.training_profiles[0],
            "baseline": None
            if side.baseline is None
            else Codes(distinct_ids([side.baseline.users])),
        }
        tables = (self.truth, *self.systems.values())
        known_ids = [
            ids for table in tables for ids in (*table.rows.all_ids("user"), table.empty_users)
        ]
        return {
            name: codes.n < _FEW or any((codes.find(ids) >= 0).any() for ids in known_ids)
            for name, codes in users.items()
            if codes is not None
        }

    def prepare(self) -> None:
        """Make all that is the same for all users."""
        _ = self._item_overlap, self._user_overlap

    def count_listed_items(
        self, lists: Lists, users: Codes, borders: Collection[Border]
    ) -> dict[str, int]:
        """Numbers of listed items, by name, that metrics may treat in a special way."""
        masks, item = {}, lists.item
        profiles = self.profiles(users)
        if profiles is not None and self.popularity is not None:
            masks["items_listed_though_seen"] = profiles.holds(lists.user, item)
            masks["items_listed_without_training_data"] = ~self.popularity.known[item]
            if borders:
                is_at_border = mask_border_items(self.popularity, borders)
                masks["items_listed_at_the_border_of_the_head"] = is_at_border[item]
        if self.features is not None:
            masks["items_listed_without_features"] = ~self.features.known[item]
        if self.catalogue is not None and self.catalogue.item is not None:
            masks["items_listed_outside_the_catalogue"] = ~self.catalogue.item[item]
        return {name: int(np.count_nonzero(places)) for name, places in masks.items()}

    def count_judged_items(self, judged: Ids) -> dict[str, int]:
        """Number of judged items, by name, that the metrics of lists cannot reach."""
        if self.catalogue is None or self.catalogue.item is None:
            return {}
        is_outside = ~self.catalogue.item[self.items.encode(judged)]
        return {"items_judged_outside_the_catalogue": int(np.count_nonzero(is_outside))}

    def count_relevant_items(self, item: IntArray, borders: Collection[Border]) -> dict[str, int]:
        """Numbers of relevant items, by name, that metrics may treat in a special way."""
        masks = {}
        if self.popularity is not None:
            masks["relevant_items_without_training_data"] = ~self.popularity.known[item]
            if borders:
                is_at_border = mask_border_items(self.popularity, borders)
                masks["relevant_items_at_the_border_of_the_head"] = is_at_border[item]
        if self.propensity is not None:
            masks["relevant_items_without_propensity"] = ~self.propensity.known[item]
        return {name: int(np.count_nonzero(places)) for name, places in masks.items()}

    @cached_property
    def propensity(self) -> Propensity | None:
        """Propensity of each item, NaN if unknown; None without propensities."""
        table = self.side.propensity
        if table is None:
            return None
        value = np.full(self.items.n, np.nan)
        value[self.items.encode(table["item"])] = table["value"].to_numpy()
        return Propensity(value)

    @cached_property
    def training_profiles(self) -> tuple[Codes, Profiles] | None:
        """The training users and their profiles; ratings of repeated pairs are averaged."""
        train = self.side.train
        if train is None:
            return None
        users, n = Codes(distinct_ids([as_ids(train["user"])])), self.items.n
        pair = users.encode(train["user"]) * n + self.items.encode(train["item"])
        keys, order = sort_keys(pair.astype(np.uint64), bit_width(users.n * n))
        first = np.flatnonzero(np.diff(keys.view(np.int64), prepend=-1))
        weight = np.ones(first.size)
        if "rating" in train.columns:
            is_rated = train["rating"].is_not_null().to_numpy()[order].astype(np.float64)
            rating = train["rating"].fill_null(0).to_numpy().astype(np.float64)[order]
            total, times = (np.add.reduceat(values, first) for values in (rating, is_rated))
            weight = ratio(total, times, nothing=np.nan)
        user, item = np.divmod(keys[first].view(np.int64), n)
        offsets = np.concatenate(([0], np.cumsum(np.bincount(user, minlength=users.n))))
        return users, Profiles(offsets, item, weight, n)

    @cached_property
    def popularity(self) -> Popularity | None:
        """Numbers of interactions and users of each item in the training data."""
        train, history = self.side.train, self.training_profiles
        if train is None or history is None:
            return None
        users, profiles = history
        interactions = np.bincount(self.items.encode(train["item"]), minlength=self.items.n)
        n_users = np.bincount(profiles.item, minlength=self.items.n)
        return Popularity(n_users, interactions, users.n, train.height)

    def profiles(self, users: Codes) -> Profiles | None:
        """The training items of some users."""
        if self.training_profiles is None:
            return None
        train_users, profiles = self.training_profiles
        return profiles.of(train_users.find(users.users))

    @cached_property
    def features(self) -> Features | None:
        """Feature vectors of the items; their categories if no features were passed."""
        items = self.side.items
        if items is None or items.features is None:
            return self.categories
        rows = self._row_of_each_item(items.ids)
        described = rows >= 0
        matrix = items.features[np.maximum(rows, 0)]
        if hasattr(matrix, "toarray"):
            return Features(matrix.multiply(described[:, None]).tocsr(), described)
        matrix[~described] = 0.0
        return Features(matrix, described)

    @cached_property
    def categories(self) -> Features | None:
        """The categories of each item, as a matrix of 0 and 1."""
        items = self.side.items
        if items is None or items.categories is None:
            return None
        names = items.categories["category"].unique().sort()
        item = self.items.encode(items.categories["item"])
        column = Codes(names).encode(items.categories["category"])
        matrix = np.zeros((self.items.n, len(names)))
        matrix[item, column] = 1.0
        described: BoolArray = matrix.max(axis=1, initial=0.0) > 0
        return Features(matrix, described)

    def intents(self, users: Codes, choices: Alignment) -> Intents | None:
        """The subtopics of the relevant items of some users, if the judgments have subtopics.

        They are numbered for each user.

        Raises
        ------
        InvalidValueError
            If the subtopic of a judgment is missing.
        """
        if not self.truth.has_subtopics:
            return None
        judged = judgments_of_history(self.truth, choices.history).frame
        refuse_values(
            judged["subtopic"].is_null(), "subtopics", self.truth.source, "missing", "Add them."
        )
        user = users.find(as_ids(judged["user"]))
        judged = merge_judgments(judged.filter(to_series(user >= 0)), choices)
        user = users.find(as_ids(judged["user"]))
        gain = gains_by_choice(user, judged["gain"].to_numpy(), users.n, choices)
        judged = judged.with_columns(gain=to_series(gain)).filter(
            to_series(choices.is_relevant(gain))
        )
        user, names = users.find(as_ids(judged["user"])), Codes(judged["subtopic"].unique().sort())
        pairs = user * self.items.n + self.items.encode(judged["item"])
        pair, row = np.unique(pairs, return_inverse=True)
        topics = user * names.n + names.encode(judged["subtopic"])
        topic, nth = np.unique(topics, return_inverse=True)
        column = (np.arange(topic.size) - np.searchsorted(topic // names.n, topic // names.n))[nth]
        matrix, gains = np.zeros((2, pair.size + 1, int(column.max(initial=-1)) + 1))
        matrix[row, column] = 1.0
        gains[row, column] = contributed_gains(judged["gain"].to_numpy(), choices)
        has_subtopic: BoolArray = matrix.max(axis=1, initial=0.0) > 0
        subtopic_names = names.users.take(topic % names.n).to_list() if users.n == 1 else []
        return Intents(pair, Features(matrix, has_subtopic, gains), subtopic_names)

    @cached_property
    def likeness(self) -> Likeness:
        """Data for computing the similarities of items."""
        side = self.side
        history = None if self.training_profiles is None else self.training_profiles[1]
        items, similarity = side.items, None
        if items is not None and items.features is not None and self.features is not None:
            matrix = self.features.matrix
            if matrix.shape[1] == len(items.ids):
                similarity = Similarity(matrix, self._row_of_each_item(items.ids))
        return Likeness(self.features, history, similarity)

    @cached_property
    def catalogue(self) -> Catalogue | None:
        """The items that could be shown."""
        side = self.side
        if side.catalogue is not None:
            is_available = np.zeros(self.items.n, dtype=bool)
            is_available[self.items.encode(side.catalogue)] = True
            return Catalogue(len(side.catalogue), is_available)
        return None if side.size is None else Catalogue(side.size)

    def baseline(self, users: Codes, choices: Alignment) -> Lists | None:
        """The ranked lists of the baseline for some users; None if no baseline was passed."""
        table = self.side.baseline
        if table is None:
            return None
        user = users.find(table.users)
        frame, user = table.frame.filter(to_series(user >= 0)), user[user >= 0]
        groups = Groups.of(user, users.n)
        candidates = Candidates.of(frame, user, groups, table.order, choices.score_type)
        no_items = np.zeros(0, dtype=np.int64)
        listing = Listing(self.items, choices.depth)
        return list_first_candidates(candidates, no_items, np.zeros(0), choices, listing)

    def _row_of_each_item(self, ids: pl.Series) -> IntArray:
        """The index in `ids` of each item code, -1 if missing."""
        rows = np.full(self.items.n, -1)
        rows[self.items.encode(ids)] = np.arange(len(ids))
        return rows
