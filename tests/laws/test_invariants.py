"""An interval, a test, a margin and a sentence never contradict each other."""

from __future__ import annotations

import html
import itertools
import math
import re
import warnings
from random import Random
from typing import get_args, get_type_hints

import numpy as np
import polars as pl
import pytest

import rankmeter as rm
from rankmeter.errors import RankmeterWarning

pytestmark = pytest.mark.once

TESTS, CORRECTIONS = (get_args(get_type_hints(rm.compare)[n]) for n in ("test", "correction"))
OPTIONS = [
    {},
    {"confidence": 0.99},
    {"confidence": 0.8},
    {"margin": 0.05, "family": "all"},
    {"margin": "5%", "baseline": "s1"},
    {"interval": "bca", "resamples": 200},
]


def values_of(rng, kind, n, m):
    """Values of n users under m systems."""
    easy = rng.random((n, 1))
    match kind:
        case "rare hits":
            return (rng.random((n, m)) < 0.02).astype(float)
        case "hits":
            return (rng.random((n, m)) < easy).astype(float)
        case "reciprocal ranks":
            return np.where(rng.random((n, m)) < 0.3, 1 / rng.integers(1, 9, (n, m)), 0.0)
        case "constant differences":
            return np.full((n, 1), 0.2) + 0.1 * np.arange(m)
        case "one loser":
            values = np.ones((n, m))
            values[0, 0] = 0.0
            return values
        case "apart":
            return 0.3 * easy + 0.2 * np.arange(m) + rng.normal(0, 0.05, (n, m))
        case "negative":
            return -easy + rng.normal(0, 0.2, (n, m))
    return np.clip(easy + rng.normal(0.02 * np.arange(m), 0.2, (n, m)), 0, 1)


KINDS = (
    "rare hits", "hits", "reciprocal ranks", "constant differences", "one loser", "negative",
    "dense", "apart",
)  # fmt: skip


P = re.compile(r"p (<|=|≤) (\d\.\d+(?:e-\d+)?)")


def p_of(text):
    """The p that a sentence prints, which is the only one that is called p."""
    signs = P.findall(text)
    assert len(signs) == 1, text
    return signs[0][0], float(signs[0][1])


def matches(said, p, *, bound=False):
    sign, number = said
    if sign == "=":
        return not bound and p == pytest.approx(number, rel=0.051, abs=5.1e-5)
    return (sign == "≤") == bound and p <= number * (1 + 1e-9)


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("kind", KINDS)
def test_sentences_intervals_and_tests_agree(test, kind):
    rng = np.random.default_rng(len(kind) * 100 + len(test))
    for options, correction, n in zip(
        OPTIONS,
        itertools.cycle(CORRECTIONS),
        (2, 7, 30, 100, 300, 40),
        strict=False,
    ):
        values = values_of(rng, kind, n, 3)
        systems = {f"s{j}": dict(enumerate(column.tolist())) for j, column in enumerate(values.T)}
        segments = {u: f"part {u % 3}" for u in range(n)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RankmeterWarning)
            result = rm.compare_values(
                systems, test=test, correction=correction, segments=segments, n_resamples=199,
                **options,
            )  # fmt: skip
        for d in result.differences:
            check(d, options.get("confidence", 0.95))
        check_headline(result)


