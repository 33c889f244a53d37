"""Confusion matrix: recommended or not, relevant or not, over the whole catalogue."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np

from rankmeter._choices import SHARED_RANKS, Alignment
from rankmeter._evidence.hits import FloatArray, Hits
from rankmeter.errors import UsageError
from rankmeter.metrics._formula import formula
from rankmeter.metrics._ranges import ANY, vary
from rankmeter.metrics._registry import Example, register
from rankmeter.metrics.counts import n_hits, n_ranked, n_relevant
from rankmeter.metrics.states import Defined, Ratio


def _accuracy_bounds(options: Mapping[str, Any], choices: Alignment) -> tuple[float, float]:
    k, n_items = options["k"], options["n_items"]
    low = 0.0 if options["chosen"] == "ranked" or k is None else -k / n_items
    return vary((low, 1.0), repeated=ANY)(options, choices)


@register(
    "Accuracy",
    bounds=_accuracy_bounds,
    synonyms=("acc",),
    needs_relevant=False,
    shared=SHARED_RANKS,
)
def accuracy(
    hits: Hits,
    k: int | None = None,
    *,
    n_items: Annotated[int, Example(100, 50, 16)],
    chosen: Literal["ranked", "k"] = "ranked",
) -> FloatArray:
    """Accuracy: share of the catalogue that is correctly recommended or correctly left out.

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
    nothing scores 1 - n_relevant / n_items; and it ignores order. With ``chosen=k``
    empty places can make it negative, down to -k / n_items.

    Examples
    --------
    Ten items; of the five recommended two are right, and of the five left out one is relevant:
    2 + 4 items out of 10 are classified correctly.

    >>> import rankmeter as rm
    >>> ranking = {"u": [4, 6, 2, 3, 1, 8, 10, 9, 5, 7]}
    >>> rm.evaluate(ranking, {"u": {1, 6, 9}}, "accuracy@5", n_items=10)["accuracy@5"].mean
    0.6
    """
    n_hits = hits.count(k)
    length = hits.depth(k) if chosen == "ranked" or k is None else k
    missed = hits.n_relevant - n_hits
    text = "length - hits + missed"
    wrong = formula(text, name="wrong", length=length, hits=n_hits, missed=missed)
    return formula("1 - wrong / n_items", wrong=wrong, n_items=n_items)


@register(
    "Fall-out",
    increasing=False,
    needs_relevant=False,
    synonyms=("fall_out", "fpr"),
    shared=SHARED_RANKS,
)
def fallout(
    hits: Hits, k: int | None = None, *, n_items: Annotated[int | None, Example(100, 50)]
) -> Ratio:
    """Fall-out: share of the irrelevant candidates that are in the top k. Lower is better.

    Parameters
    ----------
    n_items : int or None
        Number of items that could be ranked, the same ones for each user; ``none`` takes
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
    n_irrelevant = (
        hits.n_ranked - hits.count(None) if n_items is None else n_items - hits.n_relevant
    )
    return Defined(hits.depth(k) - hits.count(k), n_irrelevant, ("irrelevant_in_top", "irrelevant"))


@register(
    "Matthews correlation",
    low=-1.0,
    bounds=vary((-1.0, 1.0), repeated=ANY),
    synonyms=("matthews_corrcoef", "phi_coefficient"),
    shared=SHARED_RANKS,
)
def mcc(
    hits: Hits,
    k: int | None = None,
    *,
    n_items: Annotated[int, Example(100, 50)],
    chosen: Literal["ranked", "k"] = "ranked",
) -> FloatArray:
    """Matthews correlation (MCC) between being recommended and being relevant, in the catalogue.

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
    length = hits.depth(k) if chosen == "ranked" else hits.length(k)
    relevant = hits.n_relevant.astype(np.float64)
    # TP · TN - FP · FN, which is linear in TP: exact also for an expected number of hits.
    terms: dict[str, Any] = {"n_items": n_items, "length": length, "relevant": relevant}
    text = "n_items * hits - length * relevant"
    covariance = formula(text, name="covariance", hits=hits.count(k), **terms)
    text = "sqrt(length * relevant * max(n_items - length, 0) * (n_items - relevant))"
    scale = formula(text, name="scale", **terms)
    value = formula("covariance / scale", covariance=covariance, scale=scale)
    return np.where(length > n_items, np.nan, value)


def _utility_refuses(options: Mapping[str, Any]) -> bool:
    """What is neither ranked nor relevant can only be counted in a catalogue of known size."""
    return options["spared"] != 0 and options["n_items"] is None


@register(
    "Utility",
    low=-math.inf,
    high=math.inf,
    needs_relevant=False,
    shared=SHARED_RANKS,
    refuses=_utility_refuses,
)
def utility(
    hits: Hits,
    k: int | None = None,
    *,
    found: Annotated[float, Example(2.0)] = 1.0,
    wrong: Annotated[float, Example(-0.5)] = -1.0,
    missed: Annotated[float, Example(-1.0)] = 0.0,
    spared: Annotated[float, Example(0.1)] = 0.0,
    n_items: Annotated[int | None, Example(30)] = None,
) -> FloatArray:
    """Utility of the contingency table: a price for each item in its four cells.

    Parameters
    ----------
    k : int, optional
        Cutoff: the top k are "ranked"; without it the whole ranking is.
    found : float
        Worth of a relevant item that is ranked.
    wrong : float
        Worth of an item that is ranked and not relevant.
    missed : float
        Worth of a relevant item that is not ranked.
    spared : float
        Worth of an item that is neither.
    n_items : int, optional
        Size of the catalogue; needed if `spared` is not 0.

    Notes
    -----
    Defined for every user, also where nothing is relevant. Source: ``utility`` of trec_eval; Lewis,
    TREC 1995.

    Examples
    --------
    Two hits and one miss: 2 · 1 - 1.

    >>> import rankmeter as rm
    >>> rm.evaluate({"u": list("abc")}, {"u": set("acz")}, "utility")["utility"].mean
    1.0
    """
    if spared and n_items is None:
        raise UsageError("utility(spared=…) needs the size of the catalogue: pass n_items=")
    right, ranked, relevant = n_hits(hits, k), n_ranked(hits, k), n_relevant(hits)
    true_negatives = (n_items or 0) + right - ranked - relevant
    text = "found * hits + wrong * others + missed * not_ranked + spared * rest"
    return formula(
        text, found=found, hits=right, wrong=wrong, others=ranked - right,
        missed=missed, not_ranked=relevant - right, spared=spared, rest=true_negatives,
    )  # fmt: skip
