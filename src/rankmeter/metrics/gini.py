"""Inequality: how evenly the lists of all users show the items of the catalogue."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from rankmeter._hits import FloatArray, ratio
from rankmeter._lists import Catalogue, Lists
from rankmeter._steps import worked
from rankmeter.metrics._item_weights import once
from rankmeter.metrics._registry import Example, register
from rankmeter.metrics.discounts import RankDiscount, weight_of
from rankmeter.metrics.distances import CELLS
from rankmeter.metrics.exposures import Exposure, Statistic


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
    return Exposure(
        top, np.ones(top.item.size), _gini(catalogue, denominator, items, inverse=inverse)
    )


def _gini(catalogue: Catalogue, denominator: str, items: str, *, inverse: bool) -> Statistic:
    def index(parts: FloatArray, shown: FloatArray, n: FloatArray) -> FloatArray:
        """From Σ (2j − n − 1) c and Σ c to the index of so many items."""
        n = n if denominator == "n" else np.maximum(n - 1, 1)
        found = ratio(np.asarray(parts), n * shown, nothing=np.nan)
        worked(found, "unequal / (n * shown)", "index", unequal=parts, n=n, shown=shown)
        return worked(1.0 - found, "1 - index", index=found) if inverse else found

    def parts(exposure: Exposure) -> tuple[FloatArray, FloatArray, FloatArray, int]:
        """The counts that matter, by item and ascending, their ranks, and the number of items."""
        counts = exposure.counts()
        inside = counts > 0
        if catalogue.item is not None and items == "catalogue":
            inside &= catalogue.item
        own = np.sort(counts[inside])
        n = max(catalogue.size, own.size) if items == "catalogue" else own.size
        rank: FloatArray = np.arange(1.0, own.size + 1) + (n - own.size)
        return np.where(inside, counts, 0.0), own, rank, n

    def value(exposure: Exposure) -> float:
        _, own, rank, n = parts(exposure)
        part = np.array([((2 * rank - n - 1) * own).sum()])
        return float(index(part, np.array([own.sum()]), np.array([float(n)]))[0])

    def without(exposure: Exposure) -> FloatArray:
        """An item that is shown once less falls behind all others with its count."""
        counts, own, rank, n = parts(exposure)
        lists, users = exposure.lists, exposure.n_users
        different, first = np.unique(own, return_index=True)
        user, level = lists.user, np.searchsorted(different, counts)[lists.item]
        if catalogue.item is not None:
            inside = counts[lists.item] > 0
            user, level = user[inside], level[inside]
        fewer = np.bincount(user, minlength=users)
        size = np.full(users, float(n))
        if items == "shown":  # items that nobody else was shown are gone
            gone = np.bincount(user[different[level] == 1], minlength=users)
            # Without the g last items, which have 0 now, every other one is g ranks higher.
            size = size - gone
        lost = np.bincount(user, (2 * rank[first] - n - 1)[level], minlength=users)
        # Of m items with one count, the first falls to the first rank of this count, and so on.
        groups = np.sort(user * different.size + level)
        start = np.flatnonzero(np.diff(groups, prepend=-1))
        m = np.diff(start, append=groups.size).astype(np.float64)
        lost += np.bincount(groups[start] // max(different.size, 1), m * (m - 1), minlength=users)
        part = ((2 * rank - n - 1) * own).sum() - lost
        shown = own.sum() - fewer
        if items == "shown":
            part = part - gone * shown
        return index(part, shown, size)

    return Statistic(value, without)


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
    """Inequality of how much items are seen in the top k, where lower ranks are seen less.

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
    top = once(lists.top(k))
    weight = weight_of(discount, p)(top.rank.astype(np.float64))
    return Exposure(top, weight, _exposure_gini(catalogue, denominator))


def _apart(one: FloatArray, other: FloatArray) -> FloatArray:
    """The sum of |x - y| over all pairs of numbers of two rows."""
    far: FloatArray = np.abs(one[:, :, None] - other[:, None, :]).sum(axis=(1, 2))
    return far


def _exposure_gini(catalogue: Catalogue, denominator: str) -> Statistic:
    """The sum of |x - y| over all pairs of items, over the number of items and the sum of x."""

    def parts(exposure: Exposure) -> tuple[FloatArray, FloatArray, int]:
        """The exposure of each item; that of the items that matter, ascending; their number."""
        seen = exposure.counts()
        if catalogue.item is not None:
            seen = np.where(catalogue.item, seen, 0.0)
        own = np.sort(seen[seen > 0])
        own = np.concatenate([np.zeros(max(catalogue.size - own.size, 0)), own])
        return seen, own, own.size - (denominator == "n-1")

    def apart(own: FloatArray) -> float:
        n = own.size
        return float(((2.0 * np.arange(1.0, n + 1) - n - 1) * own).sum())

    def index(pairs: FloatArray, whole: FloatArray, n: int) -> FloatArray:
        found = ratio(np.asarray(pairs), max(n, 1) * whole, nothing=np.nan)
        return worked(found, "unequal / (n * seen)", unequal=pairs, n=max(n, 1), seen=whole)

    def value(exposure: Exposure) -> float:
        _, own, n = parts(exposure)
        return float(index(np.array([apart(own)]), np.array([own.sum()]), n)[0])

    def without(exposure: Exposure) -> FloatArray:
        """Only the pairs of an item that the user was shown change."""
        seen, own, n = parts(exposure)
        sums, lists = np.concatenate(([0.0], np.cumsum(own))), exposure.lists

        def to_all(x: FloatArray) -> FloatArray:
            """The sum of |x - y| over all items y."""
            below = np.searchsorted(own, x)
            found: FloatArray = (2 * below - own.size) * x + sums[-1] - 2 * sums[below]
            return found

        inside = seen[lists.item] > 0
        pairs, whole = np.full(lists.n_users, apart(own)), np.full(lists.n_users, own.sum())
        cells = CELLS // max(1, int(lists.lengths.max(initial=1)))
        for users, item, at in lists.only(inside).blocks(cells):
            before, lost = seen[item], exposure.weight[inside][at]
            after = before - lost
            pairs[users] += (to_all(after) - to_all(before)).sum(axis=1)
            # Pairs of two such items were compared with what the other one had before.
            pairs[users] += (_apart(before, before) + _apart(after, after)) / 2
            pairs[users] -= _apart(after, before)
            whole[users] -= lost.sum(axis=1)
        return index(pairs, whole, n)

    return Statistic(value, without)
