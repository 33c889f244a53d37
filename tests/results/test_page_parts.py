"""Parts of a page: which rows, charts and words it has."""

from __future__ import annotations

import re

import numpy as np
import pytest
from report_data import CSS, RANKINGS, TRAIN, TRUTH

import rankmeter as rm
from rankmeter._report import comparison_page, summary_page
from rankmeter._report.desk import to_numbers
from rankmeter._report.page import ROWS_ON_PAPER, _mark_line_breaks
from rankmeter._report.sections import sections_of_page
from rankmeter._report.summary_page import OWN
from rankmeter._results import wording
from rankmeter.errors._checks import Words

pytest.importorskip("altair")
pytest.importorskip("vl_convert")
pytestmark = pytest.mark.once


def text_of(page):
    return re.sub(r"<(style|script).*?</\1>", "", page, flags=re.DOTALL)


class TestSeveral:
    def test_who_is_where_in_the_scatter(self):
        """The system that is better for all users is above the line."""
        users = range(9)
        found = rm.compare(
            {"good": {u: ["a"] for u in users}, "bad": {u: ["b", "a"] for u in users}},
            {u: {"a"} for u in users}, "rr", test="t",
        )  # fmt: skip
        (chart,) = comparison_page.page_content(found)["figures"]["scatter"]["rr"]
        (row,) = chart.to_dict()["layer"][1]["data"]["values"]
        assert row == {"x": 0.5, "y": 1.0, "users": 9, "side": "better"}


class TestHits:
    def test_shares_are_those_of_the_hit_rate(self, single, result):
        again = rm.evaluate(RANKINGS, TRUTH, "hr@1,2,3,5,10")
        page = text_of(single.read_text("utf-8"))
        row = re.search(rf'<th scope="row">{OWN}</th>\s*<td>([\d.]+)%', page)
        assert float(row[1]) == pytest.approx(100 * again["hr@1"].mean, abs=0.051)
        shares = summary_page.page_content(result)["hits"]
        assert sum(shares.parts[OWN]) == pytest.approx(1)
        assert shares.cumulative_shares()[OWN][1] == pytest.approx(again["hr@2"].mean)

    def test_popularity_is_shared_out(self, result):
        k, shares = summary_page.page_content(result)["popularity"]
        assert k == 5
        assert sum(shares.parts[OWN]) == pytest.approx(1)
        tail = rm.evaluate(
            RANKINGS, TRUTH, "tail_share(head=items,size=0.5,cold=tail)@5", train=TRAIN
        )
        assert sum(shares.parts[OWN][-2:]) == pytest.approx(next(iter(tail.values())).mean)


class TestPaper:
    def test_the_style_hides_the_rows_that_the_note_leaves_out(self):
        hidden = re.search(r"\.differences tbody tr:nth-child\(n \+ (\d+)\)", CSS)
        assert int(hidden[1]) == ROWS_ON_PAPER + 1


def test_cards_break_names_of_metrics_at_their_signs():
    assert _mark_line_breaks("categorical_diversity(k<3)@10") == (
        "categorical_<wbr>diversity<wbr>(k&lt;3)<wbr>@10"
    )


def again(text, **names):
    first, _, call = text.partition("\n\n")
    assert first == "import rankmeter as rm"
    return eval(call, {"rm": rm, **names})


class TestCall:
    @pytest.mark.parametrize(
        ("metrics", "options"),
        [
            ("ndcg@5 rr", {}),
            (["rr(relevant=2)@10", "rr@10", "ndcg(gain=exp2)@5"], {"relevant": ">=1"}),
            ("P_5 map", {"like": "trec_eval", "relevant": 2, "confidence": 0.9}),
            ("ndcg@5 hr@3", {"like": "recbole", "ties": "expected", "missing": "skip"}),
            ("rr(adjusted)@10", {"n_items": 900, "interval": "bca", "resamples": 99}),
        ],
    )
    def test_of_one_evaluation(self, metrics, options):
        result = rm.evaluate(RANKINGS, TRUTH, metrics, **options)
        text = summary_page.page_content(result)["call"]
        assert again(text, rankings=RANKINGS, truth=TRUTH).to_dict() == result.to_dict()
        assert all(f"{name}=" in text for name in options)


