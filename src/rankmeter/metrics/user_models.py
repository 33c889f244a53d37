"""C/W/L metrics: the gain per item of a reader who continues as a user model says."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np

from rankmeter._choices import Alignment
from rankmeter._evidence.hits import BoolArray, FloatArray, Hits, IntArray
from rankmeter._evidence.steps import note_column, note_sum
from rankmeter.errors import UsageError
from rankmeter.errors._checks import check_fraction, check_number
from rankmeter.metrics._formula import formula
from rankmeter.metrics._ranges import ANY, SHARE, SIGNED_SHARE, vary
from rankmeter.metrics._registry import Example, register
from rankmeter.metrics.rank_biased_precision import scale_gains

Model = Literal[
    "inst", "insq", "bpm", "sdcg", "nerr8", "nerr9", "nerr10", "nerr11", "tbg", "u", "rbp"
]

READ = 1_000
"""Items that a reader looks at if nothing stops the reading before, as in cwl_eval."""
_USERS_AT_ONCE = 1_024
TARGET, PERSISTENCE, SCALE = 1.0, 0.9, 224.0
ACTS: dict[str, tuple[str, ...]] = {
    "target": ("inst", "insq", "bpm", "nerr11"), "p": ("nerr10", "rbp"), "scale": ("tbg", "u"),
}  # fmt: skip
"""The models on which each option acts."""
_DEFAULTS = {"target": TARGET, "p": PERSISTENCE, "scale": SCALE}
STEADY = ("insq", "sdcg", "tbg", "u", "rbp")
"""The models whose reader does not heed gains."""

Target = Annotated[float, Example(2.0)]
Persistence = Annotated[float, Example(0.6)]
Scale = Annotated[float, Example(30.0)]
LargestGain = Annotated[float | None, Example(3.0)]


def _rate_bounds(options: Mapping[str, Any], choices: Alignment) -> tuple[float, float]:
    return SHARE if options["max_gain"] is None else SIGNED_SHARE(options, choices)


def _residual_bounds(options: Mapping[str, Any], choices: Alignment) -> tuple[float, float]:
    return SHARE if options["max_gain"] is None else vary(negative=ANY)(options, choices)


def _idle_option(options: Mapping[str, Any]) -> str:
    """The option that has another value than its default, and cannot act on the model."""
    return next((name for name, models in ACTS.items() if options[name] != _DEFAULTS[name]
                 and options["model"] not in models), "")  # fmt: skip


def _refuses(options: Mapping[str, Any]) -> bool:
    return bool(_idle_option(options))


def _depth_refuses(options: Mapping[str, Any]) -> bool:
    is_idle = options["max_gain"] is not None and options["model"] in STEADY
    return is_idle or _refuses(options)


@register(
    "Expected utility per item",
    refuses=_refuses,
    bounds=_rate_bounds,
    reached=False,
    open_ties=False,
    synonyms=("cwl",),
)
def utility_rate(
    hits: Hits,
    k: int | None = None,
    *,
    model: Model = "inst",
    target: Target = TARGET,
    p: Persistence = PERSISTENCE,
    scale: Scale = SCALE,
    max_gain: LargestGain = None,
) -> FloatArray:
    """Expected utility per item: the mean gain of the items that a reader of a model looks at.

    Parameters
    ----------
    model : str
        The probability that the reader of rank r goes on to the next item. With T the target, g
        the gain of this item and G the sum of the gains down to this item: ``inst``,
        ((r + 2T - G - 1) / (r + 2T - G))², at most 1; ``insq``, ((r + 2T - 1) / (r + 2T))²;
        ``bpm``, 1 while G < T; ``sdcg``, log(r + 1) / log(r + 2); ``nerr8``, 1 - g; ``nerr9``,
        r / (r + 1) · (1 - g); ``nerr10``, p (1 - g); ``nerr11``, the probability of ``insq`` times
        1 - g; ``tbg``, 2^(-1 / scale); ``u``, (scale - r) / (scale - r + 1), at least 0; ``rbp``,
        p.
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
    Σ V g / Σ V, where V of a rank is the probability that the reader reaches it: the product of
    the probabilities of going on from all ranks above. Items below the ranking have no gain.
    Reading ends at rank k, or 1,000. An option that does not act on the model must have its
    default. With ``bpm`` a hit that moves up can lower the value: a reader who finds less reads
    on, to more gains. Source: Moffat, Bailey, Scholer and Thomas, TOIS 2017; Azzopardi, Mackenzie
    and Moffat, ICTIR 2021 (``nerr``); cwl_eval.

    Examples
    --------
    The reader stops after the first hit, at rank 2: one hit in two items.

    >>> import rankmeter as rm
    >>> result = rm.evaluate({"u": ["x", "a", "b"]}, {"u": {"a", "b"}}, "utility_rate(model=bpm)")
    >>> result["utility_rate(model=bpm)"].mean
    0.5
    """
    gains = scale_gains(hits, max_gain)
    reach, items, total = _simulate_reading(hits, k, gains, Reader(model, target, p, scale))
    terms = note_column(reach, "reached", hits) * note_column(gains, "worth", hits)
    return formula("sum / items", sum=note_sum(total, terms, hits), items=items)


@register(
    "Expected depth",
    low=1.0,
    high=math.inf,
    increasing=False,
    reached=False,
    open_ties=False,
    refuses=_depth_refuses,
)
def expected_depth(
    hits: Hits,
    k: int | None = None,
    *,
    model: Model = "inst",
    target: Target = TARGET,
    p: Persistence = PERSISTENCE,
    scale: Scale = SCALE,
    max_gain: LargestGain = None,
) -> FloatArray:
    """Expected depth: the number of items that a reader of a model looks at.

    Parameters
    ----------
    model : str
        The probability of going on to the next item, as in `utility_rate`.
    target : float
        The gain that the reader looks for, as in `utility_rate`.
    p : float
        Persistence, as in `utility_rate`.
    scale : float
        Half-life, or where reading ends, as in `utility_rate`.
    max_gain : float, optional
        Largest possible gain, as in `utility_rate`.

    Notes
    -----
    Σ V, where V of a rank is the probability of reaching it, down to rank k, or 1,000. For models
    that do not depend on gains (``insq``, ``sdcg``, ``tbg``, ``u``, ``rbp``) it is the same for
    all rankings, and `max_gain` is refused. `utility_rate` times the depth is the expected total
    utility of a user. Source: Moffat, Bailey, Scholer and Thomas, TOIS 2017; cwl_eval.

    Examples
    --------
    The reader stops after the first hit, at rank 2.

    >>> import rankmeter as rm
    >>> result = rm.evaluate({"u": ["x", "a", "b"]}, {"u": {"a", "b"}}, "expected_depth(model=bpm)")
    >>> result["expected_depth(model=bpm)"].mean
    2.0
    """
    if max_gain is not None and model in STEADY:
        raise UsageError(
            f"`max_gain` cannot act on the depth of model={model}, which does not depend on gains: "
            "leave it out",
            option="max_gain",
        )
    gains = scale_gains(hits, max_gain)
    reach, items, _ = _simulate_reading(hits, k, gains, Reader(model, target, p, scale))
    note_column(reach, "reached", hits)
    return formula("items", items=items)


@register(
    "Residual of utility per item",
    refuses=_refuses,
    bounds=_residual_bounds,
    increasing=False,
    reached=False,
    open_ties=False,
)
def utility_residual(
    hits: Hits,
    nonrelevant: Hits,
    k: int | None = None,
    *,
    model: Model = "inst",
    target: Target = TARGET,
    p: Persistence = PERSISTENCE,
    scale: Scale = SCALE,
    max_gain: LargestGain = None,
    unjudged: Literal["nonrelevant", "unknown"] = "nonrelevant",
) -> FloatArray:
    """Residual of utility per item: how much it could still gain from unseen items.

    Parameters
    ----------
    model : str
        The probability of going on to the next item, as in `utility_rate`.
    target : float
        The gain that the reader looks for, as in `utility_rate`.
    p : float
        Persistence, as in `utility_rate`.
    scale : float
        Half-life, or where reading ends, as in `utility_rate`.
    max_gain : float, optional
        Largest possible gain, as in `utility_rate`.
    unjudged : {"nonrelevant", "unknown"}
        Whether ranked items without a judgment have no gain, or may have the full gain.

    Notes
    -----
    `utility_rate` if all items below the ranking, down to rank k or 1,000, and those at all ranks
    without a judged item have the largest gain, minus `utility_rate`. Source: Moffat, Bailey,
    Scholer and Thomas, TOIS 2017; cwl_eval, whose residuals have ``unjudged="unknown"``.

    Examples
    --------
    The reader looks for two hits and finds one in three items; two, if the third is relevant.

    >>> import rankmeter as rm
    >>> name = "utility_residual(model=bpm,target=2)@3"
    >>> round(rm.evaluate({"u": ["x", "a"]}, {"u": {"a"}}, name)[name].mean, 3)
    0.333
    """
    gains = scale_gains(hits, max_gain)
    reader = Reader(model, target, p, scale)
    if unjudged == "unknown":
        _refuse_shared_ranks(hits, nonrelevant)

    def are_unknown(users: slice, rank: FloatArray) -> BoolArray:
        if unjudged == "nonrelevant":
            return np.asarray(rank > hits.n_ranked[users, None])
        judged = (
            _matrix_by_rank(ranked, np.ones_like(ranked.rank), users, rank.size)[0]
            for ranked in (hits, nonrelevant)
        )
        return np.asarray(sum(judged) == 0)

    reach, items, total = _simulate_reading(hits, k, gains, reader)
    note_column(reach, "reached", hits)
    note_column(gains, "worth", hits)
    _, most_items, best_total = _simulate_reading(hits, k, gains, reader, are_unknown)
    return formula(
        "most / most_items - total / items",
        most=best_total, most_items=most_items, total=total, items=items,
    )  # fmt: skip


def _refuse_shared_ranks(*ranked: Hits) -> None:
    """Refuse judged items with a shared rank: ranks without a judged item are uncertain."""
    user = np.concatenate([hits.user for hits in ranked])
    rank = np.concatenate([hits.rank for hits in ranked])
    order = np.lexsort((rank, user))
    shared = (np.diff(user[order]) == 0) & (np.diff(rank[order]) == 0)
    if shared.any() or (rank % 1 != 0).any():
        raise UsageError(
            "utility_residual(unjudged=unknown) needs a rank for each item: choose a rule that "
            "orders tied items, such as ties='item'"
        )


@dataclass(frozen=True)
class Reader:
    """A user model with its numbers; options that do not act on the model have their defaults."""

    model: Model
    target: float
    p: float
    scale: float

    def __post_init__(self) -> None:
        check_number("target", self.target, above=0)
        check_number("scale", self.scale, above=0)
        check_fraction("p", self.p)
        if name := _idle_option(vars(self)):
            raise UsageError(
                f"`{name}` cannot act on model={self.model}, only on {', '.join(ACTS[name])}: "
                "leave it out",
                option=name,
            )

    def continuation_probability(self, rank: FloatArray, gain: FloatArray) -> FloatArray:
        """The probability of going on after each rank, for all users or for each user."""

        def unsatisfied_share() -> FloatArray:
            return np.clip(1.0 - gain, 0.0, 1.0)  # tied items that are found together gain more

        def insq_continuation() -> FloatArray:
            return _continuation_share(rank + 2.0 * self.target)

        go_on: dict[Model, Callable[[], FloatArray]] = {
            "inst": lambda: _continuation_share(rank + 2.0 * self.target - gain.cumsum(axis=1)),
            "insq": insq_continuation,
            "bpm": lambda: (gain.cumsum(axis=1) < self.target).astype(np.float64),
            "sdcg": lambda: np.log2(rank + 1.0) / np.log2(rank + 2.0),
            "nerr8": unsatisfied_share,
            "nerr9": lambda: rank / (rank + 1.0) * unsatisfied_share(),
            "nerr10": lambda: self.p * unsatisfied_share(),
            "nerr11": lambda: insq_continuation() * unsatisfied_share(),
            "tbg": lambda: np.full_like(rank, 0.5 ** (1.0 / self.scale)),
            "u": lambda: (
                np.maximum(self.scale - rank, 0.0) / np.maximum(self.scale - rank + 1.0, 1.0)
            ),
            "rbp": lambda: np.full_like(rank, self.p),
        }
        return go_on[self.model]()


def _continuation_share(ahead: FloatArray) -> FloatArray:
    """Share of readers who go on when `ahead` items would be read, at most 1."""
    ahead = np.maximum(ahead, 0.5)
    share: FloatArray = ((ahead - 1.0) / ahead) ** 2
    return share


def _simulate_reading(
    hits: Hits,
    k: int | None,
    gains: FloatArray,
    reader: Reader,
    are_unknown: Callable[[slice, FloatArray], BoolArray] | None = None,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Probability of reaching each hit, and the number of items and the gain read by each user.

    Items at ranks that `are_unknown` of some users have the largest gain.
    """
    depth = READ if k is None else min(k, READ)
    rank = np.arange(1.0, depth + 1.0)
    reach, items, total = np.zeros_like(hits.rank), np.empty(hits.n_users), np.empty(hits.n_users)
    for start in range(0, hits.n_users, _USERS_AT_ONCE):
        users = slice(start, min(start + _USERS_AT_ONCE, hits.n_users))
        gain_matrix, hit_rows, cell = _matrix_by_rank(hits, gains, users, depth)
        if are_unknown is not None:
            gain_matrix[are_unknown(users, rank)] = 1.0
        go_on = reader.continuation_probability(rank, gain_matrix)
        reading = np.ones_like(gain_matrix)
        reading[:, 1:] = np.broadcast_to(go_on, reading.shape)[:, :-1].cumprod(axis=1)
        reach[hit_rows] = reading[cell]
        items[users] = reading.sum(axis=1)
        total[users] = (reading * gain_matrix).sum(axis=1)
    return reach, items, total


def _matrix_by_rank(
    ranked: Hits, values: FloatArray, users: slice, depth: int
) -> tuple[FloatArray, IntArray, tuple[IntArray, IntArray]]:
    """Values of some users by rank, indices of the items within depth, and their cells."""
    rows = slice(ranked.offsets[users.start], ranked.offsets[users.stop])
    index = rows.start + np.flatnonzero(ranked.rank[rows] <= depth)
    cell = ranked.user[index] - users.start, np.ceil(ranked.rank[index]).astype(np.intp) - 1
    matrix = np.zeros((users.stop - users.start, depth))
    np.add.at(matrix, cell, values[index])
    return matrix, index, cell
