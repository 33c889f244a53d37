"""Apply the rules about candidates, for rankings of every kind; no other module has such rules.

Counts are signed. A rule is a few rows: those that it removes are counted by themselves and
subtracted, those that it appends are added. So no rule is needed to count a ranking.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

import numpy as np
import polars as pl

from rankmeter._choices import Alignment, TieRule
from rankmeter._evidence.hits import BoolArray, FloatArray, Hits, IntArray
from rankmeter._evidence.lists import Lists
from rankmeter._rankings.counts import Candidates, count_at_marks
from rankmeter._rankings.ground_truth import Judged, perfect_hits
from rankmeter._rankings.in_memory import Rows
from rankmeter._rankings.marks import Marks
from rankmeter._rankings.pairs import Refused, are_self_items, search_segments
from rankmeter._rankings.parallel import concatenate_fields
from rankmeter._rankings.rank_counts import RankCounts
from rankmeter._rankings.ties import BY_ROW, cut_counts
from rankmeter._reading.by_user import to_series
from rankmeter.errors import DataError
from rankmeter.errors._checks import brief

if TYPE_CHECKING:
    from rankmeter._rankings.listing import Listing


class Ranking(Protocol):
    """Candidates of users, with methods to find and count them, all independent of rules."""

    n_users: int
    end: int  # above the number of every row
    falling: bool  # whether larger values are better

    @property
    def order(self) -> str:
        """Kind of order: by "score", by given "rank", or as in the "list"."""
        ...

    def find(self, judged: Judged) -> Marks:
        """Find the rows with judged items; `position` is the index of each row's judgment."""
        ...

    def self_items(self) -> Marks:
        """Find the rows whose item equals the id of their user."""
        ...

    def repeats(self) -> Marks | None:
        """Find all rows of repeated items of a user except the best; None without repetitions."""
        ...

    def with_row_numbers(self, marks: Marks) -> Marks:
        """Fill in the row number of each mark where the number was left out."""
        ...

    def tally(self, marks: Marks, ties: TieRule) -> RankCounts:
        """Count all candidates above, equal to and before each mark."""
        ...


class CandidateCounts(NamedTuple):
    """Counts at the judged items of a ranking, its ideals, refused repeated items, and lists."""

    counts: RankCounts
    positive: BoolArray | None  # which of the items have a positive score, if there are scores
    ideals: tuple[Hits, Hits]  # of the relevant items, and of the other judged ones
    n_found: int  # judged items that the ranking has, before it is cut
    refused: Refused = Refused()  # repeated items
    lists: Lists | None = None


def count_candidates(
    ranking: Ranking, judged: Judged, notes: dict[str, int], listing: Listing | None = None
) -> CandidateCounts:
    """Apply the rules and count the remaining candidates; list them if `listing` is given.

    Candidates are left out first: those that `pool` and `exclude` do not keep, and repeated ones.
    Then rankings are cut, and at last items are appended. The ideal rankings are not cut.
    Notes say how many rows the rules concern. Lists, and given ranks, are those of `Rows`.
    """
    choices, rules = judged.choices, _Rules(ranking, judged)
    worse = ranking.repeats()
    refused = Refused() if worse is None else rules.resolve_repeated_rows(worse, notes)
    if choices.exclude == "self":
        rules.leave_out_self_items(ranking.self_items(), notes)
    rules.close_gaps_in_given_ranks()
    if choices.pool == "judged":
        rules.keep_judged_items()
    ideals, n_found = rules.find_ideals(), rules.marks.user.size
    rules.count_at_marks()
    if choices.depth is not None:
        rules.cut(choices.depth)
    if choices.scope == "appended":
        rules.append_absent_items()
    lists = None if listing is None else rules.list_first_candidates(listing)
    counts, marks = rules.with_items(rules.counts), rules.marks
    positive = None if ranking.order != "score" or marks.raw is None else marks.raw > 0
    return CandidateCounts(counts, positive, ideals, n_found, refused, lists)


def count_known_candidates(
    counts: RankCounts, positive: BoolArray, choices: Alignment, ideals: tuple[Hits, Hits]
) -> CandidateCounts:
    """Cut rankings of which nothing is known but the counts; see `count_candidates`."""
    if choices.scope == "ranked":
        ideals = perfect_hits(counts.user, counts.gain, counts.n_ranked.size, choices)
    n_found = counts.user.size
    if choices.depth is not None:
        counts, is_left = cut_counts(counts, choices.ties, choices.depth)
        positive = positive[is_left]
    return CandidateCounts(counts, positive, ideals, n_found)


