"""The laws of list metrics; `rankmeter.testing` checks them."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rankmeter._evidence.hits import FloatArray, Hits, IntArray
from rankmeter._evidence.lists import (
    Catalogue,
    Features,
    Likeness,
    Lists,
    Popularity,
    Profiles,
    Similarity,
)
from rankmeter.errors import UsageError
from rankmeter.metrics import Exposure, Spec
from rankmeter.metrics._registry import Option

_N_ITEMS = 24
ROUNDING = 1e-12
_CUTOFFS = (None, 1, 3, 5)
Evidence = dict[str, Any]


def check_list_metric(
    spec: Spec, options: Mapping[str, Any], k: int | None, tried: Sequence[Mapping[str, Any]]
) -> None:
    """Check a metric of lists against its laws; AssertionError where it breaks one.

    `tried` are the options whose values must change something; empty if they are not checked.
    """
    rng = np.random.default_rng(0)
    evidence = _random_evidence(rng, 40)

    def value(some: Evidence, given: Mapping[str, Any] = options, at: int | None = k) -> FloatArray:
        cutoff = [at] if spec.cutoff else []
        arguments = [some[name] for name in spec.needs]
        if spec.whole and spec.state is not None:
            return np.array([spec.state(*arguments, *cutoff, **given).value()])
        return spec.function(*arguments, *cutoff, **given)

    _check_values(spec, evidence, value)
    _check_renamed_items(spec, evidence, value, rng)
    if k is not None:
        below = {**evidence, "lists": evidence["lists"].top(k)}
        assert are_close(value(below), value(evidence)), f"{spec.name} depends on items below k"
    if spec.whole:
        _check_state(spec, evidence, options, k)
    else:
        _check_users(spec, evidence, value)
    _check_options(spec, evidence, value, tried)


def _check_values(spec: Spec, evidence: Evidence, value: Callable[..., FloatArray]) -> None:
    before = copy.deepcopy(evidence)
    got: Any = value(evidence)
    dtype = getattr(got, "dtype", None)
    assert dtype == np.float64, f"{spec.name} returned {got!r}, not an array of float64"
    n = 1 if spec.whole else evidence["lists"].n_users
    assert got.shape == (n,), f"{spec.name} returned shape {got.shape} for {n} users"
    defined = got[~np.isnan(got)]
    assert (defined >= spec.low - 1e-12).all(), f"{spec.name} fell below {spec.low}"
    assert (defined <= spec.high + 1e-12).all(), f"{spec.name} rose above {spec.high}"
    for after, copied in zip(_arrays(evidence), _arrays(before), strict=True):
        same = np.array_equal(after, copied, equal_nan=True)
        assert same, f"{spec.name} changed what it was given"


def _check_users(spec: Spec, evidence: Evidence, value: Callable[..., FloatArray]) -> None:
    got, n = value(evidence), evidence["lists"].n_users
    for users in (np.arange(1), np.arange(7, n), np.arange(n)[::-1], np.arange(0)):
        part = value(_of_users(evidence, users))
        assert are_close(got[users], part), f"{spec.name} depends on the other users"


def _check_renamed_items(
    spec: Spec, evidence: Evidence, value: Callable[..., FloatArray], rng: np.random.Generator
) -> None:
    assert are_close(value(evidence), value(_renamed(evidence, rng.permutation(_N_ITEMS)))), (
        f"{spec.name} depends on the codes of the items"
    )


def _check_state(spec: Spec, evidence: Evidence, options: Mapping[str, Any], k: int | None) -> None:
    """Users in any order and any parts have the same number; the values of users average to it."""
    cutoff = [k] if spec.cutoff else []
    n = evidence["lists"].n_users

    def state(users: IntArray) -> Exposure:
        some = _of_users(evidence, users)
        assert spec.state is not None
        exposure = spec.state(*(some[name] for name in spec.needs), *cutoff, **options)
        assert isinstance(exposure, Exposure)
        return exposure

    whole = state(np.arange(n))
    halves = state(np.arange(n // 3)) + state(np.arange(n // 3, n))
    for other in (halves, state(np.arange(n)[::-1]), whole.take(np.arange(n)[::-1])):
        assert are_close(np.array([whole.value()]), np.array([other.value()])), (
            f"{spec.name} depends on the order of users, or on how they are divided"
        )
    influence = whole.influence()
    assert influence.shape == (n,), f"{spec.name} needs an influence of each user"
    assert are_close(np.array([influence.mean()]), np.array([whole.value()])), (
        f"the influences of the users on {spec.name} do not average to it"
    )
    nothing = whole.take(np.arange(0))
    assert np.isnan(nothing.value()), f"{spec.name} of nothing is not NaN"


def _check_options(
    spec: Spec,
    evidence: Evidence,
    value: Callable[..., FloatArray],
    tried: Sequence[Mapping[str, Any]],
) -> None:
    def outcome(given: Mapping[str, Any], at: int | None) -> FloatArray | None:
        try:
            return value(evidence, given, at)
        except UsageError:
            return None

    if not tried:
        return
    cutoffs = _CUTOFFS if spec.cutoff else (None,)
    for option in spec.options.values():
        assert len(option.values) > 1, f"option {option.name} of {spec.name} needs another Example"
        changes = option_changes(option, outcome, tried, cutoffs)
        assert changes, f"the values of the option {option.name} of {spec.name} change nothing"
    if spec.cutoff:
        both = [(outcome(options, 1), outcome(options, None)) for options in tried]
        same = all(a is not None and b is not None and are_close(a, b) for a, b in both)
        assert not same, f"the cutoff of {spec.name} changes nothing"


def option_changes(
    option: Option,
    outcome: Callable[[Mapping[str, Any], int | None], FloatArray | None],
    tried: Iterable[Mapping[str, Any]],
    cutoffs: Iterable[int | None],
) -> bool:
    """Whether values of an option have different outcomes, with any other options or cutoff."""
    rests = [{n: v for n, v in options.items() if n != option.name} for options in tried]
    different = {repr(sorted(rest.items())): rest for rest in rests}
    for rest, k in itertools.product(different.values(), cutoffs):
        outcomes = [outcome({**rest, option.name: value}, k) for value in option.values]
        given = [values for values in outcomes if values is not None]
        if 0 < len(given) < len(outcomes):
            return True
        if any(not are_close(given[0], values) for values in given[1:]):
            return True
    return False


# ---------------------------------------------------------------------------------------------
# Made-up evidence


def _random_evidence(rng: np.random.Generator, n_users: int) -> Evidence:
    """Lists of any length, some with a repeated item, and all that is known besides."""
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
    lists = _lists(listed, np.where(relevant, rng.integers(1, 4, relevant.size), 0.0))
    other = [rng.permutation(_N_ITEMS)[: int(n)] for n in rng.integers(0, 9, n_users)]
    n_relevant = np.bincount(lists.user[relevant], minlength=n_users) + rng.integers(0, 2, n_users)
    length = np.array([len(items) for items in history], dtype=np.int64)
    item = np.concatenate(history)
    profiles = Profiles(
        np.concatenate(([0], np.cumsum(length))),
        item,
        rng.integers(1, 6, item.size).astype(np.float64),
        _N_ITEMS,
    )
    features = Features(np.where(has_features[:, None], vectors, 0.0), has_features)
    alike = rng.random((_N_ITEMS, _N_ITEMS))
    column = np.where(has_features, np.arange(_N_ITEMS), -1)
    # Without ties, which item codes would decide where a border goes through them.
    often = np.where(n_interactions > 0, _N_ITEMS * n_interactions + np.arange(_N_ITEMS), 0)
    return {
        "lists": lists,
        "relevant": _all_relevant(lists, n_relevant, rng),
        "hits": _hits(lists, n_relevant),
        "popularity": Popularity(n_interactions, often, n_users, int(often.sum())),
        "profiles": profiles,
        "features": features,
        "likeness": Likeness(features, profiles, Similarity((alike + alike.T) / 2, column)),
        "categories": Features(categories, categories.sum(axis=1) > 0),
        "catalogue": Catalogue(20, np.arange(_N_ITEMS) < 20),
        "baseline": _lists(other, np.zeros(sum(map(len, other)))),
    }  # fmt: skip


def _lists(listed: Sequence[IntArray], gain: FloatArray) -> Lists:
    length = np.array([len(items) for items in listed], dtype=np.int64)
    rank = np.concatenate([np.arange(1, n + 1) for n in length] + [np.zeros(0, dtype=np.int64)])
    item = np.concatenate([*listed, np.zeros(0, dtype=np.int64)])
    offsets = np.concatenate(([0], np.cumsum(length)))
    return Lists(offsets, item, rank, gain, gain > 0, _N_ITEMS)


def _all_relevant(lists: Lists, n_relevant: IntArray, rng: np.random.Generator) -> Lists:
    """The relevant items in the lists, and others that are not."""
    items, gains = [], []
    for user, n in enumerate(n_relevant.tolist()):
        rows = slice(lists.offsets[user], lists.offsets[user + 1])
        listed, others = lists.item[rows], np.arange(_N_ITEMS)
        missed = rng.permutation(others[~np.isin(others, listed)])
        hits = listed[lists.relevant[rows]]
        items.append(np.concatenate([hits, missed[: n - hits.size]]))
        gain = lists.gain[rows][lists.relevant[rows]]
        gains.append(np.concatenate([gain, np.ones(n - hits.size)]))
    return _best_first(_lists(items, np.concatenate(gains)))


def _best_first(lists: Lists) -> Lists:
    """Each list by descending gain; items of equal gain by code."""
    order = np.lexsort((lists.item, -lists.gain, lists.user))
    return replace(lists, item=lists.item[order], gain=lists.gain[order])


def _hits(lists: Lists, n_relevant: IntArray) -> Hits:
    offsets = np.concatenate(([0], np.cumsum(n_relevant)))
    ideal = Hits.perfect(offsets, np.ones(int(n_relevant.sum())))
    inside = lists.only(lists.relevant)
    return Hits(
        inside.offsets,
        inside.rank.astype(np.float64),
        inside.gain,
        n_relevant,
        lists.lengths,
        None,
        ideal,
    )


def _of_users(evidence: Evidence, users: IntArray) -> Evidence:
    profiles: Profiles = evidence["profiles"]
    lengths = profiles.lengths[users]
    begin = np.cumsum(lengths) - lengths
    at = np.repeat(profiles.offsets[users] - begin, lengths) + np.arange(int(lengths.sum()))
    some = Profiles(
        np.concatenate(([0], np.cumsum(lengths))),
        profiles.item[at],
        profiles.weight[at],
        profiles.n_items,
    )
    by_list = {name: evidence[name].of(users) for name in ("lists", "baseline", "relevant")}
    return {**evidence, **by_list, "hits": evidence["hits"].only(users), "profiles": some}


def _renamed(evidence: Evidence, code: IntArray) -> Evidence:
    """Recode the items in all evidence: item i becomes code[i]."""
    back = np.argsort(code)
    profiles: Profiles = evidence["profiles"]
    order = np.lexsort((code[profiles.item], profiles.user))
    profiles = replace(profiles, item=code[profiles.item][order], weight=profiles.weight[order])
    given: Similarity = evidence["likeness"].given
    popularity: Popularity = evidence["popularity"]
    catalogue: Catalogue = evidence["catalogue"]
    tables = {
        name: Features(evidence[name].matrix[back], evidence[name].known[back])
        for name in ("features", "categories")
    }
    lists = {n: replace(evidence[n], item=code[evidence[n].item]) for n in ("lists", "baseline")}
    return {
        **evidence,
        **tables,
        **lists,
        "relevant": _best_first(
            replace(evidence["relevant"], item=code[evidence["relevant"].item])
        ),
        "profiles": profiles,
        "likeness": Likeness(
            tables["features"], profiles, Similarity(given.matrix[back], given.column[back])
        ),
        "popularity": replace(
            popularity,
            users=popularity.users[back],
            interactions=popularity.interactions[back],
        ),
        "catalogue": replace(
            catalogue, item=None if catalogue.item is None else catalogue.item[back]
        ),
    }


def _arrays(evidence: Evidence) -> Iterator[Any]:
    for name in ("lists", "baseline", "relevant"):
        lists = evidence[name]
        yield from (lists.offsets, lists.item, lists.rank, lists.gain, lists.relevant)
    yield from (evidence["features"].matrix, evidence["categories"].matrix)
    yield from (evidence["popularity"].users, evidence["profiles"].item)


def are_close(a: npt.ArrayLike, b: npt.ArrayLike) -> bool:
    """Whether numbers are equal but for rounding."""
    return bool(np.allclose(a, b, rtol=1e-9, atol=ROUNDING, equal_nan=True))
