"""What a published mean can mean, against all data sets of a few users."""

from __future__ import annotations

import itertools
import json
import math
from collections import defaultdict

import pytest

import rankmeter as rm
from command_line import rankmeter
from rankmeter.errors import UsageError

pytestmark = pytest.mark.once

VALUES = {
    "hr@3": (0, 1),
    "precision@2": (0, 1 / 2, 1),
    "precision@3": (0, 1 / 3, 2 / 3, 1),
    "rr@3": (0, 1 / 3, 1 / 2, 1),
    None: (0, 1 / 4, 1 / 2, 3 / 4, 1),
}
"""The values that a user can have; without a metric some of them."""
WITH_METRIC = [metric for metric in VALUES if metric]


@pytest.mark.parametrize("metric", WITH_METRIC)
@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_possible_means_are_those_of_some_data(metric, n):
    sums = itertools.combinations_with_replacement(VALUES[metric], n)
    means = sorted({math.fsum(data) / n for data in sums})
    for hundredth in range(101):
        printed = hundredth / 100
        found = rm.check_mean(f"{printed:.2f}", n=n, metric=metric)
        assert found.possible == any(abs(mean - printed) <= 0.005 + 1e-12 for mean in means)
        if not found.possible:
            assert found.below == pytest.approx(max(mean for mean in means if mean < printed))
            assert found.above == pytest.approx(min(mean for mean in means if mean > printed))


def p_value(differences):
    """The randomization test over all signs; McNemar's mid-p where most users have the same."""
    total, n = abs(sum(differences)), len(differences)
    changed = [x for x in differences if x]
    sums = [abs(sum(signed)) for signed in itertools.product(*((x, -x) for x in changed))]
    more, same = sum(s > total for s in sums), sums.count(total)
    mid = changed and len({abs(x) for x in changed}) == 1 and 2 * len(changed) <= n
    return (more + same * (0.5 if mid and total else 1)) / len(sums)


@pytest.mark.parametrize("metric", VALUES)
def test_no_data_have_less_than_the_least_p_and_some_have_it(metric):
    n = 5 if metric == "hr@3" else 4
    least = defaultdict(lambda: 1.0)
    values = [round(12 * value) for value in VALUES[metric]]  # in twelfths: nothing is rounded
    for a in itertools.combinations_with_replacement(values, n):
        for b in itertools.product(values, repeat=n):
            key = sum(a) / (12 * n), sum(b) / (12 * n)
            p = p_value([x - y for x, y in zip(a, b, strict=True)])
            least[key] = min(p, least[key])
    for (a, b), p in least.items():
        if a == b:
            continue
        found = rm.check_mean(f"{a:.9f}", n=n, against=f"{b:.9f}", metric=metric).least_p
        if metric in ("hr@3", "precision@2", "precision@3"):
            assert found == pytest.approx(p)
        else:  # users may have other values between these
            assert found <= p + 1e-12
    if metric is None:
        assert least[0.75, 0.5] == rm.check_mean(0.75, n=n, against=0.5).least_p


def test_the_least_p_is_that_of_compare():
    for n, wins in [(5, 2), (5, 4), (20, 3)]:
        data = {"A": [1.0] * wins + [0.0] * (n - wins), "B": [0.0] * n}
        one = rm.compare_values(data)["value"][0]
        assert rm.check_mean(f"{wins / n:.3f}", n=n, against=0, metric="hr").least_p == one.p


@pytest.mark.parametrize("metric", ["hr@3", "precision@2", None])
@pytest.mark.parametrize("n", [1, 3, 7])
def test_the_intervals_cover_whatever_the_distribution_is(metric, n):
    values = (0, 1) if metric == "hr@3" else (0, 1 / 2, 1)
    tenths = [c for c in itertools.product(range(21), repeat=len(values)) if sum(c) == 20]
    data = [*itertools.combinations_with_replacement(values, n)]
    found = {
        own: rm.check_mean(f"{math.fsum(own) / n:.12f}", n=n, metric=metric, confidence=0.8)
        for own in data
    }
    for counts in tenths:
        chances = dict(zip(values, (count / 20 for count in counts), strict=True))
        true = math.fsum(v * chance for v, chance in chances.items())
        covered = 0.0
        for own in data:
            ways = math.factorial(n)
            for v in values:
                ways = ways // math.factorial(own.count(v))
            chance = ways * math.prod(chances[v] for v in own)
            covered += chance * (found[own].low - 1e-9 <= true <= found[own].high + 1e-9)
        assert covered >= 0.8 - 1e-9, (counts, covered)


def test_the_interval_of_a_difference_is_that_of_differences_from_minus_1_to_1():
    found = rm.check_mean("0.60", n=50, against="0.40")
    wide = rm.check_mean("0.605", n=50)  # (1 + 0.21) / 2, what 0.605 - 0.395 can be
    assert found.difference_high == pytest.approx(2 * wide.high - 1, abs=1e-3)
    assert found.difference_low < 0.2 < found.difference_high


def test_printed_digits_count():
    assert rm.check_mean("0.350", n=300, against="0.340", metric="hr@10").least_p == 1 / 8
    assert rm.check_mean("0.35", n=300, against="0.34", metric="hr@10").least_p == 1 / 32
    percent = rm.check_mean("35.0%", n=300, against="34.0%", metric="hr@10")
    assert percent == rm.check_mean("0.350", n=300, against="0.340", metric="hr@10")
    assert rm.check_mean(0.35, n=300) == rm.check_mean("0.35", n=300)
    assert rm.check_mean(1, n=3, metric="hr@1") == rm.check_mean("1.000", n=3, metric="hr@1")


def test_the_answer_is_a_sentence_and_the_command_gives_it():
    options = "--n 300 --mean 0.350 --against 0.340 --metric hr@10"
    text = rankmeter("check", *options.split()).out
    assert "A mean of hr@10 of 0.35 is possible with 300 users." in " ".join(text.split())
    assert "No data with these means can show which" in " ".join(text.split())
    found = json.loads(rankmeter("check", *options.split(), "--json").out)
    assert (
        found.items()
        >= rm.check_mean("0.350", n=300, against="0.340", metric="hr@10").to_dict().items()
    )
    assert "--n" in rankmeter("check", "--mean", "0.5").err
    assert "_empty" not in rankmeter("check", "--help").out
    text = str(rm.check_mean("0.3481", n=300, metric="hr@10"))
    assert text.endswith("not possible with 300 users: the nearest are 0.346667 and 0.350000.")
    assert "No values of 3 users have the mean 0.4." in str(
        rm.check_mean("0.67", n=3, against="0.4", metric="hr@1")
    )


@pytest.mark.parametrize(
    ("mean", "more", "said"),
    [
        ("one half", {}, "a number as it was printed"),
        ("1/2", {}, "a number as it was printed"),
        ("1e99", {}, "a number as it was printed"),
        (math.nan, {}, "`mean` must be a finite number"),
        (None, {}, "a number as it was printed"),
        (35, {}, "outside the range of the metric, 0 to 1: is it a percentage"),
        (0.35, {"metric": "dcg@5"}, "has no mean of bounded values"),
        (0.35, {"metric": "gini@5"}, "has no mean of bounded values"),
        (0.35, {"n": 0}, "`n`"),
    ],
)
def test_what_is_no_mean_is_refused(mean, more, said):
    with pytest.raises(UsageError, match=said):
        rm.check_mean(mean, **{"n": 300, **more})
