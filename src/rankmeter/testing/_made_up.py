"""Made-up evidence of all kinds, for random users."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rankmeter._evidence.hits import FloatArray, Hits, IntArray, Span
from rankmeter._evidence.lists import (
    Catalogue,
    Features,
    Likeness,
    Lists,
    Popularity,
    Profiles,
    Propensity,
    Similarity,
)

Evidence = dict[str, Any]
"""Evidence by its name."""

Rankings = list[tuple[FloatArray, FloatArray]]
"""For each user: the gains of the ranked items, NaN if unjudged; the gains of missed items."""

_N_ITEMS = 24


def random_rankings(rng: np.random.Generator, n_users: int, *, max_gain: int = 3) -> Rankings:
    """Rankings of any length, with judged and unjudged items, and missed judged items."""
    rankings = []
    for length, relevant in zip(
        rng.integers(0, 20, n_users).tolist(), rng.integers(0, 8, n_users).tolist(), strict=True
    ):
        n_hits = min(relevant, int(rng.integers(0, length + 1)))
        gains = rng.integers(1, max_gain + 1, relevant).astype(np.float64)
        ranked = np.full(length, np.nan)
        ranked[: n_hits + 4] = np.concatenate([gains[:n_hits], [0.0, 0.0, -1.0, 0.0]])[:length]
        missed = np.concatenate([gains[n_hits:], [0.0, -1.0]])
        order = rng.permutation(ranked)
        rankings.append((order, missed[: missed.size - int(rng.integers(0, 3))]))
    return rankings


def evidence_of_hits(rankings: Rankings, groups: Sequence[IntArray] | None = None) -> Evidence:
    """The evidence of rankings; given the number of each item's tied group, ties are unresolved.

    Items of one gain are one item.
    """
    length = np.array([ranked.size for ranked, _ in rankings], dtype=np.int64)
    user = np.repeat(np.arange(length.size), length)
    gain = np.concatenate([*(ranked for ranked, _ in rankings), np.zeros(0)])
    position = np.arange(gain.size) - np.repeat(np.cumsum(length) - length, length) + 1
    low = high = position
    if groups is not None:
        group = np.concatenate([*groups, np.zeros(0, dtype=np.int64)])
        _, run = np.unique(np.stack([user, group]), axis=1, return_inverse=True)
        first = np.full(run.max(initial=-1) + 1, gain.size)
        np.minimum.at(first, run, position)
        low, high = first[run], first[run] + np.bincount(run)[run] - 1
    rank = (low + high) / 2.0
    gains_by_user = [np.concatenate(pair) for pair in rankings]
    evidence: Evidence = {
        "popularity": Popularity(_OCCURS, _OCCURS, 10, int(_OCCURS.sum())),
        "propensity": Propensity(np.array([0.9, 0.8, 0.5, 0.2, np.nan])),
    }
    for name, belongs in (("hits", np.greater), ("nonrelevant", np.less_equal)):
        ideal = [gains[belongs(gains, 0.0)] for gains in gains_by_user]
        ends = np.concatenate(([0], np.cumsum([gains.size for gains in ideal])))
        perfect = _add_item_codes(Hits.perfect(ends, np.concatenate([*ideal, np.zeros(0)])))
        rows = np.flatnonzero(belongs(gain, 0.0))
        rows = rows[np.lexsort((-gain[rows], rank[rows], user[rows]))]
        offsets = np.searchsorted(user[rows], np.arange(length.size + 1))
        span = None if groups is None else Span(low[rows], high[rows])
        evidence[name] = _add_item_codes(
            Hits(offsets, rank[rows], gain[rows], perfect.n_relevant, length, span, perfect)
        )
    return evidence


_OCCURS = np.array([0, 1, 8, 6, 5])


def _add_item_codes(hits: Hits) -> Hits:
    return replace(hits, item=(hits.gain + 1).astype(np.int64))


def evidence_of_lists(rng: np.random.Generator, n_users: int) -> Evidence:
    """Random lists of any length, some with a repeated item, and random evidence of each kind."""
    listed = [rng.permutation(_N_ITEMS)[: int(n)] for n in rng.integers(0, 9, n_users)]
    for items in listed:
        items[6:] = items[:1]
    history = [np.sort(rng.permutation(12)[: int(n)]) for n in rng.integers(0, 6, n_users)]
    n_interactions = np.bincount(np.concatenate(history), minlength=_N_ITEMS)
    categories = (rng.random((_N_ITEMS, 5)) < 0.3).astype(np.float64)
    vectors = np.round(rng.random((_N_ITEMS, 3)) * 3)
    vectors[2] = 0.0
    has_features = np.arange(_N_ITEMS) % 7 != 3
    categories *= has_features[:, None]
    relevant = rng.random(sum(map(len, listed))) < 0.3
    lists = _create_lists(listed, np.where(relevant, rng.integers(1, 4, relevant.size), 0.0))
    other = [rng.permutation(_N_ITEMS)[: int(n)] for n in rng.integers(0, 9, n_users)]
    n_relevant = np.bincount(lists.user[relevant], minlength=n_users) + rng.integers(0, 2, n_users)
    length = np.array([len(items) for items in history], dtype=np.int64)
    item = np.concatenate(history)
    offsets = np.concatenate(([0], np.cumsum(length)))
    ratings = rng.integers(1, 6, item.size).astype(np.float64)
    profiles = Profiles(offsets, item, ratings, _N_ITEMS)
    features = Features(np.where(has_features[:, None], vectors, 0.0), has_features)
    random = rng.random((_N_ITEMS, _N_ITEMS))
    column = np.where(has_features, np.arange(_N_ITEMS), -1)
    # Without ties, which item codes would decide where a border goes through them.
    often = np.where(n_interactions > 0, _N_ITEMS * n_interactions + np.arange(_N_ITEMS), 0)
    return {
        "lists": lists,
        "relevant": _create_relevant_lists(lists, n_relevant, rng),
        "hits": _create_hits(lists, n_relevant),
        "popularity": Popularity(n_interactions, often, n_users, int(often.sum())),
        "profiles": profiles,
        "features": features,
        "likeness": Likeness(features, profiles, Similarity((random + random.T) / 2, column)),
        "categories": Features(categories, categories.sum(axis=1) > 0),
        "catalogue": Catalogue(20, np.arange(_N_ITEMS) < 20),
        "baseline": _create_lists(other, np.zeros(sum(map(len, other)))),
    }  # fmt: skip


def _create_lists(listed: Sequence[IntArray], gain: FloatArray) -> Lists:
    length = np.array([len(items) for items in listed], dtype=np.int64)
    rank = np.concatenate([np.arange(1, n + 1) for n in length] + [np.zeros(0, dtype=np.int64)])
    item = np.concatenate([*listed, np.zeros(0, dtype=np.int64)])
    offsets = np.concatenate(([0], np.cumsum(length)))
    return Lists(offsets, item, rank, gain, gain > 0, _N_ITEMS)


def _create_relevant_lists(lists: Lists, n_relevant: IntArray, rng: np.random.Generator) -> Lists:
    """The relevant items of each user, in the lists and outside."""
    items, gains = [], []
    for user, n in enumerate(n_relevant.tolist()):
        rows = slice(lists.offsets[user], lists.offsets[user + 1])
        listed, catalogue = lists.item[rows], np.arange(_N_ITEMS)
        missed = rng.permutation(catalogue[~np.isin(catalogue, listed)])
        hits = listed[lists.relevant[rows]]
        items.append(np.concatenate([hits, missed[: n - hits.size]]))
        gain = lists.gain[rows][lists.relevant[rows]]
        gains.append(np.concatenate([gain, np.ones(n - hits.size)]))
    return _sort_by_gain(_create_lists(items, np.concatenate(gains)))


def _sort_by_gain(lists: Lists) -> Lists:
    """Sort each list by descending gain, items of equal gain by code."""
    order = np.lexsort((lists.item, -lists.gain, lists.user))
    return replace(lists, item=lists.item[order], gain=lists.gain[order])


def _create_hits(lists: Lists, n_relevant: IntArray) -> Hits:
    offsets = np.concatenate(([0], np.cumsum(n_relevant)))
    ideal = Hits.perfect(offsets, np.ones(int(n_relevant.sum())))
    hits = lists.only(lists.relevant)
    rank = hits.rank.astype(np.float64)
    return Hits(hits.offsets, rank, hits.gain, n_relevant, lists.lengths, ideal=ideal)


def select_users(evidence: Evidence, users: IntArray) -> Evidence:
    """The evidence of some users, in the order given."""

    def select(part: Any) -> Any:
        if isinstance(part, Hits):
            return part.only(users)
        return part.of(users) if isinstance(part, Lists | Profiles) else part

    return {name: select(part) for name, part in evidence.items()}


def recode_items(evidence: Evidence, code: IntArray) -> Evidence:
    """Recode the items in all evidence: item i becomes code[i]."""
    inverse = np.argsort(code)
    profiles: Profiles = evidence["profiles"]
    order = np.lexsort((code[profiles.item], profiles.user))
    profiles = replace(profiles, item=code[profiles.item][order], weight=profiles.weight[order])
    given: Similarity = evidence["likeness"].given
    popularity: Popularity = evidence["popularity"]
    catalogue: Catalogue = evidence["catalogue"]
    tables = {
        name: Features(evidence[name].matrix[inverse], evidence[name].known[inverse])
        for name in ("features", "categories")
    }
    names = ("lists", "baseline", "relevant")
    lists = {name: replace(evidence[name], item=code[evidence[name].item]) for name in names}
    similarity = Similarity(given.matrix[inverse], given.column[inverse])
    users, interactions = popularity.users[inverse], popularity.interactions[inverse]
    item = None if catalogue.item is None else catalogue.item[inverse]
    return {
        **evidence,
        **tables,
        **lists,
        "relevant": _sort_by_gain(lists["relevant"]),
        "profiles": profiles,
        "likeness": Likeness(tables["features"], profiles, similarity),
        "popularity": replace(popularity, users=users, interactions=interactions),
        "catalogue": replace(catalogue, item=item),
    }


def iterate_arrays(evidence: Any) -> Iterator[Any]:
    """Yield all arrays of some evidence."""
    if isinstance(evidence, np.ndarray):
        yield evidence
    elif isinstance(evidence, Mapping):
        for value in evidence.values():
            yield from iterate_arrays(value)
    elif dataclasses.is_dataclass(evidence):
        for field in dataclasses.fields(evidence):
            yield from iterate_arrays(getattr(evidence, field.name))
