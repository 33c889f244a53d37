"""The least and the largest mean over all labels that unjudged ranked items can get.

An unjudged item is worth nothing, or the usual gain. Of all labellings of a user with m relevant
items, that with the m first unjudged items is the best and that with the m last ones is the worst,
by every metric that never gets worse if a relevant item moves up. So two labellings for each m are
enough, also where the ideal ranking depends on m.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from rankmeter._choices import Alignment
from rankmeter._engine.block import call_metric
from rankmeter._engine.scores import Averaged, UserValues
from rankmeter._evidence.hits import BoolArray, FloatArray, IntArray, ratio
from rankmeter._rankings.align import Aligned, Facts, create_ranking, to_hits
from rankmeter._rankings.codes import Codes
from rankmeter._rankings.ground_truth import Judged, perfect_hits, prepare_truth
from rankmeter._rankings.pairs import Refused
from rankmeter._rankings.rank_counts import RankCounts
from rankmeter._rankings.rules import count_candidates
from rankmeter._rankings.ties import ORDERED, assign_ranks
from rankmeter._reading.by_user import InFrame, to_series
from rankmeter._reading.table import Table
from rankmeter._results.summary import Summary
from rankmeter._statistics.vectors import moments
from rankmeter.conventions._plan import MetricPlan
from rankmeter.errors import UsageError

EXACT = {
    *("precision", "recall", "f_beta", "hit_rate", "r_precision", "rprec_mult", "mar", "n_hits"),
    *("ap", "set_ap", "rr", "cg", "dcg", "ndcg", "rbp", "err", "nerr", "pfound"),
    *("iprec", "eleven_point"),
}
"""The metrics that never get worse if a relevant item takes the rank of an unjudged one above."""

INEXACT: dict[str, dict[str, tuple[str, ...]]] = {
    "ap": {"denominator": ("hits",)},
    "ndcg": {"ideal": ("retrieved", "ranked")},
}
"""By metric, the values of options under which it can get worse."""


def with_bounds(summary: Summary, truth: Table, rankings: Table) -> Summary:
    """Add the bounds of the means, and the shares of unjudged items.

    Raises
    ------
    UsageError
        If the bounds of a metric are not known, or the rankings are not in memory.
    """
    plan, scores = summary.plan, summary.scores
    for entry in plan.metrics:
        if reason := _reason_against(entry, rankings):
            raise UsageError(
                f"unjudged='bounds': no exact bounds of {entry.label} are known, because {reason}",
                option="unjudged",
            )
    if not rankings.rows.in_memory or rankings.rows.division is not None:
        raise UsageError(
            "unjudged='bounds' needs all rankings in memory: choose engine='memory', or pass the "
            "rankings of fewer users",
            option="unjudged",
        )
    bounded, gains = dict(summary.estimates), list[float]()
    for alignment, entries in plan.metrics_by_alignment().items():
        labelled = Holes.of(alignment, scores, truth, rankings)
        gains.append(labelled.usual)
        reached = {entry.label: _Reached(scores.n_users) for entry in entries}
        for aligned in labelled.extremes():
            for entry in entries:
                reached[entry.label].add(labelled.values(entry, aligned))
        for entry in entries:
            lowest, highest = reached[entry.label].ends()
            users = scores.averaged(entry).users
            bounded[entry.label] = replace(
                bounded[entry.label],
                lowest=lowest,
                highest=highest,
                unjudged=labelled.share(entry.metric.k, users),
            )
    usual = " or ".join(f"{gain:g}" for gain in sorted({*gains}))
    remark = f"lowest, highest: an unjudged item is not relevant, or has the usual gain, {usual}"
    return replace(summary, estimates=bounded, remarks=(*summary.remarks, remark))


def _reason_against(entry: MetricPlan, rankings: Table) -> str:
    """Why the bounds of a metric under its choices are not known; empty if they are."""
    alignment, averaging = entry.alignment, entry.averaging
    name, ties = entry.metric.name, alignment.ties
    if name not in EXACT or entry.candidates is not None:
        return (
            "it depends on more than the ranks of relevant items, or can get worse if one moves "
            "up: leave it out"
        )
    for option, value in entry.metric.options:
        if value in INEXACT.get(name, {}).get(option, ()):
            return f"with {option}={value} it can get worse if a relevant item moves up"
    if averaging.users == "hit":
        return "users='hit' leaves out users without a hit, and a label can give them one"
    if averaging.aggregate != "mean":
        return f"it is not a mean over users (aggregate={averaging.aggregate})"
    if bool(alignment.is_relevant(0.0)):
        return f"every judged item is relevant (relevant={alignment.relevant})"
    if ties not in (*ORDERED, "expected"):
        return f"ties={ties!r} ranks an item by its label: choose 'item' or 'expected'"
    if ties == "expected" and rankings.order == "rank":
        return "given ranks that are tied have no order: choose ties='item'"
    for choice in ("scope", "pool", "retrieved", "history"):
        if (value := getattr(alignment, choice)) != "all":
            return f"{choice}={value!r} treats judged and unjudged items differently"
    if alignment.duplicates == "each":
        return "duplicates='each' counts an item at several ranks"
    if alignment.gains == "reached":
        return "gains='reached' depends on the other items of the user"
    return ""


@dataclass(frozen=True, eq=False)
class Holes:
    """All ranked items of the users in the ground truth, in order of user and rank."""

    alignment: Alignment
    counts: RankCounts  # in which an unjudged item has the usual gain
    items: pl.Series
    rank: FloatArray
    is_unjudged: BoolArray
    nth: IntArray  # the number of each unjudged item among those of its user, from 0
    judged: Judged  # found or not
    scores: UserValues
    usual: float

    @classmethod
    def of(cls, alignment: Alignment, scores: UserValues, truth: Table, rankings: Table) -> Holes:
        """Find the ranked items."""
        assert scores.ids is not None
        codes = Codes(scores.ids)
        judged = prepare_truth(truth, codes, alignment)
        known = judged.frame.filter(pl.col("gain") >= 0)  # below: pooled, and not judged
        frame = rankings.frame
        user = codes.encode(frame["user"])
        new = (
            pl.DataFrame({"item": frame["item"], "code": to_series(user)})
            .filter(to_series(scores.in_truth[user]))
            .unique(maintain_order=True)
            .join(known, on=["code", "item"], how="anti", maintain_order="left")
        )
        usual = usual_gain(judged)
        rows = pl.concat(
            [known, new.select("item", pl.lit(usual).alias("gain"), "code")], how="vertical_relaxed"
        )
        code, gain = rows["code"].to_numpy(), rows["gain"].to_numpy()
        everything = replace(
            judged,
            rows=InFrame(rows.rename({"code": "user"})),
            code=code,
            gain=gain,
            item=np.arange(code.size),  # so that counts know the rows
        )
        ranking = create_ranking(rankings.with_rows(frame), user, everything)
        counts = count_candidates(ranking, everything, {}).counts
        placed = assign_ranks(counts, alignment.ties)
        order = placed.item
        assert order is not None
        assert counts.item is not None
        place = np.empty(code.size, dtype=np.int64)
        place[counts.item] = np.arange(order.size)
        counts, is_unjudged = counts.only(place[order]), order >= known.height
        owner, nth = counts.user[is_unjudged], np.zeros(order.size, dtype=np.int64)
        nth[is_unjudged] = np.arange(owner.size) - np.searchsorted(owner, owner)
        items = rows["item"].gather(to_series(order))
        counts = replace(counts, item=None)
        return cls(alignment, counts, items, placed.rank, is_unjudged, nth, judged, scores, usual)

    def values(self, entry: MetricPlan, aligned: Aligned) -> Averaged:
        """The values of a metric under one labelling, after its averaging choices."""
        values = call_metric(entry, aligned, entry.spec.function)[:, None]
        facts = {entry.alignment: aligned.facts}
        labels = (entry.label,)
        return replace(self.scores, labels=labels, matrix=values, facts=facts, states={}).averaged(
            entry
        )

    def align(self, is_relevant: BoolArray) -> Aligned:
        """The hits if these of the unjudged items are relevant and the others are not."""
        counts, judged, n_users = self.counts, self.judged, self.counts.n_ranked.size
        user = np.concatenate([judged.code, counts.user[is_relevant]])
        gain = np.concatenate([judged.gain, counts.gain[is_relevant]])
        ideals = perfect_hits(user, gain, n_users, self.alignment)
        found = counts.only(is_relevant | ~self.is_unjudged)
        hits, others, _ = to_hits(found, ideals, self.alignment)
        facts = Facts(hits.n_relevant, hits.n_ranked, {}, 0, Refused(), Refused())
        return Aligned(hits, others, self.scores.in_rankings, facts)

    def extremes(self) -> Iterator[Aligned]:
        """The hits of all labellings that can be the best or the worst."""
        counts = self.counts
        size = np.bincount(counts.user[self.is_unjudged], minlength=counts.n_ranked.size)
        from_last = size[counts.user] - 1 - self.nth
        for m in range(int(size.max(initial=0)) + 1):
            for place in (self.nth, from_last):
                yield self.align(self.is_unjudged & (place < m))

    def share(self, k: int | None, users: IntArray) -> float:
        """Share of unjudged items among the items in the top k of some users."""
        counts, nobody = self.counts.only(self.is_unjudged), np.zeros(0, dtype=np.int64)
        ideals = perfect_hits(nobody, np.zeros(0), counts.n_ranked.size, self.alignment)
        hits = to_hits(counts, ideals, self.alignment)[0]
        return float(ratio(hits.count(k)[users].sum(keepdims=True), hits.depth(k)[users].sum())[0])


def usual_gain(judged: Judged) -> float:
    """The most frequent gain of the relevant judged items, of several the largest; else 1."""
    gain = judged.gain[judged.choices.is_relevant(judged.gain)]
    gains, times = np.unique(gain[gain > 0], return_counts=True)
    return float(gains[times == times.max()][-1]) if gains.size else 1.0


class _Reached:
    """The least and the largest value of each user over labellings."""

    def __init__(self, n_users: int) -> None:
        self.least, self.most = np.full(n_users, np.inf), np.full(n_users, -np.inf)
        self.may_be_left_out = np.zeros(n_users, dtype=bool)

    def add(self, averaged: Averaged) -> None:
        """Add the values of one labelling."""
        users, values = averaged.users, averaged.values
        self.least[users] = np.minimum(self.least[users], values)
        self.most[users] = np.maximum(self.most[users], values)
        left_out = np.ones(self.least.size, dtype=bool)
        left_out[users] = False
        self.may_be_left_out |= left_out

    def ends(self) -> tuple[float, float]:
        """The least and the largest mean; NaN if no labelling has one."""
        lowest = _least_mean(self.least, self.may_be_left_out)
        return lowest, 0.0 - _least_mean(-self.most, self.may_be_left_out)


def _least_mean(values: FloatArray, may_be_left_out: BoolArray) -> float:
    """The least mean of values, infinite for nobody, of which some may be left out."""
    always, free = (np.isfinite(values) & mask for mask in (~may_be_left_out, may_be_left_out))
    order = np.flatnonzero(free)[np.argsort(values[free], kind="stable")]
    n, total = np.count_nonzero(always), values[always].sum()
    means = (total + np.cumsum(values[order])) / (n + np.arange(1, order.size + 1))
    if n:
        means = np.append(total / n, means)
    if not means.size:
        return float("nan")
    taken = always.copy()
    taken[order[: int(np.argmin(means)) + (not n)]] = True
    return moments(values[taken]).mean
