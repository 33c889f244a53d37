"""How many users a comparison needs."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats

import rankmeter as rm
from command_line import rankmeter
from rankmeter.errors import UsageError

pytestmark = pytest.mark.once


def test_more_systems_need_more_users():
    two = rm.sample_size(sd=1, difference=0.1)
    four = rm.sample_size(sd=1, difference=0.1, systems=4)
    against_one = rm.sample_size(sd=1, difference=0.1, systems=4, baseline=True)
    assert two.n < against_one.n < four.n
    assert (against_one.comparisons, four.comparisons) == (3, 6)


def test_a_pilot_gives_the_standard_deviation():
    rng = np.random.default_rng(0)
    pilot = {"A": rng.random(30), "B": rng.random(30)}
    found = rm.sample_size(pilot, difference=0.05)
    assert found.sd == pytest.approx(np.std(pilot["A"] - pilot["B"], ddof=1))
    assert int(found) == rm.sample_size(found.sd, difference=0.05).n
    said = f"{found.n:,} users are needed to detect a difference of 0.05 with 80% power"
    assert said in str(found)


@pytest.mark.parametrize(("share", "difference"), [(0.1, 0.05), (0.25, 0.1)])
def test_hits_have_the_power_of_their_test(share, difference):
    n = rm.sample_size(differing=share, difference=difference).n
    changed = np.arange(n + 1)
    wins = np.arange(n + 1)[:, None]
    fewer, tried = np.minimum(wins, changed - wins), np.maximum(changed, 1)
    p = 2 * stats.binom.cdf(fewer, tried, 0.5) - stats.binom.pmf(fewer, tried, 0.5)
    weight = stats.binom.pmf(wins, changed, 0.5 + 0.5 * difference / share)
    power = (weight * (p <= 0.05)).sum(axis=0) @ stats.binom.pmf(changed, n, share)
    assert 0.795 <= power <= 0.82
    pilot = np.repeat([1.0, -1.0, 0.0], [25, 25, round(50 / share) - 50])
    found = rm.sample_size({"A": pilot, "B": np.zeros(pilot.size)}, difference=difference)
    assert (found.n, found.differing) == (n, pytest.approx(share))
    assert f"if {share:.2%} of the users have a hit of one system alone" in str(found)


def test_a_comparison_and_results_are_pilots():
    truth = {user: {"a"} for user in range(6)}
    other = {user: ["a"] if user % 3 else ["b", "a"] for user in truth}
    rankings = {"A": {user: ["a"] for user in truth}, "B": other}
    results = {name: rm.evaluate(lists, truth, "mrr") for name, lists in rankings.items()}
    wanted = rm.sample_size({"A": [1] * 6, "B": [0.5, 1, 1] * 2}, difference=0.1)
    for pilot in (rm.compare(rankings, truth, "mrr"), rm.compare_values(results), results):
        assert rm.sample_size(pilot, difference=0.1) == wanted
    with pytest.raises(UsageError, match="got 2 systems and 2 metrics: compare two systems by one"):
        rm.sample_size(rm.compare(rankings, truth, "mrr rr@2"), difference=0.1)
    with pytest.raises(UsageError, match="a Summary is not a mapping from system to values"):
        rm.sample_size(results["A"], difference=0.1)


def test_an_assurance_takes_the_upper_limit_of_a_pilot():
    rng, enough, without = np.random.default_rng(4), 0, 0
    needed = rm.sample_size(sd=1, difference=0.2).n
    for _ in range(24):
        pilot = {"A": rng.normal(size=20), "B": np.zeros(20)}
        enough += rm.sample_size(pilot, difference=0.2, assurance=0.8).n >= needed
        without += rm.sample_size(pilot, difference=0.2).n >= needed
    assert without < 17
    assert 16 <= enough <= 23
    hits = {"A": [1.0, 0.0, 0.0, 0.0] * 5, "B": [0.0, 1.0, 0.0, 0.0] * 5}
    found = rm.sample_size(hits, difference=0.2, assurance=0.9)
    assert found.differing == pytest.approx(stats.binomtest(10, 20).proportion_ci(0.8).high)
    assert str(found).endswith("hit of one system alone, the upper limit of 90% of the pilot.")


def test_as_many_users_detect_the_difference():
    rng = np.random.default_rng(0)
    pilot = {"A": rng.random(200), "B": rng.random(200)}
    (d,) = rm.compare_values(pilot).differences
    assert rm.sample_size(pilot, difference=d.detectable).n == pytest.approx(200, abs=1)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"sd": 0},
        {"sd": 1, "pilot": 1},
        {"sd": 1, "power": 0.01},
        {"sd": 1, "systems": 1},
        {"sd": 1, "difference": 0},
        {"sd": 1, "difference": 1e-9},
        {"sd": 1, "confidence": 1},
        {"sd": 1, "differing": 0.1},
        {"sd": 1, "assurance": 0.8},
        {"differing": 0.1, "difference": 1.5},
        {"differing": 1.1},
        {"pilot": {"A": [1.0, 2.0, 4.0], "B": [0.0, 1.0, 1.0]}, "assurance": 0.3},
        {"pilot": {"A": [1.0, 2.0]}},
        {"pilot": {"A": [1.0, 2.0], "B": [0.0, 1.0]}},
    ],
)
def test_wrong_calls(options):
    with pytest.raises(UsageError):
        rm.sample_size(**{"difference": 0.1, **options})


def test_the_highest_confidence_has_a_quantile():
    for call in (
        lambda level: rm.sample_size(sd=1, difference=0.1, systems=9, confidence=level),
        lambda level: rm.compare_values({"A": [1.0, 2, 3], "B": [2.0, 2, 5]}, confidence=level),
    ):
        with pytest.raises(UsageError, match="`confidence` must be a number between 0 and 1"):
            call(1.0)
        call(1 - 1e-12)


def test_the_command(tmp_path):
    done = rankmeter("sample-size", "--sd", "1", "--difference", "0.5")
    assert done.code == 0, done.err
    assert done.out.startswith("34 users are needed to detect a difference of 0.5")
    (tmp_path / "pilot.csv").write_text("system,user,value\nA,1,1\nA,2,0\nB,1,0\nB,2,1\n")
    done = rankmeter("sample-size", str(tmp_path / "pilot.csv"), "--difference", "0.5", "--json")
    assert json.loads(done.out)["sd"] == pytest.approx(np.std([1, -1], ddof=1))
    assert rankmeter("sample-size", "--difference", "0.5").code == 2


def test_the_old_name_of_the_command_still_works():
    new, old = (
        rankmeter(name, "--sd", "1", "--difference", "0.5") for name in ("sample-size", "plan")
    )
    assert (old.code, old.out) == (0, new.out)
    assert old.err == "warning: rankmeter plan is now called rankmeter sample-size\n"
