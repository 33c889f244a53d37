"""No text that the library makes for people has a control character of a name in it.

Sentences, headlines, notes, messages and warnings are printed by others, so all of them spell such
characters out or replace them; values, such as ids in frames, stay as they are.
"""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

import rankmeter as rm
from rankmeter.errors import RankmeterError

pytestmark = pytest.mark.once

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
NAMES = {
    "escape": "a\x1b[2Jb",
    "NUL": "a\x00b",
    "bell": "a\x07b",
    "C1 control": "a\x9b31mb",
    "carriage return": "a\rb",
    "override": "a\u202eb",
    "isolate": "a\u2066b",
    "mark": "a\u200fb",
    "separator": "a\u2028b",
}


def texts(thing, depth=3):
    """All texts for people in a result: its repr, its properties and methods that make text."""
    if isinstance(thing, str):
        yield thing
    elif isinstance(thing, list | tuple | set | frozenset):
        for value in thing:
            yield from texts(value, depth)
    elif depth and type(thing).__module__.startswith("rankmeter._results"):
        yield from (repr(thing), str(thing))
        for name in ("to_markdown", "to_latex", "to_json", "to_text", "_repr_html_", "cite"):
            if callable(made := getattr(thing, name, None)):
                try:
                    yield made()
                except (RankmeterError, TypeError):
                    continue
        for name in ("sentence", "sentences", "headline", "notes", "cautions", "remarks", "title",
                     "text", "summary", "table", "differences", "_significance_note",
                     "_segment_notes", "facts", "heterogeneity", "leads"):  # fmt: skip
            made = getattr(thing, name, None)
            try:
                made = made() if callable(made) else made
            except (RankmeterError, TypeError):
                continue
            yield from texts([*made.values()] if isinstance(made, dict) else made, depth - 1)
    elif depth and hasattr(thing, "_asdict"):
        yield from texts([*thing], depth - 1)


def results(name):
    """Results in which a name is that of a user, an item, a system, a segment and a cluster."""
    lists = {"u": ["a", name], "v": [name, "a"], name: ["a", "b"]}
    truth = {"u": {"a": 1}, "v": {"a": 1, name: 2}, name: {"b": 1}}
    others = {user: items[::-1] for user, items in lists.items()}
    segments = {"u": name, "v": "s", name: name}
    systems = {name: lists, "other": others}
    compared = rm.compare(systems, truth, "rr ndcg@2", segments=segments, margin=0.1)
    many = {f"{n}": ["a", "b"] if n % 3 else ["b", "a"] for n in range(60)}
    wins = {user: {"a"} for user in many}
    yield from (compared, compared.show("u"), compared.show(name), compared.curve("rr", 2))
    yield rm.compare({name: many, "other": {u: ["b", "a"] for u in many}}, wins, "rr hr@1")
    yield rm.compare(systems, truth, "rr", baseline=name, clusters=segments)
    yield rm.compare({name: [lists, others], "other": [others, lists]}, truth, "rr")
    yield rm.compare_values({name: np.arange(9.0), "other": np.ones(9)})
    yield rm.compare_values({name: np.ones(30) * 2, "other": np.arange(30)}, baseline=name)
    found = rm.evaluate(lists, truth, "rr", clusters=segments)
    yield from (found, found.show(name))
    yield from (rm.describe(lists), rm.curve(systems, truth, "recall", 2))
    yield rm.evaluate_ranks([1, 2, 3], "mrr", groups={name: [name, "s", name]})


def mistakes(name):
    """Calls that have to name what is wrong."""
    lists, truth = {"u": ["a", "b"]}, {"u": {"a"}}
    yield lambda: rm.evaluate({name: [name, name]}, {name: {name}}, "rr")
    yield lambda: rm.evaluate({name: [name]}, {"u": {"a"}}, "rr")
    yield lambda: rm.evaluate({name: ["a"]}, {1: {"a"}}, "rr")
    yield lambda: rm.evaluate({name: {name: float("nan")}}, {name: {name}}, "rr")
    yield lambda: rm.evaluate(lists, truth, name)
    yield lambda: rm.evaluate(lists, truth, "rr", like=name)
    yield lambda: rm.evaluate(lists, truth, "rr", ties=name)
    yield lambda: rm.evaluate(lists, truth, "rr", columns={"user": name})
    yield lambda: rm.evaluate(lists, truth, f"rr@{name}")
    yield lambda: rm.evaluate(name, truth, "rr")
    yield lambda: rm.evaluate(f"{name}.csv", truth, "rr")
    yield lambda: rm.compare({name: lists, "b": lists}, truth, "rr", baseline="no")
    yield lambda: rm.compare({name: lists, "b": 7}, truth, "rr")
    yield lambda: rm.compare({"a": lists, "b": lists}, truth, "rr", margin={name: 1})
    yield lambda: rm.evaluate(lists, truth, "rr").show(name)
    yield lambda: rm.evaluate(lists, truth, "rr")[name]
    yield lambda: rm.evaluate(lists, truth, "rr", clusters={name: 1})
    yield lambda: rm.evaluate({"u": {name: "x"}}, truth, "rr")
    yield lambda: rm.compare({name: rm.evaluate(lists, truth, "rr"), "b": lists})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_texts_of_results_have_no_control_character(name):
    for result in results(NAMES[name]):
        for text in texts(result):
            assert not CONTROL.search(text), (type(result).__name__, text)


@pytest.mark.parametrize("name", NAMES)
def test_messages_and_warnings_have_no_control_character(name):
    for number, call in enumerate(mistakes(NAMES[name])):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            said = ""
            try:
                call()
            except RankmeterError as error:
                said = str(error)
        for text in (said, *(str(warning.message) for warning in caught)):
            assert not CONTROL.search(text), (number, text)
