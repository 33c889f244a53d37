"""Worked numbers from the literature that rankmeter must reproduce, including errata.

If a source contradicts its own formula, the correct value is asserted, and the published one is
shown to differ from it.
"""

from __future__ import annotations

import math

import pytest

import rankmeter as rm
from rankmeter.errors import DataError, UsageError

pytestmark = pytest.mark.once


def one(ranking, truth, metric, **choices):
    """The value of one metric for one user."""
    return rm.evaluate({"u": list(ranking)}, {"u": truth}, metric, **choices)[metric].mean


class TestFiveAccuracyMetrics:
    """Source 0: P = [4,6,2,3,1,8,10,9,5,7] and T = {1,6,9} are at R = {2,5,8}."""

    ranking = (4, 6, 2, 3, 1, 8, 10, 9, 5, 7)

    @pytest.mark.parametrize(
        ("metric", "value"),
        [
            ("precision@5", 0.4),
            ("recall@5", 0.6666666666666666),
            ("ndcg@5", 0.4776237035032179),
            ("ap@5", 0.3),
            ("rr@5", 0.5),
        ],
    )
    def test_hold_out(self, metric, value):
        assert one(self.ranking, {1, 6, 9}, metric) == pytest.approx(value, rel=1e-15)

    @pytest.mark.parametrize(
        ("metric", "value"),
        [
            ("precision@5", 0.2),
            ("recall@5", 1.0),
            ("hr@5", 1.0),
            ("ap@5", 0.3333333333333333),
            ("rr@5", 0.3333333333333333),
            ("ndcg@5", 0.5),
        ],
    )
    def test_leave_one_out(self, metric, value):
        assert one(self.ranking, {2}, metric) == pytest.approx(value, rel=1e-15)

    def test_erratum_1_ndcg_of_leave_one_out(self):
        """The source's code takes log2(r + 2) of a 1-based r and prints 0.4307."""
        published = 0.43067655807339306
        assert published == pytest.approx(1 / math.log2(3 + 2))
        assert one(self.ranking, {2}, "ndcg@5") == pytest.approx(1 / math.log2(3 + 1))


class TestRecallOfRecords:
    """Source 1: strings, a mapping as truth, cases as a list of records."""

    def test_recall_at_5(self):
        truth = {"A": 1.0, "K": 1.0, "B": 1.0, "Z": 1.0}
        assert one("ABCLYUFZ", truth, "recall@5") == 0.5
        assert one("ABCLYUFZ", set("AKBZ"), "recall@5") == 0.5

    def test_without_k_the_whole_list_counts(self):
        assert one("ABCLYUFZ", set("AKBZ"), "recall") == 0.75

    def test_mean_over_records(self):
        records = [
            {"predict_list": list("ABCLYUFZ"), "ground_truth": dict.fromkeys("AKBZ", 1.0)},
            {"predict_list": list("NXYBM"), "ground_truth": {"E": 1.0, "B": 1.0}},
        ]
        assert rm.evaluate(records, metrics="recall@3")["recall@3"].mean == 0.25


