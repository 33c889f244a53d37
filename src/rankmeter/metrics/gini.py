"""Inequality: how evenly all lists together show the items of the catalogue."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from rankmeter._evidence.hits import FloatArray
from rankmeter._evidence.lists import Catalogue, Lists
from rankmeter.metrics._formula import formula
from rankmeter.metrics._registry import Example, register
from rankmeter.metrics.distances import CELLS
from rankmeter.metrics.states import Exposure, Statistic, made_again
from rankmeter.metrics.weights import RankDiscount, deduplicate, discount_function


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
    """Gini index: how unevenly items are in the top k; 0 if equally often, near 1 if few are.

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
    The interval is that of the jackknife over users. Source: Fleder and Hosanagar,
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
    statistic = _gini_statistic(catalogue, denominator, items, inverse=inverse)
    return Exposure(top, np.ones(top.item.size), statistic)


@made_again
def _gini_statistic(
    catalogue: Catalogue, denominator: str, items: str, *, inverse: bool
) -> Statistic:
    def index(differences: FloatArray, exposed: FloatArray, n: FloatArray) -> FloatArray:
        gini = _gini_index(differences, exposed, n if denominator == "n" else np.maximum(n - 1, 1))
        return formula("1 - index", index=gini) if inverse else gini

    def count_shown(exposure: Exposure) -> tuple[FloatArray, FloatArray, int]:
        if items == "catalogue":
            return _count_exposures(exposure, catalogue)
        counts = exposure.counts()
        exposed = np.sort(counts[counts > 0])
        return counts, exposed, exposed.size

    def value(exposure: Exposure) -> float:
        _, exposed, n = count_shown(exposure)
        return float(
            index(np.array(_sum_pair_differences(exposed, n)), exposed.sum(), np.array(float(n)))
        )

    def value_without_each_user(exposure: Exposure) -> FloatArray:
        """Gini index without each user's list.

        An item that falls by 1 nears the items below it, and leaves the items not below it. Items
        of one list that are shown equally often stay together.
        """
        counts, exposed, n = count_shown(exposure)
        lists = exposure.lists.only(counts[exposure.lists.item] > 0)
        below = n - exposed.size + np.searchsorted(exposed, counts)
        differences = _sum_pair_differences(exposed, n) + lists.sum(
            (n - 1.0 - 2.0 * below)[lists.item]
        )
        width = int(counts.max(initial=0.0)) + 1
        keys = lists.user * width + counts[lists.item].astype(np.int64)
        keys, m = np.unique(keys, return_counts=True)
        differences -= np.bincount(keys // width, m * (m - 1.0), lists.n_users)
        total = exposed.sum() - lists.lengths
        removed = lists.sum(counts[lists.item] == 1.0) if items == "shown" else np.zeros(total.size)
        return index(differences - removed * total, total, n - removed)

    return Statistic(value, value_without_each_user)


def _count_exposures(
    exposure: Exposure, catalogue: Catalogue
) -> tuple[FloatArray, FloatArray, int]:
    """Exposures of the items of a catalogue, positive exposures ascending, and catalogue size."""
    counts = exposure.counts()
    if catalogue.item is not None:
        counts = np.where(catalogue.item, counts, 0.0)
    ascending = np.sort(counts[counts > 0])
    return counts, ascending, catalogue.size


def _sum_pair_differences(ascending: FloatArray, n: int) -> float:
    """The sum of |x - y| over all pairs of n numbers; `ascending` has the nonzero numbers."""
    rank = np.arange(n - ascending.size + 1.0, n + 1.0)
    return float(((2.0 * rank - n - 1.0) * ascending).sum())


def _gini_index(differences: FloatArray, total: FloatArray, n: FloatArray | int) -> FloatArray:
    text = "unequal / (n * shown)"
    return formula(text, name="index", nothing=np.nan, unequal=differences, n=n, shown=total)


@register("Gini index of exposure", aggregate="micro", increasing=False)
def exposure_gini(
    lists: Lists,
    catalogue: Catalogue,
    k: int | None = None,
    *,
    discount: RankDiscount = "geometric",
    p: Annotated[float, Example(0.5)] = 0.85,
    denominator: Literal["n", "n-1"] = "n",
) -> Exposure:
    """Gini index of exposure: inequality between items when lower ranks are seen less.

    Parameters
    ----------
    discount : {"none", "log2", "reciprocal", "geometric"}
        How much rank r is seen: 1; 1 / log2(r + 1); 1 / r; or p^(r - 1).
    p : float
        Of the geometric discount, between 0 and 1.
    denominator : {"n", "n-1"}
        The number of items, or one less, with which one item for everybody has exactly 1.

    Notes
    -----
    With ``discount=none`` it is `gini`. An item that is repeated in a list counts once. The
    interval is that of the jackknife over users. Source: Diaz et al., Evaluating stochastic
    rankings with expected exposure, CIKM 2020; the measure of that name in LensKit.

    Examples
    --------
    Two of four items are shown, and seen as 1 and 0.5: (1 · 1 + 3 · 2) / (4 · 3).

    >>> import rankmeter as rm
    >>> lists, metric = {"ann": ["a", "b"]}, "exposure_gini(p=0.5)@2"
    >>> round(rm.evaluate(lists, {"ann": {"a"}}, metric, catalogue=4)[metric].mean, 4)
    0.5833
    """
    top = deduplicate(lists.top(k))
    weight = discount_function(discount, p)(top.rank.astype(np.float64))
    return Exposure(top, weight, _exposure_gini_statistic(catalogue, denominator))


def _sum_row_differences(first: FloatArray, second: FloatArray) -> FloatArray:
    """The sum of |x - y| over all pairs of numbers of two rows."""
    sums: FloatArray = np.abs(first[:, :, None] - second[:, None, :]).sum(axis=(1, 2))
    return sums


@made_again
def _exposure_gini_statistic(catalogue: Catalogue, denominator: str) -> Statistic:
    """Statistic: sum of |x - y| over all pairs of items, over the number of items and sum of x."""

    def exposures(exposure: Exposure) -> tuple[FloatArray, FloatArray, int]:
        """Exposures of the items, exposures of the counted items ascending, and the denominator."""
        exposure_by_item, positive, size = _count_exposures(exposure, catalogue)
        ascending = np.concatenate([np.zeros(size - positive.size), positive])
        return exposure_by_item, ascending, max(size - (denominator == "n-1"), 1)

    def value(exposure: Exposure) -> float:
        _, ascending, n = exposures(exposure)
        differences = np.array(_sum_pair_differences(ascending, ascending.size))
        return float(_gini_index(differences, ascending.sum(), n))

    def value_without_each_user(exposure: Exposure) -> FloatArray:
        """Statistic without each user: only pairs with an item shown to the user change."""
        exposure_by_item, ascending, n = exposures(exposure)
        sums, lists = np.concatenate(([0.0], np.cumsum(ascending))), exposure.lists

        def distances_to_all(x: FloatArray) -> FloatArray:
            """The sum of |x - y| over all items y."""
            below = np.searchsorted(ascending, x)
            total: FloatArray = (2 * below - ascending.size) * x + sums[-1] - 2 * sums[below]
            return total

        has_exposure = exposure_by_item[lists.item] > 0
        differences = np.full(lists.n_users, _sum_pair_differences(ascending, ascending.size))
        total = np.full(lists.n_users, ascending.sum())
        cells = CELLS // max(1, int(lists.lengths.max(initial=1)))
        for users, item, positions in lists.only(has_exposure).blocks(cells):
            before, lost = exposure_by_item[item], exposure.weight[has_exposure][positions]
            after = before - lost
            differences[users] += (distances_to_all(after) - distances_to_all(before)).sum(axis=1)
            # Pairs of two such items were compared with what the other one had before.
            within = _sum_row_differences(before, before) + _sum_row_differences(after, after)
            differences[users] += within / 2
            differences[users] -= _sum_row_differences(after, before)
            total[users] -= lost.sum(axis=1)
        return _gini_index(differences, total, n)

    return Statistic(value, value_without_each_user)
