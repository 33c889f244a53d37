"""Charts show what the comparison reports, and can be saved without a browser."""

from __future__ import annotations

import json
import re
import sys

import pytest

import cases
import rankmeter as rm
from rankmeter.errors import MissingDependencyError, UsageError

pytestmark = pytest.mark.once

NAMES = ("one", "two", "three")
TRUTH = cases.batch(0)[1]
SYSTEMS = {name: cases.batch(seed)[0] for seed, name in enumerate(NAMES)}
SEGMENTS = {user: "early" if user < "u0080" else "late" for user in TRUTH}
FOUND = rm.compare(
    SYSTEMS, TRUTH, "ndcg@5,10 rr", baseline="two", segments=SEGMENTS, n_resamples=99
)


def rows(chart):
    """All rows of a chart."""

    def walk(part):
        if isinstance(part, dict):
            yield from part.get("data", {}).get("values", [])
            yield from walk([value for name, value in part.items() if name != "data"])
        elif isinstance(part, list):
            for one in part:
                yield from walk(one)

    return list(walk(chart.to_dict()))


class TestComparison:
    def test_the_forest_holds_every_difference_with_its_interval(self):
        found = [row for row in rows(FOUND.plot("forest", metric="rr")) if "pair" in row]
        expected = {(d.a, d.difference, d.low, d.high) for d in FOUND["rr"]}
        assert {(r["pair"], r["difference"], r["low"], r["high"]) for r in found} == expected

    def test_what_is_significant_is_told_by_the_direction_of_the_metric(self):
        systems = {"x": {u: ["a", "b"] for u in range(30)}, "y": {u: ["b", "a"] for u in range(30)}}
        truth = {u: {"a"} for u in range(30)}
        for metric in ("rr", "mean_rank"):
            found = rm.compare(systems, truth, metric, baseline="y")
            told = [row["verdict"] for row in rows(found.plot("forest")) if "pair" in row]
            assert told == ["better"]
            sides = {row["side"] for row in rows(found.plot("differences"))}
            assert sides == {"better"}

    def test_curves_are_those_of_the_comparison(self):
        frame = FOUND.curve("ndcg@10").frame
        found = {
            (r["system"], r["k"]): r["mean"] for r in rows(FOUND.plot("curve", metric="ndcg@5"))
        }
        assert found == {(s, k): mean for s, k, mean in frame["system", "k", "mean"].rows()}

    def test_a_metric_without_a_cutoff_has_no_curve(self):
        found = rm.compare(SYSTEMS, TRUTH, "eleven_point", baseline="two", n_resamples=99)
        with pytest.raises(UsageError, match="nothing to draw"):
            found.plot("curve")

    def test_segments_hold_every_mean(self):
        found = {
            (row["segment"], "rr", row["system"]): row["mean"]
            for row in rows(FOUND.plot("segments", metric="rr"))
        }
        expected = FOUND.segment_estimates.items()
        assert found == {key: e.mean for key, e in expected if key[1] == "rr"}

    def test_no_chart_grows_with_the_users(self):
        sizes = []
        for n in (200, 2000):
            rankings, truth = cases.batch(1, n_users=n)
            other, _ = cases.batch(2, n_users=n)
            found = rm.compare({"x": rankings, "y": other}, truth, "ndcg@10", test="t")
            sizes.append([len(rows(found.plot(kind))) for kind in ("forest", "curve")])
            assert len(rows(found.plot("differences"))) <= 40
        assert sizes[0] == sizes[1]

    @pytest.mark.parametrize(
        ("kind", "message"), [("pie", "'forest', 'curve'"), ("segments", "no segments")]
    )
    def test_wrong_kinds(self, kind, message):
        plain = rm.compare(SYSTEMS, TRUTH, "rr", baseline="two", n_resamples=99)
        with pytest.raises(UsageError, match=message):
            plain.plot(kind)

    def test_without_altair_it_says_what_to_install(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "altair", None)
        with pytest.raises(MissingDependencyError, match=r"pip install 'rankmeter\[report\]'"):
            FOUND.plot()
        with pytest.raises(MissingDependencyError, match="altair"):
            FOUND.summaries["one"].plot()