class TestGainsAndAveragePrecisionWithoutRelevance:
    """Source 2."""

    @pytest.mark.parametrize(
        ("pattern", "value"), [([0, 0, 1], 1 / 9), ([1, 1, 0], 8 / 9), ([1, 1, 1], 1.0)]
    )
    def test_mean_of_all_precisions(self, pattern, value):
        truth = {i for i, hit in enumerate(pattern) if hit}
        got = one(range(3), truth, "ap(denominator=all)@3")
        assert got == pytest.approx(value, rel=1e-15)
        assert one(range(3), truth, "ap(denominator=all)") == pytest.approx(got)

    def test_mean_of_all_precisions_in_harmonic_numbers(self):
        harmonic = [sum(1 / i for i in range(1, n + 1)) for n in range(5)]
        truth = {0, 2}
        value = sum(harmonic[4] - harmonic[r - 1] for r in (1, 3)) / 4
        assert one(range(4), truth, "ap(denominator=all)@4") == pytest.approx(value)

    a, b = (2, 3, 3, 1, 2), (3, 3, 2, 2, 1)

    def gains(self, gains, metric):
        return one(range(5), dict(enumerate(gains)), metric)

    def test_cumulative_gain(self):
        assert self.gains(self.a, "cg") == self.gains(self.b, "cg") == 11

    def test_discounted_cumulative_gain(self):
        """Erratum 2: the source prints 6.64 for A."""
        assert self.gains(self.a, "dcg") == pytest.approx(6.5972, abs=5e-5)
        assert self.gains(self.b, "dcg") == pytest.approx(7.1410, abs=5e-5)

    def test_ndcg_against_its_own_ideal_order(self):
        """Erratum 2: the source prints 0.93; 6.5972 / 7.1410 is 0.92385."""
        assert self.gains(self.a, "ndcg(ideal=retrieved)") == pytest.approx(0.92385, abs=1e-5)
        assert self.gains(self.b, "ndcg(ideal=retrieved)") == 1.0

    def test_accuracy_counts_both_kinds_of_right(self):
        """Erratum 2: the printed formula has the sum in the denominator."""
        assert one("abc", {"a", "z"}, "accuracy@2", n_items=10) == (1 + 7) / 10

    def test_recommending_everything_finds_everything(self):
        assert one("abcd", {"a", "d"}, "recall") == 1.0
        assert one("abcd", {"a", "d"}, "accuracy", n_items=4) == 0.5


class TestRankBasedModels:
    """Source 3."""

    def test_mean_rank(self):
        """Erratum 3: the source adds 1+3+5+5+2 for the ranks 1,3,3,5,2 and finds 3.2."""
        lists = [[f"{r}" for r in range(1, 6)]] * 5
        truth = [{r} for r in "13352"]
        assert rm.evaluate(lists, truth, "mean_rank")["mean_rank"].mean == 2.8

    def test_first_hits_at_3_2_1(self):
        lists = [list("abc")] * 3
        result = rm.evaluate(lists, [{"c"}, {"b"}, {"a"}], "mrr hits@1,3")
        assert result["mrr"].mean == pytest.approx(0.6111, abs=5e-5)
        assert result["hits@1"].mean == pytest.approx(0.333, abs=5e-4)
        assert result["hits@3"].mean == 1.0

    @pytest.mark.parametrize(("rule", "value"), [(">4", 0.5), (">=4", 1.0)])
    def test_threshold(self, rule, value):
        """Ratings above 4 are relevant, 4 or below are not; and the alternative, 4 or above."""
        assert one("ab", {"a": 5.0, "b": 4.0}, "precision@2", relevant=rule) == value

    def test_recall_divides_by_the_relevant_items(self):
        """Erratum 4: the source divides by N as in Precision@k."""
        assert one("abxy", {"a", "b", "c", "d", "e"}, "recall@4") == 2 / 5

    def test_both_gain_forms(self):
        truth = {"a": 1.0, "b": 3.0}
        linear = 1 / math.log2(2) + 3 / math.log2(3)
        ideal = 3 / math.log2(2) + 1 / math.log2(3)
        assert one("ab", truth, "dcg@2") == pytest.approx(linear)
        assert one("ab", truth, "ndcg@2") == pytest.approx(linear / ideal)
        exponential = 1 / math.log2(2) + 7 / math.log2(3)
        ideal = 7 / math.log2(2) + 1 / math.log2(3)
        assert one("ab", truth, "dcg(gain=exp2)@2") == pytest.approx(exponential)
        assert one("ab", truth, "ndcg(gain=exp2)@2") == pytest.approx(exponential / ideal)


