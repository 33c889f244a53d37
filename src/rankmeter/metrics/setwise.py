"""Metrics of the set of items in the top k, whatever their order."""

from __future__ import annotations

import math
from typing import Annotated, Literal

import numpy as np

from rankmeter._checks import counted, number, refused
from rankmeter._hits import FloatArray, Hits, IntArray, ratio
from rankmeter._steps import column, worked
from rankmeter.metrics._registry import Example, register
from rankmeter.metrics.states import Defined, Ratio

PrecisionDenominator = Literal["k", "ranked", "relevant"]


def _length(hits: Hits, k: int | None, denominator: PrecisionDenominator) -> IntArray:
    """Length of each user's list, as the denominator of precision has it."""
    if denominator == "ranked":
        return hits.depth(k)
    length = hits.n_ranked if k is None else np.full(hits.n_users, k)
    return length if denominator == "k" else np.minimum(hits.n_relevant, length)


@register("Precision", synonyms=("p", "prec"))
def precision(
    hits: Hits, k: int | None = None, *, denominator: PrecisionDenominator = "k"
) -> Ratio:
    """Share of the top k that is relevant.

    Parameters
    ----------
    denominator : {"k", "ranked", "relevant"}
        What the hits are divided by when a list is shorter than k: ``k``; those in the
        list, ``min(k, n_ranked)``; or ``min(k, n_relevant)``, which some tools call R-precision
        and trec_eval ``relative_P``.

    Notes
    -----
    Edge cases: an empty ranking has precision 0. Without a cutoff k is the length of the ranking,
    in every denominator.

    Examples
    --------
    Items 1, 6 and 9 are relevant, at ranks 5, 2 and 8: two of the first five.

    >>> import rankmeter as rm
    >>> ranking = {"u": [4, 6, 2, 3, 1, 8, 10, 9, 5, 7]}
    >>> rm.evaluate(ranking, {"u": {1, 6, 9}}, "precision@5")["precision@5"].mean
    0.4
    """
    return Ratio(hits.count(k), _length(hits, k, denominator), ("hits", "length"))


@register("Recall", synonyms=("r", "rec", "sensitivity"))
def recall(
    hits: Hits, k: int | None = None, *, denominator: Literal["relevant", "min"] = "relevant"
) -> Ratio:
    """Share of the relevant items that the top k contains.

    Parameters
    ----------
    denominator : {"relevant", "min"}
        All relevant items, or no more than fit into the list: ``min(n_relevant, k)``.

    Notes
    -----
    Edge cases: an empty ranking has recall 0. With exactly one relevant item recall equals the hit
    rate.

    Examples
    --------
    Two of the three relevant items are in the first five.

    >>> import rankmeter as rm
    >>> ranking = {"u": [4, 6, 2, 3, 1, 8, 10, 9, 5, 7]}
    >>> round(rm.evaluate(ranking, {"u": {1, 6, 9}}, "recall@5")["recall@5"].mean, 4)
    0.6667
    """
    whole = hits.n_relevant
    if denominator == "min" and k is not None:
        whole = np.minimum(whole, k)
    return Ratio(hits.count(k), whole, ("hits", "relevant"))


@register("Hit rate", synonyms=("hr", "hits", "hit", "hit_ratio", "hitrate", "success"))
def hit_rate(hits: Hits, k: int | None = None) -> FloatArray:
    """Whether the top k contains anything relevant; averaged, the share of users served.

    Also known as hit ratio, success@k and, for link prediction, Hits@k.

    Notes
    -----
    Edge cases: an empty ranking has no hit. An unresolved tie of n items, m of them relevant, of
    which t fall into the top k, holds no hit there with probability C(n - t, m) / C(n, m).

    Examples
    --------
    First hits at ranks 3, 2 and 1: one of three users is served at k = 1, all at k = 3.

    >>> import rankmeter as rm
    >>> lists, truth = ["xyA", "xBy", "Cxy"], [{"A"}, {"B"}, {"C"}]
    >>> result = rm.evaluate([list(items) for items in lists], truth, "hits@1,3")
    >>> round(result["hits@1"].mean, 3), result["hits@3"].mean
    (0.333, 1.0)
    """
    if not hits.tied:
        found = (hits.first < np.inf if k is None else hits.first <= k).astype(np.float64)
        text = "first_hit <= k" if k else "first_hit < infinity"
        return worked(found, text, first_hit=hits.first, k=k, infinity=None)
    groups = hits.groups
    inside = groups.size if k is None else np.clip(k - groups.above, 0, groups.size)
    miss = column(_no_hit(groups.size, groups.hits, inside), "no hit", hits, groups.above + 1)
    # A miss needs no hit in any group; only one group straddles the cutoff, the others are certain.
    result = np.ones(hits.n_users)
    np.multiply.at(result, groups.user, miss)
    return worked(1.0 - result, "1 - no_hit", no_hit=result)


