"""Precision and recall: which items are in the top k, whatever their order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np

from rankmeter._choices import SHARED_RANKS, Alignment
from rankmeter._evidence.hits import FloatArray, Hits, IntArray
from rankmeter._evidence.steps import note_column
from rankmeter.errors._checks import check_number
from rankmeter.metrics._formula import formula
from rankmeter.metrics._ranges import COUNTS_REPEATS, SHARE
from rankmeter.metrics._registry import Example, register
from rankmeter.metrics.states import Ratio

PrecisionDenominator = Literal["k", "ranked", "relevant"]


def _denominator_length(hits: Hits, k: int | None, denominator: PrecisionDenominator) -> IntArray:
    """Length of each user's list in the denominator of precision."""
    if denominator == "ranked":
        return hits.depth(k)
    length = hits.length(k)
    return length if denominator == "k" else np.minimum(hits.n_relevant, length)


def _precision_bounds(options: Mapping[str, Any], choices: Alignment) -> tuple[float, float]:
    divides_by_ranks = options["denominator"] != "relevant"
    return SHARE if divides_by_ranks else COUNTS_REPEATS(options, choices)


@register("Precision", bounds=_precision_bounds, synonyms=("p", "prec"), shared=SHARED_RANKS)
def precision(
    hits: Hits, k: int | None = None, *, denominator: PrecisionDenominator = "k"
) -> Ratio:
    """Precision: share of the top k that is relevant.

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
    return Ratio(hits.count(k), _denominator_length(hits, k, denominator), ("hits", "length"))


@register(
    "Recall", bounds=COUNTS_REPEATS, synonyms=("r", "rec", "sensitivity"), shared=SHARED_RANKS
)
def recall(
    hits: Hits, k: int | None = None, *, denominator: Literal["relevant", "min"] = "relevant"
) -> Ratio:
    """Recall: share of the relevant items that the top k contains.

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
    divisor = hits.n_relevant
    if denominator == "min" and k is not None:
        divisor = np.minimum(divisor, k)
    return Ratio(hits.count(k), divisor, ("hits", "relevant"))


@register(
    "Hit rate",
    synonyms=("hr", "hits", "hit", "hit_ratio", "hitrate", "success"),
    shared=SHARED_RANKS,
)
def hit_rate(hits: Hits, k: int | None = None) -> FloatArray:
    """Hit rate: whether the top k contains anything relevant; averaged, the share of users served.

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
        text = "first_hit < infinity" if k is None else "first_hit <= k"
        return formula(text, first_hit=hits.first, k=k, infinity=None)
    groups = hits.groups
    in_top = groups.count_in_top(k)
    miss = note_column(
        _no_hit_probability(groups.size, groups.hits, in_top), "no hit", hits, groups.above + 1
    )
    # A miss needs no hit in any group; only one group straddles the cutoff, the others are certain.
    result = np.ones(hits.n_users)
    np.multiply.at(result, groups.user, miss)
    return formula("1 - no_hit", no_hit=result)


def _no_hit_probability(size: IntArray, relevant: IntArray, in_top: IntArray) -> FloatArray:
    """Probability that no relevant item of a tied group is in the group's first ranks."""
    order = np.argsort(-relevant, kind="stable")
    size, relevant, in_top = size[order], relevant[order], in_top[order]
    product = np.ones(size.size)
    for i in range(int(relevant.max(initial=0))):
        more = slice(np.searchsorted(-relevant, -i))
        product[more] *= np.maximum(size[more] - in_top[more] - i, 0) / (size[more] - i)
    probability = np.empty_like(product)
    probability[order] = product
    return probability


@register(
    "F-measure",
    bounds=COUNTS_REPEATS,
    synonyms=("f", "f1", "f_measure", "f_score"),
    shared=SHARED_RANKS,
)
def f_beta(
    hits: Hits,
    k: int | None = None,
    *,
    beta: Annotated[float, Example(2.0, 0.5)] = 1.0,
    denominator: PrecisionDenominator = "k",
) -> FloatArray:
    """F-measure: weighted harmonic mean of precision and recall, (1 + β²)PR / (β²P + R).

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
    check_number("beta", beta, least=0, most=1e100)
    length, n_hits = _denominator_length(hits, k, denominator), hits.count(k)
    text = "(1 + beta**2) * hits / (beta**2 * relevant + length)"
    return formula(text, beta=beta, hits=n_hits, relevant=hits.n_relevant, length=length)


@register("R-precision", synonyms=("rprec", "r_prec", "rprecision"))
def r_precision(hits: Hits, k: int | None = None) -> FloatArray:
    """R-precision: precision at rank R, where R is the user's number of relevant items.

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
    n_hits = hits.count(depth)
    return formula("hits / relevant", hits=n_hits, relevant=hits.n_relevant)


@register(
    "Mean average recall",
    bounds=COUNTS_REPEATS,
    reached=False,
    synonyms=("mean_recall", "mean_average_recall"),
    shared=SHARED_RANKS,
)
def mar(
    hits: Hits, k: int | None = None, *, over: Literal["ranks", "hits"] = "ranks"
) -> FloatArray:
    """Mean average recall (MAR): recall at several ranks of the top k, averaged.

    Parameters
    ----------
    over : {"ranks", "hits"}
        The mean over every rank from 1 to k, hit or miss; or the sum over the ranks of the hits
        alone, divided by the number of relevant items.

    Notes
    -----
    Without a cutoff k is the length of the ranking; an empty one has 0. With one relevant item,
    ``over=hits`` is the recall. Sources: ``MAR`` of Elliot (ranks) and Evidently (hits).

    Examples
    --------
    The recall at ranks 1, 2 and 3 is 0, 1/2 and 1/2.

    >>> import rankmeter as rm
    >>> round(rm.evaluate({"u": list("xay")}, {"u": {"a", "b"}}, "mar@3")["mar@3"].mean, 4)
    0.3333
    """
    if over == "hits":
        pairs, n = _count_hit_pairs(hits, k), hits.n_relevant.astype(np.float64)
        return formula("pairs / relevant**2", pairs=pairs, relevant=n)
    last = hits.length(k)
    # A hit at rank r adds to the recall at ranks r, r + 1, …, k.
    late = hits.sum(hits.weigh(lambda rank: rank - 1.0, k))
    text = "(depth * hits - ranks_above) / (depth * relevant)"
    terms: dict[str, Any] = {"depth": last, "hits": hits.count(k), "relevant": hits.n_relevant}
    return formula(text, ranks_above=late, **terms)


def _count_hit_pairs(hits: Hits, k: int | None) -> FloatArray:
    """1 + 2 + … + the number of hits in the top k; in unresolved ties, expected."""
    n_hits = hits.count(k)
    if not hits.tied or k is None:
        return formula("hits * (hits + 1) / 2", name="pairs", hits=n_hits)
    # The number of hits in the first t places of a tied group is hypergeometric.
    groups = hits.groups
    n, m = groups.size.astype(np.float64), groups.hits
    in_top = groups.count_in_top(k)
    variance = in_top * m * (n - m) * (n - in_top) / (n * n * np.maximum(n - 1.0, 1.0))
    variances = hits.sum(variance, groups.user, groups.above + 1)
    text = "(hits * (hits + 1) + variance) / 2"
    return formula(text, name="pairs", hits=n_hits, variance=variances)
