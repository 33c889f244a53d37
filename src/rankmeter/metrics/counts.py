"""Counts: how many items are ranked, relevant or found, and whether they repeat."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from rankmeter._choices import SHARED_RANKS
from rankmeter._evidence.hits import FloatArray, Hits
from rankmeter._evidence.lists import Lists
from rankmeter._evidence.steps import note_formula
from rankmeter.metrics._formula import formula
from rankmeter.metrics._registry import ANY_SHARED, register
from rankmeter.metrics.weights import deduplicate


@register("Queries counted", needs_relevant=False, shared=ANY_SHARED)
def n_queries(hits: Hits) -> FloatArray:
    """Queries counted: 1 for each, so that the sum is the number of queries that a mean is over.

    Notes
    -----
    Not a measure of quality. Options such as ``missing="skip"`` decide which queries count. Source:
    ``NumQ`` of ir_measures.

    Examples
    --------
    >>> import rankmeter as rm
    >>> truth = {"u": {"a"}, "v": {"b"}}
    >>> rm.evaluate({"u": ["a"]}, truth, "n_queries", aggregate="sum")["n_queries"].mean
    2.0
    """
    return formula("queries", queries=np.ones(hits.n_users))


@register(
    "Items ranked",
    high=math.inf,
    synonyms=("num_ret", "num_ranked"),
    needs_relevant=False,
    shared=ANY_SHARED,
)
def n_ranked(hits: Hits, k: int | None = None) -> FloatArray:
    """Items ranked: number of items in the ranking, or in its top k.

    Notes
    -----
    Not a measure of quality, but a denominator of others; averaged, the mean length. An empty
    ranking has 0.

    Examples
    --------
    >>> import rankmeter as rm
    >>> result = rm.evaluate({"u": ["a", "b", "c"]}, {"u": {"b"}}, "n_ranked@1,2,5")
    >>> [estimate.mean for estimate in result.values()]
    [1.0, 2.0, 3.0]
    """
    return formula("ranked" if k is None else "min(ranked, k)", ranked=hits.n_ranked, k=k)


@register(
    "Items relevant",
    high=math.inf,
    synonyms=("num_rel", "num_relevant"),
    needs_relevant=False,
    shared=ANY_SHARED,
)
def n_relevant(hits: Hits) -> FloatArray:
    """Items relevant: number of relevant items in the ground truth, found or not.

    Notes
    -----
    Shows how hard a user's task is, not how good the ranking is; 0 where nothing is relevant.

    Examples
    --------
    >>> import rankmeter as rm
    >>> rm.evaluate({"u": ["a"]}, {"u": {"b": 2, "c": 1, "d": 0}}, "n_relevant",
    ...             no_overlap="allow")["n_relevant"].mean
    2.0
    """
    return formula("relevant", relevant=hits.n_relevant)


@register(
    "Hits",
    high=math.inf,
    synonyms=("num_rel_ret", "num_hits"),
    needs_relevant=False,
    shared=SHARED_RANKS,
)
def n_hits(hits: Hits, k: int | None = None) -> FloatArray:
    """Hits: number of relevant items in the top k.

    Notes
    -----
    A count, 0 where nothing is relevant. Some tools call it hits@k, which elsewhere is `hit_rate`.

    Examples
    --------
    >>> import rankmeter as rm
    >>> result = rm.evaluate({"u": ["a", "b", "c"]}, {"u": {"b", "c", "d"}}, "n_hits@2,3")
    >>> [estimate.mean for estimate in result.values()]
    [1.0, 2.0]
    """
    return hits.count(k)


@register("List length", high=math.inf, reached=False, needs_items=False)
def list_length(lists: Lists, k: int | None = None) -> FloatArray:
    """List length: number of items in the top k.

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
    return formula("items", items=lists.top(k).lengths)


@register("Sufficiency", needs_items=False, synonyms=("sufficient",))
def sufficiency(lists: Lists, k: int | None = None, *, partial: bool = False) -> FloatArray:
    """Sufficiency: 1 if a list has k items, else 0. Without a cutoff, no list is too short.

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
        return note_formula(np.ones(lists.n_users), "1")
    text = "min(items / k, 1)" if partial else "items >= k"
    return formula(text, items=lists.top(k).lengths, k=k)


@register("Repetition", increasing=False)
def repetition(
    lists: Lists,
    k: int | None = None,
    *,
    scale: Literal["share", "any"] = "share",
    inverse: bool = False,
) -> FloatArray:
    """Repetition: share of the top k that is in the list a second time, or more often.

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
    kinds, n = deduplicate(top).lengths, np.maximum(top.lengths, 1)
    repeated = formula("1 - different / items", name="repeated", different=kinds, items=n)
    if scale == "any":
        repeated = formula("repeated > 0", repeated=repeated)
    return formula("1 - repeated", repeated=repeated) if inverse else repeated
