"""One answer: headline, means with bars, notes that decide, the rest on request, in all skins."""

from __future__ import annotations

import copy
import re
from typing import get_args

import numpy as np
import polars as pl
import pytest

import rankmeter as rm
from command_line import rankmeter
from rankmeter._choices import TieRule
from rankmeter._rankings.ties import TIE_RULES
from rankmeter._results.notes import Detail
from rankmeter._results.segments import users_by_segment
from rankmeter._results.tables import Bars

pytestmark = pytest.mark.once

USERS = range(60)
TRUTH = {user: {"a": 1} for user in USERS}
OLD = {user: ["x", "y", "a"] for user in USERS}
NEW = {user: ["a"] if user % 3 else ["x", "a"] for user in USERS}
NEWER = {user: ["a"] if user % 4 else ["x", "a"] for user in USERS}
SYSTEMS = {"old": OLD, "new": {u: NEW[u] for u in range(58)} | {99: ["a"]}, "newer": NEWER}
METRICS = "ndcg@10 recall@10 mrr hr@1"
WORDS = re.compile(r"maxt|single step|d_z|randomization|Monte Carlo|alpha|\((?:zero|skip|ignore)\)")


@pytest.fixture(scope="module", params=[None, "old"])
def found(request):
    return rm.compare(SYSTEMS, TRUTH, METRICS, baseline=request.param)


def text_of(html):
    html = re.sub("<details.*", "", html, flags=re.DOTALL)
    return re.sub("<[^>]+>", " ", html).replace("&gt;", ">")


def test_every_skin_has_the_same_parts_in_the_same_order(found):
    answer = found._answer()
    parts = [answer.title, "system", *answer.notes]
    for skin in (repr(found), found.to_markdown(), text_of(found._repr_html_())):
        places = [skin.index(part) for part in parts]
        assert places == sorted(places), skin
        assert not WORDS.search(skin.partition("details")[0]), skin


def test_the_page_has_them_too(found, tmp_path):
    pytest.importorskip("altair")
    page = found.report(tmp_path / "page.html").read_text("utf-8")
    answer = found._answer()
    above = page[: page.index("For the statistician")]
    places = [above.index(part) for part in (f"<h1>{answer.title}", *answer.notes)]
    assert places == sorted(places)
    assert not WORDS.search(above[above.index("<body>") :])
    for detail in answer.details:
        assert detail in page


def test_what_explains_is_shown_on_request(found):
    assert isinstance(found.notes[-1], Detail)
    assert found.notes[-1] not in repr(found)
    whole = found.details()
    for skin in (repr(whole), whole.to_markdown(), whole._repr_html_()):
        assert "win/tie/loss" in skin
        assert skin.index("win/tie/loss") < skin.index("d_z")
        assert all(note in skin for note in whole.details if "<" not in note)
    n = len(found.differences)
    assert repr(found).endswith(f"{n} tests and {len(whole.details)} more notes: .details()")
    assert {*found.notes} == {*found.to_dict()["notes"]}


def test_twelve_lines_for_three_systems_and_four_metrics():
    clean = {"old": OLD, "new": NEW, "newer": NEWER}
    for baseline in (None, "old"):
        lines = repr(rm.compare(clean, TRUTH, METRICS, baseline=baseline)).splitlines()
        assert len(lines) <= 12
        assert max(map(len, lines)) <= 80


def test_the_convention_is_one_line_in_words():
    for relevant, said in ((">0", "above 0"), (">=2", "of at least 2"), (3, "of at least 3")):
        result = rm.evaluate(OLD, TRUTH, "ndcg@10", relevant=relevant)
        assert (
            f"convention rankmeter: items with a gain {said} are relevant"
            in repr(result).splitlines()
        )
    every = rm.evaluate(OLD, TRUTH, "ndcg@10", relevant="any")
    assert "convention rankmeter: every judged item is relevant" in repr(every)
    assert {*TIE_RULES} == {*get_args(TieRule)}


@pytest.mark.parametrize("seed", range(6))
def test_a_title_has_at_most_twelve_words(seed):
    rng = np.random.default_rng(seed)
    users, systems = 40 + 40 * (seed % 2), 2 + seed
    table = rng.random((users, systems)) + np.linspace(0, 0.4 * (seed % 3), systems)
    values = {f"s{j}": column for j, column in enumerate(table.T)}
    labels = {user: f"{user % 2} interactions of" for user in range(users)}
    for options in ({}, {"baseline": "s0"}, {"baseline": f"s{systems - 1}"}, {"margin": 0.5}):
        found = rm.compare_values(values, segments=labels, **options)
        assert len(found.headline().title.split()) <= 12, found.headline().title


def test_a_title_names_a_segment_only_if_it_reverses_the_answer():
    rng = np.random.default_rng(0)
    base, labels = rng.random(300), {u: "web" if u < 60 else "store" for u in range(300)}
    gain = np.where(np.arange(300) < 60, -0.3, 0.3) + 0.05 * rng.random(300)
    found = rm.compare_values({"new": base + gain, "old": base}, segments=labels, baseline="old")
    assert found.headline().title.endswith(", but worse for web")
    lost = rm.compare_values({"new": base - gain, "old": base}, segments=labels, baseline="old")
    assert lost.headline().title == "No system beats old on value; old worse for web"
    none = np.where(np.arange(300) < 60, 0.0, 0.3)
    found = rm.compare_values({"new": base + none, "old": base}, segments=labels, baseline="old")
    assert "web" not in found.headline().title
    assert "value by segment" in repr(found)