class _Rules:
    """Marks, removed rows and appended rows, changed by one rule after the other."""

    counts: RankCounts  # at the marks

    def __init__(self, ranking: Ranking, judged: Judged) -> None:
        self.ranking, self.judged = ranking, judged
        self.marks = ranking.find(judged)
        self.candidates: Marks | None = None  # if these are not all
        self.holders = self.marks  # judged rows that hold ranks, also if they are not marks
        self.removed: list[Marks] = []
        self.appended: Marks | None = None
        self.gaps: Marks | None = None  # given ranks below these have moved up
        self.below = np.zeros(0, dtype=np.int64)  # rows of judged items that were cut
        self.is_own = np.zeros(judged.code.size, dtype=bool)

    def resolve_repeated_rows(self, worse: Marks, notes: dict[str, int]) -> Refused:
        """Apply the rule for repeated rows: refuse, count each, or make only the best a mark."""
        rule, n = self.judged.choices.duplicates, worse.row.size
        if rule in ("error", "unchecked"):
            users = self.judged.codes.users.to_series().gather(to_series(worse.user))
            return Refused.of(n, pl.DataFrame({"user": users, "item": worse.item.to_series()}))
        notes["duplicate_items_counted" if rule == "each" else "duplicate_items_dropped"] = n
        if rule != "each":
            self.marks = self.marks.only(~np.isin(self.marks.row, worse.row))
        if rule == "best":
            self.holders = self.marks
            self.removed.append(worse)
        return Refused()

    def leave_out_self_items(self, rows: Marks, notes: dict[str, int]) -> None:
        """Remove `rows`, whose items equal their users."""
        for worse in self.removed:
            rows = rows.only(~np.isin(rows.row, worse.row))
        if rows.row.size:
            notes["excluded_items"] = rows.row.size
        items, codes = self.judged.items, self.judged.codes
        self.is_own = are_self_items(
            codes.users.to_series().gather(to_series(self.judged.code)), items.to_series()
        )
        self.marks, self.holders = (
            marks.only(~self.is_own[marks.position]) for marks in (self.marks, self.holders)
        )
        self.removed.append(rows)

    def close_gaps_in_given_ranks(self) -> None:
        """Decrease each given rank by the number of removed rows above it."""
        if self.ranking.order != "rank" or not any(rows.row.size for rows in self.removed):
            return
        first, *others = self.removed
        self.gaps = functools.reduce(Marks.followed_by, others, first)
        self._refuse_dense_ranks(self.gaps)
        self.marks, self.holders = (
            replace(marks, value=_close_gaps(marks.user, marks.value, self.gaps))
            for marks in (self.marks, self.holders)
        )

    def _refuse_dense_ranks(self, rows: Marks) -> None:
        """Refuse ranks that would become less than 1, such as 2 below two items of rank 1."""
        wrong = np.flatnonzero(_close_gaps(self.holders.user, self.holders.value, rows) < 1)
        if wrong.size:
            first = int(wrong[0])
            user = self.judged.codes.users.to_series()[int(self.holders.user[first])]
            names = ["exclude='self'"] * (self.judged.choices.exclude == "self")
            names += ["duplicates='best'"] * (self.judged.choices.duplicates == "best")
            raise DataError(
                f"{' and '.join(names)}: more items are left out above rank "
                f"{self.holders.value[first]:g} of user {brief(user)} than there are ranks above "
                "it. Pass ranks that count tied items, such as 1, 1, 3 instead of 1, 1, 2"
            )

    def keep_judged_items(self) -> None:
        """Restrict candidates to judged items; an item with a negative gain is not judged."""
        self.marks, self.candidates = (
            marks.only(marks.gain >= 0) for marks in (self.marks, self.holders)
        )
        if self.ranking.order == "rank":  # only these hold ranks, so they move up
            rows = self.candidates
            self.marks, self.candidates = (
                replace(marks, value=self._count_rows(rows, marks).above.astype(np.float64) + 1.0)
                for marks in (self.marks, rows)
            )

    def find_ideals(self) -> tuple[Hits, Hits]:
        """The perfect rankings of the judged items that can be found, as `scope` says.

        Items that count each time that they are ranked do so in the ideal of a ranking, too.
        """
        judged, scope = self.judged, self.judged.choices.scope
        if scope == "all":
            return judged.relevant, judged.others
        found = self.marks.position
        assert found is not None
        if scope == "appended":  # all of them, and further occurrences
            _, first = np.unique(found, return_index=True)
            found = np.append(np.arange(judged.code.size), np.delete(found, first))
        user, gain = judged.code[found], judged.gain[found]
        item = None if judged.item is None else judged.item[found]
        return perfect_hits(user, gain, judged.codes.n, judged.choices, item)

    def count_at_marks(self) -> None:
        """Count at the marks all candidates that the rules have kept."""
        if self.candidates is not None:
            self.counts = self._count_rows(self.candidates)
        else:
            self.counts = self._count_all_candidates()
            for rows in self.removed:
                value = _close_gaps(rows.user, rows.value, self.gaps)
                self.counts -= self._count_rows(replace(rows, value=value))
        if self.ranking.order == "rank":  # what is above was counted by the tool that ranked
            self.counts = replace(self.counts, above=self.marks.value.astype(np.int64) - 1)

    def cut(self, depth: int) -> None:
        """Leave only the candidates down to rank `depth`."""
        n_left = self._count_down_to_rank(depth) if self.ranking.order == "rank" else None
        counts = self.with_items(self.counts)
        counts, is_left = cut_counts(counts, self.judged.choices.ties, depth, n_left)
        self.counts = replace(counts, item=None)
        self.marks, self.below = self.marks.only(is_left), self.marks.only(~is_left).row

    def with_items(self, counts: RankCounts) -> RankCounts:
        """Name the items of the counts at the marks, if their order among equals matters."""
        codes = self.judged.item
        return counts if codes is None else replace(counts, item=codes[self.marks.position])

    def append_absent_items(self) -> None:
        """Append absent judged items below all candidates of their users, tied with each other."""
        judged, ranking, marks = self.judged, self.ranking, self.marks
        is_absent = ~self.is_own
        is_absent[marks.position] = False
        if judged.choices.pool == "judged":
            is_absent &= judged.gain >= 0
        absent = np.flatnonzero(is_absent)
        row, user = ranking.end + np.arange(absent.size), judged.code[absent]
        value, raw = np.full(absent.size, float(ranking.end)), None
        if ranking.order == "score":
            raw = np.full(absent.size, -np.inf)
            value = raw if ranking.falling else -raw
        elif ranking.order == "rank":
            raw = value = self._last_ranks()[user] + 1
        self.appended = Marks(user, judged.gain[absent], row, value, judged.items, absent, raw)
        below = self._count_rows(self.appended, self.appended)
        if ranking.order == "rank":
            below = replace(below, above=value.astype(np.int64) - 1)
        else:
            below = replace(below, above=below.above + self.counts.n_ranked[user])
        self.counts = RankCounts(
            **concatenate_fields([self.counts, below], RankCounts.arrays),
            n_ranked=self.counts.n_ranked + below.n_ranked,
        )
        self.marks = marks.followed_by(self.appended)

    def list_first_candidates(self, listing: Listing) -> Lists:
        """List the first candidates of each user after the rules."""
        from rankmeter._rankings.listing import list_first_candidates

        ranking, marks, choices = self.ranking, self.marks, self.judged.choices
        if self.candidates is None:
            top = cast("Rows", ranking).top(listing.depth, self.removed)
            if self.gaps is not None:
                top = replace(top, value=_close_gaps(top.user, top.value, self.gaps))
        else:
            rows = self.candidates.only(np.argsort(self.candidates.row))
            top = Candidates.of_marks(rows, ranking.n_users, ranking.order)
        if self.appended is not None:
            top = top.followed_by(self.appended)
        index, is_there = _find_rows(top.row_numbers, marks.row)
        return list_first_candidates(
            top, index[is_there], marks.gain[is_there], choices, listing,
            None if self.appended is None else ranking.end,
            np.extract(*_find_rows(top.row_numbers, self.below)[::-1]),
        )  # fmt: skip

    def _last_ranks(self) -> FloatArray:
        """Last given rank of each user after the rules; 0 for users without rows."""
        if self.candidates is None:
            last = cast("Rows", self.ranking).last_ranks(self.removed)
            last = _close_gaps(np.arange(last.size), last, self.gaps)
        else:
            last = np.zeros(self.ranking.n_users)
            np.maximum.at(last, self.candidates.user, self.candidates.value)
        return np.minimum(last, self.judged.choices.depth or np.inf)

    def _count_down_to_rank(self, depth: int) -> IntArray:
        """Count the candidates of each user whose given rank is at most `depth`."""
        users = np.arange(self.ranking.n_users)
        value = np.full(users.size, float(depth))
        if self.candidates is None and self.gaps is not None:  # as given, before gaps were closed
            order = np.lexsort((self.gaps.value, self.gaps.user))
            gap_user = self.gaps.user[order]
            nth = np.arange(order.size) - np.searchsorted(gap_user, gap_user)
            is_above = self.gaps.value[order] - nth <= depth
            value += np.bincount(gap_user[is_above], minlength=users.size)
        # Their items decide nothing, and their rows are not those of any ranking.
        ids = self.judged.items if self.judged.code.size else self.judged.codes.users
        row, zeros = self.ranking.end + users, np.zeros(users.size, dtype=np.int64)
        ends = Marks(users, np.zeros(users.size), row, value + 1, ids, zeros)
        if self.candidates is not None:
            return np.minimum(self._count_rows(self.candidates, ends).above, depth)
        n_left = self.ranking.tally(ends, "expected").above
        for rows in self.removed:
            n_left = n_left - self._count_rows(rows, ends).above
        return np.minimum(n_left, depth)

    def _count_all_candidates(self) -> RankCounts:
        """Count all candidates at the marks, with the given ranks restored for the count."""
        marks, ties = self.marks, self.judged.choices.ties
        if self.gaps is None or marks.raw is None:
            return self.ranking.tally(marks, ties)
        mark_index, rank = _restore_given_ranks(marks, self.gaps)
        rank_counts = self.ranking.tally(replace(marks.only(mark_index), value=rank), ties)
        n = marks.user.size
        equal = np.bincount(mark_index, rank_counts.equal, n).astype(np.int64)
        before = rank_counts.before
        if before is not None:
            before = np.bincount(mark_index, before, n).astype(np.int64)
        return RankCounts(marks.user, marks.gain, marks.row, equal, before, rank_counts.n_ranked)

    def _count_rows(self, rows: Marks, marks: Marks | None = None) -> RankCounts:
        """Count only the candidates `rows`, at some marks or at those of the rules."""
        ranking, ties = self.ranking, self.judged.choices.ties
        marks = self.marks if marks is None else marks
        if ties in BY_ROW:
            rows, marks = ranking.with_row_numbers(rows), ranking.with_row_numbers(marks)
        few = Candidates.of_marks(rows, ranking.n_users, ranking.order, falling=ranking.falling)
        return count_at_marks(few, marks, ties)


