"""Turn ranking rows and judgments into hits; later steps use neither ids nor scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rankmeter._choices import Alignment
from rankmeter._evidence.hits import BoolArray, Hits, IntArray, Span
from rankmeter._evidence.lists import Lists
from rankmeter._rankings.codes import Codes
from rankmeter._rankings.ground_truth import Judged, contributed_gains
from rankmeter._rankings.in_memory import Lookup, Rows
from rankmeter._rankings.pairs import Refused, user_offsets
from rankmeter._rankings.parallel import Join, concatenate
from rankmeter._rankings.rank_counts import RankCounts
from rankmeter._rankings.rules import Ranking, count_candidates, count_known_candidates
from rankmeter._rankings.ties import Placed, assign_ranks
from rankmeter._reading.by_user import ByUser
from rankmeter._reading.table import Table

if TYPE_CHECKING:
    from rankmeter._rankings.listing import Listing


@dataclass(frozen=True, eq=False)
class Facts:
    """Facts about some users in one alignment; facts of disjoint users can be merged."""

    n_relevant: IntArray  # (n_users,) relevant items in the ground truth
    n_ranked: IntArray  # (n_users,) items in the ranking
    counts: Mapping[str, int]  # what was merged or resolved
    n_found: int  # judged items that are in the rankings, relevant or not
    repeated_items: Refused  # pairs that the choices refuse
    contradictions: Refused
    n_hits: int | None = None  # relevant items in the rankings, if that is known

    @classmethod
    def merge(
        cls,
        facts: Sequence[Facts],
        order: IntArray | None = None,
        join: Join = concatenate,
        name: object = None,
    ) -> Facts:
        """Merge the facts of disjoint users, with the users in the given order."""
        select = slice(None) if order is None else order
        names = sorted({name for part in facts for name in part.counts})
        hits = [part.n_hits for part in facts if part.n_hits is not None]
        return cls(
            join((name, "n_relevant"), [part.n_relevant for part in facts])[select],
            join((name, "n_ranked"), [part.n_ranked for part in facts])[select],
            {name: sum(part.counts.get(name, 0) for part in facts) for name in names},
            sum(part.n_found for part in facts),
            sum((part.repeated_items for part in facts), Refused()),
            sum((part.contradictions for part in facts), Refused()),
            sum(hits) if len(hits) == len(facts) else None,
        )


@dataclass(frozen=True, eq=False)
class Aligned:
    """Hits of one ranking in one alignment, for all users of a block in the order of the block."""

    hits: Hits
    nonrelevant: Hits  # the ranked items judged as not relevant
    in_rankings: BoolArray  # whether the rankings name the user; an empty list names its user
    facts: Facts
    lists: Lists | None = None  # the items themselves, if they were asked for


def align(rankings: Table, truth: Judged, listing: Listing | None = None) -> Aligned:
    """Find the hits, and list the items if `listing` is given; both sides have the same id types.

    A block decides nothing about the whole: pairs that the choices refuse are counted, and the
    error is raised once all blocks are merged.
    """
    choices, codes, notes = truth.choices, truth.codes, dict(truth.counts)
    in_rankings = codes.mask_users_in(rankings.empty_users)
    user = codes.encode(rankings.users)
    known = rankings.rows.counts_at(user, truth)
    if known is not None:
        at_judged, is_positive = known
        in_rankings[user] = True
        ideals = truth.relevant, truth.others
        candidate_counts = count_known_candidates(at_judged, is_positive, choices, ideals)
    else:
        ranking = create_ranking(rankings, user, truth, listing)
        if isinstance(ranking, Rows):
            in_rankings |= ranking.candidates.offsets[1:] > ranking.candidates.offsets[:-1]
        else:
            in_rankings[user] = True
        candidate_counts = count_candidates(ranking, truth, notes, listing)
    counts, positive, ideals, n_found, repeated, lists = candidate_counts
    hits, nonrelevant, tied = to_hits(counts, ideals, choices, positive)
    if lists is not None:
        lists = replace(
            lists, gain=np.where(lists.relevant, contributed_gains(lists.gain, choices), 0.0)
        )
    facts = Facts(
        hits.n_relevant, hits.n_ranked, {**notes, **tied}, n_found, repeated, truth.contradictions,
        hits.rank.size,
    )  # fmt: skip
    return Aligned(hits, nonrelevant, in_rankings, facts, lists)


def create_ranking(
    rankings: Table, user: IntArray, truth: Judged, listing: Listing | None = None
) -> Ranking:
    """Create the ranking for the kind of its rows, given the user of each row or index entry."""
    rows, score_type = rankings.rows, truth.choices.score_type
    if isinstance(rows, ByUser) and listing is None:
        return Lookup(rows, user, truth.codes.n, score_type)
    falling = listing is None
    return Rows(rankings, rows.expand_to_rows(user), truth, score_type, falling=falling)


def relevant_items(truth: Judged, items: Codes) -> Lists:
    """Codes of each user's relevant items by descending gain, without items that have no code."""
    code = items.find(truth.items)
    relevant = np.flatnonzero(truth.choices.is_relevant(truth.gain) & (code >= 0))
    gain = contributed_gains(truth.gain[relevant], truth.choices)
    order = np.lexsort((code[relevant], -gain, truth.code[relevant]))
    rows, gain = relevant[order], gain[order]
    offsets = user_offsets(truth.code[rows], truth.codes.n)
    rank = np.arange(rows.size) - offsets[truth.code[rows]] + 1
    return Lists(offsets, code[rows], rank, gain, np.ones(rows.size, dtype=bool), items.n)


def to_hits(
    counts: RankCounts,
    ideals: tuple[Hits, Hits],
    choices: Alignment,
    positive: BoolArray | None = None,
) -> tuple[Hits, Hits, dict[str, int]]:
    """Return the relevant hits, the hits of the other judged items, and the numbers of ties.

    `ideals` are the perfect rankings that `perfect_hits` gives, and `positive` says which of the
    judged items have a positive score.
    """
    if choices.retrieved == "positive" and positive is not None:
        counts = counts.only(positive)
    tied = {
        "tied_hits": int(np.count_nonzero(counts.equal)),
        "users_with_tied_hits": int(np.count_nonzero(np.bincount(counts.user[counts.equal > 0]))),
    }
    placed, n_ranked = assign_ranks(counts, choices.ties), counts.n_ranked
    relevant = choices.is_relevant(placed.gain)
    together = choices.ties == "together"
    hits = _hits_of_placed(placed, relevant, ideals[0], n_ranked, together=together)
    nonrelevant = _hits_of_placed(placed, ~relevant, ideals[1], n_ranked, together=together)
    return replace(hits, gain=contributed_gains(hits.gain, choices)), nonrelevant, tied


def _hits_of_placed(
    placed: Placed, keep: BoolArray, ideal: Hits, n_ranked: IntArray, *, together: bool
) -> Hits:
    """Make hits of the placed items selected by the mask `keep`, with the counts of their users."""
    items = placed.only(keep)
    return Hits(
        user_offsets(items.user, n_ranked.size),
        items.rank,
        items.gain,
        ideal.n_relevant,
        n_ranked,
        Span(items.low, items.high),
        ideal,
        together,
        items.item,
    )