def check_catalogue(hits: Hits, k: int | None, n_items: int | None) -> None:
    """Refuse a catalogue, if it is given, that lacks ranked or relevant items."""
    most = int((hits.depth(k) + hits.n_relevant - hits.count(k)).max(initial=0.0))
    if n_items is not None and n_items < most:
        size = f"the size of the catalogue: a user has {counted(most, 'item')}, ranked or relevant"
        raise refused("n_items", size, n_items, extent=most)


def _no_hit(size: IntArray, relevant: IntArray, inside: IntArray) -> FloatArray:
    """Probability that none of the relevant items of a tied group falls into its first places."""
    probability = np.ones(size.size)
    for i in range(int(relevant.max(initial=0))):
        left = size - inside - i
        factor = np.maximum(left, 0) / np.maximum(size - i, 1)
        probability *= np.where(i < relevant, factor, 1.0)
    return probability


@register("F-measure", synonyms=("f", "f1", "f_measure", "f_score"))
def f_beta(
    hits: Hits,
    k: int | None = None,
    *,
    beta: Annotated[float, Example(2.0, 0.5)] = 1.0,
    denominator: PrecisionDenominator = "k",
) -> FloatArray:
    """Weighted harmonic mean of precision and recall: (1 + β²)PR / (β²P + R).

    Parameters
    ----------
    beta : float
        How many times as much recall counts as precision, from 0 to 1e100.
    denominator : {"k", "ranked", "relevant"}
        Denominator of the precision.

    Notes
    -----
    With h hits it equals (1 + β²)h / (β²·n_relevant + denominator), which is 0 without hits.
    Source: van Rijsbergen 1979.

    Examples
    --------
    P@5 = 2/5 and R@5 = 2/3: their harmonic mean is 1/2.

    >>> import rankmeter as rm
    >>> ranking = {"u": [4, 6, 2, 3, 1, 8, 10, 9, 5, 7]}
    >>> rm.evaluate(ranking, {"u": {1, 6, 9}}, "f1@5")["f1@5"].mean
    0.5
    """
    number("beta", beta, least=0, most=1e100)
    length, found = _length(hits, k, denominator), hits.count(k)
    value = ratio((1 + beta**2) * found, beta**2 * hits.n_relevant + length)
    text = "(1 + beta**2) * hits / (beta**2 * relevant + length)"
    return worked(value, text, beta=beta, hits=found, relevant=hits.n_relevant, length=length)


@register("R-precision", synonyms=("rprec", "r_prec", "rprecision"))
def r_precision(hits: Hits, k: int | None = None) -> FloatArray:
    """Precision at rank R, where R is the user's number of relevant items.

    Parameters
    ----------
    k : int, optional
        Cutoff that limits where hits are counted, not the denominator.

    Notes
    -----
    Hits in the top min(R, k), divided by R. Edge cases: a ranking shorter than R is not excused.

    Examples
    --------
    Three items are relevant, and one of them is in the first three.

    >>> import rankmeter as rm
    >>> ranking = {"u": [4, 6, 2, 3, 1, 8, 10, 9, 5, 7]}
    >>> round(rm.evaluate(ranking, {"u": {1, 6, 9}}, "r_precision")["r_precision"].mean, 4)
    0.3333
    """
    depth = hits.n_relevant if k is None else np.minimum(hits.n_relevant, k)
    found = hits.sum(hits.within(depth))
    value = ratio(found, hits.n_relevant)
    return worked(value, "hits / relevant", hits=found, relevant=hits.n_relevant)


@register("Accuracy", synonyms=("acc",), needs_relevant=False)
def accuracy(
    hits: Hits,
    k: int | None = None,
    *,
    n_items: Annotated[int, Example(100, 50, 16)],
    chosen: Literal["ranked", "k"] = "ranked",
) -> FloatArray:
    """Share of the catalogue that is correctly recommended or correctly left out.

    Parameters
    ----------
    k : int, optional
        Cutoff: the top k are "recommended"; without it the whole ranking is.
    n_items : int
        Size of the catalogue: at least the items that one user is recommended or finds relevant.
    chosen : {"ranked", "k"}
        How many items of a list shorter than k are recommended: those ``ranked``, or nevertheless
        ``k``, with the empty places counted as wrong.

    Notes
    -----
    (TP + TN) / n_items. Read it with care: obviously irrelevant items dominate it, so recommending
    nothing scores 1 - n_relevant / n_items; and it ignores order. With ``k`` it is
    below 0 if k exceeds the catalogue.

    Examples
    --------
    Ten items; of the five recommended two are right, and of the five left out one is relevant:
    2 + 4 items out of 10 are classified correctly.

    >>> import rankmeter as rm
    >>> ranking = {"u": [4, 6, 2, 3, 1, 8, 10, 9, 5, 7]}
    >>> rm.evaluate(ranking, {"u": {1, 6, 9}}, "accuracy@5", n_items=10)["accuracy@5"].mean
    0.6
    """
    check_catalogue(hits, k, n_items)
    found = hits.count(k)
    length = hits.depth(k) if chosen == "ranked" or k is None else k
    missed = hits.n_relevant - found
    wrong = worked(
        (length - found) + missed, "length - hits + missed", "wrong", length=length, hits=found,
        missed=missed,
    )  # fmt: skip
    return worked(1.0 - wrong / n_items, "1 - wrong / n_items", wrong=wrong, n_items=n_items)


