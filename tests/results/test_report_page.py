"""The page of a report: of one evaluation, for all readers, in light and dark, on paper."""

from __future__ import annotations

import html
import json
import re

import pytest
from report_data import CSS, RANKINGS, SEGMENTS, TRAIN, TRUTH

import cases
import rankmeter as rm
from command_line import rankmeter
from pages import page_of

pytest.importorskip("altair")
pytest.importorskip("vl_convert")
pytestmark = pytest.mark.once


@pytest.fixture(scope="module")
def several():
    other = cases.batch(1)[0]
    found = rm.compare(
        {"one": RANKINGS, "two": other},
        TRUTH,
        "ndcg@5 rr",
        train=TRAIN,
        segments=SEGMENTS,
        test="t",
    )
    return page_of(found)


def text_of(page):
    return re.sub(r"<(style|script).*?</\1>", "", page, flags=re.DOTALL)


class TestOne:
    def test_it_is_read_back(self, single, result):
        assert rankmeter("report", "--read", single, "--json").json == result.to_dict()
        done = rankmeter("report", "--read", single)
        assert done.code == 0
        e = result["ndcg@5"]
        assert f"{e.mean:.4f} [{e.low:.4f}, {e.high:.4f}]" in done.out
        assert "convention rankmeter" in done.out

    def test_it_says_the_mean_and_what_it_hides(self, single, result):
        page = text_of(single.read_text("utf-8"))
        assert f"ndcg@5 is {result['ndcg@5'].mean:.4f} over" in page
        values = result.per_user["ndcg@5"].drop_nulls()
        zero = (values == 0).sum()
        assert f"{zero} users of {len(values)} have the worst value, 0.0000." in page

    def test_every_part_is_there(self, single):
        page = single.read_text("utf-8")
        for part in ("means", "spread", "curve", "hits", "popularity", "segments", "users", "plan"):
            assert f'id="{part}-part"' in page
            assert f'href="#{part}-part"' in page
        assert "The list of" in page

    def test_means_by_segment_are_those_of_by_segment(self, single, result):
        page = text_of(single.read_text("utf-8"))
        table = page[page.index("Means by segment") :]
        for row in result.by_segment(SEGMENTS).iter_rows(named=True):
            assert f"{row['mean']:.4f}" in table

    def test_without_the_rankings_the_rest_is_there(self, tmp_path):
        rankings = {user: [*listed] for user, listed in RANKINGS.items()}
        result = rm.evaluate(rankings, TRUTH, "ndcg@5")
        rankings.update({user: ["other"] for user in rankings})
        result.report(tmp_path / "changed.html")
        page = (tmp_path / "changed.html").read_text("utf-8")
        assert 'id="curve-part"' not in page
        assert 'id="users-part"' in page
        assert "The list of" not in page

    def test_ranks_alone_have_a_page(self, tmp_path):
        result = rm.evaluate_ranks([1, 2, 4], "mrr", groups={"side": ["head", "tail", "tail"]})
        result.report(tmp_path / "ranks.html")
        page = (tmp_path / "ranks.html").read_text("utf-8")
        assert "Means by side" in page

    @pytest.mark.parametrize("truth", [{"u": {"a": 0}}, {"u": {"a"}}])
    def test_one_user_with_and_without_a_value(self, tmp_path, truth):
        rm.evaluate({"u": ["a"]}, truth, "ndcg@3").report(tmp_path / "r.html")
        page = text_of((tmp_path / "r.html").read_text("utf-8"))
        assert ("has no mean" in page) == (truth == {"u": {"a": 0}})
        assert "nan" not in page

    def test_the_command_writes_it(self, tmp_path):
        (tmp_path / "run.csv").write_text("user,item,rank\na,x,1\na,y,2\nb,x,1\n", "utf-8")
        (tmp_path / "truth.csv").write_text("user,item\na,y\nb,x\n", "utf-8")
        (tmp_path / "segments.csv").write_text("user,segment\na,cold\nb,warm\n", "utf-8")
        files = [tmp_path / "run.csv", tmp_path / "truth.csv", "-m", "rr"]
        page, segments = tmp_path / "page.html", ("--segments", tmp_path / "segments.csv")
        assert rankmeter("evaluate", *files, "--report", page, *segments).code == 0
        assert "warm" in text_of(page.read_text("utf-8"))
        assert rankmeter("evaluate", *files, "--report", tmp_path / "page.csv").code == 2


