"""Reciprocal rank: one over the rank of the first hit, and its expectation by grades."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np

from rankmeter._choices import SHARED_RANKS, Alignment
from rankmeter._evidence.hits import FloatArray, Hits, IntArray, TiedGroups
from rankmeter._evidence.steps import is_noting, note_column
from rankmeter.errors import NotEnoughMemoryError
from rankmeter.errors._checks import check_number, option_error
from rankmeter.metrics._formula import formula
from rankmeter.metrics._ranges import (
    COUNTS_REPEATS,
    SHARE,
    SIGNED_SHARE,
    SIGNED_SHARE_OF_IDEAL,
)
from rankmeter.metrics._registry import Example, register
from rankmeter.metrics.ndcg import LARGEST_GRADE
from rankmeter.metrics.rank_biased_precision import scale_gains


@register(
    "Reciprocal rank",
    synonyms=("mrr", "recip_rank", "reciprocal_rank", "mean_reciprocal_rank"),
    shared=SHARED_RANKS,
)
def rr(hits: Hits, k: int | None = None) -> FloatArray:
    """Reciprocal rank (RR) of the first hit; 0 without a hit in the top k.

    Notes
    -----
    Its mean over users is MRR. Only the first hit matters. In an unresolved tie it is the
    expectation of 1/rank, not 1/expected rank.

    Examples
    --------
    First hits at ranks 3, 2 and 1: (1/3 + 1/2 + 1) / 3.

    >>> import rankmeter as rm
    >>> lists, truth = ["xyA", "xBy", "Cxy"], [{"A"}, {"B"}, {"C"}]
    >>> round(rm.evaluate([list(items) for items in lists], truth, "rr")["rr"].mean, 4)
    0.6111
    """
    if hits.tied:
        return expected_first_weight(hits, lambda rank: 1.0 / rank, k)
    text = "1 / first_hit" if k is None else "(first_hit <= k) / first_hit"
    return formula(text, first_hit=hits.first, k=k)


def expected_first_weight(
    hits: Hits, weight: Callable[[FloatArray], FloatArray], k: int | None
) -> FloatArray:
    """Expected ``weight(rank)`` of each user's first hit, 0 below the cutoff.

    The first of m hits among n tied places is at place i with probability
    C(n - i, m - 1) / C(n, m) = m/n · Π_{j < m-1} (n - i - j) / (n - 1 - j). Beyond place 45 n/m
    it is below 1e-19 together, so the work stays proportional to n however many are relevant.
    Users with the same numbers, such as those without a hit, share the work.
    """
    groups = hits.groups
    lead = np.flatnonzero(groups.before == 0)
    ties = np.stack([groups.above[lead], groups.size[lead], groups.hits[lead]])
    order = np.lexsort(ties)
    first = np.flatnonzero(np.any(np.diff(ties[:, order], prepend=-1), axis=0))
    above, size, m = ties[:, order[first]]
    n_places = np.minimum(size - m + 1, 45 * size // m + 1)
    expected = np.empty(n_places.size)
    for rows in _split_places(n_places):
        row = np.repeat(rows, n_places[rows])
        i = _number_places(n_places[rows]) + 1
        chance = (m / size)[row]
        n, n_hits = size[row], m[row]  # ascending
        for j in range(int(n_hits.max(initial=1)) - 1):
            more = slice(np.searchsorted(n_hits, j + 1, "right"), None)
            chance[more] *= (n[more] - i[more] - j) / (n[more] - 1 - j)
        rank = (above[row] + i).astype(np.float64)
        value = chance * weight(rank)
        if k is not None:
            value = np.where(rank <= k, value, 0.0)
        expected[rows] = np.bincount(row - rows[0], value)
        if is_noting():  # of one user, who has one such tie
            note_column(chance, "first hit here", hits, rank)
            return hits.sum(value, groups.user[lead][row], rank)
    of_lead = np.empty(lead.size)
    of_lead[order] = np.repeat(expected, np.diff(first, append=lead.size))
    return hits.sum(of_lead, groups.user[lead])


_MOST_PLACES = 2**28


_PLACES_AT_ONCE = 2**22


def _split_places(n_places: IntArray) -> Iterator[IntArray]:
    """Split tied groups into parts with few places in total; each part has the rows of its groups.

    Raises
    ------
    NotEnoughMemoryError
        If the places of one group alone need too much memory.
    """
    most = int(n_places.max(initial=0))
    if most > _MOST_PLACES:
        raise NotEnoughMemoryError(
            f"the expected rank over {most:,} places of tied items needs too much memory: "
            "choose ties='realistic', a cutoff, or a smaller n_items"
        )
    part = np.cumsum(n_places) // _PLACES_AT_ONCE
    return filter(len, np.split(np.arange(n_places.size), np.flatnonzero(np.diff(part)) + 1))


def _number_places(n_places: IntArray) -> IntArray:
    """The places of each group: 0, 1, … for one group after the other."""
    start: IntArray = np.cumsum(n_places) - n_places
    return np.arange(n_places.sum()) - np.repeat(start, n_places)


@register("Reciprocal ranks", bounds=COUNTS_REPEATS, reached=False, shared=SHARED_RANKS)
def rr_all(hits: Hits, k: int | None = None) -> FloatArray:
    """Reciprocal ranks: mean over all relevant items of the user; 0 for those not in the top k.

    Notes
    -----
    With one relevant item it is `rr`. Source: ``mean_reciprocal_rank`` of rexmex.

    Examples
    --------
    Two of three relevant items are at ranks 1 and 4: (1 + 1/4) / 3.

    >>> import rankmeter as rm
    >>> result = rm.evaluate({"u": list("axyb")}, {"u": {"a", "b", "c"}}, "rr_all")
    >>> round(result["rr_all"].mean, 4)
    0.4167
    """
    total = hits.sum(hits.weigh(lambda rank: 1.0 / rank, k))
    return formula("sum / relevant", sum=total, relevant=hits.n_relevant)


def _err_bounds(options: Mapping[str, Any], choices: Alignment) -> tuple[float, float]:
    return SHARE if options["gain"] == "binary" else SIGNED_SHARE(options, choices)


@register(
    "Expected reciprocal rank",
    bounds=_err_bounds,
    reached=False,
    synonyms=("expected_reciprocal_rank",),
)
def err(
    hits: Hits,
    k: int | None = None,
    *,
    max_gain: Annotated[float, Example(3.0, 4.0)],
    gain: Literal["linear", "binary"] = "linear",
    stop: Literal["exp2", "linear"] = "exp2",
) -> FloatArray:
    """Expected reciprocal rank (ERR): one over the rank at which a satisfied reader stops.

    Parameters
    ----------
    max_gain : float
        Largest grade of the scale, up to 1000, which no gain may exceed. It is a constant of the
        collection: without it two collections, or two runs, cannot be compared.
    gain : {"linear", "binary"}
        The grades as they are, or 1 for each hit.
    stop : {"exp2", "linear"}
        The probability R that the reader stops at a grade g: (2^g - 1) / 2^max_gain, or
        g / max_gain, as in CatBoost.

    Notes
    -----
    Σ (1 / rank) R Π (1 - R above). Source: Chapelle et al., CIKM 2009.

    Examples
    --------
    Grades 1 and 1 at ranks 1 and 2 of a scale up to 1: 1/2 + 1/2 · 1/2 · 1/2.

    >>> import rankmeter as rm
    >>> result = rm.evaluate({"u": ["a", "b"]}, {"u": {"a", "b"}}, "err(max_gain=1)")
    >>> result["err(max_gain=1)"].mean
    0.625
    """
    return _sum_cascade(
        hits, k, _stop_probabilities(hits, max_gain, gain, stop), lambda x, rank: x / rank
    )


def _stop_probabilities(hits: Hits, max_gain: float, gain: str, stop: str) -> FloatArray:
    """The probability that the reader stops at each hit."""
    grade = np.ones_like(hits.gain) if gain == "binary" else hits.gain
    if gain == "linear":
        scale_gains(hits, max_gain)
    else:
        check_number("max_gain", max_gain, least=1)
    if max_gain > LARGEST_GRADE:
        hint = ": err is for grades on a small scale, so grade the gains first"
        raise option_error("max_gain", f"≤ {LARGEST_GRADE}", max_gain, hint=hint)
    if stop == "linear":
        return grade / max_gain
    probability: FloatArray = (np.exp2(grade) - 1.0) / 2.0**max_gain
    return probability


def _sum_cascade(
    hits: Hits, k: int | None, stop: FloatArray, term: Callable[[Any, Any], Any]
) -> FloatArray:
    """Σ ``term(probability of stopping here, rank)`` over the hits in the top k."""
    settled = hits.settle(stop)
    if settled.tied:
        groups = settled.groups
        value = _sum_over_places(groups, k, stop, term)
        stay = np.multiply.reduceat(1.0 - stop, groups.start[:-1])
        reach = _reach_probability(groups.user, stay, hits.n_users)
        return hits.sum(reach * value, groups.user, groups.above + 1)
    note_column(stop, "stops", hits)
    value = term(settled.within(k) * stop, settled.rank)
    reach = _reach_probability(hits.user, 1.0 - stop, hits.n_users)
    return hits.sum(note_column(reach, "reads", hits) * value)


def _reach_probability(user: IntArray, stay: FloatArray, n_users: int) -> FloatArray:
    """Product of `stay` over what is above within the user: the reader gets as far as this."""
    number = _number_places(np.bincount(user, minlength=n_users))
    from_top = np.argsort(number, kind="stable")
    reached, reach = np.empty_like(stay), np.ones(n_users)
    # The first hit (or tied group) of every user at once, then the second of every user, …
    for rows in np.split(from_top, np.cumsum(np.bincount(number))[:-1]):
        reached[rows] = reach[user[rows]]
        reach[user[rows]] *= stay[rows]
    return reached


_REACHED = 45.0
"""Logarithm: what is reached with a smaller probability than exp(-45), 1e-19, counts nothing."""
_FEW = 256
"""Hits of a tied group that are looked at one by one in any case."""
_N_TERMS = 32
"""Terms of a series whose term j is below 1/√j!: the others are below 1e-17 together."""


def _sum_over_places(
    groups: TiedGroups, k: int | None, stop: FloatArray, term: Callable[[Any, Any], Any]
) -> FloatArray:
    """Expected Σ ``term(probability of stopping here, rank)`` over the places of each tied group.

    The mean probability of passing t of n places is at most (1 - mean of R)^t (Maclaurin), so that
    the work is proportional to n however many hits there are: places below are left out.
    """
    in_top = groups.count_in_top(k)
    total, least = (f.reduceat(stop, groups.start[:-1]) for f in (np.add, np.minimum))
    mean = total / groups.size
    is_mixed = (mean > 0) & (mean < 1)
    mean = np.where(is_mixed, mean, 0.5)
    n_read = np.where(is_mixed, (_REACHED - np.log(mean)) / -np.log1p(-mean) + 1.0, 1.0)
    n_read[least < 0] = np.inf
    n_places = np.minimum(in_top, n_read).astype(np.int64)
    group = np.repeat(np.arange(total.size), groups.hits)
    ordered, n_alone = stop[np.lexsort((-stop, group))], groups.hits.copy()
    for i in np.flatnonzero((groups.hits > _FEW) & (least >= 0) & is_mixed).tolist():
        own = ordered[groups.start[i] : groups.start[i + 1]]
        n_alone[i] = _count_alone(own, int(groups.size[i]), int(n_places[i]))
    tied = _Tied(groups.size, n_alone, groups.start, ordered)
    sums = np.empty(total.size)
    order = np.argsort(-n_alone, kind="stable")
    for part in _split_places(n_places[order]):
        rows = order[part]
        n, place = n_places[rows], _number_places(n_places[rows])
        stops = tied.stop_probability(rows, n, place)
        value = term(stops, np.repeat(groups.above[rows] + 1.0, n) + place)
        sums[rows] = np.bincount(np.repeat(np.arange(rows.size), n), value, rows.size)
    return sums


@dataclass(frozen=True)
class _Tied:
    """Tied groups whose hits stop a reader; those that are looked at one by one are the first."""

    size: IntArray
    n_alone: IntArray  # hits that are looked at one by one
    start: IntArray  # (n_groups + 1,) where the hits of each group begin
    stop: FloatArray  # (n_hits,)

    def stop_probability(self, rows: IntArray, n_places: IntArray, place: IntArray) -> FloatArray:
        """The probability that the reader stops at each of the first places of some groups.

        One hit after the other is put among the other items, where each place is equally likely:
        it makes n of n - 1 items, and is above place t, at it or below it with probability t/n,
        1/n or the rest (t counts from 0). All terms are positive.

        `rows` are the groups by descending `n_alone`, and `place` their places one after the other.
        """
        stops, passed = np.zeros(place.size), np.ones(place.size)  # at a place; all places above it
        begin, end = n_places.cumsum() - n_places, n_places.cumsum()
        n_others = self.size[rows] - self.n_alone[rows]
        for i in np.flatnonzero(np.diff(self.start)[rows] > self.n_alone[rows]).tolist():
            first, last = self.start[rows[i]], self.start[rows[i] + 1]
            many = self.stop[first + self.n_alone[rows[i]] : last]
            at = slice(begin[i], end[i])
            stops[at], passed[at] = _stop_among_many(many, int(n_others[i]), place[at])
        fewer_hits = -self.n_alone[rows]  # ascending
        for nth in range(-int(fewer_hits.min(initial=0))):
            n_groups = int(np.searchsorted(fewer_hits, -nth))
            n, top = n_places[:n_groups], slice(end[n_groups - 1])
            here = np.repeat(self.stop[self.start[rows[:n_groups]] + nth], n)
            n_items = np.repeat(n_others[:n_groups] + nth + 1.0, n)
            before = np.minimum(place[top], n_items)  # places that are not there yet are not used
            above = np.zeros((2, before.size))
            above[:, 1:] = stops[top][:-1], passed[top][:-1]
            above *= (1.0 - here) * before
            below = n_items - before
            stays = np.maximum(below - 1.0, 0.0) * stops[top]
            stops[top] = (stays + above[0] + here * passed[top]) / n_items
            passed[top] = (below * passed[top] + above[1]) / n_items
        return stops


def _count_alone(stop: FloatArray, size: int, n_places: int) -> int:
    """How many hits, the likeliest stops first, are too uneven for `_stop_among_many`."""
    remaining = np.cumsum(stop[::-1] ** 2)[::-1]
    n_others = size - np.arange(stop.size)
    is_even = remaining * (n_places / (n_others * (1.0 - stop.sum() / size))) ** 2 <= 1.0
    return int(np.argmax(is_even)) if is_even.any() else stop.size


def _stop_among_many(stop: FloatArray, size: int, place: IntArray) -> tuple[FloatArray, FloatArray]:
    """Probabilities of stopping at each place of a group, and of passing all places above it.

    With the mean s of 1 - R over all items, misses included, and d = (1 - R - s) / s, the mean of
    the products of t of n factors is s^t Σ_j e_j(d) C(t, j) / C(n, j), for the elementary symmetric
    polynomials e_j. Since Σ d is 0 and Σ (d t / n)² at most 1, term j is below 1/√j!.
    """
    mean_stop = stop.sum() / size
    s, scale = 1.0 - mean_stop, max(int(place.size), 1) / size
    d = (mean_stop - stop) / s * scale
    miss, n_misses = mean_stop / s * scale, size - stop.size
    powers = [0.0, 0.0]
    powers += [float((d**j).sum() + n_misses * miss**j) for j in range(2, _N_TERMS + 1)]
    symmetric = [1.0, 0.0]
    for j in range(2, _N_TERMS + 1):  # Newton
        signed = ((-1) ** (i - 1) * symmetric[j - i] * powers[i] for i in range(2, j + 1))
        symmetric.append(math.fsum(signed) / j)
    passed, stops, ways = np.zeros(place.size), np.zeros(place.size), np.ones(place.size)
    for j in range(min(_N_TERMS, size)):  # ways: C(t, j) / C(n, j) / scale^j
        passed += symmetric[j] * ways
        stops += (
            mean_stop * symmetric[j] - s * symmetric[j + 1] / scale * (j + 1) / (size - j)
        ) * ways
        ways *= (place - j) / ((size - j) * scale)
    power = s**place
    return stops * power, passed * power


def _nerr_bounds(options: Mapping[str, Any], choices: Alignment) -> tuple[float, float]:
    binary = options["gain"] == "binary"
    return (COUNTS_REPEATS if binary else SIGNED_SHARE_OF_IDEAL)(options, choices)


@register("Normalized expected reciprocal rank", bounds=_nerr_bounds)
def nerr(
    hits: Hits,
    k: int | None = None,
    *,
    max_gain: Annotated[float, Example(3.0, 4.0)],
    gain: Literal["linear", "binary"] = "linear",
    stop: Literal["exp2", "linear"] = "exp2",
) -> FloatArray:
    """Normalized expected reciprocal rank: ERR over that of the ideal ranking, cut at the same k.

    Parameters
    ----------
    max_gain, gain, stop
        As in `err`.

    Notes
    -----
    The ideal ranking leaves out items of negative gain. Source: as `err`.

    Examples
    --------
    The only relevant item at rank 2 instead of 1.

    >>> import rankmeter as rm
    >>> rm.evaluate({"u": ["x", "a"]}, {"u": {"a"}}, "nerr(max_gain=1)")["nerr(max_gain=1)"].mean
    0.5
    """
    value = err(hits, k, max_gain=max_gain, gain=gain, stop=stop)
    perfect = hits.best if gain == "binary" else hits.best.without_losses
    best = err(perfect, k, max_gain=max_gain, gain=gain, stop=stop)
    return formula("err / ideal", nothing=np.nan, err=value, ideal=best)


@register("PFound", bounds=SIGNED_SHARE, reached=False)
def pfound(
    hits: Hits,
    k: int | None = None,
    *,
    max_gain: Annotated[float, Example(3.0, 4.0)],
    decay: Annotated[float, Example(0.5)] = 0.85,
) -> FloatArray:
    """PFound: probability that a reader, who may stop after each item, finds what is relevant.

    Parameters
    ----------
    max_gain : float
        Largest grade of the scale, which no gain may exceed: an item of gain g is what the reader
        looked for with probability g / max_gain. It is 1 where gains are probabilities.
    decay : float
        The probability that a reader who has found nothing looks at the next item, from 0 to 1.

    Notes
    -----
    Σ decay^(rank - 1) R Π (1 - R above): it is `err` with other weights of the ranks. Source: Gulin
    et al., Yandex at ROMIP 2009; ``PFound`` of CatBoost.

    Examples
    --------
    Found at rank 1 with probability 1/2, and otherwise at rank 3 for certain: 1/2 + 0.85² / 2.

    >>> import rankmeter as rm
    >>> result = rm.evaluate({"u": list("axb")}, {"u": {"a": 1, "b": 2}}, "pfound(max_gain=2)")
    >>> result["pfound(max_gain=2)"].mean
    0.86125
    """
    check_number("decay", decay, least=0, most=1)
    share = scale_gains(hits, max_gain)
    return _sum_cascade(hits, k, share, lambda x, rank: x * decay ** (rank - 1.0))
