"""Metrics of how many items a user is shown, and whether they repeat."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from rankmeter._hits import FloatArray
from rankmeter._lists import Lists
from rankmeter._steps import worked
from rankmeter.metrics._registry import register
from rankmeter.metrics.places import once


@register("List length", high=math.inf, reached=False, needs_items=False)
def list_length(lists: Lists, k: int | None = None) -> FloatArray:
    """Count the items in the top k.

    Notes
    -----
    A user without a ranking has 0, but is averaged only with ``users="all"``.

    Examples
    --------
    >>> import rankmeter as rm
    >>> result = rm.evaluate({"ann": ["a", "b"]}, {"ann": {"a"}}, "list_length@1,10")
    >>> result["list_length@1"].mean, result["list_length@10"].mean
    (1.0, 2.0)
    """
    n = lists.top(k).lengths.astype(np.float64)
    return worked(n, "items", items=n)


@register("Sufficiency", needs_items=False, synonyms=("sufficient",))
def sufficiency(lists: Lists, k: int | None = None, *, partial: bool = False) -> FloatArray:
    """Whether a list has k items: 1 or 0. Without a cutoff, no list is too short.

    Parameters
    ----------
    partial : bool
        The share of the k items that it has, instead of 0.

    Notes
    -----
    A user without a ranking has 0, but is averaged only with ``users="all"``.

    Examples
    --------
    >>> import rankmeter as rm
    >>> lists, truth = {"ann": ["a", "b"], "bob": ["a"]}, {"ann": {"a"}, "bob": {"a"}}
    >>> result = rm.evaluate(lists, truth, ["sufficiency@2", "sufficiency(partial=true)@2"])
    >>> [value.mean for value in result.values()]
    [0.5, 0.75]
    """
    if k is None:
        return worked(np.ones(lists.n_users), "1")
    n = lists.top(k).lengths
    share = np.minimum(n / k, 1.0)
    if partial:
        return worked(share, "min(items / k, 1)", items=n, k=k)
    return worked(np.floor(share), "items >= k", items=n, k=k)


@register("Repetition", increasing=False)
def repetition(
    lists: Lists,
    k: int | None = None,
    *,
    scale: Literal["share", "any"] = "share",
    inverse: bool = False,
) -> FloatArray:
    """Share of the top k that is in the list a second time, or more often.

    Parameters
    ----------
    scale : {"share", "any"}
        The share of the items that repeat an item above them, or whether any does: 1 or 0.
    inverse : bool
        One minus it.

    Notes
    -----
    Repeated items are an error unless ``duplicates="each"`` keeps them. For items that the user has
    had before, see `unseen`.

    Examples
    --------
    >>> import rankmeter as rm
    >>> lists, truth = {"ann": ["a", "b", "a", "c"]}, {"ann": {"a"}}
    >>> rm.evaluate(lists, truth, "repetition@4", duplicates="each")["repetition@4"].mean
    0.25
    """
    top = lists.top(k)
    kinds, n = once(top).lengths, np.maximum(top.lengths, 1)
    found = worked(1.0 - kinds / n, "1 - different / items", "repeated", different=kinds, items=n)
    if scale == "any":
        found = worked(np.where(found > 0, 1.0, 0.0), "repeated > 0", repeated=found)
    return worked(1.0 - found, "1 - repeated", repeated=found) if inverse else found
