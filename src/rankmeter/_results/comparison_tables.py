"""The parts of the tables and notes of a comparison: marks, differences, what was tested."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from rankmeter._estimates.differences import Difference
from rankmeter._estimates.wording import change, level, number, p_value
from rankmeter._report.table import Style, Table


def marks_of(
    differences: Sequence[Difference], systems: Sequence[str], baseline: str
) -> dict[str, str]:
    """By system: ▲ or ▼ against the baseline, or the letters of the systems that it beats.

    The differences are those on one metric over all users.
    """
    letters, marks = letters_of(systems), dict.fromkeys(systems, "")
    for d in differences:
        if d.significant and baseline:
            marks[d.a] = "▲" if d.better == d.a else "▼"
        elif d.significant and d.better:
            marks[d.better] += letters[d.b if d.better == d.a else d.a]
    return marks


def letters_of(systems: Sequence[str]) -> dict[str, str]:
    """The letters a, b, …, z, aa, ab, … of systems."""
    alphabet = "abcdefghijklmnopqrstuvwxyz"
    pairs = ("".join(two) for two in itertools.product(alphabet, repeat=2))
    return dict(zip(systems, itertools.chain(alphabet, pairs), strict=False))


def mean_styles(
    places: Mapping[str, Mapping[str, int]], marks: Mapping[str, Mapping[str, str]]
) -> dict[tuple[int, int], tuple[Style, ...]]:
    """The styles of the best and the second mean of each metric, and of those with ▲ or ▼.

    Letters have no colour, as a mean may win and lose.
    """
    of_place: dict[int, tuple[Style, ...]] = {1: ("best",), 2: ("second",)}
    of_mark: dict[str, tuple[Style, ...]] = {"▲": ("better",), "▼": ("worse",)}
    return {
        (row, column): (*of_place.get(place, ()), *of_mark.get(marks[label][name], ()))
        for column, (label, by_system) in enumerate(places.items(), 1)
        for row, (name, place) in enumerate(by_system.items())
    }


def significance_note(
    differences: Sequence[Difference], baseline: str, settings: Mapping[str, Any]
) -> str:
    """A note on the markers, and on how differences were tested."""
    correction = f", {settings['correction']} over {settings['family']}"
    marks = (
        f"▲ ▼ significantly better, worse than {baseline}"
        if baseline
        else "letters: the systems that are significantly worse"
    )
    if not any(d.significant for d in differences):
        marks = "no significant difference"
    methods = sorted({d.method.split(" (")[0] for d in differences if not math.isnan(d.p)})
    corrected = "" if settings["correction"] == "none" else correction
    return f"{marks} ({', '.join(methods) or 'no test'}{corrected}, alpha {settings['alpha']:g})"


def difference_notes(differences: Sequence[Difference], metrics: Sequence[str]) -> list[str]:
    """The notes of single differences, with the metrics and segments if they are of some."""
    noted: dict[str, list[Difference]] = {}
    for d in differences:
        if d.note:
            noted.setdefault(d.note, []).append(d)
    notes = []
    for note, where in sorted(noted.items()):
        labels = dict.fromkeys(d.metric for d in where)
        segments = dict.fromkeys(d.segment for d in where)
        of = "" if len(labels) == len(metrics) else f"{', '.join(labels)}: "
        notes.append(f"{of}{note}" + ("" if "" in segments else f" ({', '.join(segments)})"))
    return notes


def table_of_differences(differences: Sequence[Difference], confidence: float) -> Table:
    """Every comparison: difference, interval, p, effect size, wins and losses."""
    rows = tuple(
        (
            f"{d.a} − {d.b}" + (f", {d.segment}" if d.segment else ""),
            d.metric,
            change(d.difference),
            f"[{change(d.low)}, {change(d.high)}]",
            p_value(d.p),
            p_value(d.p_adjusted),
            change(d.d_z, digits=2),
            f"{d.wins:,}/{d.ties:,}/{d.losses:,}" if d.per_user else "–",
            number(d.detectable),
        )
        for d in differences
    )
    interval = f"{level(confidence)} interval"
    columns = ("difference", "metric", "mean", interval, "p", "adjusted p", "d_z")
    styles: dict[tuple[int, int], tuple[Style, ...]] = {
        (row, columns.index("mean")): ("better",) if d.better == d.a else ("worse",)
        for row, d in enumerate(differences)
        if d.significant and d.better
    }
    return Table((*columns, "win/tie/loss", "detectable"), rows, styles=styles)
