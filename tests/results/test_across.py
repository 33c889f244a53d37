"""Several data sets: what holds for these, and for others; the values of statsmodels and SciPy."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
import scipy.optimize
import scipy.stats

import rankmeter as rm
from rankmeter._across.random_effects import random_effects
from rankmeter.errors import RankmeterError, UsageError

pytestmark = [
    pytest.mark.once,
    pytest.mark.filterwarnings("ignore::rankmeter.errors.RankmeterWarning"),
]
NAMES = ("x", "y", "z", "w")
GROUPS = {f"u{i}": i // 2 for i in range(100)}


def comparisons(seed=0, k=4, shared=False, effects=(0.0, 0.1, 0.1), **options):
    """Comparisons of systems on data sets of other sizes, with equal or with other users."""
    rng, found = np.random.default_rng(seed), {}
    for place, name in enumerate(NAMES[:k]):
        n = 30 + 20 * place
        users = [f"u{i}" if shared else f"{name}{i}" for i in range(n)]
        base = rng.random(n)
        values = {
            system: dict(zip(users, base + effect + rng.normal(0, 0.2, n), strict=True))
            for system, effect in zip("ABC", effects, strict=False)
        }
        found[name] = rm.compare_values(values, **options)
    return found


def differences_of(found, a, b):
    return [
        (frame := comparison.per_user.pivot("system", index="user", values="value"))[a] - frame[b]
        for comparison in found.values()
    ]


class TestOtherDataSets:
    def test_the_variance_between_thirteen_trials_solves_the_equation_of_paule_and_mandel(self):
        """The BCG vaccine, log risk ratios: weighted squares are as many as degrees of freedom."""
        trials = np.array([
            (4, 119, 11, 128), (6, 300, 29, 274), (3, 228, 11, 209), (62, 13536, 248, 12619),
            (33, 5036, 47, 5761), (180, 1361, 372, 1079), (8, 2537, 10, 619),
            (505, 87886, 499, 87892), (29, 7470, 45, 7232), (17, 1699, 65, 1600),
            (186, 50448, 141, 27197), (5, 2493, 3, 2338), (27, 16886, 29, 17825),
        ])  # fmt: skip
        treated, control = trials[:, :2].sum(axis=1), trials[:, 2:].sum(axis=1)
        hits, misses = trials[:, 0], trials[:, 2]
        values = np.log(hits / treated) - np.log(misses / control)
        variances = 1 / hits - 1 / treated + 1 / misses - 1 / control

        def excess(between):
            weights = 1 / (variances + between)
            mean = (weights * values).sum() / weights.sum()
            return (weights * (values - mean) ** 2).sum() - (values.size - 1)

        root = scipy.optimize.brentq(excess, 0, 5, xtol=1e-14)
        assert random_effects(values, variances, 0.95).between ** 2 == pytest.approx(root, rel=1e-9)

    @pytest.mark.parametrize("seed", [0, 1, 2, 3, 5, 6, 7])  # where that of statsmodels converges
    def test_paule_mandel_and_hartung_knapp_are_those_of_statsmodels(self, seed):
        meta = pytest.importorskip("statsmodels.stats.meta_analysis")
        rng = np.random.default_rng(seed)
        k = 3 + seed
        variances = rng.uniform(0.001, 0.02, k)
        values = rng.normal(0.1, 0.5, k)
        other = meta.combine_effects(values, variances, method_re="iterated", atol=1e-14)
        found = random_effects(values, variances, 0.95)
        assert found.between**2 == pytest.approx(other.tau2, rel=1e-9)
        weights = 1 / (variances + found.between**2)
        assert found.mean == pytest.approx((weights * values).sum() / weights.sum(), rel=1e-12)
        assert found.mean == pytest.approx(other.mean_effect_re, rel=1e-9)
        se = other.sd_eff_w_re_hksj
        t = scipy.stats.t.ppf(0.975, k - 1)
        assert found.interval == pytest.approx((found.mean - t * se, found.mean + t * se), rel=1e-8)
        assert found.p == pytest.approx(2 * scipy.stats.t.sf(abs(found.mean) / se, k - 1), rel=1e-8)
        reach = t * math.sqrt(se**2 + found.between**2 + variances.mean())
        assert found.prediction == pytest.approx((found.mean - reach, found.mean + reach), rel=1e-8)

    def test_the_variance_between_solves_its_equation(self):
        values, variances = np.array([0.1, 0.5, -0.3, 0.2]), np.array([0.01, 0.0, 0.02, 0.005])
        found = random_effects(values, variances, 0.9)
        weights = 1 / (variances + found.between**2)
        assert (weights * (values - found.mean) ** 2).sum() == pytest.approx(3, rel=1e-12)

    def test_without_variance_between_it_is_the_fixed_effect_by_t(self):
        values, variances = np.array([0.1, 0.11, 0.09]), np.array([0.01, 0.02, 0.04])
        found = random_effects(values, variances, 0.95)
        weights = 1 / variances
        assert found.between == 0
        assert found.mean == pytest.approx((weights * values).sum() / weights.sum(), rel=1e-12)
        half = scipy.stats.t.ppf(0.975, 2) / math.sqrt(weights.sum())
        assert found.interval == pytest.approx((found.mean - half, found.mean + half), rel=1e-12)
        reach = scipy.stats.t.ppf(0.975, 2) * math.sqrt(1 / weights.sum() + variances.mean())
        assert found.prediction == pytest.approx(
            (found.mean - reach, found.mean + reach), rel=1e-12
        )

    def test_means_alone_have_the_t_interval_of_scipy(self):
        values = [0.31, 0.12, 0.26, -0.05]
        means = {n: {"A": 0.5 + v, "B": 0.5} for n, v in zip(NAMES, values, strict=True)}
        (d,) = rm.across(means).differences
        test = scipy.stats.ttest_1samp(values, 0)
        assert (d.new_mean, d.new_p) == pytest.approx((np.mean(values), test.pvalue), rel=1e-12)
        interval = test.confidence_interval()
        assert (d.new_low, d.new_high) == pytest.approx((interval.low, interval.high), rel=1e-12)
        assert d.between == pytest.approx(np.std(values, ddof=1), rel=1e-9)
        assert math.isnan(d.difference)
        table = pl.DataFrame(
            {"system": ["A", "B"], **{n: [row["A"], row["B"]] for n, row in means.items()}}
        )
        again = rm.across(table).differences[0]
        assert again.by_dataset == d.by_dataset
        assert (again.predicted_low, again.new_p) == (d.predicted_low, d.new_p)

    def test_two_data_sets_and_shared_users_say_nothing_about_others(self):
        for found in (rm.across(comparisons(k=2)), rm.across(comparisons(shared=True))):
            assert all(math.isnan(d.predicted_low) for d in found.differences)
            assert all(math.isfinite(d.difference) for d in found.differences)
            assert "other data sets" in found.notes[0]
        other = rm.across(comparisons(shared=True), same_users=False)
        assert all(math.isfinite(d.predicted_low) for d in other.differences)

    def test_equal_differences_have_no_interval(self):
        (d,) = rm.across({n: {"A": 0.75, "B": 0.5} for n in NAMES}).differences
        assert d.new_mean == 0.25
        assert math.isnan(d.new_low)


class TestTheseDataSets:
    @pytest.mark.parametrize("seed", range(4))
    def test_the_mean_and_its_variance_are_those_of_strata(self, seed):
        found = comparisons(seed)
        across = rm.across(found)
        for d in across.differences:
            groups = differences_of(found, d.a, d.b)
            assert [*d.by_dataset] == [*NAMES]
            assert d.difference == pytest.approx(np.mean([g.mean() for g in groups]), rel=1e-12)
            variance = sum(g.var() / len(g) for g in groups) / 16
            half = (d.high - d.low) / 2
            assert 1.9 < half / math.sqrt(variance) < 3.2  # simultaneous over three pairs
            assert (d.low + d.high) / 2 == pytest.approx(d.difference, rel=1e-9)

    def test_flips_are_within_data_sets(self):
        """Two data sets of four users: all 256 signs by hand."""
        first, second = np.array([0.3, 0.1, 0.4, -0.2]), np.array([0.2, 0.5, 0.1, 0.3])
        found = {
            name: rm.compare_values(
                {"A": dict(zip(users, values, strict=True)), "B": dict.fromkeys(users, 0.0)}
            )
            for name, users, values in (("x", "abcd", first), ("y", "efgh", second))
        }
        (d,) = rm.across(found).differences
        signs = np.array(np.meshgrid(*[[1, -1]] * 8)).reshape(8, -1)
        sums = np.abs(np.concatenate([first, second]) @ signs)
        expected = np.mean(sums >= abs(first.sum() + second.sum()) - 1e-12)
        assert d.p == pytest.approx(expected, abs=1e-12)

    def test_shared_users_count_once(self):
        """The same values on two data sets say no more than one of them."""
        (one,) = comparisons(k=1, effects=(0.0, 0.1)).values()
        twice = rm.across({"x": one, "y": one})
        (d,), (alone,) = twice.differences, one.differences
        assert d.difference == pytest.approx(alone.difference, rel=1e-12)
        assert d.p == pytest.approx(alone.p, abs=0.01)
        assert d.high - d.low == pytest.approx(alone.high - alone.low, rel=0.05)
        (apart,) = rm.across({"x": one, "y": one}, same_users=False).differences
        assert apart.high - apart.low < 0.8 * (d.high - d.low)

    def test_ranks_are_those_of_all_pairs(self):
        for baseline in (None, "A"):
            found = rm.across(comparisons(effects=(0.0, 0.3, 0.3)), baseline=baseline)
            ranks = {name: str(ranks) for name, ranks in found.rank_sets["value"].items()}
            assert ranks == {"A": "3", "B": "1–2", "C": "1–2"}
            assert len(found.differences) == (2 if baseline else 3)

    def test_lower_is_better_and_the_order_of_systems_does_not_matter(self):
        found = comparisons(effects=(0.0, 0.3, 0.6), lower_is_better=True)
        assert [str(r) for r in rm.across(found).rank_sets["value"].values()] == ["1", "2", "3"]
        turned = {n: c for n, c in found.items() if n != "y"}
        rows = found["y"].per_user
        turned["y"] = rm.compare_values(rows.sort("system", descending=True), lower_is_better=True)
        a, b = rm.across(found), rm.across(turned)
        assert [d.difference for d in a.differences] == pytest.approx(
            [d.difference for d in b.differences], rel=1e-12
        )


def test_every_look():
    found = rm.across(comparisons())
    assert found.table().columns == ("system", "metric", "rank", "mean", *NAMES)
    assert len(repr(found).splitlines()) == 15
    assert "<table" in found._repr_html_()
    assert found.to_polars().columns[-4:] == [*NAMES]
    assert [s.index("another data set") < s.index("on these 4") for s in found.sentences()] == [
        True, True, True,
    ]  # fmt: skip
    assert found.to_dict()["differences"][0]["by_dataset"].keys() == {*NAMES}


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: rm.across({"x": comparisons()["x"]}), "several data sets are needed, got 1"),
        (lambda: rm.across({"x": {"A": 1.0, "B": 2.0}}), "several data sets are needed, got 1"),
        (lambda: rm.across({"x": rm.evaluate([["a"]], [["a"]], "rr"), "y": 1}), "not a comparison"),
        (lambda: rm.across({"x": {"A": 1, "B": 2}, "y": {"A": 1, "C": 2}}), "the same systems"),
        (lambda: rm.across(comparisons(), baseline="D"), "baseline"),
        (lambda: rm.across(comparisons(shared=True, clusters=GROUPS)), "clusters"),
        (lambda: rm.across(comparisons(), same_users="no"), "same_users"),
        (lambda: rm.across(comparisons(), confidence=95), "confidence"),
        (lambda: rm.across({"x": {"A": "?", "B": 2}, "y": {"A": 1, "B": 2}}), "number"),
        (lambda: rm.across(3), "must be numbers"),
        (lambda: rm.across({}), "no means"),
    ],
)
def test_what_is_refused(call, said):
    with pytest.raises((UsageError, RankmeterError), match=said):
        call()


def test_metrics_of_one_name_must_be_the_same():
    systems = {"A": {"u": ["a"], "v": ["b"]}, "B": {"u": ["b", "a"], "v": ["b"]}}
    truth = {"u": {"a": 2}, "v": {"b": 1}}
    one = rm.compare(systems, truth, "ndcg@2")
    with pytest.raises(UsageError, match="ndcg@2 is not the same in x and y"):
        rm.across({"x": one, "y": rm.compare(systems, truth, "ndcg@2", like="recbole")})
    with pytest.raises(UsageError, match="no metric in common"):
        rm.across({"x": one, "y": rm.compare(systems, truth, "rr")})


class TestHeadline:
    def across(self, gains, **options):
        draw = np.random.default_rng(1)
        studies = {}
        for name in ("x", "y", "z"):
            base = draw.random(300)
            values = {
                system: dict(zip(map(f"{name}{{}}".format, range(300)), base + gain, strict=True))
                for system, gain in gains.items()
            }
            noise = {
                s: {u: x + draw.normal(0, 0.1) for u, x in v.items()} for s, v in values.items()
            }
            studies[name] = rm.compare_values(noise)
        return rm.across(studies, **options)

    def test_one_system_leads(self):
        found = self.across({"A": 0.0, "B": 0.2})
        assert found.headline() == "B leads on value over these 3 data sets"
        assert repr(found).splitlines()[0] == found.headline()
        assert found.to_markdown().startswith(f"**{found.headline()}**")

    def test_two_and_three_could_be_first(self):
        end = "on value over these 3 data sets"
        two = self.across({"A": 0.0, "B": 0.0}).headline()
        assert two == f"A or B could be first {end}"
        three = self.across({"A": 0.0, "B": 0.0, "C": 0.0}).headline()
        assert three == f"Any of 3 systems could be first {end}"

    def test_means_without_users_say_something_of_other_data_sets(self):
        alike = {name: {"A": 0.6 + n / 1000, "B": 0.5} for n, name in enumerate("xyz")}
        assert rm.across(alike).headline() == (
            "1 of 1 difference is shown on other data sets like these"
        )
        unlike = {name: {"A": 0.3 + n / 10, "B": 0.5} for n, name in enumerate("xyz")}
        assert rm.across(unlike).headline() == (
            "No difference is shown on other data sets like these"
        )
