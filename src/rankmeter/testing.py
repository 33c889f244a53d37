"""The laws that every metric must obey, for the built-in ones and for those that you write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rankmeter._hits import Hits
from rankmeter.metrics import METRICS

__all__ = ["check_metric", "random_hits"]


def random_hits(rng: np.random.Generator, n_users: int = 50, *, max_gain: int = 3) -> Hits:
    """Hits of made-up users: empty rankings, users without truth, perfect lists, graded gains.

    Parameters
    ----------
    rng : numpy.random.Generator
    n_users : int
    max_gain : int
        Gains are whole numbers from 1 up to this.

    Returns
    -------
    Hits
        With its ideal, and with judged items that are not relevant.

    Examples
    --------
    >>> import numpy as np
    >>> random_hits(np.random.default_rng(0), 10).n_users
    10
    """
    n_ranked = rng.integers(0, 20, n_users)
    n_relevant = rng.integers(0, 8, n_users)
    found, rest, ideal = [], [], []
    for length, relevant in zip(n_ranked.tolist(), n_relevant.tolist(), strict=True):
        places = rng.permutation(length) + 1
        n_found = min(relevant, int(rng.integers(0, length + 1)))
        gains = rng.integers(1, max_gain + 1, relevant).astype(np.float64)
        found.append((np.sort(places[:n_found]), gains[:n_found]))
        rest.append((np.sort(places[n_found:][:3]), np.zeros(min(length - n_found, 3))))
        ideal.append(gains)
    offsets = np.concatenate(([0], np.cumsum(n_relevant)))
    return _block(
        found,
        n_relevant,
        n_ranked,
        ideal=Hits.perfect(offsets, np.concatenate([*ideal, np.zeros(0)])),
        judged=_block(rest, np.array([len(r) for r, _ in rest]), n_ranked),
    )


def _block(parts: list[tuple[Any, Any]], n_relevant: Any, n_ranked: Any, **related: Any) -> Hits:
    offsets = np.concatenate(([0], np.cumsum([len(rank) for rank, _ in parts])))
    rank = np.concatenate([*(rank for rank, _ in parts), np.zeros(0)])
    gain = np.concatenate([*(gain for _, gain in parts), np.zeros(0)])
    return Hits(offsets, rank, gain, n_relevant, n_ranked, **related)


def _users(hits: Hits, chosen: slice) -> Hits:
    """Some neighbouring users of a block."""
    offsets = hits.offsets[chosen.start : chosen.stop + 1]
    span = slice(offsets[0], offsets[-1])
    return Hits(
        offsets - offsets[0],
        hits.rank[span],
        hits.gain[span],
        hits.n_relevant[chosen],
        hits.n_ranked[chosen],
        ideal=None if hits.ideal is None else _users(hits.ideal, chosen),
        judged=None if hits.judged is None else _users(hits.judged, chosen),
    )


def check_metric(
    name: str, *, options: Mapping[str, Any] | None = None, k: int | None = None, seed: int = 0
) -> None:
    """Check one registered metric against the laws; raise AssertionError where it breaks one.

    Parameters
    ----------
    name : str
        Canonical name of a metric in the registry.
    options : mapping, optional
        Its options, above all those without a default.
    k : int, optional
        Cutoff.
    seed : int
        Seed of the random hits.

    Raises
    ------
    AssertionError
        If the metric returns anything but one float64 per user, leaves the range it declares,
        changes its input, gives other values for another cut of the users into blocks, or is
        defined although nothing is relevant while others of its kind are not.

    Examples
    --------
    >>> check_metric("ndcg", k=10)
    >>> check_metric("err", options={"max_gain": 3})
    """
    spec = METRICS[name]
    hits = random_hits(np.random.default_rng(seed))
    before = hits.rank.copy(), hits.gain.copy()
    arguments = (k,) if spec.cutoff else ()

    def values(block: Hits) -> Any:
        return spec.function(block, *arguments, **(options or {}))

    got = values(hits)
    assert isinstance(got, np.ndarray), f"{name} returned {type(got).__name__}, not an array"
    assert got.dtype == np.float64, f"{name} returned {got.dtype}, not float64"
    assert got.shape == (hits.n_users,), (
        f"{name} returned shape {got.shape} for {hits.n_users} users"
    )
    defined = got[~np.isnan(got)]
    assert (defined >= spec.low - 1e-12).all(), f"{name} fell below {spec.low}: {defined.min()}"
    assert (defined <= spec.high + 1e-12).all(), f"{name} rose above {spec.high}: {defined.max()}"
    assert np.array_equal(hits.rank, before[0]), f"{name} changed the ranks it was given"
    assert np.array_equal(hits.gain, before[1]), f"{name} changed the gains it was given"
    for cut in (1, 17, hits.n_users - 1):
        halves = _users(hits, slice(0, cut)), _users(hits, slice(cut, hits.n_users))
        parts = np.concatenate([values(half) for half in halves])
        assert np.array_equal(got, parts, equal_nan=True), f"{name} depends on the other users"