class TestSummary:
    result = FOUND.summaries["one"]

    def test_means(self, tmp_path):
        chart = self.result.plot()
        chart.save(tmp_path / "means.svg")
        found = {row["metric"]: (row["mean"], row["low"], row["high"]) for row in rows(chart)}
        assert found == {e.label: (e.mean, e.low, e.high) for e in self.result.values()}

    def test_distribution_counts_every_user(self, tmp_path):
        chart = self.result.plot("distribution")
        chart.save(tmp_path / "distribution.png")
        expected = sum(e.n for e in self.result.values())
        assert sum(row["users"] for row in rows(chart)) == expected

    def test_wrong_kind(self):
        with pytest.raises(UsageError, match="'means', 'distribution'"):
            self.result.plot("pie")


class TestVerdict:
    def test_the_difference_is_seen_from_the_best(self):
        for metric in ("ndcg@5", "rr"):
            found = FOUND._verdict_on(metric)
            means = {name: FOUND.estimates[metric, name].mean for name in NAMES}
            assert found.best == max(means, key=means.get) == found.difference.a
            d = found.difference
            assert d.difference == pytest.approx(d.mean_a - d.mean_b)
            assert d.low <= d.difference <= d.high
            assert d.better == d.a

    def test_a_turned_difference_is_that_of_the_turned_comparison(self):
        one = rm.compare({n: SYSTEMS[n] for n in ("one", "two")}, TRUTH, "rr", test="t")
        other = rm.compare({n: SYSTEMS[n] for n in ("two", "one")}, TRUTH, "rr", test="t")
        a, b = one._verdict_on("rr").difference, other._verdict_on("rr").difference
        for name in ("a", "b", "mean_a", "difference", "low", "high", "p", "statistic", "d_z",
                     "wins", "losses", "gain"):  # fmt: skip
            assert getattr(a, name) == pytest.approx(getattr(b, name)), name


def test_a_notebook_needs_no_network(monkeypatch):
    """It gets a drawing, unless its user has chosen a renderer."""
    import altair as alt

    chart = FOUND.plot("forest", metric="rr")
    shown = chart._repr_mimebundle_()
    assert shown["image/svg+xml"].startswith("<svg")
    assert not re.search(r"(src|href)=|<script", str(shown))
    with alt.renderers.enable("json"):
        assert "application/json" in chart._repr_mimebundle_()[0]
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    assert "image/svg+xml" not in str(chart._repr_mimebundle_())


def test_the_report_draws_accuracy_against_what_was_shown(tmp_path):
    lists, truth = {"u": ["a", "b"], "v": ["b", "c"]}, {"u": {"b"}, "v": {"b"}}
    other = {user: items[:1] for user, items in lists.items()}
    found = rm.compare({"a": lists, "b": other}, truth, ["rr", "coverage@3"], catalogue=6)
    drawn = found.plot("tradeoff").to_dict()
    assert "coverage@3 against rr" in json.dumps(drawn)
    found.report(tmp_path / "r.html")
    assert 'id="tradeoff-part"' in (tmp_path / "r.html").read_text("utf-8")
    only = rm.compare({"a": lists, "b": other}, truth, ["rr"])
    with pytest.raises(UsageError, match="nothing to draw"):
        only.plot("tradeoff")


def test_marks_in_a_notebook_say_their_numbers_and_titles_do_not():
    found = rm.compare(
        {"a": {u: ["x"] for u in range(9)}, "b": {u: ["y", "x"][u % 2 :] for u in range(9)}},
        {u: {"x"} for u in range(9)}, "rr",
    )  # fmt: skip
    svg = found.plot("forest").to_inline_svg()
    d = found["rr"][0]
    said = re.findall("<title>(.*?)</title>", svg)
    assert f"a − b, mean difference {d.difference:+.4f}, from {d.low:+.4f}" in said[0]
    assert not [text for text in said if text.startswith(("Title", "Subtitle", "X-axis"))]
    assert 'xmlns="http://www.w3.org/2000/svg"' in svg
