"""Metrics of the lists of all users together: how much of the catalogue they show, how evenly."""

from __future__ import annotations

import math
from typing import Annotated, Literal

import numpy as np

from rankmeter._hits import BoolArray, FloatArray, ratio
from rankmeter._lists import Catalogue, Lists
from rankmeter.metrics._registry import Example, register
from rankmeter.metrics.exposures import Exposure, Statistic, of_counts
from rankmeter.metrics.places import once


@register(
    "Catalogue coverage",
    aggregate="micro",
    synonyms=("catalog_coverage", "catalogue_coverage", "item_coverage", "aggregate_diversity"),
)
def coverage(
    lists: Lists,
    catalogue: Catalogue,
    k: int | None = None,
    *,
    scale: Literal["share", "count"] = "share",
    outside: Literal["ignore", "count"] = "ignore",
) -> Exposure:
    """Share of the catalogue that is in the top k of at least one user.

    Parameters
    ----------
    scale : {"share", "count"}
        The share, or the number of items.
    outside : {"ignore", "count"}
        Items that are not in the catalogue: ``ignore`` them, or ``count`` them above the line.

    Notes
    -----
    The interval is that of the jackknife over users: leaving a user out loses the items that only
    this user was shown. More users show more items, so only systems over the same users compare.
    Source: Ge, Delgado-Battenfeld and Jannach, Beyond accuracy, RecSys 2010.

    Examples
    --------
    >>> import rankmeter as rm
    >>> lists = {"ann": ["a", "b"], "bob": ["a", "c"]}
    >>> truth = {"ann": {"a"}, "bob": {"a"}}
    >>> rm.evaluate(lists, truth, "coverage@1", catalogue=4)["coverage@1"].mean
    0.25
    >>> rm.evaluate(lists, truth, "coverage@2", catalogue=4)["coverage@2"].mean
    0.75
    """
    top = once(lists.top(k))
    if catalogue.item is not None and outside == "ignore":
        top = top.only(catalogue.item[top.item])
    size = catalogue.size if scale == "share" else 1

    def value(counts: FloatArray) -> float:
        return int(np.count_nonzero(counts)) / size

    def slope(counts: FloatArray) -> FloatArray:
        only: FloatArray = (counts == 1) / size
        return only

    return Exposure(top, np.ones(top.item.size), of_counts(value, slope))


@register("User coverage", needs_items=False)
def user_coverage(
    lists: Lists, k: int | None = None, *, least: Annotated[int, Example(1, 3)] = 1
) -> FloatArray:
    """Share of the users with at least so many items in their top k.

    Parameters
    ----------
    least : int
        The number of items that a user needs.

    Notes
    -----
    Users without a ranking count if ``users="all"``: those of the ground truth are then averaged.

    Examples
    --------
    >>> import rankmeter as rm
    >>> lists, truth = {"ann": ["a", "b"], "bob": []}, {"ann": {"a"}, "bob": {"a"}}
    >>> rm.evaluate(lists, truth, "user_coverage@2")["user_coverage@2"].mean
    0.5
    """
    return (lists.top(k).lengths >= least).astype(np.float64)


@register("Gini index", aggregate="micro", increasing=False, synonyms=("gini_index",))
def gini(
    lists: Lists,
    catalogue: Catalogue,
    k: int | None = None,
    *,
    denominator: Literal["n", "n-1"] = "n",
    items: Literal["catalogue", "shown"] = "catalogue",
    inverse: bool = False,
) -> Exposure:
    """Inequality of how often items are in the top k: 0 if equally often, near 1 if few are.

    Parameters
    ----------
    denominator : {"n", "n-1"}
        The number of items, or one less, with which one item for everybody has exactly 1.
    items : {"catalogue", "shown"}
        Over the whole catalogue, or over those items that are shown.
    inverse : bool
        One minus the index, so that larger is more equal.

    Notes
    -----
    The interval is that of the infinitesimal jackknife over users. Source: Fleder and Hosanagar,
    Blockbuster culture's next rise or fall, Management Science 2009.

    Examples
    --------
    Everybody is shown a, one of four items.

    >>> import rankmeter as rm
    >>> lists, truth = {"ann": ["a"], "bob": ["a"]}, {"ann": {"a"}, "bob": {"a"}}
    >>> rm.evaluate(lists, truth, "gini@1", catalogue=4)["gini@1"].mean
    0.75
    """
    top = lists.top(k)
    return Exposure(
        top, np.ones(top.item.size), _gini(catalogue, denominator, items, inverse=inverse)
    )


def _gini(catalogue: Catalogue, denominator: str, items: str, *, inverse: bool) -> Statistic:
    def parts(counts: FloatArray) -> tuple[FloatArray, BoolArray, int]:
        """The ascending rank of each shown item, which these are, and the number of items."""
        inside = counts > 0
        if catalogue.item is not None and items == "catalogue":
            inside &= catalogue.item
        own = counts[inside]
        n = max(catalogue.size, own.size) if items == "catalogue" else own.size
        _, at, size = np.unique(own, return_inverse=True, return_counts=True)
        rank = (np.cumsum(size) - (size - 1) / 2)[at] + (n - own.size)
        return rank, inside, n

    def value(counts: FloatArray) -> float:
        rank, inside, n = parts(counts)
        own = counts[inside]
        if not own.size:
            return math.nan
        below = n if denominator == "n" else n - 1
        found = float(((2 * rank - n - 1) * own).sum() / (below * own.sum())) if below else 0.0
        return 1.0 - found if inverse else found

    def slope(counts: FloatArray) -> FloatArray:
        rank, inside, n = parts(counts)
        whole = counts[inside].sum()
        below = n if denominator == "n" else n - 1
        result = np.zeros(counts.size)
        if below and whole:
            index = ((2 * rank - n - 1) * counts[inside]).sum() / (below * whole)
            result[inside] = (2 * rank - n - 1) / (below * whole) - index / whole
        return -result if inverse else result

    return of_counts(value, slope)


