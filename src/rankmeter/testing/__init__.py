"""The laws that every metric must obey, for built-in metrics and for your own."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from rankmeter._evidence.hits import FloatArray, Hits, IntArray, Span
from rankmeter._evidence.lists import Popularity, Propensity
from rankmeter.errors import UsageError
from rankmeter.metrics import METRICS, Spec
from rankmeter.metrics._registry import describe
from rankmeter.testing._list_laws import ROUNDING, are_close, check_list_metric, option_changes

__all__ = ["check_metric", "random_hits", "variants"]

Lists = list[tuple[FloatArray, FloatArray]]
"""For each user: the gains of the ranked items, NaN if unjudged; the gains of missed items."""


CUTOFFS = (None, 1, 3, 5, 10)


def random_hits(rng: np.random.Generator, n_users: int = 50, *, max_gain: int = 3) -> Hits:
    """Hits of made-up users: empty rankings, users without truth, perfect lists, graded gains.

    Parameters
    ----------
    rng : numpy.random.Generator
    n_users : int
    max_gain : int
        Gains are integers from 1 to this.

    Returns
    -------
    Hits
        With its ideal.

    Examples
    --------
    >>> import numpy as np
    >>> random_hits(np.random.default_rng(0), 10).n_users
    10
    """
    hits: Hits = _evidence(_random_lists(rng, n_users, max_gain=max_gain))["hits"]
    return hits


def variants(spec: Spec) -> list[dict[str, Any]]:
    """Combinations of options to try: every pair of values of two options, and all options at once.

    Parameters
    ----------
    spec : Spec

    Returns
    -------
    list of dict
        Options that are not at their default, and those without a default. The first entry holds
        only examples of the latter.

    Examples
    --------
    >>> from rankmeter.metrics import METRICS
    >>> variants(METRICS["recall"])
    [{}, {'denominator': 'min'}]
    """
    tried = [
        dict(zip(names, chosen, strict=True))
        for number in (0, 1, 2)
        for names in itertools.combinations(spec.options, number)
        for chosen in itertools.product(*(spec.options[name].values for name in names))
    ]
    tried.append({name: option.values[-1] for name, option in spec.options.items()})
    combinations: list[dict[str, Any]] = []
    for chosen in tried:
        options = {**spec.example, **chosen}.items()
        declared = spec.options
        given = {n: v for n, v in options if declared[n].required or v != declared[n].default}
        if given not in combinations:
            combinations.append(given)
    return combinations


def check_metric(
    metric: str | Callable[..., Any],
    *,
    options: Mapping[str, Any] | None = None,
    k: int | None = None,
    seed: int = 0,
) -> None:
    """Check one metric against the laws; raise AssertionError where it breaks one.

    Parameters
    ----------
    metric : str or callable
        Canonical name of a registered metric, or a function that could be registered. The range
        and the direction of an unregistered function are unknown, so not checked.
    options : mapping, optional
        Its options; those without a default have their first example if not given.
    k : int, optional
        Cutoff, if it takes one.
    seed : int
        Seed of the random users.

    Raises
    ------
    AssertionError
        If the metric

        * returns anything but one float64 per user, or a value outside the range it declares;
        * changes its input;
        * gives a user a different value among other users;
        * is not the mean over all orders under unresolved ties, or does not refuse them;
        * gets worse if a relevant item moves up by one rank, or is not at its best for the ideal
          ranking (see ``reached`` of `rankmeter.metrics.register`);
        * depends on unjudged items below the cutoff;
        * fails on negative gains, or on users without any evidence;
        * has an option whose values change nothing.

        A metric of lists must not depend on the codes of the items either, and an aggregate
        metric must be the same for any division of the users.

    Examples
    --------
    >>> check_metric("ndcg", k=10)
    >>> check_metric("err", options={"max_gain": 3})
    """
    registered = _registered(metric)
    spec = describe(metric, "", low=-np.inf, high=np.inf) if registered is None else registered  # type: ignore[arg-type]
    chosen = {**spec.example, **(options or {})}
    missing = {o.name for o in spec.options.values() if o.required} - chosen.keys()
    assert not missing, f"{spec.name} needs {', '.join(missing)}: pass options=, or mark an Example"
    if spec.of_lists:
        check_list_metric(
            spec, chosen, k if spec.cutoff else None, [] if options else variants(spec)
        )
        return
    subject = _Subject(spec, chosen, k if spec.cutoff else None)
    rng = np.random.default_rng(seed)
    lists = _random_lists(rng, 50)
    _check_values(subject, lists)
    _check_users(subject, lists)
    _check_ties(subject, rng)
    if registered is not None:
        _check_direction(subject, lists, rng)
        if not options:
            _check_best(subject, lists)
    _check_misses(subject, lists)
    _check_negative_gains(subject, lists)
    if not options:
        _check_options(spec, rng)


@dataclasses.dataclass(frozen=True)
class _Subject:
    """A metric with its options and cutoff."""

    spec: Spec
    options: Mapping[str, Any]
    k: int | None

    @property
    def name(self) -> str:
        return self.spec.name

    def __call__(self, evidence: Mapping[str, Any]) -> FloatArray:
        given = [evidence[need] for need in self.spec.needs]
        return self.spec.function(*given, *([self.k] if self.spec.cutoff else []), **self.options)

    def of(self, lists: Lists) -> FloatArray:
        return self(_evidence(lists))


def _registered(metric: str | Callable[..., Any]) -> Spec | None:
    if isinstance(metric, str):
        return METRICS[metric]
    spec = METRICS.get(metric.__name__)
    same = spec is not None and metric in (spec.function, getattr(spec.function, "__wrapped__", 0))
    return spec if same else None


# ---------------------------------------------------------------------------------------------
# Made-up users


def _random_lists(rng: np.random.Generator, n_users: int, *, max_gain: int = 3) -> Lists:
    lists = []
    for length, relevant in zip(
        rng.integers(0, 20, n_users).tolist(), rng.integers(0, 8, n_users).tolist(), strict=True
    ):
        n_hits = min(relevant, int(rng.integers(0, length + 1)))
        gains = rng.integers(1, max_gain + 1, relevant).astype(np.float64)
        ranked = np.full(length, np.nan)
        ranked[: n_hits + 4] = np.concatenate([gains[:n_hits], [0.0, 0.0, -1.0, 0.0]])[:length]
        missed = np.concatenate([gains[n_hits:], [0.0, -1.0]])
        lists.append((rng.permutation(ranked), missed[: missed.size - int(rng.integers(0, 3))]))
    return lists


def _evidence(lists: Lists, groups: Sequence[IntArray] | None = None) -> dict[str, Any]:
    """The evidence for metrics; given the number of each item's tied group, ties are unresolved.

    Items of one gain are one item.
    """
    length = np.array([ranked.size for ranked, _ in lists], dtype=np.int64)
    user = np.repeat(np.arange(length.size), length)
    gain = np.concatenate([*(ranked for ranked, _ in lists), np.zeros(0)])
    place = np.arange(gain.size) - np.repeat(np.cumsum(length) - length, length) + 1
    low = high = place
    if groups is not None:
        group = np.concatenate([*groups, np.zeros(0, dtype=np.int64)])
        _, run = np.unique(np.stack([user, group]), axis=1, return_inverse=True)
        first = np.full(run.max(initial=-1) + 1, gain.size)
        np.minimum.at(first, run, place)
        low, high = first[run], first[run] + np.bincount(run)[run] - 1
    rank = (low + high) / 2.0
    every = [np.concatenate(pair) for pair in lists]
    evidence: dict[str, Any] = {
        "popularity": Popularity(_OCCURS, _OCCURS, 10, int(_OCCURS.sum())),
        "propensity": Propensity(np.array([0.9, 0.8, 0.5, 0.2, np.nan])),
    }
    for name, belongs in (("hits", np.greater), ("nonrelevant", np.less_equal)):
        ideal = [gains[belongs(gains, 0.0)] for gains in every]
        ends = np.concatenate(([0], np.cumsum([gains.size for gains in ideal])))
        perfect = _with_items(Hits.perfect(ends, np.concatenate([*ideal, np.zeros(0)])))
        chosen = np.flatnonzero(belongs(gain, 0.0))
        chosen = chosen[np.lexsort((-gain[chosen], rank[chosen], user[chosen]))]
        offsets = np.searchsorted(user[chosen], np.arange(length.size + 1))
        span = None if groups is None else Span(low[chosen], high[chosen])
        evidence[name] = _with_items(
            Hits(offsets, rank[chosen], gain[chosen], perfect.n_relevant, length, span, perfect)
        )
    return evidence


_OCCURS = np.array([0, 1, 8, 6, 5])


def _with_items(hits: Hits) -> Hits:
    return dataclasses.replace(hits, item=(hits.gain + 1).astype(np.int64))


def _arrays(evidence: Mapping[str, Any]) -> Iterator[Any]:
    for hits in (evidence["hits"], evidence["nonrelevant"]):
        for part in (hits, hits.best):
            yield from (part.offsets, part.rank, part.gain, part.n_relevant, part.n_ranked)
    yield from (evidence["popularity"].interactions, np.nan_to_num(evidence["propensity"].value))


# ---------------------------------------------------------------------------------------------
# The laws


def _check_values(subject: _Subject, lists: Lists) -> None:
    name, spec = subject.name, subject.spec
    evidence = _evidence(lists)
    before = [array.copy() for array in _arrays(evidence)]
    got: Any = subject(evidence)
    assert isinstance(got, np.ndarray), f"{name} returned {type(got).__name__}, not an array"
    assert got.dtype == np.float64, f"{name} returned {got.dtype}, not float64"
    assert got.shape == (len(lists),), f"{name} returned shape {got.shape} for {len(lists)} users"
    defined = got[~np.isnan(got)]
    assert (defined >= spec.low - ROUNDING).all(), f"{name} fell below {spec.low}: {defined.min()}"
    inside = (defined <= spec.high + ROUNDING).all()
    assert inside, f"{name} rose above {spec.high}: {defined.max()}"
    pairs = zip(_arrays(evidence), before, strict=True)
    assert all(np.array_equal(a, b) for a, b in pairs), f"{name} changed what it was given"


def _check_users(subject: _Subject, lists: Lists) -> None:
    evidence, n = _evidence(lists), len(lists)
    got = subject(evidence)
    for users in (np.arange(1), np.arange(17, n), np.arange(n)[::-1], np.arange(0)):
        of_users = {name: evidence[name].only(users) for name in ("hits", "nonrelevant")}
        part = subject({**evidence, **of_users})
        alike = np.array_equal(got[users], part, equal_nan=True)
        assert alike, f"{subject.name} depends on the other users"


def _check_ties(subject: _Subject, rng: np.random.Generator) -> None:
    lists, groups = [], []
    for ranked, missed in _random_lists(rng, 40):
        few = ranked[:6]
        lists.append((few, np.concatenate([missed, ranked[6:][~np.isnan(ranked[6:])]])))
        groups.append(np.sort(rng.integers(0, 3, few.size)))
    tied = _evidence(lists, groups)
    if not subject.spec.open_ties:
        try:
            subject(tied)
        except UsageError:
            return
        raise AssertionError(
            f"{subject.name} has a value for unresolved ties, but declares open_ties=False"
        )
    got = subject(tied)
    for user, ((ranked, missed), group) in enumerate(zip(lists, groups, strict=True)):
        runs = [np.flatnonzero(group == number) for number in np.unique(group)]
        orders = itertools.product(*(itertools.permutations(run.tolist()) for run in runs))
        every = [(ranked[[i for run in order for i in run]], missed) for order in orders]
        values = subject.of(every)
        defined = values[~np.isnan(values)]
        mean = defined.mean() if defined.size else np.nan
        assert are_close(got[user], mean), (
            f"{subject.name} is {got[user]} for unresolved ties, but the mean over all orders is "
            f"{mean}"
        )


def _check_direction(subject: _Subject, lists: Lists, rng: np.random.Generator) -> None:
    better = []
    for ranked, missed in lists:
        up = ranked.copy()
        rises = np.flatnonzero(np.isnan(up[:-1]) & (up[1:] > 0))
        if rises.size:
            rank = rng.choice(rises)
            up[[rank, rank + 1]] = up[[rank + 1, rank]]
        better.append((up, missed))
    change = subject.of(better) - subject.of(lists)
    change = change[~np.isnan(change)] * (1 if subject.spec.increasing else -1)
    assert (change >= -1e-9).all(), f"{subject.name} gets worse if a relevant item moves up"


def _check_best(subject: _Subject, lists: Lists) -> None:
    best = subject.spec.best
    if best is None:
        return
    perfect = []
    for pair in lists:
        every = np.concatenate(pair)
        perfect.append((-np.sort(-every[every > 0]), every[every <= 0]))
    got = dataclasses.replace(subject, k=None).of(perfect)
    got = got[[ranked.size > 0 for ranked, _ in perfect]]
    assert are_close(got, np.full(got.size, best)), (
        f"{subject.name} of the ideal ranking is not {best}: if that is right, declare "
        f"reached=False"
    )


def _check_misses(subject: _Subject, lists: Lists) -> None:
    if subject.k is None:
        return
    full = [
        (np.pad(r, (0, 20), constant_values=np.nan)[: max(r.size, subject.k)], m) for r, m in lists
    ]
    longer = [(np.append(ranked, [np.nan, np.nan]), missed) for ranked, missed in full]
    assert are_close(subject.of(full), subject.of(longer)), (
        f"{subject.name} depends on unjudged items below the cutoff"
    )


def _check_negative_gains(subject: _Subject, lists: Lists) -> None:
    evidence = _evidence(lists)
    hits = evidence["hits"]
    lower = dataclasses.replace(hits, gain=hits.gain - 2.0)
    perfect = dataclasses.replace(hits.best, gain=hits.best.gain - 2.0)
    got = subject({**evidence, "hits": dataclasses.replace(lower, ideal=perfect)})
    assert got.shape == (len(lists),), f"{subject.name} returned shape {got.shape}"


def _check_options(spec: Spec, rng: np.random.Generator) -> None:
    lists = [list_ for _ in range(4) for list_ in _random_lists(rng, 50)]
    evidence = _evidence(lists)

    def outcome(options: Mapping[str, Any], k: int | None) -> FloatArray | None:
        try:
            values = _Subject(spec, options, k)(evidence)
            if spec.state is None or spec.aggregate != "micro":
                return values
            state: Any = spec.state
            pooled: Any = _Subject(dataclasses.replace(spec, function=state), options, k)
            return np.append(values, pooled(evidence).value())
        except UsageError:
            return None

    tried = variants(spec)
    for option in spec.options.values():
        assert len(option.values) > 1, (
            f"option {option.name} of {spec.name} has only one value to try: give it another "
            f"Example"
        )
        changes = option_changes(option, outcome, tried, CUTOFFS if spec.cutoff else (None,))
        assert changes, f"the values of the option {option.name} of {spec.name} change nothing"
    if spec.cutoff:
        cut, whole = (outcome(tried[0], k) for k in (1, None))
        same = cut is not None and whole is not None and are_close(cut, whole)
        assert not same, f"the cutoff of {spec.name} changes nothing"
