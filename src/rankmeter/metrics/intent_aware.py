"""Intent-aware metrics: gains by category, for users who may mean any of them.

The categories are those of the items, or the subtopics of judgments by subtopic.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

import numpy as np

from rankmeter._evidence.hits import FloatArray, ratio
from rankmeter._evidence.lists import Features, Lists
from rankmeter._evidence.steps import note_column, note_sum
from rankmeter.errors import UsageError
from rankmeter.errors._checks import check_fraction, check_number
from rankmeter.metrics._formula import formula
from rankmeter.metrics._ranges import COUNTS_REPEATS, SIGNED_SHARE_OF_IDEAL
from rankmeter.metrics._registry import Example, register
from rankmeter.metrics.category_diversity import category_counts
from rankmeter.metrics.distances import CELLS
from rankmeter.metrics.weights import DISCOUNTS, Discount, Weight, discount_function

_DEEPEST = 2**20
"""The largest rank whose weight is tabulated."""


_NOTHING = 1e-18


@register("Subtopic recall", synonyms=("srecall", "s_recall", "strec"))
def subtopic_recall(
    lists: Lists,
    relevant: Lists,
    categories: Features,
    k: int | None = None,
    *,
    denominator: Literal["relevant", "all"] = "relevant",
    relevance: Literal["binary", "none"] = "binary",
) -> FloatArray:
    """Subtopic recall: share of the categories that the relevant items of the top k cover.

    Parameters
    ----------
    denominator : {"relevant", "all"}
        The categories of the user's relevant items, or all categories of the data.
    relevance : {"binary", "none"}
        Whether only relevant items cover categories.

    Notes
    -----
    With ``relevant`` a user whose relevant items have no categories is undefined (NaN), and other
    categories are not covered. In judgments by subtopic an item covers the subtopics for which it
    is relevant, whatever `relevance` is. Source: Zhai, Cohen and Lafferty, Beyond independent
    relevance, SIGIR 2003.

    Examples
    --------
    The relevant items have action, drama and war; those found have action.

    >>> import rankmeter as rm
    >>> genres = {"a": ["action"], "b": ["noir"], "c": ["drama"], "d": ["action", "war"]}
    >>> lists, truth = {"ann": ["a", "b"]}, {"ann": {"a", "c", "d"}}
    >>> result = rm.evaluate(lists, truth, "subtopic_recall@2", items=genres)
    >>> round(result["subtopic_recall@2"].mean, 4)
    0.3333
    """
    top = lists.top(k)
    if relevance == "binary":
        top = top.only(top.relevant)
    covered = (category_counts(top, categories) > 0).astype(np.float64)
    note_column(covered, "covered", categories)
    if denominator == "all" and categories.gains is not None:
        raise UsageError("denominator='all' needs items=: each query has subtopics of its own")
    sought = np.ones(covered.shape, dtype=bool)
    if denominator == "relevant":
        sought = category_counts(relevant, categories) > 0
    note_column(sought, "asked for", categories)
    n_covered, n_sought = (covered * sought).sum(axis=1), sought.sum(axis=1)
    fallback = np.nan if denominator == "relevant" else 0.0
    return formula("both / asked", nothing=fallback, both=n_covered, asked=n_sought)


@register("Alpha-nDCG", high=math.inf, reached=False, synonyms=("andcg",))
def alpha_ndcg(
    lists: Lists,
    relevant: Lists,
    categories: Features,
    k: int | None = None,
    *,
    alpha: Annotated[float, Example(0.2)] = 0.5,
    discount: Discount = "log2",
    ideal: Literal["greedy", "greedy-descending", "bound"] = "greedy",
) -> FloatArray:
    """Alpha-nDCG: NDCG in which a category counts less each time it is seen again.

    Parameters
    ----------
    alpha : float
        How much less: nothing at 0, and with 1 only the first item of a category counts.
    discount : {"log2", "ln", "log10", "jarvelin", "reciprocal"}
        As in `ndcg`.
    ideal : {"greedy", "greedy-descending", "bound"}
        What the sum is divided by:

        * ``greedy``: the sum of an ideal ranking, which takes the relevant item that gains most
          next, and of items that gain the same one whose categories come first;
        * ``greedy-descending``: of items that gain the same it takes the one with the largest id,
          as in ndeval, which can change what is gained later;
        * ``bound``: the sum if every rank had an item of every category, as in the α-DCG of ndeval;
          without a cutoff down to the end of the list.

    Notes
    -----
    The categories are those of ``items=``, or the subtopics of the judgments. A user whose relevant
    items have none is undefined (NaN). The greedy ideal can be missed by a better one, so values
    above 1 are possible. Source: Clarke et al., Novelty and diversity in information retrieval
    evaluation, SIGIR 2008.

    Examples
    --------
    b repeats the category of a, and counts as half: (1 + 0.63 / 2) / (1 + 0.63 + 0.5 / 2).

    >>> import rankmeter as rm
    >>> genres = {"a": ["action"], "b": ["action"], "c": ["drama"]}
    >>> lists, truth = {"ann": ["a", "b"]}, {"ann": {"a", "b", "c"}}
    >>> result = rm.evaluate(lists, truth, "alpha_ndcg", items=genres)
    >>> round(result["alpha_ndcg"].mean, 4)
    0.6994
    """
    weight = DISCOUNTS[discount]
    stay = 1.0 - check_number("alpha", alpha, least=0, most=1)
    gain, ideal_gain = _list_and_ideal_gains(lists, relevant, categories, k, stay, weight, ideal)
    return formula("sum / ideal", nothing=np.nan, sum=gain, ideal=ideal_gain)


@register("Intent-aware ERR", high=math.inf, reached=False, synonyms=("erria",))
def err_ia(
    lists: Lists,
    relevant: Lists,
    categories: Features,
    k: int | None = None,
    *,
    alpha: Annotated[float, Example(0.2)] = 0.5,
    ideal: Literal["bound", "greedy", "greedy-descending", "none"] = "bound",
) -> FloatArray:
    """Intent-aware ERR (ERR-IA): ERR of a reader who looks for one of the categories.

    Parameters
    ----------
    alpha : float
        The chance that a relevant item of the category satisfies the reader.
    ideal : {"bound", "greedy", "greedy-descending", "none"}
        What the sum is divided by, as in `alpha_ndcg`; with ``none`` the number of categories over
        `alpha`, which gives the mean over categories.

    Notes
    -----
    The categories are those of the user's relevant items, or the subtopics of the judgments; a user
    without any is undefined (NaN).
    Source: Chapelle et al., Intent-based diversification of web search results, Information
    Retrieval 2011; Clarke et al., A comparative analysis of cascade measures, WSDM 2011.

    Examples
    --------
    Action is at ranks 1 and 2, drama is not found: ½ · (½ + ½ · ½ · ½).

    >>> import rankmeter as rm
    >>> genres = {"a": ["action"], "b": ["action"], "c": ["drama"]}
    >>> lists, truth = {"ann": ["a", "b"]}, {"ann": {"a", "b", "c"}}
    >>> rm.evaluate(lists, truth, "err_ia(ideal=none)", items=genres)["err_ia(ideal=none)"].mean
    0.3125
    """
    alpha = check_number("alpha", alpha, above=0, most=1)
    weight = DISCOUNTS["reciprocal"]
    gain, ideal_gain = _list_and_ideal_gains(
        lists, relevant, categories, k, 1.0 - alpha, weight, ideal
    )
    if ideal == "none":
        text, n = "alpha * sum / categories", _count_categories(relevant, categories)
        return formula(text, nothing=np.nan, alpha=alpha, sum=gain, categories=n)
    return formula("sum / ideal", nothing=np.nan, sum=gain, ideal=ideal_gain)


@register("Novelty- and rank-biased precision", high=math.inf, reached=False)
def nrbp(
    lists: Lists,
    relevant: Lists,
    categories: Features,
    k: int | None = None,
    *,
    alpha: Annotated[float, Example(0.2)] = 0.5,
    beta: Annotated[float, Example(0.8)] = 0.5,
    ideal: Literal["bound", "greedy", "greedy-descending"] = "bound",
) -> FloatArray:
    """Novelty- and rank-biased precision (NRBP): RBP in which a category seen again counts less.

    Parameters
    ----------
    alpha : float
        As in `alpha_ndcg`.
    beta : float
        The chance that the reader goes on to the next item, between 0 and 1.
    ideal : {"bound", "greedy", "greedy-descending"}
        What the sum is divided by, as in `alpha_ndcg`; ``bound`` is for ranks without end.

    Notes
    -----
    The categories are those of ``items=``, or the subtopics of the judgments. A user whose relevant
    items have none is undefined (NaN). Source: Clarke, Kolla and Vechtomova, An effectiveness
    measure for ambiguous and underspecified queries, ICTIR 2009.

    Examples
    --------
    b repeats the category of a, and counts as half: (1 + 0.5 · 0.5) · (1 - 0.5 · 0.5) / 2.

    >>> import rankmeter as rm
    >>> genres = {"a": ["action"], "b": ["action"], "c": ["drama"]}
    >>> lists, truth = {"ann": ["a", "b"]}, {"ann": {"a", "b", "c"}}
    >>> rm.evaluate(lists, truth, "nrbp", items=genres)["nrbp"].mean
    0.46875
    """
    weight = discount_function("geometric", check_fraction("beta", beta))
    stay = 1.0 - check_number("alpha", alpha, least=0, most=1)
    gain, ideal_gain = _list_and_ideal_gains(lists, relevant, categories, k, stay, weight, ideal)
    if ideal != "bound":
        return formula("sum / ideal", nothing=np.nan, sum=gain, ideal=ideal_gain)
    text, n = "sum * (1 - (1 - alpha) * beta) / asked", _count_categories(relevant, categories)
    return formula(text, nothing=np.nan, sum=gain, alpha=alpha, beta=beta, asked=n)


@register("Intent-aware precision", reached=False, synonyms=("p_ia",))
def precision_ia(
    lists: Lists,
    relevant: Lists,
    categories: Features,
    k: int | None = None,
) -> FloatArray:
    """Intent-aware precision: precision for the items of each category, averaged.

    Notes
    -----
    The categories are those of the user's relevant items, or the subtopics of the judgments; a user
    without any is undefined (NaN).
    Without a cutoff k is the length of the list. Source: Agrawal et al., Diversifying search
    results, WSDM 2009.

    Examples
    --------
    Half of the list is action, and none of it drama.

    >>> import rankmeter as rm
    >>> genres = {"a": ["action"], "c": ["drama"]}
    >>> lists, truth = {"ann": ["a", "x"]}, {"ann": {"a", "c"}}
    >>> rm.evaluate(lists, truth, "precision_ia@2", items=genres)["precision_ia@2"].mean
    0.25
    """
    top = lists.top(k)
    n = lists.length(k)
    counts = category_counts(top.only(top.relevant), categories)
    note_column(counts, "relevant items", categories)
    n_relevant, n_categories = counts.sum(axis=1), _count_categories(relevant, categories)
    return formula("shown / k / asked", nothing=np.nan, shown=n_relevant, k=n, asked=n_categories)


@register(
    "Intent-aware average precision",
    bounds=COUNTS_REPEATS,
    reached=False,
    synonyms=("map_ia",),
)
def ap_ia(lists: Lists, relevant: Lists, categories: Features, k: int | None = None) -> FloatArray:
    """Intent-aware average precision (AP-IA): average precision of each category's items, averaged.

    Notes
    -----
    The categories are those of the user's relevant items, or the subtopics of the judgments; a user
    without any is undefined (NaN).
    Each sum of precisions is divided by the relevant items of the category, also with a cutoff.
    Source: Agrawal et al., Diversifying search results, WSDM 2009.

    Examples
    --------
    Action is at rank 1 of 1, drama at rank 2 of 2: (1 + ½ / 2) / 2.

    >>> import rankmeter as rm
    >>> genres = {"a": ["action"], "b": ["drama"], "c": ["drama"]}
    >>> lists, truth = {"ann": ["a", "b"]}, {"ann": {"a", "b", "c"}}
    >>> rm.evaluate(lists, truth, "ap_ia", items=genres)["ap_ia"].mean
    0.625
    """
    top, width = lists.top(k), categories.n_features
    top = top.only(top.relevant)
    sums = np.zeros((lists.n_users, width))
    for users, item, positions in top.blocks(CELLS // max(width, 1) + 1):
        rows = categories.rows(item)
        sums[users] = (rows * np.cumsum(rows, axis=1) / top.rank[positions][:, :, None]).sum(axis=1)
    mean = ratio(sums, category_counts(relevant, categories))
    note_column(mean, "average precision", categories)
    total, n_categories = mean.sum(axis=1), _count_categories(relevant, categories)
    return formula("sum / asked", nothing=np.nan, sum=total, asked=n_categories)


@register("D-sharp-NDCG", bounds=SIGNED_SHARE_OF_IDEAL, reached=False, synonyms=("d_sharp",))
def d_sharp_ndcg(
    lists: Lists,
    relevant: Lists,
    categories: Features,
    k: int | None = None,
    *,
    recall_weight: Annotated[float, Example(0.2)] = 0.5,
    discount: Discount = "log2",
) -> FloatArray:
    """D-sharp-NDCG (D♯-nDCG): subtopic recall, and NDCG of the gains added up over subtopics.

    Parameters
    ----------
    recall_weight : float
        The weight of subtopic recall, between 0 and 1; with 0 the value is D-nDCG.
    discount : {"log2", "ln", "log10", "jarvelin", "reciprocal"}
        As in `ndcg`.

    Notes
    -----
    The subtopics of a user's relevant items are taken as equally likely; a user without any is
    undefined (NaN). Judgments by subtopic have a gain for each; with ``items=`` an item has its
    gain in each of its categories. Source: Sakai and Song, Evaluating diversified search results
    using per-intent graded relevance, SIGIR 2011.

    Examples
    --------
    One of two categories is covered. The gain of c, which has both, is 2, so that
    the best order is c, a: (½ + 1 / (2 + 0.63)) / 2.

    >>> import rankmeter as rm
    >>> genres = {"a": ["action"], "c": ["action", "drama"]}
    >>> lists, truth = {"ann": ["a", "x"]}, {"ann": {"a", "c"}}
    >>> result = rm.evaluate(lists, truth, "d_sharp_ndcg@2", items=genres)
    >>> round(result["d_sharp_ndcg@2"].mean, 4)
    0.44
    """
    share = check_number("recall_weight", recall_weight, least=0, most=1)
    top, weight = lists.top(k), DISCOUNTS[discount]
    top = top.only(top.relevant)
    weights = note_column(weight(top.rank.astype(np.float64)), "discount", top)
    dcg = top.sum(note_column(_category_gain_sums(top, categories), "gain of all", top) * weights)
    best = _category_gain_sums(relevant, categories)
    best = np.maximum(best[np.lexsort((-best, relevant.user))], 0.0)  # without losses
    is_first = relevant.rank <= (relevant.item.size if k is None else k)
    best = best * is_first * weight(relevant.rank.astype(np.float64))
    ideal = np.bincount(relevant.user, best, minlength=relevant.n_users)
    covered = np.count_nonzero(category_counts(top, categories), axis=1)
    n = _count_categories(relevant, categories)
    recall = formula("covered / asked", name="recall", nothing=np.nan, covered=covered, asked=n)
    ndcg = formula("dcg / ideal", name="ndcg", nothing=np.nan, dcg=dcg, ideal=ideal)
    text = "share * recall + (1 - share) * ndcg"
    return formula(text, share=share, recall=recall, ndcg=ndcg)


def _category_gain_sums(lists: Lists, categories: Features) -> FloatArray:
    """Sum of the gain of each listed item over its categories."""
    if categories.gains is not None:
        return np.asarray(categories.gains[lists.item].sum(axis=1))
    n = np.asarray(categories.matrix.sum(axis=1)).ravel()
    return np.asarray(lists.gain * n[lists.item])


def _count_categories(relevant: Lists, categories: Features) -> FloatArray:
    """The number of categories of each user's relevant items."""
    n = np.count_nonzero(category_counts(relevant, categories), axis=1)
    return np.asarray(n, dtype=np.float64)