def test_the_table_of_means_says_of_how_many_users_it_is():
    ranks = {"new": rm.Ranks([1, 1, 2, 1]), "old": rm.Ranks([2, 3, 2, 5])}
    assert "rank: possible places on mrr over 4 queries" in repr(rm.compare(ranks, metrics="mrr"))


def test_segments_have_readable_labels_in_order_also_from_a_file(tmp_path):
    train = {f"u{n}": [f"i{j}" for j in range(n + 1)] for n in range(30)}
    labels = rm.by_activity(train, bins=4)
    assert not any(" of " in label for label in labels["segment"])
    labels.write_csv(tmp_path / "segments.csv")
    for given in (labels["segment"], pl.read_csv(tmp_path / "segments.csv")["segment"]):
        starts = [int(re.match(r"\d+", label)[0]) for label in users_by_segment(given)]
        assert starts == sorted(starts)
    decimals = pl.Series([f"popularity {x}" for x in ("0.51–0.9", "0.1234–0.5", "12–13", "2")])
    assert [*users_by_segment(decimals)] == [decimals[i] for i in (1, 0, 3, 2)]


def test_bars_show_low_mean_and_high_on_one_scale():
    bars = Bars("interval", [(0.0, 0.25, 0.5), (0.5, 0.75, 1.0), (float("nan"),) * 3])
    assert bars.texts(9) == ["├─●─┤    ", "    ├─●─┤", " " * 9]
    assert Bars("interval", [(1.0, 1.0, 1.0)]).texts(3) == [" ● "]
    assert 'aria-label="0.2500 [0.0000, 0.5000]"' in bars.drawings()[0]


def test_a_tile_has_one_unit(found):
    verdict = found._verdict_on("ndcg@10")
    units = [("%" in text, "times" in text) for text in (verdict.lead_text, verdict.interval_text)]
    assert units[0] == units[1]


def test_one_metric_of_a_comparison_says_what_it_has(found):
    one = found["nDCG@10"]
    assert one.metric == "ndcg@10"
    assert one.means["new"] == found.estimates["ndcg@10", "new"]
    assert one.headline.title in repr(one)
    assert one[0].p == copy.deepcopy(one)[0].p
    assert len(one) == len([d for d in found.differences if d.metric == "ndcg@10"])
    with pytest.raises(AttributeError, match=r"has means, one for each system \(.means\['old'\]"):
        _ = one.mean


def test_public_objects_have_a_form_for_notebooks(found):
    result = found.summaries["new"]
    objects = (result, result["mrr"], result.plan, found["mrr"], found["mrr"][0], rm.NDCG @ 5)
    for shown in (*objects, found.headline(), found.curve("mrr"), found.details()):
        assert shown._repr_html_().startswith("<")


def test_a_curve_and_charts_have_the_color_of_the_notebook(found):
    pytest.importorskip("vl_convert")
    for svg in (
        found.curve("ndcg@10")._repr_html_(),
        found.plot()._repr_mimebundle_()["text/html"],
    ):
        assert "<svg" in svg
        assert 'fill="white"' not in svg
        assert "currentColor" in svg


def test_commands_print_the_answer_and_all_of_it_on_request(tmp_path):
    rows = [(u, i, -k) for u, items in NEW.items() for k, i in enumerate(items)]
    pl.DataFrame(rows, schema=["user", "item", "score"], orient="row").write_csv(
        tmp_path / "new.csv"
    )
    rows = [(u, i, -k) for u, items in OLD.items() for k, i in enumerate(items)]
    pl.DataFrame(rows, schema=["user", "item", "score"], orient="row").write_csv(
        tmp_path / "old.csv"
    )
    pl.DataFrame({"user": [*USERS], "item": "a"}).write_csv(tmp_path / "truth.csv")
    names = [tmp_path / f"{name}.csv" for name in ("truth", "old", "new")]
    short = rankmeter("compare", *names, "-m", "mrr").out
    assert short.splitlines()[0].startswith("new beats old on mrr")
    assert short.splitlines()[-1].endswith(": --details")
    long = rankmeter("compare", *names, "-m", "mrr", "--details").out
    assert "win/tie/loss" in long
    assert "win/tie/loss" not in short
    assert (
        "win/tie/loss"
        in rankmeter("compare", *names, "-m", "mrr", "--details", "--format", "md").out
    )
    refused = rankmeter("compare", *names, "-m", "mrr", "--details", "--json")
    assert refused.code == 2
    assert "--details is for tables and Markdown" in refused.err


def test_an_answer_uses_the_words_of_the_result():
    result = rm.evaluate_ranks([1, 2, 4], "mrr")
    assert "queries" in result._answer().to_text()
    assert "users" not in result._answer().to_text()


@pytest.mark.parametrize(
    ("gain", "n", "title"),
    [
        (0.0, 2000, "new and old are equivalent on value within ±0.0200"),
        (-0.01, 250, "new is not shown within 0.0200 of old on value"),
        (0.01, 250, "new is within 0.0200 of old on value, or better"),
        (0.05, 2000, "new beats old on value by 10.0%"),
    ],
)
def test_a_margin_that_was_asked_for_is_in_the_title(gain, n, title):
    noise = np.random.default_rng(4).normal(0, 0.2, n)
    values = {"old": np.full(n, 0.5), "new": 0.5 + gain + noise - noise.mean()}
    found = rm.compare_values(values, baseline="old", margin=0.02, test="t")
    assert found.headline().title == title
