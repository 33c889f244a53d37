"""Reciprocal rank: one over the rank of the first hit, and its expectation by grades."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

import numpy as np

from rankmeter._choices import SHARED_RANKS, Alignment
from rankmeter._evidence.hits import FloatArray, Hits
from rankmeter._evidence.steps import is_noting, note_column, note_sum
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
    if n_places.max(initial=0) > _MOST_PLACES:
        raise NotEnoughMemoryError(
            f"the expected rank of the first of {size.max():,} tied items needs too much memory: "
            "choose ties='realistic', or a smaller n_items"
        )
    expected = np.empty(n_places.size)
    part = np.cumsum(n_places) // _PLACES_AT_ONCE
    for rows in filter(len, np.split(np.arange(n_places.size), np.flatnonzero(np.diff(part)) + 1)):
        start = np.concatenate(([0], np.cumsum(n_places[rows])))
        row = np.repeat(rows, n_places[rows])
        i = np.arange(row.size) - np.repeat(start[:-1], n_places[rows]) + 1
        chance = (m / size)[row]
        for j in range(int(m[rows].max(initial=1)) - 1):
            with_more = np.flatnonzero(m[row] - 1 > j)
            n = size[row[with_more]]
            chance[with_more] *= (n - i[with_more] - j) / (n - 1 - j)
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
    if hits.tied:
        return _sum_expected_cascade(hits, k, stop, term)
    note_column(stop, "stops", hits)
    value = term(hits.within(k) * stop, hits.rank)
    # One hit of every user at a time, from the top: the probability that the reader continues.
    order = np.arange(hits.rank.size) - hits.offsets[hits.user]
    read, reach = np.empty_like(value), np.ones(hits.n_users)
    for i in range(int(order.max(initial=-1)) + 1):
        indices = np.flatnonzero(order == i) if i else hits.offsets[:-1][np.diff(hits.offsets) > 0]
        user = hits.user[indices]
        read[indices] = reach[user]
        reach[user] *= 1.0 - stop[indices]
    return hits.sum(note_column(read, "reads", hits) * value)


def _sum_expected_cascade(
    hits: Hits, k: int | None, stop: FloatArray, term: Callable[[Any, Any], Any]
) -> FloatArray:
    """Expected value of `_sum_cascade` over all orders of the tied groups.

    Within a group of n places and m hits, place t follows j of the hits with hypergeometric
    probability, and which j is again uniform: the mean of R·Π(1 - R) over the choices is a
    ratio of elementary symmetric polynomials e_j of the values 1 - R.
    """
    groups = hits.groups
    total, reach = np.zeros(hits.n_users), np.ones(hits.n_users)
    terms = np.zeros(groups.user.size)
    for index, user in enumerate(groups.user.tolist()):
        n, m, above = int(groups.size[index]), int(groups.hits[index]), int(groups.above[index])
        if n == 1:  # the same bits as without unresolved ties in the block
            stop_here = float(stop[groups.start[index]])
            is_in_top = k is None or above < k
            terms[index] = reach[user] * (term(stop_here, above + 1.0) if is_in_top else 0.0)
            total[user] += terms[index]
            reach[user] *= 1.0 - stop_here
            continue
        stay = 1.0 - stop[groups.start[index] : groups.start[index + 1]]
        symmetric = np.zeros(m + 2)
        symmetric[0] = 1.0
        for x in stay.tolist():
            symmetric[1:] += x * symmetric[:-1].copy()
        in_top = n if k is None else min(max(k - above, 0), n)
        value = 0.0
        for j in range(m):
            mean_stop = (m - j) * symmetric[j] - (j + 1) * symmetric[j + 1]
            # P(j hits in the first t - 1 places and one at place t), over the (m choose j) (m - j)
            # ways in which they can be chosen.
            ways = [
                term(math.comb(t - 1, j) * math.comb(n - t, m - j - 1) / math.comb(n, m), above + t)
                for t in range(1, in_top + 1)
            ]
            value += mean_stop * math.fsum(ways) / (math.comb(m, j) * (m - j))
        terms[index] = reach[user] * value
        total[user] += terms[index]
        reach[user] *= symmetric[m]
    return note_sum(total, terms, hits, groups.above + 1)


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
