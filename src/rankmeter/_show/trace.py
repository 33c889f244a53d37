"""Show how the values of one user are computed, and the top of a list."""

from __future__ import annotations

import math
from collections.abc import Iterable

import polars as pl

from rankmeter._engine.memory import Source
from rankmeter._engine.scores import UserValues
from rankmeter._rankings.ties import TIE_RULES
from rankmeter._results.comparison import Comparison
from rankmeter._results.notes import Facts, notes_on_means
from rankmeter._results.summary import Summary
from rankmeter._results.walkthrough import Place, Walk, Walkthrough
from rankmeter._show.walk import make_ranking_grid, walk_metrics
from rankmeter.conventions._plan import MetricPlan, Plan
from rankmeter.errors import DataError, UsageError
from rankmeter.errors._checks import brief, check_choice, list_values, suggest_words, words_in_use
from rankmeter.metrics import Metric

TOP, MOST = 10, 20
"""How many items of a list are shown: the first ones, and with further relevant ones."""


def show_evaluation(
    result: Summary, user: object, metrics: str | Iterable[str] | None
) -> Walkthrough:
    """How the values of one user are computed."""
    entries = _select_metrics(result.plan, metrics)
    walks = _trace_user(result.source, result.scores, user, entries)
    pairs = tuple(("", walk) for walk in walks)
    return Walkthrough(user, pairs, _plan_notes(result.plan, result.facts()), result._words)


def show_comparison(
    result: Comparison,
    user: object,
    metrics: str | Iterable[str] | None,
    systems: str | Iterable[str] | None,
) -> Walkthrough:
    """How the values of one user are computed in each system."""
    entries = _select_metrics(result.plan, metrics)
    names = list_values(
        "systems", "names of systems", result.systems if systems is None else systems
    )
    walks: dict[str, list[Walk]] = {}
    for name in names:
        summary = result.summaries[check_choice("systems", name, result.systems)]
        walks[name] = _trace_user(summary.source, summary.scores, user, entries)
    turns = zip(*walks.values(), strict=True)
    pairs = tuple(pair for turn in turns for pair in zip(names, turn, strict=True))
    facts = result.summaries[names[0]].facts()
    return Walkthrough(user, pairs, _plan_notes(result.plan, facts), result._words)


def _select_metrics(plan: Plan, metrics: str | Iterable[str] | None) -> list[MetricPlan]:
    """Metrics of a plan by any of their names; None selects all metrics."""
    if metrics is None:
        return list(plan.metrics)
    single = isinstance(metrics, Metric)
    names = [str(metrics)] if single else list_values("metrics", "metrics", metrics)
    return [plan[name] for name in names]


def _plan_notes(plan: Plan, facts: Facts) -> tuple[str, ...]:
    """Notes on the convention, the threshold and the rule for ties."""
    ties = dict.fromkeys(entry.alignment.ties for entry in plan.metrics)
    return (
        *notes_on_means(plan, {"": {"relevant": facts["relevant"]}}),
        *(f"of tied {words_in_use().items} {TIE_RULES[rule]}" for rule in ties),
    )


def _trace_user(
    source: Source | None, scores: UserValues, user: object, entries: Iterable[MetricPlan]
) -> list[Walk]:
    """Trace the values of some metrics for one user.

    Raises
    ------
    UsageError
        If the result has no such user, or was not made of rankings in memory.
    DataError
        If rankings or ground truth have changed since.
    """
    if source is None:
        raise UsageError(
            "show() needs the ranks of each user, which neither keep='moments', the mean of "
            "several training runs nor a stored result has: accumulate with keep='values', or "
            "evaluate the rankings of one run"
        )
    row = _find_user_row(scores.users, user)
    user = scores.users[row]
    block = source.open().select_user(user, source.system)
    walks = []
    for walk in walk_metrics(block, source.system, entries, scores, row):
        value = scores.values[walk.label][row]
        if not (walk.whole or walk.value == value or math.isnan(walk.value + value)):
            raise DataError(
                f"rankings or ground truth have changed: {walk.label} of {words_in_use().user} "
                f"{brief(user)} was {value:.6g} and is now {walk.value:.6g}: evaluate again"
            )
        walks.append(walk)
    return walks


def top_of_list(source: Source, scores: UserValues, user: str, entry: MetricPlan) -> list[Place]:
    """The first items of a user's list, and the relevant items that are missing or further down."""
    block = source.open().select_user(
        scores.users[_find_user_row(scores.users, user)], source.system
    )
    places = make_ranking_grid(block, source.system, entry.alignment).places
    return [p for i, p in enumerate(places) if i < TOP or p.relevant][:MOST]


def _find_user_row(users: pl.Series, user: object) -> int:
    """Row index of a user; the id may also be given as text."""
    try:
        text = str(user).encode().decode()
    except Exception:  # noqa: BLE001 - half of a surrogate pair, or what a foreign class raises
        text = brief(user)
    matches = (users.cast(pl.String) == text).arg_true()
    if len(matches):
        return int(matches[0])
    ids = [str(user_id) for user_id in users.head(10_000)]
    hint = suggest_words(text, ids) or f"; for example {', '.join(map(brief, users.head(3)))}"
    raise UsageError(
        f"the result has no {words_in_use().user} {brief(user)}{hint}", option="user", got=user
    )
