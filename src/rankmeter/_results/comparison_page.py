"""The charts and the page of a comparison."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias, get_args

from rankmeter._engine.walk import Place
from rankmeter._results import charts
from rankmeter._results.compared import Compared
from rankmeter._results.curves import Curve, curves_of, distinct_curves, usual_k
from rankmeter._results.result import Name, written_call
from rankmeter._results.shares import first_hits, popularity_shown
from rankmeter._results.tables import MeanCell, Table
from rankmeter._results.verdicts import (
    MAX_SYSTEMS,
    Headline,
    Verdict,
    by_segment,
    drawn_of,
    extremes,
    histogram,
    leaders,
    near_the_best,
    pairs_shown,
    scattered,
)
from rankmeter._results.walkthrough import top_of_list
from rankmeter._results.wording import number, p_value
from rankmeter.conventions._plan import Plan
from rankmeter.errors import UsageError

ChartKind: TypeAlias = Literal["forest", "curve", "differences", "segments", "tradeoff"]
"""The kinds of charts."""

Extremes: TypeAlias = Mapping[str, Sequence[tuple[str, float, float]]]
"""For each of two systems the users that gain most from it, with the values of both."""


MAX_CARDS = 6
"""Cards in one row."""


def curves(result: Compared, labels: Sequence[str], max_k: int | None = None) -> dict[str, Curve]:
    """The curves of several metrics, computed together."""
    plan = plan_of(result)
    entries = [plan[label] for label in labels]
    largest = usual_k(plan) if max_k is None else max_k
    read = {name: summary.read for name, summary in result.summaries.items()}
    return curves_of(Curve, plan, entries, result.scored, largest, result.clusters, read)


def plan_of(result: Compared) -> Plan:
    """The plan of a comparison of rankings or of results."""
    if not isinstance(result.plan, Plan):
        raise UsageError("this needs the rankings, or results of evaluations: pass these")
    return result.plan


def panels(result: Compared, kind: str, metric: str) -> list[Any]:
    """The charts of one kind for one metric, of no width or theme yet."""
    values, shown, differences = result.by_metric[metric], systems_shown(result), result[metric]
    if kind == "curve":
        if not plan_of(result)[metric].spec.cutoff:
            return []
        return charts.curve(metric, curves(result, [metric])[metric].frame, shown)
    if kind == "segments":
        estimates = result.segment_estimates.items()
        means = {(s, n): e for (s, m, n), e in estimates if m == metric}
        return charts.segments(metric, means, shown)
    if kind == "tradeoff":
        entries = plan_of(result).metrics
        accuracy = [entry.label for entry in entries if not entry.spec.of_lists]
        if not accuracy or not plan_of(result)[metric].spec.of_lists:
            return []
        first, second = result.means_of(accuracy[0]), result.means_of(metric)
        return charts.tradeoff(
            accuracy[0], metric, {name: (first[name], second[name]) for name in shown}
        )
    best = result.verdict_on(metric).best
    if kind == "forest":
        return charts.forest(metric, pairs_shown(differences, best), result.baseline)
    if values.whole:
        return []  # no user has a value
    pairs = pairs_shown(differences, best, limit=9)
    return charts.bins(
        metric, [(d, histogram(*result.paired(d.metric, d.a, d.b)[1:])) for d in pairs]
    )


def systems_shown(result: Compared) -> list[str]:
    """The systems that charts show: the baseline, and the best ones on the first metric."""
    ranked = result.verdict_on(result.labels[0]).ranked
    shown = sorted(ranked, key=lambda name: name != result.baseline)[:MAX_SYSTEMS]
    return sorted(shown, key=result.systems.index)


def page_of(result: Compared) -> dict[str, Any]:
    """The content of the page of a comparison, by name in its template."""
    plan, labels, shown = plan_of(result), result.labels, systems_shown(result)
    verdicts = {label: result.verdict_on(label) for label in labels}
    charted, left_out = drawn_of(labels)
    extreme = {
        label: _extremes(result, verdicts[label])
        for label in charted
        if not result.by_metric[label].whole
    }
    first_of = {x: first for x, first in distinct_curves(plan).items() if x in charted}
    try:
        by_k = curves(result, [*dict.fromkeys(first_of.values())]) if first_of else {}
    except UsageError:  # results without ranks
        by_k = {}
    hits, popular = first_hits(plan, result.scored), popularity_shown(plan, result.scored)
    curve_charts = {label: charts.curve(label, curve.frame, shown) for label, curve in by_k.items()}
    figures: dict[str, dict[str, list[Any]]] = {
        kind: {label: panels(result, kind, label) for label in charted}
        for kind in get_args(ChartKind)
        if kind != "curve"
    }
    figures["curve"] = {label: curve_charts.get(first, []) for label, first in first_of.items()}
    figures["hits"] = {"": charts.first_hits(hits, shown)} if hits else {}
    figures["popularity"] = {"": charts.popularity(*popular, shown)} if popular else {}
    figures["scatter"] = {label: _scatter(result, verdicts[label]) for label in charted}
    rivals = near_the_best(result.means_of(labels[0]), verdicts[labels[0]].best)
    cards = [verdicts[labels[0]], *(result.verdict_on(label, rivals) for label in labels[1:])]
    return {
        "headline": _headline(result, verdicts[labels[0]]),
        "cards": cards,
        "columns": math.ceil(len(cards) / math.ceil(len(cards) / MAX_CARDS)),
        "rivals": rivals if len(cards) > 1 and len(rivals) < len(result.systems) else [],
        **_means_and_notes(result, left_out),
        "differences": result.difference_table(),
        "shown": shown,
        "good_k": _good_k(result, by_k),
        "hits": hits,
        "popularity": popular,
        "segments": _segment_cells(result),
        "heterogeneity": _heterogeneity_table(result),
        "extremes": extreme,
        "lists": {label: _lists(result, label, sides) for label, sides in extreme.items()},
        "figures": figures,
        "plan": plan.describe(),
        "call": _python_call(result),
        "n_users": max(e.n for e in result.estimates.values()),
        "counts": {name: summary.counts for name, summary in result.summaries.items()},
    }


def _means_and_notes(result: Compared, more: Sequence[str]) -> dict[str, Any]:
    """The table of means with its marks, and the notes: how differences were tested comes first."""
    crowded = not result.baseline and len(result.systems) > MAX_SYSTEMS  # too many letters to read
    tested = result.significance_note()
    apart = {*result.segment_notes()[1:]}  # has a table
    notes = [tested, *(note for note in result.notes if note not in {tested, *apart}), *more]
    if crowded:
        notes[0] = tested.replace("letters: the", "beats: how many")
    cells: dict[str, list[MeanCell]] = {name: [] for name in result.systems}
    for label in result.labels:
        means, marks = result.means_of(label), result.marks(label)
        place = result.places(means, label)
        beats = Counter(d.better for d in result[label] if d.significant)
        for name, e in means.items():
            mark, n = ("", beats[name]) if crowded else (marks[name], None)
            cells[name].append(MeanCell(e, place[name], mark, n))
    titles = result.systems if crowded else [row[0] for row in result.table().rows]
    rows = [(title, *row) for title, row in zip(titles, cells.values(), strict=True)]
    return {"means": rows, "notes": notes}


def _python_call(result: Compared) -> str:
    """The call in Python that gives this result from the same data, or nothing."""
    s = result.settings
    usual = {
        "test": "auto", "correction": "maxt", "common": "all", "alpha": 0.05,
        "n_resamples": 9_999, "gatekeeping": False,
    }  # fmt: skip
    return written_call(
        plan_of(result),
        "compare",
        "systems, truth",
        baseline=result.baseline or None,
        segments=None if result.segments_by_user is None else Name("segments"),
        clusters=Name("clusters") if s["clusters"] else None,
        margin=s["margin"],
        family=None if s["family"] == "each metric" else "all",
        **{name: s[name] for name, value in usual.items() if s[name] != value},
    )


def _headline(result: Compared, verdict: Verdict) -> Headline:
    """The headline, with what the segments say."""
    headline, label, d = result.headline(), verdict.metric, verdict.difference
    segments = dict.fromkeys(key[0] for key in result.segment_estimates)
    if len(segments) < 2 or d is None:
        return headline
    best = {
        part: leaders(
            {name: result.segment_estimates[part, label, name] for name in result.systems},
            increasing=result.by_metric[label].increasing,
        )
        for part in segments
    }
    pair = {d.a, d.b}
    tested = [h.p for h in result.heterogeneity if h.metric == label and {h.a, h.b} == pair]
    p = tested[0] if tested else math.nan
    sentence = by_segment(label, best, f"{d.a} − {d.b}", p, result.settings["alpha"])
    return replace(headline, sentences=(*headline.sentences, sentence))


def _good_k(result: Compared, by_k: Mapping[str, Curve]) -> Table:
    """The smallest good k of each system in charts; metrics without a cutoff have none."""
    plan = plan_of(result)
    first_of = distinct_curves(plan)
    cut = dict.fromkeys(first for label, first in first_of.items() if plan[label].metric.k)
    good = {by_k[label].metric: by_k[label].smallest_good_k() for label in cut if label in by_k}
    rows = [(name, *(f"{k[name]}" for k in good.values())) for name in systems_shown(result)]
    return Table(("system", *good), rows if good else ())


def _segment_cells(result: Compared) -> dict[str, list[tuple[str | MeanCell, ...]]]:
    """By metric, a row for each segment: its users, and the mean of each system."""
    rows: dict[str, list[tuple[str | MeanCell, ...]]] = {}
    for segment, label in dict.fromkeys(key[:2] for key in result.segment_estimates):
        means = {name: result.segment_estimates[segment, label, name] for name in result.systems}
        place = result.places(means, label)
        cells = [MeanCell(e, place[name]) for name, e in means.items()]
        n = max(e.n for e in means.values())
        rows.setdefault(label, []).append((segment, f"{n:,}", *cells))
    return rows


def _heterogeneity_table(result: Compared) -> Table:
    """For each comparison over all users, whether the segments have the same difference."""
    rows = [
        (f"{h.a} − {h.b}", h.metric, f"{h.n}", number(h.statistic, 1), p_value(h.p))
        for h in result.heterogeneity
    ]
    return Table(("difference", "metric", "segments", "Q", "p"), rows)


def _scatter(result: Compared, verdict: Verdict) -> list[Any]:
    """The values of all users in the two systems of a verdict."""
    d = verdict.difference
    if d is None or not d.per_user or result.by_metric[d.metric].whole:
        return []
    return charts.scatter(d, scattered(*result.paired(d.metric, d.a, d.b)[1:]))


def _extremes(result: Compared, verdict: Verdict) -> Extremes:
    """For each system of a verdict, the users that gain most from it."""
    d = verdict.difference
    if d is None:
        return {}
    sides = extremes(*result.paired(d.metric, d.a, d.b), increasing=d.increasing)
    return dict(zip((d.a, d.b), sides, strict=True)) if any(sides) else {}


def _lists(result: Compared, label: str, sides: Extremes) -> dict[str, dict[str, Sequence[Place]]]:
    """By user of some extremes, the tops of the lists of both systems."""
    entry = plan_of(result)[label]
    sources = {
        name: (result.summaries[name].source, result.summaries[name].scores) for name in sides
    }
    users = [user for side in sides.values() for user, *_ in side]
    if any(source is None or not source.lists for source, _ in sources.values()):
        return {}
    try:
        return {
            user: {
                name: top_of_list(source, scores, user, entry)
                for name, (source, scores) in sources.items()
                if source is not None
            }
            for user in users
        }
    except UsageError:  # the rankings of a result have changed
        return {}