def _list_and_ideal_gains(
    lists: Lists,
    relevant: Lists,
    categories: Features,
    k: int | None,
    stay: float,
    weight: Weight,
    ideal: str,
) -> tuple[FloatArray, FloatArray]:
    """Gains of each list and of an ideal list, or an upper bound of the ideal unless `greedy`."""
    top = lists.top(k)
    depth = int(top.rank.max(initial=0)) if k is None else k
    top = top.only(top.relevant)
    gains, best = np.zeros(lists.n_users), np.zeros(lists.n_users)
    width = max(categories.n_features, 1)
    for users, item, positions in top.blocks(max(1, CELLS // width)):
        rows = categories.rows(item)
        before = np.cumsum(rows, axis=1) - rows
        gain = (rows * stay**before).sum(axis=2)
        weights = weight(top.rank[positions].astype(np.float64))
        terms = gain * weights
        note_column(gain[0], "new gain", top, top.rank[positions[0]])
        note_column(weights[0], "discount", top, top.rank[positions[0]])
        gains[users] = note_sum(terms.sum(axis=1), terms[0], top, top.rank[positions[0]])
    n = lists.length(k)
    if depth > _DEEPEST and stay**_DEEPEST > _NOTHING:
        raise UsageError(
            f"needs a cutoff of at most {_DEEPEST:,} with such an alpha, got {depth:,}"
        )
    if ideal.startswith("greedy"):
        for users, item, _ in relevant.blocks(max(1, CELLS // width)):
            rows = categories.rows(item)
            columns = rows.transpose(2, 0, 1)
            keys = columns[::-1] if ideal == "greedy" else item[None]
            order = np.lexsort(keys, axis=-1)[:, ::-1]
            rows = np.take_along_axis(rows, order[:, :, None], axis=1)
            best[users] = _greedy_gains(rows, k, stay, weight)
        return gains, best
    depth = min(depth, _DEEPEST)  # deeper items of a category count nothing
    rank = np.arange(1.0, depth + 1.0)
    sums = np.concatenate(([0.0], np.cumsum(weight(rank) * stay ** (rank - 1.0))))
    return gains, _count_categories(relevant, categories) * sums[np.minimum(n, depth)]


def _greedy_gains(rows: FloatArray, k: int | None, stay: float, weight: Weight) -> FloatArray:
    """Gains of greedily ordered lists, given rows of shape (n_users, n, n_categories).

    Of items that gain the same, the first of the rows is taken.
    """
    n_users, n, _ = rows.shape
    user, is_left = np.arange(n_users), np.ones((n_users, n), dtype=bool)
    category_weights, total = np.ones((n_users, rows.shape[2])), np.zeros(n_users)
    for rank in range(1, min(n, n if k is None else k) + 1):
        gain = np.where(is_left, np.einsum("uif,uf->ui", rows, category_weights), -1.0)
        best = gain.argmax(axis=1)
        total += gain[user, best] * weight(np.array([float(rank)]))
        is_left[user, best] = False
        category_weights *= np.where(rows[user, best] > 0, stay, 1.0)
    return total
