"""Rankings as rows: all of them, or those that matter where all others can only be counted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from rankmeter._align.counts import Candidates, count
from rankmeter._align.judged import Judged
from rankmeter._align.packing import Groups
from rankmeter._align.pairs import Pairs, best_of, is_self
from rankmeter._align.placing import tie_order
from rankmeter._align.tally import Marks
from rankmeter._choices import TieRule
from rankmeter._counts import RankCounts
from rankmeter._hits import FloatArray, IntArray
from rankmeter._ingest import Rest, Table, series
from rankmeter.errors import UsageError


class Rows:
    """Ranking rows of the users with some codes; see `Ranking`."""

    def __init__(
        self, rankings: Table, user: IntArray, judged: Judged, score_type: str, *, falling: bool
    ) -> None:
        self.frame, self.order = rankings.frame, rankings.order
        self.codes, self.score_type = judged.codes, score_type
        self._pairs = Pairs.of(user, self.frame["item"], self.codes.n, judged.frame)
        self.n_users = self.codes.n
        self.falling = falling and self.order == "score"
        self.candidates = Candidates.of(
            self.frame, user, self._pairs.groups, self.order, score_type, falling=self.falling
        )
        self.end = self.frame.height

    def find(self, judged: Judged) -> Marks:
        row, judgment = self._pairs.row, self._pairs.judgment
        c, given = self.candidates, None
        if self.order != "list":
            given = self.frame[self.order].to_numpy()[row]
        where = c.user[row], judged.gain[judgment], c.numbers_at(row), c.value[row]
        return Marks(*where, judged.items, judgment, given)

    def self_items(self) -> Marks:
        return self.candidates.marks(
            np.flatnonzero(is_self(self.frame["user"], self.frame["item"]))
        )

    def repeats(self) -> Marks | None:
        if not self._pairs.repeated:
            return None
        again = self.frame.with_row_index("row")
        again = again.filter(pl.struct("user", "item").is_duplicated())
        best = best_of(again, self.order)["row"].to_numpy()
        worse = np.setdiff1d(again["row"].to_numpy(), best, assume_unique=True)
        return self.candidates.marks(worse.astype(np.int64))

    def numbered(self, marks: Marks) -> Marks:
        return marks

    def tally(self, marks: Marks, ties: TieRule) -> RankCounts:
        return count(self.candidates, marks, ties)

    def top(self, depth: int | None, removed: Sequence[Marks]) -> Candidates:  # noqa: ARG002
        """The candidates, without some rows, that may then have a rank up to `depth`."""
        return leave_out(self.candidates, removed)

    def last_ranks(self, removed: Sequence[Marks]) -> FloatArray:
        """The last given rank of each user, 0 without any; without some rows."""
        left, last = leave_out(self.candidates, removed), np.zeros(self.n_users)
        np.maximum.at(last, left.user, left.value)
        return last


def leave_out(candidates: Candidates, removed: Sequence[Marks]) -> Candidates:
    """The candidates that are not among some rows."""
    if not removed:
        return candidates
    rows = np.concatenate([rows_of_rule.row for rows_of_rule in removed])
    return candidates.only(np.flatnonzero(~np.isin(candidates.number, rows)))


class Kept(Rows):
    """The rows that matter, of rankings whose other candidates can only be counted."""

    def __init__(
        self, rankings: Table, user: IntArray, judged: Judged, score_type: str, rest: Rest
    ) -> None:
        super().__init__(rankings, user, judged, score_type, falling=False)
        self.rest, self.end, self.source = rest, rest.end, rankings.source

    def tally(self, marks: Marks, ties: TieRule) -> RankCounts:
        users, rest = self.codes.users.series(), self.rest
        rows = {"user": users.gather(series(marks.user)), "item": marks.item.series()}
        rows["number"] = series(marks.row)
        others = rest.count(pl.DataFrame(rows), marks.value, tie_order(ties), self.score_type)
        n_ranked = self._by_code(rest.users, rest.n_rows).astype(np.int64)
        return super().tally(marks, ties) + RankCounts(marks.user, marks.gain, *others, n_ranked)

    def top(self, depth: int | None, removed: Sequence[Marks]) -> Candidates:
        if depth is None or depth > self.rest.depth:
            raise UsageError("rankings on disk were listed down to a smaller rank", option="engine")
        frame, code = self.rest.tops, self.codes.find(self.rest.tops["user"])
        frame, code = frame.filter(series(code >= 0)), code[code >= 0]
        groups = Groups.of(code, self.n_users)
        first = Candidates.of(frame, code, groups, self.order, self.score_type)
        left = leave_out(first, removed)
        # The rows of the user itself leave no room, but for the second of those with given ranks.
        is_own = is_self(frame["user"], frame["item"])
        gone = ~np.isin(first.number, left.number) & (is_own if self.order == "rank" else ~is_own)
        n_gone = np.bincount(code[gone], minlength=1)
        if n_gone.max() > (self.order == "rank"):
            user = self.codes.users.series()[int(n_gone.argmax())]
            raise UsageError(
                f"metrics of what was shown: {self.source} repeats an item of user {user!r}, and "
                "items that were not kept would move up. Remove repeated items, or choose "
                "engine='memory'",
                option="duplicates",
            )
        return left

    def last_ranks(self, removed: Sequence[Marks]) -> FloatArray:
        last = self.rest.last_ranks()
        return np.maximum(super().last_ranks(removed), self._by_code(last["user"], last["rank"]))

    def _by_code(self, users: pl.Series, numbers: ArrayLike) -> FloatArray:
        """A number of each user, 0 for users without."""
        code, result = self.codes.find(users), np.zeros(self.n_users)
        result[code[code >= 0]] = np.asarray(numbers)[code >= 0]
        return result
