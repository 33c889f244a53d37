"""From ranking rows and judgments to hits: the last place that sees ids and scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from rankmeter._align.codes import Codes
from rankmeter._align.counts import Candidates, Targets, count
from rankmeter._align.lookup import count_listed
from rankmeter._align.pairs import Pairs, Refused, best_of, unique_items, unique_judgements
from rankmeter._align.placing import Placed, ordered, place
from rankmeter._choices import Alignment
from rankmeter._counts import RankCounts
from rankmeter._hits import FloatArray, Hits, IntArray, Span
from rankmeter._ingest import Lists, Rest, Table

__all__ = ["Aligned", "Facts", "Judged", "align", "prepare"]

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

    @classmethod
    def merge(cls, parts: Sequence[Facts], order: IntArray) -> Facts:
        """Merge the facts of disjoint users; the users are put in the given order."""
        names = sorted({name for part in parts for name in part.counts})
        return cls(
            np.concatenate([part.n_relevant for part in parts])[order],
            np.concatenate([part.n_ranked for part in parts])[order],
            {name: sum(part.counts.get(name, 0) for part in parts) for name in names},
            sum(part.n_found for part in parts),
            sum((part.repeated_items for part in parts), Refused()),
            sum((part.contradictions for part in parts), Refused()),
        )


@dataclass(frozen=True, eq=False)
class Aligned:
    """Hits of one ranking in one alignment, for all users of a block in its order."""

    hits: Hits
    nonrelevant: Hits  # the ranked items judged as not relevant
    in_rankings: BoolArray  # whether the rankings name the user; an empty list names its user
    facts: Facts

    @property
    def evidence(self) -> dict[str, Hits]:
        """What a metric may ask for, by name."""
        return {"hits": self.hits, "nonrelevant": self.nonrelevant}


@dataclass(frozen=True, eq=False)
class Judged:
    """The ground truth of a block in one alignment, prepared once for any number of rankings."""

    choices: Alignment
    codes: Codes  # the users of the block
    frame: pl.DataFrame  # one judgment per user and item: user, item, gain, code
    relevant: Hits  # the perfect rankings of the relevant items
    others: Hits  # and of the other judged ones
    counts: dict[str, int]
    contradictions: Refused


def prepare(truth: Table, codes: Codes, choices: Alignment) -> Judged:
    """Prepare the ground truth of a block for `align`."""
    counts: dict[str, int] = {}
    code = codes.of(truth.frame["user"])
    repeated = Pairs.of(code, truth.frame["item"], codes.n).repeated
    frame, contradictions = unique_judgements(truth, choices, counts, repeated=repeated)
    if repeated:
        code = codes.of(frame["user"])
    gain = frame["gain"].to_numpy()
    if choices.gains == "reached":
        reached = np.zeros(codes.n, dtype=bool)
        reached[code[replace(choices, gains="relevant").is_relevant(gain)]] = True
        gain = np.where(reached[code], gain, np.minimum(gain, 0.0))
        frame = frame.with_columns(gain=pl.Series(gain))
    wanted = choices.is_relevant(gain)
    return Judged(
        choices,
        codes,
        frame.with_columns(code=pl.Series(code)),
        _perfect(code[wanted], _worth(gain[wanted], choices), codes.n),
        _perfect(code[~wanted], gain[~wanted], codes.n),
        counts,
        contradictions,
    )


def align(rankings: Table, truth: Judged) -> Aligned:
    """Find the hits. Both sides have ids of the same types.

    A block decides nothing about the whole: pairs that the choices refuse are counted, and the
    error is raised once all blocks are merged.
    """
    choices, codes, counts = truth.choices, truth.codes, dict(truth.counts)
    in_rankings = codes.mark(rankings.empty_users)
    user = codes.of(rankings.users)
    in_rankings[user] = True
    lists, repeated, score = rankings.rows, Refused(), None
    if isinstance(lists, Lists) and choices.pool == "all" and choices.scope != "appended":
        found, score = count_listed(lists, user, truth.frame, codes.n, choices)
    else:
        if isinstance(lists, Lists):
            user = codes.of(rankings.frame["user"])
        found, score, repeated = _count_rows(rankings, user, truth, counts)
    n_found = found.user.size

    perfect, others = truth.relevant, truth.others
    if choices.scope != "all":
        inside = place(found, choices.ties, choices.depth)
        wanted = choices.is_relevant(inside.gain)
        perfect = _perfect(inside.user[wanted], _worth(inside.gain[wanted], choices), codes.n)
        others = _perfect(inside.user[~wanted], inside.gain[~wanted], codes.n)
    if choices.retrieved == "positive" and score is not None:
        found = found.only(score > 0)
    counts["tied_hits"] = int(np.count_nonzero(found.equal))
    counts["users_with_tied_hits"] = int(np.unique(found.user[found.equal > 0]).size)
    placed = place(found, choices.ties, choices.depth)
    n_ranked = found.n_ranked
    if choices.depth is not None:
        n_ranked = np.minimum(n_ranked, choices.depth)
    relevant = choices.is_relevant(placed.gain)
    together = choices.ties == "together"
    nonrelevant = _select(placed, ~relevant, others, n_ranked, together=together)
    hits = _select(placed, relevant, perfect, n_ranked, together=together)
    hits = replace(hits, gain=_worth(hits.gain, choices))
    facts = Facts(perfect.n_relevant, n_ranked, counts, n_found, repeated, truth.contradictions)
    return Aligned(hits, nonrelevant, in_rankings, facts)


def _count_rows(
    rankings: Table, user: IntArray, truth: Judged, counts: dict[str, int]
) -> tuple[RankCounts, FloatArray | None, Refused]:
    """Counts of the judged items in ranking rows, their scores, and the pairs that are refused."""
    choices, judged, codes = truth.choices, truth.frame, truth.codes
    pairs = Pairs.of(user, rankings.frame["item"], codes.n, judged)
    frame, refused = unique_items(rankings, choices, counts, repeated=pairs.repeated)
    if choices.pool == "judged":
        known = judged.filter(pl.col("gain") >= 0)
        frame = frame.join(known, on=["user", "item"], how="semi")
    if choices.scope == "appended":
        frame = _append(frame, judged, rankings, choices.pool)
    if frame is not rankings.frame:
        user = codes.of(frame["user"])
        pairs = Pairs.of(user, frame["item"], codes.n, judged)
    row, gain = pairs.row, judged["gain"].to_numpy()[pairs.judgment]
    if choices.duplicates == "first" and pairs.repeated:
        first = best_of(frame[row].with_columns(row=row, gain=gain), rankings.order)
        row, gain = first["row"].to_numpy(), first["gain"].to_numpy()
    candidates = Candidates.of(
        frame, user, codes.n, rankings.order, choices.score_type, grouped=pairs.grouped
    )
    targets = candidates.targets(row, gain)
    counted = count(candidates, targets, choices.ties)
    if rankings.rest is not None and choices.pool == "all":
        counted += _count_rest(rankings.rest, frame[row], targets, codes, choices)
    score = frame["score"].to_numpy()[row] if rankings.order == "score" else None
    return counted, score, refused


def _count_rest(
    rest: Rest, rows: pl.DataFrame, targets: Targets, codes: Codes, choices: Alignment
) -> RankCounts:
    """Counts of the candidates that are not in the table."""
    users = codes.users.gather(targets.user)
    found = rest.count(users, rows, targets.value, ordered(choices.ties), choices.score_type)
    n_ranked = np.zeros(codes.n, dtype=np.int64)
    code = codes.find(rest.users)
    n_ranked[code[code >= 0]] = rest.n_rows[code >= 0]
    return RankCounts(targets.user, targets.gain, *found, n_ranked)


def _append(frame: pl.DataFrame, judged: pl.DataFrame, rankings: Table, pool: str) -> pl.DataFrame:
    """The ranking rows, followed by the judged items missing from them, tied with each other."""
    order, rest = rankings.order, rankings.rest
    absent = judged.join(frame, on=["user", "item"], how="anti", maintain_order="left")
    absent = absent.select("user", "item")
    if order == "score":
        absent = absent.with_columns(score=pl.lit(-np.inf))
    elif order == "rank":
        ranks = frame.select("user", "rank")
        if rest is not None and pool == "all":
            ranks = pl.concat([ranks, rest.last_ranks()])
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


def _perfect(user: IntArray, gain: FloatArray, n_users: int) -> Hits:
    counts = np.bincount(user, minlength=n_users)
    offsets = np.concatenate(([0], np.cumsum(counts)))
    return Hits.perfect(offsets, gain[np.lexsort((-gain, user))])


def _select(
    placed: Placed, keep: BoolArray, ideal: Hits, n_ranked: IntArray, *, together: bool
) -> Hits:
    """Some of the placed items as hits, with the facts about their users."""
    counts = np.bincount(placed.user[keep], minlength=n_ranked.size)
    return Hits(
        np.concatenate(([0], np.cumsum(counts))),
        placed.rank[keep],
        placed.gain[keep],
        ideal.n_relevant,
        n_ranked,
        Span(placed.low[keep], placed.high[keep]),
        ideal,
        together,
    )