class TestAveragePrecision:
    """Source 4."""

    def test_worked_lists(self):
        assert one("ABCDE", set("BDZ"), "ap@5") == pytest.approx((1 / 2 + 2 / 4) / 3)
        assert one("ACEBD", set("BDZ"), "ap@5") == pytest.approx((1 / 4 + 2 / 5) / 3)
        both = rm.evaluate([list("ABCDE"), list("ACEBD")], [set("BDZ")] * 2, "map@5")
        assert both["map@5"].mean == pytest.approx(0.275)

    def test_many_relevant_items_and_a_short_list(self):
        truth = set(range(100))
        assert one(range(3), truth, "ap@3") == 1.0
        assert one(range(3), truth, "ap") == pytest.approx(0.03)
        assert one(range(3), truth, "ap(denominator=relevant)@3") == pytest.approx(0.03)

    def test_k_lowered_to_the_length_of_the_list(self):
        assert one(range(3), set(range(100)), "ap@10") == pytest.approx(0.3)
        assert one(range(3), set(range(100)), "ap(denominator=ranked)@10") == 1.0

    def test_empty_truth_counts_0_in_the_source(self):
        result = rm.evaluate(
            {"u": ["A"]}, {"u": {"B": 0.0}}, "ap@5", undefined="zero", no_overlap="allow"
        )
        assert result["ap@5"].mean == 0.0
        assert result["ap@5"].undefined == 1


class TestOneWorkedListForAllConventions:
    """Reference page b.1: ranked gains 3,0,2,0,1,0,0,2,0,0; judged grades 3,3,2,2,1,1."""

    ranking = tuple("abcdefghij")
    truth = {"a": 3, "c": 2, "e": 1, "h": 2, "m": 3, "n": 1}

    @pytest.mark.parametrize(
        ("metric", "value"),
        [
            ("ap@10", 0.4611111),
            ("ap(denominator=relevant)@10", 0.4611111),
            ("ap(denominator=k)@10", 0.2766667),
            ("ap(denominator=hits)@10", 0.6916667),
            ("ap(denominator=relevant)@3", 0.2777778),
            ("ap@3", 0.5555556),
            ("ap(denominator=k)@3", 0.5555556),
            ("ap(denominator=hits)@3", 0.8333333),
            ("ap(denominator=relevant)@5", 0.3777778),
            ("ap@5", 0.4533333),
            ("ap(denominator=k)@5", 0.4533333),
            ("ap(denominator=hits)@5", 0.7555556),
            ("recall@3", 0.3333333),
            ("recall(denominator=min)@3", 0.6666667),
            ("recall@5", 0.5),
            ("recall(denominator=min)@5", 0.6),
            ("ndcg@10", 0.6692873304419504),
            ("ndcg(ideal=retrieved)@10", 0.8814669776914853),
            ("ndcg(gain=exp2)@10", 0.6576720076816404),
            ("ndcg(gain=exp2,ideal=retrieved)@10", 0.9085118946394064),
            ("ndcg(gain=binary)@10", 0.6664266464756511),
            ("ndcg(gain=binary,ideal=retrieved)@10", 0.8597408875863228),
            ("ndcg(gain=binary,ideal=ones)@10", 0.4847119890255186),
            ("dcg(discount=jarvelin)@10", 5.359202731882975),
            ("ndcg(discount=jarvelin)@10", 0.5902602925340211),
            ("rr", 1.0),
            ("rbp(p=0.5)", 0.66015625),
            ("rbp(p=0.8)", 0.45186304),
            ("rbp(p=0.95)", 0.17076717730468763),
            ("rbp_residual(p=0.5)", 0.0009765625),
            ("rbp_residual(p=0.8)", 0.1073741824),
            ("rbp_residual(p=0.95)", 0.5987369392),
            ("rbp(p=0.5,max_gain=3)", 0.5963541666666667),
            ("rbp(p=0.8,max_gain=3)", 0.3406020266666666),
            ("rbp(p=0.95,max_gain=3)", 0.11693634736979175),
            ("err(max_gain=3)", 0.895782470703125),
            ("err(max_gain=4)", 0.48841133117675783),
            ("err(max_gain=1,gain=binary)", 0.6161458333333334),
        ],
    )
    def test_value(self, metric, value):
        digits = len(str(value).partition(".")[2])
        tolerance = 1e-12 if digits > 10 else 10.0**-digits
        assert one(self.ranking, self.truth, metric) == pytest.approx(value, rel=0, abs=tolerance)


