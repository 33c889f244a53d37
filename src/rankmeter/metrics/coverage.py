"""Coverage: how much of the catalogue all lists show together."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np

from rankmeter._choices import Alignment
from rankmeter._evidence.hits import FloatArray, ratio
from rankmeter._evidence.lists import Catalogue, Lists, Popularity
from rankmeter.metrics._formula import formula
from rankmeter.metrics._ranges import SHARE, UP
from rankmeter.metrics._registry import Example, register, require
from rankmeter.metrics.states import Exposure, Statistic, made_again, statistic_of_counts
from rankmeter.metrics.weights import deduplicate


def _coverage_bounds(options: Mapping[str, Any], _: Alignment) -> tuple[float, float]:
    return SHARE if options["scale"] == "share" else UP


@register(
    "Catalogue coverage",
    bounds=_coverage_bounds,
    aggregate="micro",
    synonyms=("catalog_coverage", "catalogue_coverage", "item_coverage", "aggregate_diversity"),
)
def coverage(
    lists: Lists,
    catalogue: Catalogue | None,
    popularity: Popularity | None,
    k: int | None = None,
    *,
    scale: Literal["share", "count"] = "share",
    outside: Literal["ignore", "count"] = "ignore",
    items: Literal["catalogue", "training"] = "catalogue",
) -> Exposure:
    """Catalogue coverage: share of the catalogue that is in the top k of at least one user.

    Parameters
    ----------
    scale : {"share", "count"}
        The share, or the number of items.
    outside : {"ignore", "count"}
        Items that are not in the catalogue: ``ignore`` them, or ``count`` them above the line.
    items : {"catalogue", "training"}
        What the catalogue is: the ``catalogue``, or the items in the ``training`` data. A ``count``
        of all items, inside and ``outside``, needs neither.

    Notes
    -----
    The interval is about the coverage that is expected of this number of users, not of all users:
    more users show more items, so only systems over the same users compare. Leaving a user out
    loses the items that only this user was shown. The variance of this jackknife counts them as if
    no other user could have shown them; it is multiplied by ``Q1 / (Q1 + Q2)``, for Q1 items in
    one list (at least 1) and Q2 items in two.
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
    top, size = deduplicate(lists.top(k)), 1
    if scale == "share" or outside == "ignore":
        universe = require(catalogue, "catalogue") if items == "catalogue" else None
        if universe is None:
            training = require(popularity, "popularity").known
            universe = Catalogue(int(np.count_nonzero(training)), training)
        if universe.item is not None and outside == "ignore":
            top = top.only(universe.item[top.item])
        size = universe.size if scale == "share" else 1
    return Exposure(top, np.ones(top.item.size), _coverage_statistic(size))


@made_again
def _coverage_statistic(size: int) -> Statistic:
    def value(counts: FloatArray) -> float:
        n = int(np.count_nonzero(counts))
        return float(formula("different_items / size", different_items=n, size=size))

    def loss(counts: FloatArray) -> FloatArray:
        fewest = float(counts[counts > 0].min(initial=np.inf))
        rare = np.asarray(counts == fewest, dtype=np.float64)
        # Where every item has several lists: as uncertain as if one item had a single list.
        least = 1.0 if fewest == 1 else 1 / math.sqrt(fewest * rare.sum())
        losses: FloatArray = rare * (least / size)
        return losses

    def share(counts: FloatArray) -> float:
        # An item with n p lists on average is in none with the probability q = exp(-n p): different
        # items vary by Σ q (1 - q), which is near Q1² / (Q1 + Q2). The jackknife has Q1.
        n_once, n_twice = (int(np.count_nonzero(counts == times)) for times in (1, 2))
        return max(n_once, 1) / (max(n_once, 1) + n_twice)

    return statistic_of_counts(value, loss, share)


@register("User coverage", needs_items=False)
def user_coverage(
    lists: Lists, k: int | None = None, *, least: Annotated[int, Example(1, 3)] = 1
) -> FloatArray:
    """User coverage: share of the users with at least `least` items in their top k.

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
    return formula("items >= least", items=lists.top(k).lengths, least=least)


@register("Entropy of items", high=math.inf, aggregate="micro", synonyms=("shannon_entropy",))
def entropy(
    lists: Lists,
    k: int | None = None,
    *,
    base: Literal["e", "2"] = "e",
    per: Literal["all", "item"] = "all",
    weights: Literal["items", "lists"] = "items",
) -> Exposure:
    """Entropy of items: Shannon entropy of the top k of all users; larger is more even.

    Parameters
    ----------
    base : {"e", "2"}
        Of the logarithm: the entropy in nats or in bits.
    per : {"all", "item"}
        The entropy, or the entropy divided by the number of different items.
    weights : {"items", "lists"}
        Whose mean self-information it is: that of all shown items, which is the entropy, or that of
        the lists, where an item of a short list weighs more.

    Notes
    -----
    Source: Adomavicius and Kwon, Improving aggregate recommendation diversity, TKDE 2012.
    RecBole divides by the number of items, and Elliot weighs by lists.

    Examples
    --------
    Four items, each shown once, have 2 bits.

    >>> import rankmeter as rm
    >>> lists, truth = {"ann": ["a", "b"], "bob": ["c", "d"]}, {"ann": {"a"}, "bob": {"a"}}
    >>> rm.evaluate(lists, truth, "entropy(base=2)@2")["entropy(base=2)@2"].mean
    2.0
    """
    top, unit = lists.top(k), math.log(2) if base == "2" else 1.0
    size = top.lengths[top.user] if weights == "lists" else np.ones(top.item.size)
    return Exposure(top, 1.0 / size, _entropy_statistic(unit, per_item=per == "item"))


@register("Effective number of items", low=1.0, high=math.inf, aggregate="micro")
def effective_items(lists: Lists, k: int | None = None) -> Exposure:
    """Effective number of items: how many items, each shown equally often, have the same entropy.

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
    return Exposure(top, np.ones(top.item.size), _entropy_statistic(exponential=True))