def test_cards_of_further_metrics_are_of_systems_near_the_best():
    """`wild` covers more items, but its recall is far from that of the others."""
    users = range(60)
    truth = {user: {user % 7} for user in users}
    systems = {
        "sound": {user: [user % 7, 7] for user in users},
        "close": {user: [8, user % 7] if user < 2 else [user % 7, 8] for user in users},
        "wild": {user: [100 + user, user % 7 if user < 7 else 200 + user] for user in users},
    }
    compared = rm.compare(systems, truth, "recall@1 coverage@2", baseline="wild", catalogue=300)
    page = comparison_page.page_content(compared)
    first, second = page["cards"]
    assert (first.best, page["rivals"]) == ("sound", ("sound", "close"))
    assert second.best in page["rivals"]
    assert compared._verdict_on("coverage@2").best == "wild"


@pytest.mark.parametrize(
    ("p", "odds"),
    [
        (0.00001, "fewer than 1 of 10,000"),
        (0.0001, "about 1 of 10,000"),
        (0.0003, "about 1 of 3,300"),
        (0.034, "3 of 100"),
        (1.0, "100 of 100"),
    ],
)
def test_a_probability_is_a_number_of_samples(p, odds):
    assert wording.odds_text(p) == odds


@pytest.mark.parametrize("draws", [1, 9, 99, 199, 999, 2_999, 9_999, 49_999, 99_999, 999_999])
def test_what_no_flip_reaches_is_a_bound(draws):
    """Of 34 users who differ all gain: none of the flips that are drawn reaches that."""
    values = {
        "a": [*[1.0] * 34, *[0.3] * 8],
        "b": [*[0.1 * (n % 3) for n in range(34)], *[0.3] * 8],
    }
    (d,) = rm.compare_values(values, n_permutations=min(draws, 9_999)).differences
    if draws <= 9_999:
        assert d.p_is_bound
        assert round(1 / d.p) in (1 + draws, 10 * (1 + draws))  # more are drawn near the level
    text = wording.p_equation(1 / (1 + draws), at_most=True)
    assert text.startswith("p ≤ 0.")
    bound = float(text.removeprefix("p ≤ "))
    assert 1 / (1 + draws) <= bound * (1 + 1e-9) <= 1.05 / (1 + draws)
    assert wording.odds_text(1 / (1 + draws), at_most=True) == f"fewer than 1 of {1 + draws:,}"


@pytest.mark.parametrize("size", [10.0**n for n in range(-14, 7)])
def test_numbers_have_digits_by_their_size(size):
    for value in (size, -1.27 * size, 3.6 * size):
        assert float(wording.change_text(value)) == pytest.approx(value, rel=0.05)
        assert float(wording.change_text(value, 40 * value)) == pytest.approx(value, rel=0.5)
        printed = float(wording.number_text(value).replace(",", ""))
        assert printed == pytest.approx(value, rel=0.05, abs=5e-5 if abs(value) >= 1e-4 else 0)
    assert wording.change_text(0.0) == "+0.0000"


def test_the_links_and_the_sections_of_a_page_are_one_list():
    words = Words("query", "queries")
    evaluation = sections_of_page({"hits": 1}, {"distribution": {"rr": []}}, words)
    assert [section.block for section in evaluation] == [
        "means", "spread", "hits", "extremes",
    ]  # fmt: skip
    assert [section.link for section in evaluation][1:] == [
        "Queries", "First hits", "Worst and best",
    ]  # fmt: skip
    compared = sections_of_page({"differences": 1, "segments": {}}, {"curve": {}}, words)
    assert [section.block for section in compared] == ["means", "forest", "users"]


def test_an_infinite_value_stays_one():
    assert to_numbers(np.array([-np.inf, 0.25, np.inf])) == ["-Infinity", 0.25, "Infinity"]
