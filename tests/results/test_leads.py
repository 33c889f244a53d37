"""Who leads: a test of all pairs in a single step, the same with and without a baseline."""

from __future__ import annotations

import numpy as np
import pytest

import rankmeter as rm
from rankmeter._results import paired
from rankmeter._statistics.paired_tests import paired_t_test

pytestmark = [
    pytest.mark.once,
    pytest.mark.filterwarnings("ignore::rankmeter.errors.RankmeterWarning"),
]


def values_of(seed, n=120, systems=4):
    """Hits or dense values of systems, of which some may be better and some equal."""
    rng = np.random.default_rng(seed)
    easy, effect = rng.random((n, 1)), 0.15 * rng.integers(0, 3, systems)
    if seed % 2:
        table = (rng.random((n, systems)) < 0.2 + effect).astype(float)
    else:
        table = np.clip(easy + effect + rng.normal(0, 0.2, (n, systems)), 0, 1)
    return {f"s{j}": column for j, column in enumerate(table.T)}


@pytest.mark.parametrize("test", ["auto", "t", "wilcoxon"])
@pytest.mark.parametrize("seed", range(12))
def test_a_baseline_does_not_change_who_leads(seed, test):
    values = values_of(seed)
    options = {"test": test, "scale": (0, 1), "n_permutations": 9_999}
    free = rm.compare_values(values, **options)
    lead, all_pairs = free.leads["value"], {frozenset((d.a, d.b)): d for d in free.differences}
    best = free._verdict_on("value").best
    assert lead.best == best in lead.contenders
    assert lead.difference is None
    for d in free.differences:
        other = d.b if d.a == best else d.a
        if best in (d.a, d.b) and other not in lead.contenders:
            assert d.significant  # the single step never finds more
            assert d.better == best
    title = free.headline().title
    assert (" leads " in title) == lead.is_alone
    assert not lead.is_alone or "do not decide" not in str(free.headline())
    for baseline in values:
        found = rm.compare_values(values, baseline=baseline, **options)
        own = found.leads["value"]
        assert own.contenders == lead.contenders
        second = found._verdict_on("value").ranked[1]
        in_table = baseline in (best, second)
        assert (own.difference is None) == in_table
        if in_table:
            continue
        assert (own.difference.a, own.difference.b) == (best, second)
        pair = all_pairs[frozenset((best, second))]  # more flips are drawn close to the level
        assert own.difference.p == pytest.approx(pair.p, abs=0.02 if test == "auto" else 1e-12)
        assert own.difference.significant == (second not in lead.contenders)
        assert f"First and second: {own.difference.sentence()}" in found.headline().sentences


def test_with_a_baseline_every_pair_is_tested_once(monkeypatch):
    tested = []

    def watched(a, b):
        tested.append((a, b))
        return paired_t_test(a, b)

    monkeypatch.setattr(paired, "paired_t_test", watched)
    found = rm.compare_values(values_of(4, systems=40), baseline="s0", test="t", scale=(0, 1))
    assert len(found.leads["value"].contenders) < 40
    assert len(tested) == 40 * 39 // 2


@pytest.mark.parametrize("baseline", [None, "a", "b"])
@pytest.mark.parametrize("third", [False, True])
def test_equal_means_have_no_leader(baseline, third):
    wins = np.repeat([1.0, 0.0], 15)
    values = {"a": wins, "b": 1 - wins} | ({"c": 0.4 * wins} if third else {})
    found = rm.compare_values(values, baseline=baseline, scale=(0, 1))
    told = found.headline()
    assert not any(word in told.title for word in (" leads", " lead ", "ahead"))
    assert baseline or told.title == "The data show no difference between a and b on value"
    assert "The data show no difference between a and b on value: +0.0000" in found.sentences()[
        0
    ] or (baseline == "a" and "no difference between b and a" in found.sentences()[0])
    assert found._verdict_on("value").lead_text.startswith("no difference from ")
    assert "a" in (both := found.leads["value"].contenders)
    assert "b" in both


def test_the_same_values_lead_together():
    best = np.repeat([1.0, 0.9], 20)
    found = rm.compare_values({"a": best, "b": best, "c": 0.1 * best})
    assert found.headline().title == "a and b lead on value, with the same values"
    near = best + np.tile([0.01, -0.01], 20)
    found = rm.compare_values({"a": best, "b": best, "c": near})
    assert found.headline().title == "The data show no difference between a and b on value"


@pytest.mark.parametrize("baseline", ["a", "c"])
def test_a_headline_with_a_baseline_says_that_the_best_are_equal(baseline):
    values = {"a": [0.5, 0.3] * 50, "b": [0.3, 0.5] * 50, "c": [0.1, 0.2] * 50}
    told = rm.compare_values(values, scale=(0, 1), baseline=baseline).headline()
    assert "a, b have the same mean." in told.sentences
    assert len(told.title.split()) <= 12