def _find_rows(numbers: IntArray, rows: IntArray) -> tuple[IntArray, BoolArray]:
    """Positions of rows among ascending row numbers, and which of them are there."""
    index = np.searchsorted(numbers, rows)
    return index, numbers.take(index, mode="clip") == rows if numbers.size else rows < 0


def _close_gaps(user: IntArray, rank: FloatArray, gaps: Marks | None) -> FloatArray:
    """Subtract from each given rank the number of the user's gaps above the rank."""
    if gaps is None:
        return rank
    ranks, begin, end = _gap_ranks_by_user(gaps, user)
    return rank - search_segments(ranks, rank, begin, end, np.less) + begin


def _gap_ranks_by_user(gaps: Marks, user: IntArray) -> tuple[FloatArray, IntArray, IntArray]:
    """Ranks of the gaps by user, and for each `user` the start and end of its gaps."""
    order = np.lexsort((gaps.value, gaps.user))
    users = gaps.user[order]
    return gaps.value[order], np.searchsorted(users, user), np.searchsorted(users, user, "right")


def _restore_given_ranks(marks: Marks, gaps: Marks) -> tuple[IntArray, FloatArray]:
    """Invert `_close_gaps` for marks: return indices of marks, and the given rank for each index.

    Two given ranks are possible: the rank of a gap, shared with another row, and the next rank.
    """
    rank, begin, end = _gap_ranks_by_user(gaps, marks.user)
    rank = np.append(rank, np.inf)
    n = end - begin + 1
    mark_index = np.repeat(np.arange(n.size), n)
    nth = np.arange(mark_index.size) - (np.cumsum(n) - n)[mark_index]
    low = np.where(nth > 0, rank[begin[mark_index] + nth - 1], -np.inf)
    high = np.where(nth < n[mark_index] - 1, rank[begin[mark_index] + nth], np.inf)
    raw = marks.value[mark_index] + nth
    is_in = (low < raw) & (raw <= high)
    return mark_index[is_in], raw[is_in]