@register("Entropy of items", high=math.inf, aggregate="micro", synonyms=("shannon_entropy",))
def entropy(lists: Lists, k: int | None = None, *, base: Literal["e", "2"] = "e") -> Exposure:
    """Entropy of the items in the top k of all users: larger is more even.

    Parameters
    ----------
    base : {"e", "2"}
        Of the logarithm: the entropy in nats or in bits.

    Notes
    -----
    Source: Adomavicius and Kwon, Improving aggregate recommendation diversity, TKDE 2012.

    Examples
    --------
    Four items, each shown once, have 2 bits.

    >>> import rankmeter as rm
    >>> lists, truth = {"ann": ["a", "b"], "bob": ["c", "d"]}, {"ann": {"a"}, "bob": {"a"}}
    >>> rm.evaluate(lists, truth, "entropy(base=2)@2")["entropy(base=2)@2"].mean
    2.0
    """
    top, unit = lists.top(k), math.log(2) if base == "2" else 1.0
    return Exposure(top, np.ones(top.item.size), _entropy(unit, exponential=False))


@register("Effective number of items", low=1.0, high=math.inf, aggregate="micro")
def effective_items(lists: Lists, k: int | None = None) -> Exposure:
    """How many items, each shown equally often, have the same entropy.

    Notes
    -----
    Source: Hill, Diversity and evenness, Ecology 1973.

    Examples
    --------
    >>> import rankmeter as rm
    >>> lists, truth = {"ann": ["a", "b"], "bob": ["c", "d"]}, {"ann": {"a"}, "bob": {"a"}}
    >>> round(rm.evaluate(lists, truth, "effective_items@2")["effective_items@2"].mean, 9)
    4.0
    """
    top = lists.top(k)
    return Exposure(top, np.ones(top.item.size), _entropy(1.0, exponential=True))


def _entropy(unit: float, *, exponential: bool) -> Statistic:
    def nats(counts: FloatArray) -> tuple[FloatArray, float]:
        share = counts / counts.sum()
        log = np.log(share, out=np.zeros_like(share), where=share > 0)
        return log, -float((share * log).sum())

    def value(counts: FloatArray) -> float:
        found = nats(counts)[1]
        return math.exp(found) if exponential else found / unit

    def slope(counts: FloatArray) -> FloatArray:
        log, found = nats(counts)
        scale = math.exp(found) if exponential else 1 / unit
        slopes: FloatArray = -(log + found) / counts.sum() * scale
        return slopes

    return of_counts(value, slope)


@register("Personalization", aggregate="micro", synonyms=("personalisation",))
def personalization(
    lists: Lists, k: int | None = None, *, similarity: Literal["cosine", "overlap"] = "cosine"
) -> Exposure:
    """How different the lists of two users are, on average over all pairs of users.

    Parameters
    ----------
    similarity : {"cosine", "overlap"}
        Of two lists: the common items over the root of the product of the lengths, or over k.

    Notes
    -----
    The sum over all pairs is exact and needs one pass: it is the sum over items of the squared
    weights of their lists. Users without items are left out. Source: Zhou et al., PNAS 2010.

    Examples
    --------
    Ann and Bob share one of two items, Cat shares nothing with them.

    >>> import rankmeter as rm
    >>> lists = {"ann": ["a", "b"], "bob": ["a", "c"], "cat": ["d", "e"]}
    >>> result = rm.evaluate(lists, {"ann": {"a"}}, "personalization@2")
    >>> round(result["personalization@2"].mean, 4)
    0.8333
    """
    top = once(lists.top(k))
    length = top.lengths.astype(np.float64)
    if similarity == "overlap":
        length = np.full(length.size, float(k or length.max(initial=1)))
    weight = 1.0 / np.sqrt(np.maximum(length, 1.0))[top.user]
    return Exposure(top, weight, Statistic(_difference, _difference_by_user))


def _similarity(exposure: Exposure) -> FloatArray:
    """The mean similarity of each user's list to those of the others."""
    lists, weight = exposure.lists, exposure.weight
    both = lists.sum(weight * exposure.counts()[lists.item]) - lists.sum(weight * weight)
    n = int(np.count_nonzero(lists.lengths))
    return ratio(both, n - 1.0, nothing=np.nan)


def _difference(exposure: Exposure) -> float:
    some = exposure.lists.lengths > 0
    return 1.0 - float(_similarity(exposure)[some].mean())


def _difference_by_user(exposure: Exposure, value: float) -> FloatArray:
    """To first order a user counts twice: among the first and among the second of all pairs."""
    own = 1.0 - _similarity(exposure)
    values: FloatArray = value + 2.0 * (own - own.mean())
    return values