@made_again
def _entropy_statistic(
    unit: float = 1.0, *, per_item: bool = False, exponential: bool = False
) -> Statistic:
    """The mean of ln (Σ c / c), where c is how often an item is shown, with given weights."""

    def entropy_of_sums(
        logs: FloatArray, weight: FloatArray, exposures: FloatArray, kinds: FloatArray
    ) -> FloatArray:
        """Compute the entropy from Σ w ln c, Σ w, Σ c, and the number of items."""
        text = "log(max(shown, 1)) - logs / weights"
        nats = formula(text, name="nats", shown=exposures, logs=logs, weights=weight)
        text = "exp(nats)" if exponential else "nats / unit"
        entropy = formula(text, name="entropy", nats=nats, unit=unit)
        if per_item:
            entropy = formula("entropy / n", entropy=entropy, n=kinds)
        return np.where(exposures > 0, entropy, np.nan)

    def exposure_sums(exposure: Exposure) -> tuple[FloatArray, FloatArray, tuple[FloatArray, ...]]:
        counts, weight = exposure.shown(), exposure.counts()
        logs = weight * np.log(np.maximum(counts, 1.0))
        totals = (logs.sum(), weight.sum(), counts.sum(), np.count_nonzero(counts))
        return counts, weight, tuple(np.array([total], dtype=np.float64) for total in totals)

    def value(exposure: Exposure) -> float:
        return float(entropy_of_sums(*exposure_sums(exposure)[2])[0])

    def value_without_each_user(exposure: Exposure) -> FloatArray:
        (counts, weight, (logs, totals, exposures, kinds)), lists = (
            exposure_sums(exposure),
            exposure.lists,
        )
        count, item_weight, entry_weight = counts[lists.item], weight[lists.item], exposure.weight
        remaining = (item_weight - entry_weight) * np.log(np.maximum(count - 1.0, 1.0))
        lost = item_weight * np.log(count) - remaining
        return entropy_of_sums(
            logs - lists.sum(lost),
            totals - lists.sum(entry_weight),
            exposures - lists.lengths,
            kinds - lists.sum(count == 1.0),
        )

    return Statistic(value, value_without_each_user)


@register("Personalization", aggregate="micro", synonyms=("personalisation",))
def personalization(
    lists: Lists, k: int | None = None, *, similarity: Literal["cosine", "overlap"] = "cosine"
) -> Exposure:
    """Personalization: mean dissimilarity of two users' lists, over all pairs of users.

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
    top = deduplicate(lists.top(k))
    length = top.lengths.astype(np.float64)
    if similarity == "overlap":
        length = np.full(length.size, float(k or length.max(initial=1)))
    weight = 1.0 / np.sqrt(np.maximum(length, 1.0))[top.user]
    return Exposure(top, weight, Statistic(_mean_dissimilarity, _mean_dissimilarity_without_each))


def _similarity_sums(exposure: Exposure) -> tuple[FloatArray, int]:
    """Sums of each list's similarities to all other lists, and the number of lists."""
    lists, weight = exposure.lists, exposure.weight
    of_user_alone = lists.sum(weight * weight)
    similar = lists.sum(weight * exposure.counts()[lists.item]) - of_user_alone
    return similar, int((lists.lengths > 0).sum())


def _mean_dissimilarity(exposure: Exposure) -> float:
    similar, n = _similarity_sums(exposure)
    total = float(similar.sum())
    return float(formula("1 - similar / (n * (n - 1))", nothing=np.nan, similar=total, n=n))


def _mean_dissimilarity_without_each(exposure: Exposure) -> FloatArray:
    """Mean difference of the lists of all pairs of users, without each user in turn."""
    similar, n = _similarity_sums(exposure)
    n_without = n - (exposure.lists.lengths > 0)
    return 1.0 - ratio(similar.sum() - 2 * similar, n_without * (n_without - 1.0), nothing=np.nan)
