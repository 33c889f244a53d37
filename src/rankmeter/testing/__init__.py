"""The laws that every metric must obey, for built-in metrics and for your own."""

from __future__ import annotations

import copy
import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rankmeter._evidence.hits import FloatArray, Hits
from rankmeter.errors import UsageError
from rankmeter.metrics import METRICS, Option, Spec, State
from rankmeter.metrics._registry import describe
from rankmeter.testing._made_up import (
    Evidence,
    Rankings,
    evidence_of_hits,
    evidence_of_lists,
    iterate_arrays,
    random_rankings,
    recode_items,
    select_users,
)

__all__ = ["check_metric", "random_hits", "variants"]

CUTOFFS = (None, 1, 3, 5, 10)
ROUNDING = 1e-12


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
    hits: Hits = evidence_of_hits(random_rankings(rng, n_users, max_gain=max_gain))["hits"]
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
        dict(zip(names, values, strict=True))
        for number in (0, 1, 2)
        for names in itertools.combinations(spec.options, number)
        for values in itertools.product(*(spec.options[name].values for name in names))
    ]
    tried.append({name: option.values[-1] for name, option in spec.options.items()})
    combinations: list[dict[str, Any]] = []
    for values in tried:
        options = {**spec.example, **values}.items()
        declared = spec.options
        non_default = {n: v for n, v in options if declared[n].required or v != declared[n].default}
        if non_default not in combinations:
            combinations.append(non_default)
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
    registered = _find_registered_spec(metric)
    spec = describe(metric, "", low=-np.inf, high=np.inf) if registered is None else registered  # type: ignore[arg-type]
    metric_options = {**spec.example, **(options or {})}
    missing = {o.name for o in spec.options.values() if o.required} - metric_options.keys()
    assert not missing, f"{spec.name} needs {', '.join(missing)}: pass options=, or mark an Example"
    subject = _Subject(spec, metric_options, k if spec.cutoff else None)
    rng, tried = np.random.default_rng(seed), [] if options else variants(spec)
    if spec.of_lists:
        evidence = evidence_of_lists(rng, 40)
        _check_values_and_range(subject, evidence)
        _check_item_codes(subject, evidence, rng)
        _check_items_below_cutoff(subject, evidence)
        (_check_additive_state if spec.whole else _check_users_independent)(subject, evidence)
        _check_options(spec, evidence, tried)
        return
    rankings = random_rankings(rng, 50)
    evidence = evidence_of_hits(rankings)
    _check_values_and_range(subject, evidence)
    _check_users_independent(subject, evidence)
    _check_unresolved_ties(subject, rng)
    if registered is not None:
        _check_direction(subject, rankings, rng)
        if not options:
            _check_ideal_value(subject, rankings)
    _check_unjudged_below_cutoff(subject, rankings)
    _check_negative_gains(subject, evidence)
    many = [ranking for _ in range(4) for ranking in random_rankings(rng, 50)]
    _check_options(spec, evidence_of_hits(many), tried)


@dataclasses.dataclass(frozen=True)
class _Subject:
    """A metric with its options and cutoff."""

    spec: Spec
    options: Mapping[str, Any]
    k: int | None

    @property
    def name(self) -> str:
        return self.spec.name

    def __call__(self, evidence: Evidence) -> FloatArray:
        """The values of the users, or the value computed over all lists at once."""
        if self.spec.whole:
            return np.array([self.state(evidence).value()])
        return self.spec.function(*self._arguments(evidence), **self.options)

    def state(self, evidence: Evidence) -> State:
        assert self.spec.state is not None
        return self.spec.state(*self._arguments(evidence), **self.options)

    def values_of_rankings(self, rankings: Rankings) -> FloatArray:
        return self(evidence_of_hits(rankings))

    def _arguments(self, evidence: Evidence) -> list[Any]:
        return [*(evidence[need] for need in self.spec.needs), *[self.k] * self.spec.cutoff]


def _find_registered_spec(metric: str | Callable[..., Any]) -> Spec | None:
    if isinstance(metric, str):
        return METRICS[metric]
    spec = METRICS.get(metric.__name__)
    if spec is None or metric not in (spec.function, getattr(spec.function, "__wrapped__", 0)):
        return None
    return spec


def are_close(a: npt.ArrayLike, b: npt.ArrayLike) -> bool:
    """Whether numbers are equal but for rounding."""
    return bool(np.allclose(a, b, rtol=1e-9, atol=ROUNDING, equal_nan=True))


# ---------------------------------------------------------------------------------------------
# The laws of all metrics


