"""AUC: how often the better one of a pair of items is ranked above the other."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np

from rankmeter._choices import Alignment
from rankmeter._evidence.hits import FloatArray, Hits, IntArray
from rankmeter.metrics._formula import formula
from rankmeter.metrics._ranges import ANY, vary
from rankmeter.metrics._registry import Example, register
from rankmeter.metrics.states import Defined, Ratio

Absent = Literal["random", "last"]


@register(
    "Area under the ROC curve",
    bounds=vary(repeated=ANY),
    reached=False,
    synonyms=("roc_auc", "roc_auc_score"),
    shared=("realistic", "together"),
)  # the ideal of a user without irrelevant candidates is undefined
def auc(
    hits: Hits,
    *,
    n_items: Annotated[int | None, Example(100, 50)] = None,
    absent: Absent = "random",
    smooth: bool = False,
) -> Ratio:
    """Area under the ROC curve (AUC): share of pairs with the relevant candidate above the other.

    Parameters
    ----------
    n_items : int, optional
        Number of items that could be ranked, the same ones for each user. Without it the
        candidates are the ranked items and the relevant ones: right for rankings of all candidates,
        while for short lists the value depends on their length.
    absent : {"random", "last"}
        Where relevant items are that the ranking does not contain: in a random order with all other
        candidates below it (their pairs count as 1/2), or ``last``, below all others.
    smooth : bool
        Whether to add an irrelevant candidate that is not ranked, as Elliot does.

    Notes
    -----
    A random order has 1/2. Tied items count as 1/2 with ``ties="expected"`` or ``"realistic"``, and
    as 0 with ``"pessimistic"``. A user whose candidates are all relevant is undefined. With
    ``aggregate="micro"`` it is `gauc`. Sources: Hanley and McNeil, Radiology 1982; Rendle et al.,
    UAI 2009.

    Examples
    --------
    Hits at ranks 2 and 5 of eight items: the first is above five of the six others, the second
    above three.

    >>> import rankmeter as rm
    >>> round(rm.evaluate({"u": list("abcdefgh")}, {"u": {"b", "e"}}, "auc")["auc"].mean, 4)
    0.6667
    """
    ordered, negatives = _ordered_pairs_and_negatives(hits, n_items, absent, smooth=smooth)
    return _weight_users(ordered, hits.n_relevant * negatives, hits.n_relevant)


@register(
    "AUC weighted by user",
    bounds=vary(repeated=ANY),
    reached=False,
    aggregate="micro",
    synonyms=("group_auc",),
    shared=("realistic", "together"),
)
def gauc(
    hits: Hits,
    *,
    n_items: Annotated[int | None, Example(100, 50)] = None,
    absent: Absent = "random",
    smooth: bool = False,
    weight: Literal["relevant", "candidates"] = "relevant",
) -> Ratio:
    """AUC weighted by user (GAUC): mean of the users' AUC, weighted by their relevant items.

    Parameters
    ----------
    n_items, absent, smooth
        As in `auc`.
    weight : {"relevant", "candidates"}
        The weight of a user: the relevant items, or all candidates, as for impressions.

    Notes
    -----
    The value of a user is the `auc`; users for whom it is undefined have no weight. Sources: Zhu et
    al., KDD 2017 (clicks); Zhou et al., KDD 2018 (impressions).

    Examples
    --------
    AUC 1 with one relevant item, and 1/2 with two.

    >>> import rankmeter as rm
    >>> lists, truth = {"u": list("abc"), "v": list("abc")}, {"u": {"a"}, "v": {"a", "c"}}
    >>> round(rm.evaluate(lists, truth, "gauc")["gauc"].mean, 4)
    0.6667
    """
    ordered, negatives = _ordered_pairs_and_negatives(hits, n_items, absent, smooth=smooth)
    positives = hits.n_relevant
    shares = positives if weight == "relevant" else positives + negatives
    return _weight_users(ordered, positives * negatives, shares)


def _weight_users(part: FloatArray, pairs: FloatArray, weight: IntArray | FloatArray) -> Ratio:
    """Weight the AUC of each user by `weight`; an undefined AUC has weight 0."""
    value = formula("ordered / pairs", ordered=part, pairs=pairs)
    return Defined(value * weight, np.where(pairs > 0, weight, 0.0), None)


def _ordered_pairs_and_negatives(
    hits: Hits, n_items: int | None, absent: Absent, *, smooth: bool
) -> tuple[FloatArray, FloatArray]:
    """Numbers of pairs in the right order, and of irrelevant candidates."""
    n_hits = hits.count(None)
    misses = hits.n_ranked - n_hits
    negatives = misses if n_items is None else n_items - hits.n_relevant.astype(np.float64)
    negatives = negatives + smooth
    wrong = hits.sum(_count_misses_above(hits), name="others above")
    text = "hits * irrelevant - wrong"
    if absent == "random":
        text += " + missed * (irrelevant - ranked_irrelevant) / 2"
    ordered = formula(
        text, name="ordered", hits=n_hits, irrelevant=negatives, wrong=wrong,
        missed=hits.n_relevant - n_hits, ranked_irrelevant=misses,
    )  # fmt: skip
    return ordered, negatives


def _count_misses_above(hits: Hits) -> FloatArray:
    """Number of other ranked items above each hit; in an unresolved tie, expected."""
    if not hits.tied:
        return hits.rank - hits.nth
    groups = hits.groups
    above = groups.above - groups.before + (groups.size - groups.hits) / 2
    return np.repeat(above, groups.hits)


def _lauc_bounds(options: Mapping[str, Any], choices: Alignment) -> tuple[float, float]:
    low = -math.inf if options["chosen"] == "k" else 0.0
    return vary((low, 1.0), repeated=ANY)(options, choices)


@register(
    "AUC of the top k",
    bounds=_lauc_bounds,
    open_ties=False,
    synonyms=("limited_auc", "auc_at_k", "roc_auc_at_k"),
)
def lauc(
    hits: Hits,
    k: int | None = None,
    *,
    n_items: Annotated[int | None, Example(100, 50)],
    absent: Absent = "random",
    denominator: Literal["relevant", "min"] = "relevant",
    chosen: Literal["ranked", "k"] = "ranked",
    smooth: bool = False,
) -> FloatArray:
    """AUC of the top k (LAUC): AUC of a ranking of which only the top k is known.

    Parameters
    ----------
    n_items : int or None
        Number of items that could be ranked, the same ones for each user. With ``none``
        only the top k count: its hits against its other items. A user without a hit then has 0, and
        one with only hits 1.
    absent : {"random", "last"}
        Where the relevant items are that the top k does not contain, as in `auc`.
    denominator : {"relevant", "min"}
        With `n_items`: how many items are relevant, all of them or ``min(n_relevant, k)``.
    chosen : {"ranked", "k"}
        How many items the top k of a shorter list has: those ``ranked``, or nevertheless ``k``.
    smooth : bool
        As in `auc`.

    Notes
    -----
    Everything below the top k is in a random order, or with ``absent=last`` the relevant items are
    below all others. With ``chosen=k`` it is below 0 if k exceeds the catalogue. If nothing is
    irrelevant, a hit counts as 1. With ``n_items=none`` the loss of a hit can raise it, since only
    the items of the top k are compared. Sources: Schröder, Thiele and Lehner, UCERSTI 2011;
    implicit, RePlay and Elliot, which differ in the options.

    Examples
    --------
    Ten items. In the top 3 one hit is below one of the eight irrelevant items; the other relevant
    item is one of seven that are left: (7/8 + 6/8 · 1/2) / 2.

    >>> import rankmeter as rm
    >>> ranking, truth = {"u": list("abcdefgh")}, {"u": {"b", "e"}}
    >>> rm.evaluate(ranking, truth, "lauc@3", n_items=10)["lauc@3"].mean
    0.625
    """
    n_hits = hits.count(k)
    above = hits.sum(hits.within(k) * _count_misses_above(hits), name="others above")
    length = hits.depth(k) if k is None or chosen == "ranked" else k
    positives, negatives = n_hits, length - n_hits + smooth
    if n_items is not None:
        positives = hits.n_relevant.astype(np.float64)
        negatives = n_items - positives + smooth
    if n_items is not None and k is not None and denominator == "min":
        positives = np.minimum(positives, k)
    text = "hits * irrelevant - wrong"
    if absent == "random":
        text += " + (relevant - hits) * (irrelevant - (length - hits)) / 2"
    terms: dict[str, Any] = {"hits": n_hits, "irrelevant": negatives, "relevant": positives}
    ordered = formula(text, name="ordered", wrong=above, length=length, **terms)
    text = "ordered / (relevant * irrelevant) if irrelevant > 0 else hits / relevant"
    return formula(text, ordered=ordered, **terms)


@register("Partial AUC", reached=False, synonyms=("partial_auc",))
def pauc(
    hits: Hits,
    k: int | None = None,
    *,
    positives: Literal["all", "top"] = "all",
    insufficient: Literal["score", "undefined"] = "score",
) -> FloatArray:
    """Partial AUC: AUC of the relevant items against the k irrelevant items that are ranked best.

    Parameters
    ----------
    k : int, optional
        The number of irrelevant items, wherever they are ranked; without it all ranked ones.
    positives : {"all", "top"}
        All relevant items; or the best min(n_relevant, k) of them, which is called pAp@k.
    insufficient : {"score", "undefined"}
        A user for whom relevant items are missing from a list with fewer than k others: these items
        count as 0, or the user is ``undefined``.

    Notes
    -----
    Rank at least n_relevant + k items: k is not a cutoff of the ranking. Relevant items that are
    not ranked count as 0. Sources: Budhiraja et al., 2020 (arXiv 2001.10495); Hiranandani et al.,
    ICML 2020.

    Examples
    --------
    The two best irrelevant items are at ranks 2 and 3: the hit at rank 1 is above both of them,
    that at rank 4 above none.

    >>> import rankmeter as rm
    >>> rm.evaluate({"u": list("axyb")}, {"u": {"a", "b"}}, "pauc@2")["pauc@2"].mean
    0.5
    """
    n_hits = hits.count(None)
    misses = hits.n_ranked - n_hits
    max_misses = misses if k is None else np.full(hits.n_users, float(k))
    n_positives = hits.n_relevant.astype(np.float64)
    if positives == "top":
        n_positives = np.minimum(n_positives, max_misses)
    even = hits.even
    if even.tied:
        groups = even.groups
        best = np.clip(n_positives[groups.user] - groups.before, 0, groups.hits)
        remaining = max_misses[groups.user] - (groups.above - groups.before)
        expected = _expected_remaining_misses(remaining, groups.size, groups.hits, best)
        ordered = hits.sum(expected, groups.user, groups.above + 1)
    else:
        remaining = np.maximum(max_misses[hits.user] - (even.rank - even.nth), 0.0)
        number = np.arange(hits.rank.size) - hits.offsets[hits.user]
        ordered = hits.sum(np.where(number < n_positives[hits.user], remaining, 0.0))
    value = formula(
        "sum / (relevant * others)", nothing=np.nan if k is None else 0.0,
        sum=ordered, relevant=n_positives, others=max_misses,
    )  # fmt: skip
    if insufficient == "undefined":
        return np.where((misses < max_misses) & (n_hits < hits.n_relevant), np.nan, value)
    return value


def _expected_remaining_misses(
    remaining: FloatArray, size: IntArray, relevant: IntArray, best: FloatArray
) -> FloatArray:
    """Expected Σ max(remaining - misses before, 0) over the best hits of each tied group.

    The number of misses before any hit is uniform on 0, 1, …, all misses.
    """
    misses = size - relevant
    terms = np.clip(remaining, 0, misses + 1)
    expected: FloatArray = relevant * terms * (remaining - (terms - 1) / 2) / (misses + 1)
    for i in np.flatnonzero((best < relevant) & (terms > 0)):
        tie = int(relevant[i]), int(misses[i]), int(best[i])
        n_hits = _best_hits_by_misses_above(*tie, int(terms[i]))
        expected[i] = n_hits @ (remaining[i] - np.arange(n_hits.size))
    return expected


def _best_hits_by_misses_above(hits: int, misses: int, best: int, n_misses: int) -> FloatArray:
    """Expected number of the best hits of a tied group with 0, 1, …, `n_misses` - 1 misses above.

    Of all hits it is hits / (misses + 1) for each number x; of the best b of them it is lower by
    C(x + b, x + 1) C(misses - x + hits - 1 - b, misses - x + 1) / C(hits + misses, hits) from x - 1
    to x (for x = -1 it is that of all hits).
    """
    if not best:
        return np.zeros(n_misses)
    i, x = (np.arange(n, dtype=np.longdouble) for n in (best, n_misses))  # with digits to spare
    first = np.log(np.append((hits - 1 - i) / (hits + misses - i), hits / (misses + 1))).sum()
    x = x[1:] - 1
    ratios = (x + best) / (x + 1) * (misses - x + 1) / (misses - x + hits - best)
    log = np.concatenate(([first], first + np.cumsum(np.log(ratios))))
    n_hits: FloatArray = (hits / (misses + 1) - np.cumsum(np.exp(log))).astype(np.float64)
    return n_hits


@register(
    "Ordered pair accuracy",
    bounds=vary(repeated=ANY),
    reached=False,
    synonyms=("ordered_pair_accuracy",),
    shared=("realistic", "together"),
)
def opa(hits: Hits, *, n_items: Annotated[int | None, Example(100, 50)] = None) -> Ratio:
    """Ordered pair accuracy (OPA): share of the pairs with different gains in the right order.

    Parameters
    ----------
    n_items : int, optional
        Number of items that could be ranked, as in `auc`.

    Notes
    -----
    A candidate that is not relevant has the gain 0. Tied items count as 1/2, also all candidates
    below the ranking. With equal gains it is `auc`. With ``aggregate="micro"`` each pair has the
    same weight. A user without such a pair is undefined. Source: ``OPAMetric`` of TF-Ranking.

    Examples
    --------
    Of the three pairs one is in the wrong order: gain 1 above gain 2.

    >>> import rankmeter as rm
    >>> truth = {"u": {"a": 1, "b": 2}}
    >>> round(rm.evaluate({"u": ["a", "b", "x"]}, truth, "opa")["opa"].mean, 4)
    0.6667
    """
    ordered, negatives = _ordered_pairs_and_negatives(hits, n_items, "random", smooth=False)
    lower, equal = _count_lower_and_equal_gains(hits, hits.best)
    lower_hits, equal_hits = _count_lower_and_equal_gains(hits, hits)
    all_pairs = hits.best.sum(_count_lower_and_equal_gains(hits.best, hits.best)[0])
    within_hits = hits.sum(lower_hits)
    relevant, n_hits = hits.n_relevant[hits.user], hits.count(None)[hits.user]
    hit_and_missed = hits.sum(relevant - equal - (n_hits - equal_hits))  # found, and missed
    right, above = _count_hit_pairs_in_order(hits), hits.sum(lower - lower_hits)
    of_missed = (all_pairs - within_hits - hit_and_missed) / 2
    terms: dict[str, Any] = {"with_irrelevant": ordered, "of_hits": right, "above_missed": above}
    text = "with_irrelevant + of_hits + above_missed + of_missed"
    ordered = formula(text, name="ordered", of_missed=of_missed, **terms)
    return Defined(ordered, all_pairs + hits.n_relevant * negatives, ("ordered", "pairs"))


def _count_lower_and_equal_gains(hits: Hits, compared: Hits) -> tuple[FloatArray, FloatArray]:
    """Numbers of the user's compared items with a lower gain than each hit, and with equal gain."""
    gains = np.unique(np.concatenate([hits.gain, compared.gain]))

    def gain_keys(ranked: Hits) -> IntArray:
        index: IntArray = ranked.user * gains.size + np.searchsorted(gains, ranked.gain)
        return index

    keys, hit_keys = np.sort(gain_keys(compared)), gain_keys(hits)
    first = np.searchsorted(keys, hit_keys)
    lower = first - np.searchsorted(keys, hits.user * gains.size)
    equal = np.searchsorted(keys, hit_keys, "right") - first
    return lower.astype(np.float64), equal.astype(np.float64)