class TestExampleA:
    """Retrieval conventions §2: qrels a=3 b=2 c=1 d=0 e=1; run b, x (unjudged), a, d."""

    run = {"b": 0.9, "x": 0.8, "a": 0.7, "d": 0.6}
    qrels = {"a": 3, "b": 2, "c": 1, "d": 0, "e": 1}

    @pytest.mark.parametrize(
        ("metric", "value"),
        [
            ("precision@5", 0.4),
            ("precision(denominator=ranked)@5", 0.5),
            ("precision", 0.5),
            ("ap(denominator=relevant)@2", 0.25),
            ("ap(denominator=relevant)@3", 0.4167),
            ("ap@2", 0.5),
            ("ap@3", 0.5556),
            ("ap(denominator=hits)@2", 1.0),
            ("ap(denominator=hits)@3", 0.8333),
            ("ndcg@3", 0.7350),
            ("ndcg(ideal=uncut)", 0.6740),
            ("ndcg", 0.6740),
            ("ndcg(gain=exp2)@3", 0.6920),
            ("ndcg(gain=exp2)", 0.6617),
            ("dcg(discount=ln)@3", 5.0494),
            ("dcg@3", 3.5),
            ("rbp(p=0.8)", 0.328),
            ("err(max_gain=4)@3", 0.30599),
        ],
    )
    def test_value(self, metric, value):
        got = rm.evaluate({"q": self.run}, {"q": self.qrels}, metric)[metric].mean
        assert got == pytest.approx(value, abs=6e-5)

    def test_only_the_candidates_passed_in(self):
        """The input of torchmetrics and scikit-learn: the truth among the four retrieved items."""
        result = rm.evaluate({"q": self.run}, {"q": self.qrels}, "ndcg@3", scope="ranked")
        assert result["ndcg@3"].mean == pytest.approx(0.8212, abs=5e-5)


def test_gains_that_are_no_grades_are_refused_as_exponents():
    with pytest.raises(UsageError, match="overflows"):
        one("ab", {"a": 5000.0}, "ndcg(gain=exp2)@2")
    assert one("ab", {"a": 5000.0}, "ndcg@2") == 1.0


def test_a_catalogue_holds_what_is_ranked_and_what_is_relevant():
    """Two ranked and two relevant items, one of them both: the catalogue has at least three."""
    assert one("ab", {"b", "c"}, "accuracy", n_items=3) == pytest.approx(1 / 3)
    with pytest.raises(DataError, match="3 different items"):
        one("ab", {"b", "c"}, "accuracy", n_items=2)


def test_inversion_of_dcg_and_ndcg():
    """Reference page b.4: the mean DCG prefers policy B, the mean NDCG policy A."""
    truth = {1: {"r"}, 2: set(range(10))}
    a = {1: ["r"], 2: [0, 1, 2, 3, "x", "y"]}
    b = {1: ["x"], 2: list(range(10))}
    a, b = ({u: [str(i) for i in items] for u, items in s.items()} for s in (a, b))
    truth = {u: {str(i) for i in items} for u, items in truth.items()}
    results = [rm.evaluate(s, truth, "dcg@10 ndcg@10") for s in (a, b)]
    assert [r["dcg@10"].mean for r in results] == pytest.approx([1.7808031558, 2.2717796690])
    assert [r["ndcg@10"].mean for r in results] == pytest.approx([0.7818942288, 0.5])
