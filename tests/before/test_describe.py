"""Descriptions: worked examples, laws, the real ratings."""

from __future__ import annotations

import json
import math
import re
import sys
from dataclasses import asdict, astuple
from datetime import date, datetime

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import rankmeter
from rankmeter import describe
from rankmeter.datasets import movielens, synthetic
from rankmeter.errors import DataError, InvalidValueError

pytestmark = pytest.mark.once

LOG = pl.DataFrame(
    [
        (1, "a", 5.0, 10),
        (1, "a", 5.0, 10),
        (1, "a", 4.0, 20),
        (1, "b", 3.0, 30),
        (2, "c", None, None),
    ],
    schema=["user", "item", "rating", "time"],
    orient="row",
)


@st.composite
def logs(draw):
    rows = draw(
        st.lists(
            st.tuples(
                st.integers(0, 4),
                st.integers(0, 5),
                st.one_of(st.none(), st.floats(0, 5)),
                st.one_of(st.none(), st.integers(0, 2 * 10**9)),
            ),
            min_size=1,
            max_size=60,
        )
    )
    schema = {"user": pl.Int64, "item": pl.Int64, "rating": pl.Float64, "time": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def test_a_small_log_counted_by_hand():
    found = describe(LOG)

    assert (found.interactions, found.users, found.items) == (5, 2, 3)
    assert found.density == 3 / 6
    assert (found.repeated_pairs, found.repeated_rows) == (2, 1)
    assert astuple(found.per_user) == pytest.approx((2.5, 1, 1.75, 2.5, 3.25, 3.7, 3.97, 4))
    assert (found.per_item.mean, found.per_item.median, found.per_item.max) == (5 / 3, 1, 3)
    # Items have 1, 1 and 3: ((-2) 1 + 0 · 1 + 2 · 3) / (3 · 5).
    assert found.gini == 4 / 15
    assert (found.top_items, found.top_share) == (1, 3 / 5)
    assert found.rating_counts == {"3": 1, "4": 1, "5": 2}
    assert (found.ratings.mean, found.ratings.min, found.ratings.max) == (17 / 4, 3, 5)
    assert (found.missing_ratings, found.missing_times) == (1, 1)
    assert (found.times.first, found.times.last, found.times.days) == ("10", "30", None)


def test_it_prints_a_table_that_is_ascii():
    text = str(describe(LOG))

    assert text.splitlines() == [
        "5 interactions of 2 users with 3 items, density 50 %",
        "",
        "          mean  min  25 %  median  75 %  90 %  99 %  max",
        "per user   2.5    1  1.75     2.5  3.25   3.7  3.97    4",
        "per item  1.67    1     1       1     2   2.6  2.96    3",
        "rating    4.25    3  3.75     4.5     5     5     5    5",
        "",
        "popularity Gini 0.267; the top item has 60 % of the interactions",
        "times      10 to 30",
        "cold       in the last tenth: 0 % by new users, 100 % of new items",
        "repeated   user and item: 2, whole rows: 1",
        "missing    ratings: 1, times: 1",
        "ratings    3  1  ####################",
        "           4  1  ####################",
        "           5  2  ########################################",
    ]
    assert text.isascii()
    assert text == repr(describe(LOG))


@given(log=logs(), shuffle=st.randoms(use_true_random=False))
def test_any_order_of_rows_gives_the_same_description(log, shuffle):
    order = list(range(log.height))
    shuffle.shuffle(order)

    assert describe(log) == describe(log[order])


@given(log=logs())
def test_numbers_stay_in_their_ranges_and_add_up(log):
    found = describe(log)

    assert 0 <= found.gini < 1
    assert 0 < found.density <= 1
    assert 1 / found.items <= found.top_share + 1e-12 <= 1 + 1e-12
    assert found.repeated_rows <= found.repeated_pairs < found.interactions
    for spread, n in ((found.per_user, found.users), (found.per_item, found.items)):
        quantiles = [spread.min, spread.q25, spread.median, spread.q75, spread.q90, spread.q99]
        assert [*quantiles, spread.max] == sorted([*quantiles, spread.max])
        assert spread.mean * n == pytest.approx(found.interactions)
    assert found.missing_ratings == log["rating"].null_count()
    if found.ratings:
        assert sum(found.rating_counts.values()) == log.height - found.missing_ratings
    assert json.loads(json.dumps(found.to_dict())) == found.to_dict()
    assert str(found)


@given(counts=st.lists(st.integers(1, 9), min_size=1, max_size=12))
def test_gini_is_half_the_relative_mean_difference(counts):
    log = pl.DataFrame(
        {
            "user": range(sum(counts)),
            "item": [item for item, n in enumerate(counts) for _ in range(n)],
        }
    )
    n, mean = len(counts), sum(counts) / len(counts)
    differences = sum(abs(x - y) for x in counts for y in counts)

    assert describe(log).gini == pytest.approx(differences / (2 * n * n * mean))


def test_the_top_percent_is_rounded_up():
    log = pl.DataFrame({"user": 1, "item": [*range(150), 7, 7, 8]})
    found = describe(log)

    assert (found.items, found.top_items, found.top_share) == (150, 2, 5 / 153)


def test_many_different_ratings_are_shown_in_ten_classes():
    log = pl.DataFrame({"user": 1, "item": range(101), "rating": [n / 10 for n in range(101)]})
    counts = describe(log).rating_counts

    assert list(counts) == [f"[{n}, {n + 1})" for n in range(9)] + ["[9, 10]"]
    assert sum(counts.values()) == 101


def test_infinite_ratings_are_missing():
    found = describe(LOG.with_columns(rating=pl.Series([1.0, math.inf, -math.inf, math.nan, None])))

    assert found.missing_ratings == 4
    assert found.rating_counts == {"1": 1}


def test_without_ratings_and_times_there_is_nothing_to_tell_about_them():
    for log in (LOG.select("user", "item"), LOG.tail(1)):
        found = describe(log)
        assert found.ratings is found.times is found.rating_counts is None
        assert "times      " not in str(found)
        assert "\nrating " not in str(found)


@pytest.mark.parametrize(
    "times, first, days",
    [
        ([1_500_000_000, 1_500_086_400], "2017-07-14 02:40:00 UTC (1500000000)", 1),
        ([1_500_000_000_000, 1_500_043_200_000], "2017-07-14 02:40:00 UTC (1500000000000)", 0.5),
        ([date(2017, 7, 14), date(2017, 7, 21)], "2017-07-14 00:00:00", 7),
        (
            [datetime.fromisoformat("2017-07-14T02:40"), datetime.fromisoformat("2017-07-15")],
            "2017-07-14 02:40:00",
            1 - 160 / 1440,
        ),
        (["2017-07-14", "2017-07-21"], "2017-07-14 00:00:00", 7),
        ([1.5, 2.5], "1.5", None),
        ([3, None, 4], "3", None),
        ([3.0, math.nan, 4.0], "3.0", None),
    ],
)
def test_times_are_told_as_a_person_reads_them(times, first, days):
    found = describe(pl.DataFrame({"user": 1, "item": 1, "time": times}))

    assert (found.times.first, found.times.days) == (first, days)
    assert found.missing_times == len(times) - 2


def test_columns_of_any_type_may_stand_beside():
    log = pl.DataFrame(
        {
            "user": [1, 1],
            "item": [2, 2],
            "tags": [["x"], ["x"]],
            "place": [{"x": 1}, {"x": 1}],
        }
    ).with_columns(thing=pl.Series([object(), object()], dtype=pl.Object))

    assert describe(log.drop("thing")).repeated_rows == 1
    assert describe(log).repeated_rows == 1


def test_html_is_escaped_and_holds_the_table():
    html = describe(LOG)._repr_html_()

    assert html.count("<table>") == html.count("</table>") == 2
    assert "<td>per user</td><td>2.5</td>" in html
    assert "<svg" in html


def test_html_without_altair_has_the_ratings_as_a_table(monkeypatch):
    monkeypatch.setitem(sys.modules, "altair", None)
    html = describe(LOG)._repr_html_()
    assert html.count("<table>") == 3
    assert "<svg" not in html


def test_movielens():
    ratings = movielens()
    found = describe(ratings)
    per_item = sorted(ratings["item"].value_counts()["count"])

    assert (found.interactions, found.users, found.items) == (100_836, 610, 9_724)
    assert found.density == 100_836 / (610 * 9_724)
    assert (found.repeated_pairs, found.repeated_rows) == (0, 0)
    assert found.per_user.min == 20
    assert found.per_item.max == 329
    assert found.top_items == 98
    assert found.top_share == sum(per_item[-98:]) / 100_836
    assert sum(found.rating_counts.values()) == 100_836
    assert found.rating_counts["4"] == 26_818
    assert found.times.first.startswith("1996-03-29 18:36:55 UTC")
    assert found.times.last.startswith("2018-09-24 14:27:30 UTC")


def test_synthetic_ratings_are_as_uneven_as_real_ones():
    assert describe(synthetic()).gini == pytest.approx(describe(movielens()).gini, abs=0.12)


def test_columns_may_have_other_names():
    log = LOG.rename({"user": "who", "item": "what"})

    assert describe(log, columns={"user": "who", "item": "what"}) == describe(LOG)


def test_what_cannot_be_described_is_refused():
    with pytest.raises(DataError, match="no interactions"):
        describe({"u": []})
    with pytest.raises(InvalidValueError, match="String such as 'noon'"):
        describe(pl.DataFrame({"user": [1], "item": [1], "time": ["noon"]}))


# -- what a person looks at first -----------------------------------------------------------------

SHOP = pl.DataFrame(
    {
        "user": [1, 1, 1, 2, 2, 3, 3, 3, 3, 4],
        "item": ["a", "b", "c", "a", "b", "a", "b", "c", "d", "e"],
        "event": ["view"] * 6 + ["buy"] * 3 + ["view"],
        "time": [f"2024-{month:02}-05" for month in (1, 1, 1, 2, 2, 4, 4, 4, 4, 5)],
    }
)


def test_activity_popularity_events_months_and_what_is_new_by_hand():
    found = describe(SHOP)
    assert found.activity == {"1": 1, "2–3": 2, "4–7": 1}
    assert found.popularity == {"1 %": 0.3, "5 %": 0.3, "10 %": 0.3, "20 %": 0.3, "50 %": 0.8}
    assert found.most_popular == {"a": 3, "b": 3, "c": 2, "d": 1, "e": 1}
    assert found.events == {"view": 7, "buy": 3}
    assert [*found.by_month.items()] == [
        ("2024-01", 3), ("2024-02", 2), ("2024-03", 0), ("2024-04", 4), ("2024-05", 1),
    ]  # fmt: skip
    assert asdict(found.cold) == {"interactions": 1, "users": 1, "items": 1}
    assert "cold       in the last tenth: 100 % by new users, 100 % of new items" in repr(found)
    assert "events     view: 7, buy: 3" in repr(found)


def test_long_logs_are_counted_by_year_and_logs_without_dates_not_at_all():
    years = pl.DataFrame({"user": [1, 1], "item": [1, 2], "time": ["2001-05-01", "2012-01-01"]})
    assert [*describe(years).by_month.items()][:2] == [("2001", 1), ("2002", 0)]
    plain = describe(SHOP.with_columns(time=pl.int_range(10)))
    assert plain.by_month is None
    assert plain.cold.items == 1
    assert describe(SHOP.drop("time")).cold is None
    assert describe(SHOP.with_columns(time=pl.lit("2024-01-01"))).cold is None
    assert describe(SHOP.with_columns(event=pl.int_range(10))).events is None
    british = SHOP.rename({"event": "Behavi" + "our"})
    assert describe(british).events == {"view": 7, "buy": 3}
    many = SHOP.join(pl.DataFrame({"n": range(3)}), how="cross").drop("event")
    assert describe(many.with_columns(action=pl.int_range(30).cast(pl.String))).events is None


def test_charts_stand_on_a_page_in_a_notebook_and_as_altair(tmp_path):
    found = describe(SHOP.with_columns(rating=pl.lit(3.0)))
    assert found.report(tmp_path / "data.html") == tmp_path / "data.html"
    page = (tmp_path / "data.html").read_text("utf-8")
    titles = [
        "Activity of the users", "Popularity of the items", "Most popular items", "Ratings",
        "Kinds of events", "Interactions over time", "New in the last tenth of the time line",
    ]  # fmt: skip
    assert re.findall("<figcaption><strong>(.*?)</strong>", page) == titles
    assert page.count("<svg") == len(titles)
    assert "<h1>10 interactions of 4 users with 5 items, density 50 %</h1>" in page
    assert found._repr_html_().count("<svg") == 1
    assert len(found.plot().to_dict()["concat"]) == len(titles)


def test_hostile_ids_and_events_are_text_on_the_page(tmp_path):
    evil = SHOP.with_columns(item=pl.lit("<script>alert(1)</script>"), event=pl.lit("{{7*7}}<b>"))
    describe(evil).report(tmp_path / "data.html")
    page = (tmp_path / "data.html").read_text("utf-8")
    assert "<script>alert" not in page
    assert "<b>" not in page


def test_the_command_writes_the_page(tmp_path):
    SHOP.write_csv(tmp_path / "log.csv")
    done = rankmeter("describe", str(tmp_path / "log.csv"), "--report", str(tmp_path / "data.html"))
    assert done.code == 0
    assert "Kinds of events" in (tmp_path / "data.html").read_text("utf-8")
    refused = rankmeter("describe", str(tmp_path / "log.csv"), "--report", "data.txt")
    assert "must be an .html file" in refused.err
