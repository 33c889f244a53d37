"""C/W/L metrics: the gain per item of a reader who continues as a user model says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

import numpy as np

from rankmeter._evidence.hits import FloatArray, Hits
from rankmeter._evidence.steps import column
from rankmeter.errors import UsageError
from rankmeter.errors._checks import fraction, number
from rankmeter.metrics._formula import formula
from rankmeter.metrics._registry import Example, register
from rankmeter.metrics.rank_biased_precision import grade_share

Model = Literal[
    "inst", "insq", "bpm", "sdcg", "nerr8", "nerr9", "nerr10", "nerr11", "tbg", "u", "rbp"
]

READ = 1_000
"""Items that a reader looks at if nothing stops the reading before, as in cwl_eval."""
_USERS_AT_ONCE = 1_024
TARGET, PERSISTENCE, SCALE = 1.0, 0.9, 224.0
ACTS = {
    "target": ("inst", "insq", "bpm", "nerr11"), "p": ("nerr10", "rbp"), "scale": ("tbg", "u"),
}  # fmt: skip
"""The models on which each option acts."""


@register("Expected utility per item", reached=False, open_ties=False, synonyms=("cwl",))
def utility_rate(
    hits: Hits,
    k: int | None = None,
    *,
    model: Model = "inst",
    target: Annotated[float, Example(2.0)] = TARGET,
    p: Annotated[float, Example(0.6)] = PERSISTENCE,
    scale: Annotated[float, Example(30.0)] = SCALE,
    max_gain: Annotated[float | None, Example(3.0)] = None,
) -> FloatArray:
    """Expected utility per item: the mean gain of the items that a reader of a model looks at.

    Parameters
    ----------
    model : str
        The probability that the reader of rank r goes on to the next item. With T the target, g
        the gain of this item and G the gain so far, it included: ``inst``, ((r + 2T - G - 1) /
        (r + 2T - G))²; ``insq``, ((r + 2T - 1) / (r + 2T))²; ``bpm``, 1 while G < T;
        ``sdcg``, log(r + 1) / log(r + 2); ``nerr8``, 1 - g; ``nerr9``, r / (r + 1) · (1 - g);
        ``nerr10``, p (1 - g); ``nerr11``, that of insq times 1 - g; ``tbg``, 2^(-1 / scale); ``u``,
        (scale - r) / (scale - r + 1), at least 0; ``rbp``, p.
    target : float
        The gain that the reader looks for (``inst``, ``insq``, ``bpm``, ``nerr11``), above 0.
    p : float
        Persistence, between 0 and 1 (``nerr10``, ``rbp``).
    scale : float
        Half-life (``tbg``), or where reading ends (``u``), in items, above 0.
    max_gain : float, optional
        Largest possible gain, which no gain may exceed: a gain g counts as g / max_gain. Without
        it every hit counts as 1.

    Notes
    -----
    Σ V g / Σ V, where V of a rank is the probability of reaching it, the product of those above;
    items below the ranking have no gain. Reading ends at rank k, or 1,000. An option that does not
    act on the model must have its default. Source: Moffat, Bailey,
    Scholer and Thomas, TOIS 2017; Azzopardi, Mackenzie and Moffat, ICTIR 2021 (``nerr``); cwl_eval.

    Examples
    --------
    The reader stops after the first hit, at rank 2: one hit in two items.

    >>> import rankmeter as rm
    >>> result = rm.evaluate({"u": ["x", "a", "b"]}, {"u": {"a", "b"}}, "utility_rate(model=bpm)")
    >>> result["utility_rate(model=bpm)"].mean
    0.5
    """
    number("target", target, above=0)
    number("scale", scale, above=0)
    fraction("p", p)
    given = {"target": target != TARGET, "p": p != PERSISTENCE, "scale": scale != SCALE}
    for name in (name for name, is_given in given.items() if is_given):
        if model not in ACTS[name]:
            raise UsageError(
                f"`{name}` cannot act on model={model}, only on {', '.join(ACTS[name])}: leave it "
                "out",
                option=name,
            )
    worth = grade_share(hits, max_gain)
    depth = READ if k is None else min(k, READ)
    rank = np.arange(1.0, depth + 1.0)
    reach = np.empty_like(hits.rank)
    reached = np.empty(hits.n_users)
    for start in range(0, hits.n_users, _USERS_AT_ONCE):
        users = min(_USERS_AT_ONCE, hits.n_users - start)
        rows = slice(hits.offsets[start], hits.offsets[start + users])
        inside = hits.rank[rows] <= depth
        row, at = (
            hits.user[rows] - start,
            np.ceil(np.minimum(hits.rank[rows], depth)).astype(np.intp) - 1,
        )
        gain = np.zeros((users, depth))
        np.add.at(gain, (row[inside], at[inside]), worth[rows][inside])
        go_on = _continues(model, rank, gain, target, p, scale)
        seen = np.ones((users, depth))
        seen[:, 1:] = np.broadcast_to(go_on, seen.shape)[:, :-1].cumprod(axis=1)
        reach[rows] = np.where(inside, seen[row, at], 0.0)
        reached[start : start + users] = seen.sum(axis=1)
    total = hits.sum(column(reach, "reached", hits) * column(worth, "worth", hits))
    return formula("sum / items", sum=total, items=reached)


def _continues(
    model: Model, rank: FloatArray, gain: FloatArray, target: float, p: float, scale: float
) -> FloatArray:
    """The probability of going on after each rank, of all users or of each."""

    def unsatisfied() -> FloatArray:
        return np.maximum(1.0 - gain, 0.0)  # tied items that are found together may gain more

    def insq() -> FloatArray:
        return _squared(rank + 2.0 * target)

    go_on: dict[Model, Callable[[], FloatArray]] = {
        "inst": lambda: _squared(rank + 2.0 * target - gain.cumsum(axis=1)),
        "insq": insq,
        "bpm": lambda: (gain.cumsum(axis=1) < target).astype(np.float64),
        "sdcg": lambda: np.log2(rank + 1.0) / np.log2(rank + 2.0),
        "nerr8": unsatisfied,
        "nerr9": lambda: rank / (rank + 1.0) * unsatisfied(),
        "nerr10": lambda: p * unsatisfied(),
        "nerr11": lambda: insq() * unsatisfied(),
        "tbg": lambda: np.full_like(rank, 0.5 ** (1.0 / scale)),
        "u": lambda: np.maximum(scale - rank, 0.0) / np.maximum(scale - rank + 1.0, 1.0),
        "rbp": lambda: np.full_like(rank, p),
    }
    return go_on[model]()


def _squared(ahead: FloatArray) -> FloatArray:
    """The share of those who go on where that many items would be read."""
    share: FloatArray = ((ahead - 1.0) / ahead) ** 2
    return share