@register("Fall-out", increasing=False, needs_relevant=False, synonyms=("fall_out", "fpr"))
def fallout(
    hits: Hits, k: int | None = None, *, n_items: Annotated[int | None, Example(100, 50)]
) -> Ratio:
    """Share of the irrelevant candidates that are in the top k.

    Parameters
    ----------
    n_items : int or None
        Number of candidates of each user, at least those in the top k or relevant; ``none`` takes
        the ranked items, also those below k.

    Notes
    -----
    Also known as the false positive rate. A user whose candidates are all
    relevant is undefined. Source: van Rijsbergen 1979.

    Examples
    --------
    Ten items, three of them relevant. Of the seven others three are in the first five.

    >>> import rankmeter as rm
    >>> ranking = {"u": [4, 6, 2, 3, 1, 8, 10, 9, 5, 7]}
    >>> result = rm.evaluate(ranking, {"u": {1, 6, 9}}, "fallout@5", n_items=10)
    >>> round(result["fallout@5"].mean, 4)
    0.4286
    """
    check_catalogue(hits, k, n_items)
    others = hits.n_ranked - hits.count(None) if n_items is None else n_items - hits.n_relevant
    return Defined(hits.depth(k) - hits.count(k), others, ("irrelevant_in_top", "irrelevant"))


@register("Matthews correlation", low=-1.0, synonyms=("matthews_corrcoef", "phi_coefficient"))
def mcc(
    hits: Hits,
    k: int | None = None,
    *,
    n_items: Annotated[int, Example(100, 50)],
    chosen: Literal["ranked", "k"] = "ranked",
) -> FloatArray:
    """Correlation of being recommended with being relevant, over the items of the catalogue.

    Parameters
    ----------
    k : int, optional
        Cutoff: the top k are "recommended"; without it the whole ranking is.
    n_items : int
        Size of the catalogue: at least the items that one user is recommended or finds relevant.
    chosen : {"ranked", "k"}
        How many items of a list shorter than k are recommended, as in `accuracy`.

    Notes
    -----
    Also known as the phi coefficient; 0 for a random choice, and if all items are recommended or
    none. With ``chosen=k`` it is undefined if k exceeds the catalogue. Source: Matthews, Biochimica
    et Biophysica Acta 1975.

    Examples
    --------
    Ten items; two of the five recommended are relevant, and one of the others:
    (2 · 4 - 3 · 1) / √(5 · 3 · 7 · 5).

    >>> import rankmeter as rm
    >>> ranking = {"u": [4, 6, 2, 3, 1, 8, 10, 9, 5, 7]}
    >>> round(rm.evaluate(ranking, {"u": {1, 6, 9}}, "mcc@5", n_items=10)["mcc@5"].mean, 4)
    0.2182
    """
    check_catalogue(hits, k, n_items)
    length = hits.depth(k) if chosen == "ranked" or k is None else np.full(hits.n_users, k)
    relevant = hits.n_relevant.astype(np.float64)
    # TP · TN - FP · FN, which is linear in TP: exact also for an expected number of hits.
    found, left = hits.count(k), n_items - length
    known = {"n_items": n_items, "hits": found, "length": length, "relevant": relevant}
    covariance = worked(n_items * found - length * relevant,
                        "n_items * hits - length * relevant", "covariance", **known)  # fmt: skip
    scale = np.sqrt(length * relevant * np.maximum(left, 0) * (n_items - relevant))
    text = "sqrt(length * relevant * (n_items - length) * (n_items - relevant))"
    worked(scale, text, "scale", **known)
    value = ratio(covariance, scale)
    worked(value, "covariance / scale", covariance=covariance, scale=scale)
    return np.where(left < 0, np.nan, value)


@register("Cumulative gain", high=math.inf)
def cg(hits: Hits, k: int | None = None) -> FloatArray:
    """Sum of the gains in the top k.

    Notes
    -----
    Order does not matter: see `dcg` for the sum that discounts by rank.

    Examples
    --------
    >>> import rankmeter as rm
    >>> truth = {"u": {"a": 2, "b": 3, "c": 3, "d": 1, "e": 2}}
    >>> rm.evaluate({"u": list("abcde")}, truth, "cg")["cg"].mean
    11.0
    """
    return hits.sum(hits.within(k) * hits.gain)