def _check_values_and_range(subject: _Subject, evidence: Evidence) -> None:
    name, spec = subject.name, subject.spec
    before = copy.deepcopy(evidence)
    got: Any = subject(evidence)
    assert isinstance(got, np.ndarray), f"{name} returned {type(got).__name__}, not an array"
    assert got.dtype == np.float64, f"{name} returned {got.dtype}, not float64"
    n = 1 if spec.whole else evidence["hits"].n_users
    assert got.shape == (n,), f"{name} returned shape {got.shape} for {n} users"
    defined = got[~np.isnan(got)]
    low, high = spec.range({**subject.options, "k": subject.k})
    assert (defined >= low - ROUNDING).all(), f"{name} fell below {low}: {defined.min()}"
    assert (defined <= high + ROUNDING).all(), f"{name} rose above {high}: {defined.max()}"
    pairs = zip(iterate_arrays(evidence), iterate_arrays(before), strict=True)
    is_unchanged = all(np.array_equal(a, b, equal_nan=True) for a, b in pairs)
    assert is_unchanged, f"{name} changed what it was given"


def _check_users_independent(subject: _Subject, evidence: Evidence) -> None:
    got, n = subject(evidence), evidence["hits"].n_users
    equal = functools.partial(np.array_equal, equal_nan=True)
    are_equal = are_close if subject.spec.of_lists else equal
    for users in (np.arange(1), np.arange(n // 3, n), np.arange(n)[::-1], np.arange(0)):
        part = subject(select_users(evidence, users))
        assert are_equal(got[users], part), f"{subject.name} depends on the other users"


def _check_options(spec: Spec, evidence: Evidence, tried: Sequence[Mapping[str, Any]]) -> None:
    """Check that each option and the cutoff change values; skipped if `tried` is empty."""

    def compute_outcome(options: Mapping[str, Any], k: int | None) -> FloatArray | None:
        subject = _Subject(spec, options, k)
        try:
            values = subject(evidence)
            if spec.whole or spec.state is None or spec.aggregate != "micro":
                return values
            return np.append(values, subject.state(evidence).value())
        except UsageError:
            return None

    if not tried:
        return
    for option in spec.options.values():
        assert len(option.values) > 1, (
            f"option {option.name} of {spec.name} has only one value to try: give it another "
            f"Example"
        )
        changes = option_changes(
            option, compute_outcome, tried, CUTOFFS if spec.cutoff else (None,)
        )
        assert changes, f"the values of the option {option.name} of {spec.name} change nothing"
    if spec.cutoff:
        pairs = [
            (compute_outcome(o, 1), compute_outcome(o, None))
            for o in (tried if spec.of_lists else tried[:1])
        ]
        is_same = all(a is not None and b is not None and are_close(a, b) for a, b in pairs)
        assert not is_same, f"the cutoff of {spec.name} changes nothing"


def option_changes(
    option: Option,
    outcome: Callable[[Mapping[str, Any], int | None], FloatArray | None],
    tried: Iterable[Mapping[str, Any]],
    cutoffs: Iterable[int | None],
) -> bool:
    """Whether values of an option have different outcomes, with any other options or cutoff."""
    option_sets = [{n: v for n, v in options.items() if n != option.name} for options in tried]
    different = {repr(sorted(options.items())): options for options in option_sets}
    for other_options, k in itertools.product(different.values(), cutoffs):
        outcomes = [outcome({**other_options, option.name: value}, k) for value in option.values]
        defined = [values for values in outcomes if values is not None]
        if 0 < len(defined) < len(outcomes):
            return True
        if any(not are_close(defined[0], values) for values in defined[1:]):
            return True
    return False


# ---------------------------------------------------------------------------------------------
# The laws of metrics of lists


def _check_item_codes(subject: _Subject, evidence: Evidence, rng: np.random.Generator) -> None:
    codes = rng.permutation(evidence["lists"].n_items)
    is_same = are_close(subject(evidence), subject(recode_items(evidence, codes)))
    assert is_same, f"{subject.name} depends on the codes of the items"


def _check_items_below_cutoff(subject: _Subject, evidence: Evidence) -> None:
    below = {**evidence, "lists": evidence["lists"].top(subject.k)}
    is_same = are_close(subject(below), subject(evidence))
    assert is_same, f"{subject.name} depends on items below k"


def _check_additive_state(subject: _Subject, evidence: Evidence) -> None:
    """Check the number for any order and division of users, and as the mean of user values."""
    name, n = subject.name, evidence["lists"].n_users
    backwards = np.arange(n)[::-1]
    full, turned, first, second = (
        subject.state(select_users(evidence, users))
        for users in (np.arange(n), backwards, np.arange(n // 3), np.arange(n // 3, n))
    )
    for other in (first + second, turned, full.take(backwards)):
        assert are_close(full.value(), other.value()), (
            f"{name} depends on the order of users, or on how they are divided"
        )
    influence = full.influence()
    assert influence.shape == (n,), f"{name} needs an influence of each user"
    is_mean = are_close(influence.mean(), full.value())
    assert is_mean, f"the influences of the users on {name} do not average to it"
    empty = full.take(np.arange(0))
    assert np.isnan(empty.value()), f"{name} of nothing is not NaN"


# ---------------------------------------------------------------------------------------------
# The laws of metrics of hits


def _check_unresolved_ties(subject: _Subject, rng: np.random.Generator) -> None:
    rankings, groups = [], []
    for ranked, missed in random_rankings(rng, 40):
        few = ranked[:6]
        rankings.append((few, np.concatenate([missed, ranked[6:][~np.isnan(ranked[6:])]])))
        groups.append(np.sort(rng.integers(0, 3, few.size)))
    tied = evidence_of_hits(rankings, groups)
    if not subject.spec.open_ties:
        try:
            subject(tied)
        except UsageError:
            return
        raise AssertionError(
            f"{subject.name} has a value for unresolved ties, but declares open_ties=False"
        )
    got = subject(tied)
    for user, ((ranked, missed), group) in enumerate(zip(rankings, groups, strict=True)):
        runs = [np.flatnonzero(group == number) for number in np.unique(group)]
        orders = itertools.product(*(itertools.permutations(run.tolist()) for run in runs))
        all_orders = [(ranked[[i for run in order for i in run]], missed) for order in orders]
        values = subject.values_of_rankings(all_orders)
        defined = values[~np.isnan(values)]
        mean = defined.mean() if defined.size else np.nan
        assert are_close(got[user], mean), (
            f"{subject.name} is {got[user]} for unresolved ties, but the mean over all orders is "
            f"{mean}"
        )


def _check_direction(subject: _Subject, rankings: Rankings, rng: np.random.Generator) -> None:
    better = []
    for ranked, missed in rankings:
        up = ranked.copy()
        rises = np.flatnonzero(np.isnan(up[:-1]) & (up[1:] > 0))
        if rises.size:
            rank = rng.choice(rises)
            up[[rank, rank + 1]] = up[[rank + 1, rank]]
        better.append((up, missed))
    change = subject.values_of_rankings(better) - subject.values_of_rankings(rankings)
    change = change[~np.isnan(change)] * (1 if subject.spec.increasing else -1)
    assert (change >= -1e-9).all(), f"{subject.name} gets worse if a relevant item moves up"


def _check_ideal_value(subject: _Subject, rankings: Rankings) -> None:
    best = subject.spec.best
    if best is None:
        return
    perfect = []
    for pair in rankings:
        gains = np.concatenate(pair)
        perfect.append((-np.sort(-gains[gains > 0]), gains[gains <= 0]))
    got = dataclasses.replace(subject, k=None).values_of_rankings(perfect)
    got = got[[ranked.size > 0 for ranked, _ in perfect]]
    assert are_close(got, np.full(got.size, best)), (
        f"{subject.name} of the ideal ranking is not {best}: if that is right, declare "
        f"reached=False"
    )


def _check_unjudged_below_cutoff(subject: _Subject, rankings: Rankings) -> None:
    if subject.k is None:
        return
    full = [
        (np.pad(ranked, (0, max(subject.k - ranked.size, 0)), constant_values=np.nan), missed)
        for ranked, missed in rankings
    ]
    longer = [(np.append(ranked, [np.nan, np.nan]), missed) for ranked, missed in full]
    is_same = are_close(subject.values_of_rankings(full), subject.values_of_rankings(longer))
    assert is_same, f"{subject.name} depends on unjudged items below the cutoff"


def _check_negative_gains(subject: _Subject, evidence: Evidence) -> None:
    hits: Hits = evidence["hits"]
    lower = dataclasses.replace(hits, gain=hits.gain - 2.0)
    perfect = dataclasses.replace(hits.best, gain=hits.best.gain - 2.0)
    got = subject({**evidence, "hits": dataclasses.replace(lower, ideal=perfect)})
    assert got.shape == (hits.n_users,), f"{subject.name} returned shape {got.shape}"