def _count_hit_pairs_in_order(hits: Hits) -> FloatArray:
    """Numbers of pairs of hits with the larger gain above; tied pairs count as 1/2."""
    new = np.ones(hits.rank.size, dtype=bool)
    new[1:] = (hits.rank[1:] != hits.rank[:-1]) | (hits.user[1:] != hits.user[:-1])
    run = np.cumsum(new) - 1  # hits of equal rank
    order = np.lexsort((-hits.gain, run))
    _, level = np.unique(hits.gain[order], return_inverse=True)
    tied = _count_falling_pairs(level, run)
    in_order = _count_falling_pairs(level, hits.user)
    return np.bincount(hits.user, in_order - tied / 2, hits.n_users).astype(np.float64)


def _count_falling_pairs(level: IntArray, part: IntArray) -> FloatArray:
    """Number of larger levels before each level in its part; parts are in ascending order.

    Two levels differ first in one bit: it is 1 in the larger one.
    """
    larger = np.zeros(level.size)
    for bit in range(int(level.max(initial=0)).bit_length()):
        same = part * (int(level.max()) + 1) + (level >> (bit + 1))
        order = np.argsort(same, kind="stable")
        key, is_larger = same[order], (level[order] >> bit) & 1
        n_larger = np.cumsum(is_larger) - is_larger
        here = n_larger - n_larger[np.searchsorted(key, key)]
        larger[order] += np.where(is_larger, 0, here)
    return larger