class TestSeveral:
    def test_it_says_what_segments_say(self, several):
        lead = text_of(several)[: several.index('id="means-part"')]
        assert re.search("best ndcg@5 (in both|of 2) segments", lead)
        assert "between segments (p " in lead


def test_many_metrics_have_charts_of_the_first_and_tables_of_all(monkeypatch, tmp_path):
    monkeypatch.setattr("rankmeter._report.excerpts.MAX_METRICS", 2)
    metrics = ["ndcg@5", "coverage@5", "rr", "recall@5"]
    for result in (
        rm.evaluate(RANKINGS, TRUTH, metrics, catalogue=500),
        rm.compare({"one": RANKINGS, "two": cases.batch(1)[0]}, TRUTH, metrics, catalogue=500),
    ):
        result.report(tmp_path / "report.html")
        page = (tmp_path / "report.html").read_text("utf-8")
        assert "4 metrics: the charts and the lists show the first 2" in page
        assert re.findall(r"<summary><h3>(.*?)</h3>", page) == ["ndcg@5"]  # no user has a coverage
        cards = re.findall(r'<p class="name">(.*?)</p>', page.replace("<wbr>", ""))
        assert cards == (metrics if isinstance(result, rm.Comparison) else [])
        assert "<figcaption><strong>ndcg@5" in page
        assert not re.search(r"<figcaption><strong>(rr|recall)", page)
        read = rankmeter("report", "--read", tmp_path / "report.html", "--json").json
        assert read == json.loads(json.dumps(result.to_dict()))


class TestAccess:
    """What axe-core asks of a page, as far as the text of the page shows it."""

    @pytest.fixture(params=["single", "several"])
    def page(self, request):
        found = request.getfixturevalue(request.param)
        return found if isinstance(found, str) else found.read_text("utf-8")

    def test_headings_leave_out_no_level(self, page):
        levels = [int(level) for level in re.findall(r"<h(\d)", page)]
        assert levels.count(1) == 1
        assert levels[0] == 1
        assert all(b <= a + 1 for a, b in zip(levels, levels[1:], strict=False))

    def test_what_scrolls_is_reached_by_key_and_has_a_name(self, page):
        scrolls = re.findall(r'<div class="scroll"[^>]*>', page)
        assert len(scrolls) == page.count("<table>")
        for one in scrolls:
            assert 'role="region"' in one
            assert 'tabindex="0"' in one
            assert re.search('aria-label="[^"]+"', one)
        names = re.findall(r"<caption>(.*?)</caption>", page)
        assert len(names) == len(set(names))

    def test_ids_are_unique_and_links_have_ends(self, page):
        ids = re.findall(r'\sid="([^"]+)"', page)
        assert len(ids) == len(set(ids))
        assert set(re.findall(r'href="#([^"]+)"', page)) <= set(ids)

    def test_drawings_have_words_and_no_colors_of_their_own(self, page):
        drawings = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
        assert len(drawings) > 5
        for one in drawings:
            assert re.match(r'<svg [^>]*role="img" aria-label="[^"]{20,}"', one)
            assert set(re.findall(r'(?:fill|stroke)="([^"]+)"', one)) <= {
                "none", "transparent", "#000", "#888", "#ddd", "currentColor",
            }  # fmt: skip
            assert not re.search(r' (id|style|clip-path|onload)="', one)

    def test_nothing_covers_content(self):
        fixed = [rule for rule in re.findall(r"[^{}]+\{[^{}]*\}", CSS) if "fixed" in rule]
        assert [rule.split("{")[0].strip() for rule in fixed] == [".said"]  # a word that goes away

    def test_without_a_script_and_on_paper_all_is_there(self, page):
        assert page.count("<noscript") == 0
        assert " hidden" not in text_of(page)
        assert "details::details-content" in CSS[CSS.index("@media print") :]