def random_call(seed):
    """Values of systems by user, metric and perhaps training run, and options of a comparison."""
    draw = Random(seed)
    rng, n, m = np.random.default_rng(seed), draw.choice([2, 5, 12, 40, 150]), draw.choice([2, 4])
    scale = 10.0 ** draw.choice([0, 0, 0, -3, -6, -9, 4])
    seeds = draw.choice([1, 1, 1, 3])
    rows = []
    for metric in draw.choice([("x",), ("x", "y")]):
        kind = draw.choice(KINDS)
        for run in range(seeds):
            table = scale * values_of(rng, kind, n, m)
            rows += [
                {"system": f"s{j}", "user": u, "metric": metric, "seed": run, "value": table[u, j]}
                for u in range(n)
                for j in range(m)
            ]
    options = {
        "correction": draw.choice(CORRECTIONS), "family": draw.choice(["metric", "all"]),
        "baseline": draw.choice([None, "s0"]), "confidence": draw.choice([0.5, 0.8, 0.95, 0.99]),
        "margin": draw.choice([None, 0.05 * scale, "5%"]), "n_permutations": draw.choice([9, 199]),
        "lower_is_better": draw.random() < 0.3,
    }  # fmt: skip
    if seeds == 1:
        options |= {"test": draw.choice(TESTS), "interval": draw.choice(["wilson", "bca"])}
        options |= {"resamples": 99} if options["interval"] == "bca" else {}
        options |= draw.choice([{}, {"clusters": {u: u // draw.choice([2, 9]) for u in range(n)}}])
    options |= draw.choice([{}, {"segments": {u: f"part {u % 3}" for u in range(n)}}])
    return pl.DataFrame(rows), options


@pytest.mark.parametrize("seed", range(120))
def test_random_calls_have_no_contradictions(seed):
    values, options = random_call(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankmeterWarning)
        result = rm.compare_values(values, **options)
    for d in result.differences:
        check(d, options["confidence"])
    check_headline(result)
    marked = {name: mark for name, mark in result._marks("x").items() if mark}
    title = result.headline().title.partition(";")[0].rpartition("the same mean. ")[2]
    if result.baseline and " beats s0 " in title and not title.startswith("No "):
        assert marked[title.partition(" beats ")[0]] == "▲"
    if " leads " in title:  # over all others, whose letters it has
        assert len(marked[title.partition(" leads ")[0]]) == len(result.systems) - 1


def level(confidence):
    return f"{100 * confidence:g} % interval"


def check(d, confidence):
    text = d.sentence()
    assert d.confidence == confidence
    assert d.alpha == pytest.approx(1 - confidence)
    assert "nan" not in text.lower()
    assert not re.search(r"by 0\.0000\b|difference of [+−]?0\.0000\b", text)
    if math.isnan(d.p):
        assert not d.significant
        return
    assert d.significant == (d.p_adjusted <= d.alpha)
    assert d.p_adjusted >= d.p * (1 - 1e-9)
    if not math.isnan(d.low) and "same" not in text and "contradict" not in text:
        assert f"{level(confidence)} [" in text
    assert not d.low > d.difference + 1e-12
    assert not d.high < d.difference - 1e-12
    holds_0 = d.low <= 0.0 <= d.high
    if " beats " in text:
        assert d.significant
        assert ("includes 0" in text) == holds_0
        assert matches(p_of(text), d.p, bound=d.p_is_bound)
    if "do not decide" in text or "show no difference" in text:
        assert not d.significant
        assert ("show no difference" in text) == (d.difference == 0.0)
        assert ("excludes 0" in text) == (not holds_0 and not math.isnan(d.low))
        said = text.partition(" That ")[0]  # what follows is the p of a margin
        assert matches(p_of(said), d.p, bound=d.p_is_bound)
    if "on its own" in text:
        assert d.p <= d.alpha < d.p_adjusted
    if "equivalent" in text:
        assert not math.isnan(d.detectable)
        assert matches(p_of(text), d.p_equivalent)


def check_headline(result):
    """The headline agrees with the table, and every look shows it."""
    label = result.labels[0]
    told, verdict, lead = result.headline(), result._verdict_on(label), result.leads.get(label)
    equals, _, title = told.title.partition(";")[0].rpartition(" have the same mean. ")
    text = " ".join(told.sentences)
    if equals:
        assert result.baseline
        assert verdict.best in equals or " more" in equals
    assert "nan" not in f"{title} {text}".lower()
    assert not re.search(r"difference of [+−]?0\.0000\b", text)
    d = verdict.difference
    if (" beats " in title and not title.startswith("No system")) or " leads " in title:
        assert not d or (d.significant and d.better == verdict.best and d.difference != 0)
        assert result.baseline or verdict.beaten == verdict.others
    if " leads " in title:
        assert lead.contenders == (verdict.best,)
        assert "do not decide" not in text
    if "do not decide" in title:
        assert len(verdict.undecided) > 1
    if "same" not in title and d and not math.isnan(d.p) and d.verdict != "equivalent":
        odds = re.search(r"would still appear in (.*) such samples of users[.,]", text)[1]
        assert ("count half" in text) == d.method.startswith("mid-p")
        number = float(re.search(r"([\d,]+) of|of ([\d,]+)", odds)[0].strip(" of").replace(",", ""))
        if odds.endswith(" of 100") and "about" not in odds:
            assert 100 * d.p == pytest.approx(number, abs=0.51)
        elif odds.startswith("about"):
            assert 1 / d.p == pytest.approx(float(odds.split()[-1].replace(",", "")), rel=0.051)
    for look in (repr(result), result.to_markdown(), result._repr_html_()):
        assert html.unescape(told.title) in html.unescape(look)
    assert result.to_dict()["headline"] == {"title": told.title, "sentences": [*told.sentences]}
    level_said = level(result.confidence)
    for text in (result.to_latex(intervals=True), result.to_markdown(intervals=True)):
        assert level_said in text.replace(r"\%", "%")


def test_intervals_that_collapsed_have_a_width():
    """Ten percent of users differ, few of them were met."""
    for differing in (0, 1, 3):
        a, b = np.zeros(100), np.zeros(100)
        a[:differing] = 1.0
        (d,) = rm.compare_values({"a": a, "b": b}, scale=(0, 1)).differences
        assert d.low < 0 < d.high or differing == 3
        assert d.high - d.low > 0.03


def test_the_scale_of_differences_is_not_left():
    a, b = np.array([1.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0])
    (d,) = rm.compare_values({"a": a, "b": b}, scale=(0, 1)).differences
    assert -1.0 <= d.low < d.high <= 1.0


def test_all_values_equal_on_an_unknown_scale_have_no_interval():
    (d,) = rm.compare_values({"a": [2.0] * 9, "b": [2.0] * 9}).differences
    assert math.isnan(d.low)
    assert d.sentence() == "a and b have the same value for every one of 9 users."
