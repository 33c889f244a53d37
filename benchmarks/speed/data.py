"""The data: the same rows in every environment, so they are made with NumPy alone."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Shape:
    """What the data look like."""

    users: int
    length: int = 100
    hits: int = 5  # relevant items in the list of a user; as many are not in it
    text: bool = False  # ids are strings
    shuffled: bool = True  # the rows, else by user and falling score


class Data:
    """Rankings and ground truth as arrays, and in the forms that tools take.

    No two scores of a user are equal, also in single precision: every tool finds the same order.
    """

    def __init__(self, shape: Shape) -> None:
        rng = np.random.default_rng(0)
        users, length = shape.users, shape.length
        n_items = 50 * length
        # Distinct items per user without a Python loop: a random start and a random step.
        start = rng.integers(0, n_items, users)[:, None]
        step = rng.integers(1, n_items // length, users)[:, None]
        item = (start + step * np.arange(length)) % n_items
        bucket = np.arange(length, 0, -1) + rng.random((users, length)) / 2
        score = np.round(bucket * 1024) / 1024
        chance = rng.random((users, length))
        picks = np.argpartition(chance, shape.hits - 1, axis=1)[:, : shape.hits]
        found = np.take_along_axis(item, picks, axis=1)
        missed = n_items + (start + np.arange(shape.hits)) % n_items
        self.shape = shape
        self.n_items = 2 * n_items
        self.user = np.repeat(np.arange(users), length)
        self.item, self.score = item.ravel(), score.ravel()
        if shape.shuffled:
            order = rng.permutation(users * length)
            self.user, self.item, self.score = self.user[order], self.item[order], self.score[order]
        self.true_user = np.repeat(np.arange(users), 2 * shape.hits)
        self.true_item = np.concatenate([found, missed], axis=1).ravel()

    def names(self, *, text: bool) -> tuple[np.ndarray, np.ndarray]:
        """The id of every user and of every item, by number."""
        if not text:
            return np.arange(self.shape.users), np.arange(self.n_items)
        users = np.array([f"user-{n}" for n in range(self.shape.users)], dtype=object)
        return users, np.array([f"item-{n}" for n in range(self.n_items)], dtype=object)

    def polars(self):
        """Rankings and truth as Polars frames: user, item, score; user, item."""
        import polars as pl

        users, items = (pl.Series(names) for names in self.names(text=False))
        if self.shape.text:
            users, items = "user-" + users.cast(pl.String), "item-" + items.cast(pl.String)
        rankings = {"user": users.gather(self.user), "item": items.gather(self.item)}
        truth = {"user": users.gather(self.true_user), "item": items.gather(self.true_item)}
        return pl.DataFrame(rankings | {"score": self.score}), pl.DataFrame(truth)

    def pandas(self, *, text: bool | None = None):
        """Rankings and truth as pandas frames: user, item, score; user, item, gain."""
        import pandas as pd

        users, items = self.names(text=self.shape.text if text is None else text)
        rankings = {"user": users[self.user], "item": items[self.item], "score": self.score}
        truth = {"user": users[self.true_user], "item": items[self.true_item], "gain": 1}
        return pd.DataFrame(rankings), pd.DataFrame(truth)

    def dicts(self):
        """Rankings and truth as {user: {item: score}} and {user: {item: 1}}, with strings as ids.

        Users come in the same order: ranx pairs the users of plain dictionaries by position.
        """
        users, items = self.names(text=True)
        rankings: dict[str, dict[str, float]] = {user: {} for user in users}
        truth: dict[str, dict[str, int]] = {user: {} for user in users}
        rows = zip(users[self.user], items[self.item], self.score.tolist(), strict=True)
        for user, item, score in rows:
            rankings[user][item] = score
        for user, item in zip(users[self.true_user], items[self.true_item], strict=True):
            truth[user][item] = 1
        return rankings, truth

    def matrices(self):
        """Gains and scores as matrices, one row for each user: the ranked items alone."""
        truth = set(zip(self.true_user.tolist(), self.true_item.tolist(), strict=True))
        pairs = zip(self.user.tolist(), self.item.tolist(), strict=True)
        relevant = np.fromiter((pair in truth for pair in pairs), dtype=np.int64)
        order = np.argsort(self.user, kind="stable")
        size = (self.shape.users, self.shape.length)
        return relevant[order].reshape(size), self.score[order].reshape(size)

    def write_trec(self, folder: Path) -> tuple[Path, Path]:
        """TREC files: the run and the qrels."""
        rankings, truth = self.dicts()
        run, qrels = folder / "run", folder / "qrels"
        with run.open("w", encoding="ascii") as file:
            for user, listed in rankings.items():
                for rank, (item, score) in enumerate(listed.items(), start=1):
                    file.write(f"{user} Q0 {item} {rank} {score!r} bench\n")
        with qrels.open("w", encoding="ascii") as file:
            for user, judged in truth.items():
                for item in judged:
                    file.write(f"{user} 0 {item} 1\n")
        return run, qrels