def luminance(color):
    channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one, other):
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_colors_can_be_told_from_the_paper(theme):
    root = re.findall(r":root \{(.*?)\}", CSS, re.DOTALL)[theme]
    colors = dict(re.findall(r"--([\w]+): (#[0-9a-f]{6})", root))
    for text in ("ink", "soft", "accent", "better", "worse", "neither"):
        for paper in ("paper", "card"):
            assert contrast(colors[text], colors[paper]) >= 4.5, (text, paper)
    for mark in (f"c{i}" for i in range(10)):
        assert contrast(colors[mark], colors["paper"]) >= 3, mark


def test_only_numbers_of_a_card_stay_on_one_line(several):
    """On a phone a card is 155 pixels wide, so that its words wrap."""
    unbroken = re.findall(r"(\.card[^{]*)\{[^}]*white-space: nowrap", CSS)
    assert [one.strip() for one in unbroken] == [".card .interval span"]
    text = several if isinstance(several, str) else several.read_text("utf-8")
    cards = re.findall(r'<p class="interval">(.*?)</p>', text)
    assert cards
    for card in cards:
        (numbers,) = re.findall(r"<span>(.*?)</span>", card)
        assert re.fullmatch(r"\[[^\[]{5,22}\]", html.unescape(numbers))


def test_the_numbers_of_a_page_are_those_of_the_result(several):
    found = json.loads(re.search(r'id="rankmeter-result">(.*?)</script>', several, re.DOTALL)[1])
    for cell in re.findall(r'<td data-value="([^"]+)" data-low="([^"]+)"', several)[:2]:
        means = [one for by in found["metrics"].values() for one in by.values()]
        assert any(float(cell[0]) == one["mean"] and float(cell[1]) == one["low"] for one in means)


class TestPaper:
    def test_only_the_lists_of_the_first_users_are_printed(self, several):
        found = re.findall(r'<details class="lists( on-screen)?">', several)
        assert found[:4] == ["", "", "", " on-screen"]
        assert found.count("") == 3
        assert re.search(r"On paper, the lists of \d+ other users are left out", several)
        assert re.search(r"On paper, the lists of \d+ users are left out", several)
        paper = CSS[CSS.index("@media print") :]
        assert re.search(r"\.on-screen \{ display: none; \}", paper)
        assert ".on-paper { display: block; }" in paper

    def test_a_long_table_of_differences_says_what_is_left_out(self):
        systems = {f"s{i:02}": cases.batch(i)[0] for i in range(12)}
        page = page_of(rm.compare(systems, TRUTH, "rr", test="t"))
        assert "The first 60 of 66; the page on a screen has more." in page


def again(text, **names):
    first, _, call = text.partition("\n\n")
    assert first == "import rankmeter as rm"
    return eval(call, {"rm": rm, **names})


class TestCall:
    """A page has the call that gives the same result again."""

    def test_of_a_comparison(self):
        systems = {"one": RANKINGS, "two": cases.batch(1)[0]}
        options = {
            "test": "t",
            "margin": "1%",
            "family": "all",
            "confidence": 0.9,
            "relevant": ">=2",
        }
        found = rm.compare(
            systems, TRUTH, "rr", baseline="two", segments=SEGMENTS, clusters=SEGMENTS, **options
        )
        page = html.unescape(page_of(found))
        text = re.search('aria-label="The call">(.*?)</pre>', page, re.DOTALL)[1]
        names = {"systems": systems, "truth": TRUTH, "segments": SEGMENTS, "clusters": SEGMENTS}
        assert again(text, **names).to_dict() == found.to_dict()

    def test_of_scores_is_not_written(self):
        page = page_of(rm.evaluate_ranks([1, 2, 3] * 9, "mrr"))
        assert "How to measure it again" not in page
