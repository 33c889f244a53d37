"""From ranking rows and judgments to hits: the last place that sees ids and scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from rankmeter._align.codes import Codes
from rankmeter._align.counts import Candidates, Targets, count
from rankmeter._align.excluded import is_self, ranks_before, without_self
from rankmeter._align.listing import Listing, listed
from rankmeter._align.lookup import Sought, count_listed
from rankmeter._align.pairs import Pairs, Refused, best_of, unique_items, unique_judgements
from rankmeter._align.placing import Placed, ordered, place
from rankmeter._choices import Alignment
from rankmeter._counts import RankCounts
from rankmeter._hits import FloatArray, Hits, IntArray, Span
from rankmeter._ingest import ByUser, Rest, Table, series
from rankmeter._lists import Lists as Shown
from rankmeter.errors import UsageError

__all__ = [
    "Aligned",
    "Facts",
    "Judged",
    "align",
    "perfect",
    "prepare",
    "reached",
    "relevant_items",
    "settle",
]

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Facts:
    """Facts about some users in one alignment. Facts of disjoint users merge."""

    n_relevant: IntArray  # (n_users,) relevant items in the ground truth
    n_ranked: IntArray  # (n_users,) items in the ranking
    counts: Mapping[str, int]  # what was merged or resolved
    n_found: int  # judged items that are in the rankings, relevant or not
    repeated_items: Refused  # pairs that the choices refuse
    contradictions: Refused
    n_hits: int | None = None  # relevant items in the rankings, if that is known

    @classmethod
    def merge(cls, parts: Sequence[Facts], order: IntArray) -> Facts:
        """Merge the facts of disjoint users; the users are put in the given order."""
        names = sorted({name for part in parts for name in part.counts})
        hits = [part.n_hits for part in parts if part.n_hits is not None]
        return cls(
            np.concatenate([part.n_relevant for part in parts])[order],
            np.concatenate([part.n_ranked for part in parts])[order],
            {name: sum(part.counts.get(name, 0) for part in parts) for name in names},
            sum(part.n_found for part in parts),
            sum((part.repeated_items for part in parts), Refused()),
            sum((part.contradictions for part in parts), Refused()),
            sum(hits) if len(hits) == len(parts) else None,
        )


@dataclass(frozen=True, eq=False)
class Aligned:
    """Hits of one ranking in one alignment, for all users of a block in its order."""

    hits: Hits
    nonrelevant: Hits  # the ranked items judged as not relevant
    in_rankings: BoolArray  # whether the rankings name the user; an empty list names its user
    facts: Facts
    lists: Shown | None = None  # the items themselves, if they were asked for


@dataclass(frozen=True, eq=False)
class Judged:
    """The ground truth of a block in one alignment, prepared once for any number of rankings."""

    choices: Alignment
    codes: Codes  # the users of the block
    rows: pl.DataFrame | ByUser  # one judgment per user and item
    code: IntArray  # (n_judged,) the user of each
    gain: FloatArray  # (n_judged,) and what it counts, which may differ from that of the rows
    relevant: Hits  # the perfect rankings of the relevant items
    others: Hits  # and of the other judged ones
    counts: dict[str, int]
    contradictions: Refused
    names: Codes | None = None  # the codes of all items, if hits have their items
    _sought: dict[type[ByUser], Any] = field(default_factory=dict)

    @cached_property
    def frame(self) -> pl.DataFrame:
        """The judgments as rows: user, item, gain, code."""
        frame = self.rows.frame() if isinstance(self.rows, ByUser) else self.rows
        return frame.with_columns(gain=series(self.gain), code=series(self.code))

    def sought(self, lists: ByUser) -> Sought:
        """The judgments in the form in which they are looked up in lists."""
        kind = type(lists)
        if kind not in self._sought:
            self._sought[kind] = lists.sought(self.rows)
        return Sought(self.code, self.gain, self._sought[kind])


def prepare(truth: Table, codes: Codes, choices: Alignment, names: Codes | None = None) -> Judged:
    """Prepare the ground truth of a block for `align`; with `names` hits have the item codes."""
    counts: dict[str, int] = {}
    code, rows, contradictions = codes.of(truth.users), truth.rows, Refused()
    if isinstance(rows, ByUser):  # without repeated items
        code = np.repeat(code, rows.lengths)
        gain = truth.gains
    else:
        if Pairs.of(code, rows["item"], codes.n).repeated:
            rows, contradictions = unique_judgements(truth, choices, counts)
            code = codes.of(rows["user"])
        gain = rows["gain"].to_numpy()
    gain = reached(code, gain, codes.n, choices)
    item = None
    if names is not None:
        item = names.of((rows.frame() if isinstance(rows, ByUser) else rows)["item"])
    ideals = perfect(code, gain, codes.n, choices, item)
    return Judged(choices, codes, rows, code, gain, *ideals, counts, contradictions, names)


def reached(user: IntArray, gain: FloatArray, n_users: int, choices: Alignment) -> FloatArray:
    """The gains of ``gains="reached"``: positive only for users with something relevant."""
    if choices.gains != "reached":
        return gain
    some = np.zeros(n_users, dtype=bool)
    some[user[replace(choices, gains="relevant").is_relevant(gain)]] = True
    return np.where(some[user], gain, np.minimum(gain, 0.0))


def perfect(
    user: IntArray,
    gain: FloatArray,
    n_users: int,
    choices: Alignment,
    item: IntArray | None = None,
) -> tuple[Hits, Hits]:
    """The perfect rankings of the relevant judged items, and of the others."""
    wanted = choices.is_relevant(gain)
    relevant, others = (slice(None), slice(0)) if wanted.all() else (wanted, ~wanted)

    def of(chosen: Any, worth: FloatArray) -> Hits:
        own = None if item is None else item[chosen]
        return _perfect(user[chosen], worth, n_users, own)

    return of(relevant, _worth(gain[relevant], choices)), of(others, gain[others])


def align(rankings: Table, truth: Judged, listing: Listing | None = None) -> Aligned:
    """Find the hits, and list the items if asked to. Both sides have ids of the same types.

    A block decides nothing about the whole: pairs that the choices refuse are counted, and the
    error is raised once all blocks are merged.
    """
    choices, codes, counts = truth.choices, truth.codes, dict(truth.counts)
    in_rankings = codes.mark(rankings.empty_users)
    user = codes.of(rankings.users)
    in_rankings[user] = True
    lists, repeated, score, shown = rankings.rows, Refused(), None, None
    rows_needed = choices.pool != "all" or choices.scope == "appended" or choices.exclude == "self"
    rows_needed |= listing is not None or truth.names is not None
    if isinstance(lists, ByUser) and not rows_needed:
        found, score = count_listed(lists, user, truth.sought(lists), codes.n, choices)
    else:
        if isinstance(lists, ByUser):
            user = codes.of(rankings.frame["user"])
        found, score, repeated, shown = _count_rows(rankings, user, truth, counts, listing)
    positive = None if score is None else score > 0
    hits, nonrelevant, tied = settle(found, (truth.relevant, truth.others), choices, positive)
    if shown is not None:
        shown = replace(shown, gain=np.where(shown.relevant, _worth(shown.gain, choices), 0.0))
    facts = Facts(
        hits.n_relevant,
        hits.n_ranked,
        {**counts, **tied},
        found.user.size,
        repeated,
        truth.contradictions,
        hits.rank.size,
    )
    return Aligned(hits, nonrelevant, in_rankings, facts, shown)


def relevant_items(truth: Judged, items: Codes) -> Shown:
    """The relevant items of each user, largest gain first, as codes; without items of no code."""
    code = items.find(truth.frame["item"])
    kept = np.flatnonzero(truth.choices.is_relevant(truth.gain) & (code >= 0))
    gain = _worth(truth.gain[kept], truth.choices)
    order = np.lexsort((code[kept], -gain, truth.code[kept]))
    at, gain = kept[order], gain[order]
    offsets = _offsets(truth.code[at], truth.codes.n)
    rank = np.arange(at.size) - offsets[truth.code[at]] + 1
    return Shown(offsets, code[at], rank, gain, np.ones(at.size, dtype=bool), items.n)


def settle(
    found: RankCounts,
    ideals: tuple[Hits, Hits],
    choices: Alignment,
    positive: BoolArray | None = None,
) -> tuple[Hits, Hits, dict[str, int]]:
    """From counts to hits: the relevant ones, the others, and the numbers of ties.

    `ideals` are the perfect rankings, as `perfect` gives them, and `positive` says which of the
    judged items have a positive score.
    """
    if choices.scope != "all":
        inside = place(found, choices.ties, choices.depth)
        ideals = perfect(inside.user, inside.gain, found.n_ranked.size, choices, inside.item)
    if choices.retrieved == "positive" and positive is not None:
        found = found.only(positive)
    counts = {
        "tied_hits": int(np.count_nonzero(found.equal)),
        "users_with_tied_hits": int(np.count_nonzero(np.bincount(found.user[found.equal > 0]))),
    }
    placed = place(found, choices.ties, choices.depth)
    n_ranked = found.n_ranked
    if choices.depth is not None:
        n_ranked = np.minimum(n_ranked, choices.depth)
    relevant = choices.is_relevant(placed.gain)
    together = choices.ties == "together"
    hits = _select(placed, relevant, ideals[0], n_ranked, together=together)
    nonrelevant = _select(placed, ~relevant, ideals[1], n_ranked, together=together)
    return replace(hits, gain=_worth(hits.gain, choices)), nonrelevant, counts


def _count_rows(
    rankings: Table,
    user: IntArray,
    truth: Judged,
    counts: dict[str, int],
    listing: Listing | None,
) -> tuple[RankCounts, FloatArray | None, Refused, Shown | None]:
    """Counts of the judged items in ranking rows, their scores, refused pairs, and the items."""
    choices, judged, codes = truth.choices, truth.frame, truth.codes
    pairs = Pairs.of(user, rankings.frame["item"], codes.n, judged)
    frame, refused = unique_items(rankings, choices, counts, repeated=pairs.repeated)
    gone = frame.filter(is_self()) if choices.exclude == "self" else frame.clear()
    if gone.height:
        frame = without_self(frame, rankings.order, counts)
    if choices.pool == "judged":
        known = judged.filter(pl.col("gain") >= 0)
        frame = frame.join(known, on=["user", "item"], how="semi")
    if choices.scope == "appended":
        frame = _append(frame, judged, rankings, choices, gone)
    if frame is not rankings.frame:
        user = codes.of(frame["user"])
        pairs = Pairs.of(user, frame["item"], codes.n, judged)
    row, gain = pairs.row, judged["gain"].to_numpy()[pairs.judgment]
    if choices.duplicates == "first" and pairs.repeated:
        first = best_of(frame[row].with_columns(row=row, gain=gain), rankings.order)
        row, gain = first["row"].to_numpy(), first["gain"].to_numpy()
    plain = listing is None and rankings.rest is None
    rules = rankings.order, choices.score_type
    candidates = Candidates.of(frame, user, codes.n, *rules, groups=pairs.groups, falling=plain)
    targets = candidates.targets(row, gain)
    shown = None
    if listing is not None and (rankings.rest is None or choices.pool == "judged"):
        shown = listed(candidates, row, gain, choices, listing)  # its sorted scores serve both
    elif listing is not None:
        shown = _listed_apart(rankings, frame[row], gain, codes, choices, listing)
    counted = count(candidates, targets, choices.ties)
    if rankings.rest is not None and choices.pool == "all":
        moved = gone if rankings.order == "rank" else gone.clear()
        counted += _count_rest(rankings.rest, frame[row], targets, codes, choices, moved)
    if truth.names is not None:
        counted = replace(counted, item=truth.names.of(targets.item))
    scored = rankings.order == "score" and choices.retrieved == "positive"
    score = frame["score"].to_numpy()[row] if scored else None
    return counted, score, refused, shown


def _count_rest(
    rest: Rest,
    rows: pl.DataFrame,
    targets: Targets,
    codes: Codes,
    choices: Alignment,
    gone: pl.DataFrame,
) -> RankCounts:
    """Counts of the candidates that are not in the table; those `gone` have moved others up."""
    users = codes.users.series().gather(targets.user)
    rules = ordered(choices.ties), choices.score_type
    if gone.is_empty():
        found = rest.count(users, rows, targets.value, *rules)
    else:  # the others are counted at the ranks that they were given
        at, rank = ranks_before(users, targets.value, gone)
        each = rest.count(users.gather(series(at)), rows[at], rank, *rules, own=False)
        above, equal, before = (_sums(at, one, len(users)) for one in each)
        found = above, equal, before
    n_ranked = np.zeros(codes.n, dtype=np.int64)
    code = codes.find(rest.users)
    n_ranked[code[code >= 0]] = rest.n_rows[code >= 0]
    return RankCounts(targets.user, targets.gain, *found, n_ranked)


def _sums(at: IntArray, counts: IntArray | None, n: int) -> IntArray | None:
    if counts is None:
        return None
    found = np.zeros(n, dtype=np.int64)
    np.add.at(found, at, counts)
    return found


def _listed_apart(
    rankings: Table,
    judged: pl.DataFrame,
    gain: FloatArray,
    codes: Codes,
    choices: Alignment,
    listing: Listing,
) -> Shown:
    """The first items of rankings of which these rows are kept apart."""
    rest = rankings.rest
    if rest is None or listing.depth is None or listing.depth > rest.depth:
        raise UsageError("rankings on disk were listed down to a smaller rank", option="engine")
    user = codes.find(rest.tops["user"])
    frame = rest.tops.filter(series(user >= 0))
    if choices.exclude == "self":
        frame = without_self(frame, rankings.order, {})
    user = codes.find(frame["user"])
    if choices.duplicates == "best" and frame.select("user", "item").is_duplicated().any():
        raise UsageError(
            "duplicates='best' moves items up that were not kept: choose engine='memory'",
            option="duplicates",
        )
    candidates = Candidates.of(frame, user, codes.n, rankings.order, choices.score_type)
    number, wanted = frame["number"].to_numpy(), judged["number"].to_numpy()
    at = np.searchsorted(number, wanted)
    found = number.take(at, mode="clip") == wanted if number.size else wanted < 0
    return listed(candidates, at[found], gain[found], choices, listing)


def _append(
    frame: pl.DataFrame,
    judged: pl.DataFrame,
    rankings: Table,
    choices: Alignment,
    gone: pl.DataFrame,
) -> pl.DataFrame:
    """The ranking rows, followed by the judged items missing from them, tied with each other."""
    order, rest = rankings.order, rankings.rest
    judged = judged.filter(~is_self()) if choices.exclude == "self" else judged
    absent = judged.join(frame, on=["user", "item"], how="anti", maintain_order="left")
    absent = absent.select("user", "item")
    if order == "score":
        absent = absent.with_columns(score=pl.lit(-np.inf))
    elif order == "rank":
        ranks = frame.select("user", "rank")
        if rest is not None and choices.pool == "all":
            ranks = pl.concat([ranks, rest.last_ranks(gone)])
        last = ranks.group_by("user").agg(pl.col("rank").max() + 1)
        absent = absent.join(last, on="user", how="left", maintain_order="left")
        absent = absent.with_columns(pl.col("rank").fill_null(1))
    if rest is not None:
        numbers = pl.int_range(rest.end, rest.end + absent.height, eager=True)
        absent = absent.with_columns(number=numbers)
    return pl.concat([frame, absent], how="diagonal_relaxed")


def _worth(gain: FloatArray, choices: Alignment) -> FloatArray:
    """The gains that relevant items contribute."""
    if choices.gains != "above":
        return gain
    operator, threshold = choices.threshold
    return gain - threshold + (operator == ">=")


def _offsets(user: IntArray, n_users: int) -> IntArray:
    """Where the items of each user begin, given the user of each item, and the end."""
    offsets = np.zeros(n_users + 1, dtype=np.int64)
    if user.size:
        np.cumsum(np.bincount(user, minlength=n_users), out=offsets[1:])
    return offsets


def _perfect(user: IntArray, gain: FloatArray, n_users: int, item: IntArray | None = None) -> Hits:
    offsets = _offsets(user, n_users)
    if item is not None:
        order = np.lexsort((item, -gain, user))
        return replace(Hits.perfect(offsets, gain[order]), item=item[order])
    if np.any(user[1:] < user[:-1]):
        gain = gain[np.lexsort((-gain, user))]
    return Hits.perfect(offsets, gain)


def _select(
    placed: Placed, keep: BoolArray, ideal: Hits, n_ranked: IntArray, *, together: bool
) -> Hits:
    """Some of the placed items as hits, with the facts about their users."""
    kept = placed.only(keep)
    return Hits(
        _offsets(kept.user, n_ranked.size),
        kept.rank,
        kept.gain,
        ideal.n_relevant,
        n_ranked,
        Span(kept.low, kept.high),
        ideal,
        together,
        kept.item,
    )
