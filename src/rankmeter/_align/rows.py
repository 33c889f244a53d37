"""Rankings as rows: all of them, or those that matter where all others can only be counted."""

from __future__ import annotations

import numpy as np
import polars as pl

from rankmeter._align.counts import Candidates, count
from rankmeter._align.judged import Judged
from rankmeter._align.pairs import Pairs, best_of, is_self
from rankmeter._align.placing import ordered
from rankmeter._align.tally import Marks
from rankmeter._choices import TieRule
from rankmeter._counts import RankCounts
from rankmeter._hits import IntArray
from rankmeter._ingest import Rest, Table, series


class Rows:
    """Ranking rows of the users with some codes; see `Ranking`."""

    def __init__(
        self, rankings: Table, user: IntArray, judged: Judged, score_type: str, *, falling: bool
    ) -> None:
        self.frame, self.order, self.rest = rankings.frame, rankings.order, rankings.rest
        self.codes, self.score_type, self.source = judged.codes, score_type, rankings.source
        self._pairs = Pairs.of(user, self.frame["item"], self.codes.n, judged.frame)
        self.n_users = self.codes.n
        self.falling = falling and self.rest is None and self.order == "score"
        self.candidates = Candidates.of(
            self.frame, user, self.n_users, self.order, score_type,
            groups=self._pairs.groups, falling=self.falling,
        )  # fmt: skip
        self.end = self.frame.height if self.rest is None else self.rest.end

    def find(self, judged: Judged) -> Marks:
        """See `Ranking`."""
        row, judgment = self._pairs.row, self._pairs.judgment
        c, score = self.candidates, None
        if self.order == "score":
            score = self.frame["score"].to_numpy()[row]
        where = c.user[row], judged.gain[judgment], c.numbers(row), c.value[row]
        return Marks(*where, judged.items, judgment, score)

    def selves(self) -> Marks:
        """See `Ranking`."""
        return self.candidates.marks(
            np.flatnonzero(is_self(self.frame["user"], self.frame["item"]))
        )

    def twice(self) -> Marks | None:
        """See `Ranking`."""
        if not self._pairs.repeated:
            return None
        again = self.frame.with_row_index("row")
        again = again.filter(pl.struct("user", "item").is_duplicated())
        worse = np.setdiff1d(again["row"].to_numpy(), best_of(again, self.order)["row"].to_numpy())
        return self.candidates.marks(worse.astype(np.int64))

    def numbered(self, marks: Marks) -> Marks:
        """See `Ranking`."""
        return marks

    def tally(self, marks: Marks, ties: TieRule) -> RankCounts:
        """See `Ranking`."""
        counts = count(self.candidates, marks, ties)
        return counts if self.rest is None else counts + self.beyond(self.rest, marks, ties)

    def beyond(self, rest: Rest, marks: Marks, ties: TieRule, *, own: bool = True) -> RankCounts:
        """The counts of the rest; `own` says whether each mark has the value of its row."""
        user = self.codes.users.series().gather(series(marks.user))
        rows = {"user": user, "item": marks.item.series(), "number": series(marks.row)}
        rules = ordered(ties), self.score_type
        counts = rest.count(pl.DataFrame(rows), marks.value, *rules, own=own)
        n_ranked = np.zeros(self.n_users, dtype=np.int64)
        code = self.codes.find(rest.users)
        n_ranked[code[code >= 0]] = rest.n_rows[code >= 0]
        return RankCounts(marks.user, marks.gain, *counts, n_ranked)
