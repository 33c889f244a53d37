"""The desk of a report: what it holds, and what a reader can do with it in a browser."""

from __future__ import annotations

import base64
import gzip
import json
import re

import numpy as np
import polars as pl
import pytest
from desk_driver import BROWSER, act

import rankmeter as rm
from command_line import rankmeter
from pages import page_of
from rankmeter.errors import DataError, UsageError

pytest.importorskip("altair")
pytest.importorskip("vl_convert")
pytestmark = pytest.mark.once

EVIL = "<img src=x onerror=document.title=1>"
N, DEPTH = 90, 25
METRICS = ["ndcg@10", "ndcg@5", "rr", "recall@20"]
rng = np.random.default_rng(5)
TRUTH = {f"q{n}": {f"d{i}": 1 + i % 3 for i in rng.choice(40, 3, replace=False)} for n in range(N)}
SYSTEMS = {
    name: {query: [f"d{i}" for i in rng.permutation(60)[:DEPTH]] for query in TRUTH}
    for name in ("bm25", EVIL, "rerank")
}
SEGMENTS = {query: ("web", "app", "shop")[n % 3] for n, query in enumerate(TRUTH)}
QUERIES = {query: f"the words of {query} & <b>more</b>" for query in TRUTH}
ITEMS = {f"d{i}": f"Document number {i}" for i in range(60)} | {"d7": f"{EVIL} d7"}


@pytest.fixture(scope="module")
def found():
    return rm.compare(SYSTEMS, TRUTH, METRICS, baseline="bm25", segments=SEGMENTS, n_resamples=99)


@pytest.fixture(scope="module")
def page(found):
    return page_of(found, queries=QUERIES, items=ITEMS)


def content(page):
    packed = re.search(r'id="rankmeter-desk">(.*?)</script>', page)[1]
    return json.loads(gzip.decompress(base64.b64decode(packed)))


def column(desk, metric, system):
    values = next(one for one in desk["metrics"] if one["label"] == metric)["values"]
    found = values[desk["systems"].index(system)]
    return [None if code < 0 else found["distinct"][code] for code in found["codes"]]


class TestContent:
    def test_all_values_are_those_of_per_user(self, found, page):
        desk = content(page)
        assert desk["users"] == sorted(TRUTH)
        for name in SYSTEMS:
            values = found.summaries[name].per_user.sort("user")
            for metric in METRICS:
                assert column(desk, metric, name) == values[metric].to_list()

    def test_lists_are_those_of_the_rankings_with_all_relevant_items(self, page):
        desk = content(page)
        (lists,) = desk["lists"]
        for number, name in enumerate(SYSTEMS):
            of_system = lists["systems"][number]
            ends = np.cumsum([0, *of_system["lengths"]])
            for place, user in enumerate(desk["listed"]):
                query = desk["users"][user]
                part = slice(ends[place], ends[place + 1])
                items = [desk["items"][code] for code in of_system["items"][part]]
                ranked = SYSTEMS[name][query]
                expected = [
                    (item, rank)
                    for rank, item in enumerate(ranked, 1)
                    if rank <= desk["depth"] or item in TRUTH[query]
                ]
                assert [*zip(items, of_system["ranks"][part], strict=True)] == expected
        ends = np.cumsum([0, *lists["relevant"]["lengths"]])
        for place, user in enumerate(desk["listed"]):
            part = slice(ends[place], ends[place + 1])
            items = [desk["items"][code] for code in lists["relevant"]["items"][part]]
            gains = lists["relevant"]["gains"][part]
            assert dict(zip(items, gains, strict=True)) == TRUTH[desk["users"][user]]
            assert gains == sorted(gains, reverse=True)

    def test_texts_titles_and_segments(self, page):
        desk = content(page)
        assert desk["texts"] == [QUERIES[query] for query in desk["users"]]
        assert desk["titles"] == [ITEMS[item] for item in desk["items"]]
        (group,) = desk["groups"]
        assert [group["labels"][code] for code in group["codes"]] == [
            SEGMENTS[query] for query in desk["users"]
        ]

    def test_titles_of_items_are_those_that_were_passed_before(self):
        items = pl.DataFrame({"item": [*ITEMS], "title": [*ITEMS.values()]})
        result = rm.evaluate(SYSTEMS["bm25"], TRUTH, "ndcg@5", items=items)
        desk = content(page_of(result))
        assert desk["titles"] == [ITEMS[item] for item in desk["items"]]
        assert desk["systems"] == ["rankings"]

    def test_each_metric_has_the_lists_of_its_own_choices(self):
        metrics = ["ndcg@5", "recall(relevant=2)@5"]
        desk = content(page_of(rm.evaluate(SYSTEMS["bm25"], TRUTH, metrics)))
        assert [one["lists"] for one in desk["metrics"]] == [0, 1]
        counts = [sum(lists["relevant"]["lengths"]) for lists in desk["lists"]]
        gains = [gain for judged in TRUTH.values() for gain in judged.values()]
        assert counts == [len(gains), sum(gain >= 2 for gain in gains)]

    def test_users_without_a_value_are_left_out(self):
        result = rm.compare(
            {"a": {1: ["x"], 2: ["x"]}, "b": {1: ["y"], 2: ["x"]}},
            {1: {"x": 1}, 2: {"x": 0}, 3: {"y": 1}},
            "rr",
        )
        desk = content(page_of(result))
        assert desk["users"] == ["1", "3"]

    def test_beyond_the_bounds_it_has_the_worst_the_best_and_a_sample(self, monkeypatch, found):
        monkeypatch.setattr("rankmeter._report.desk.MAX_VALUES", 30 * 12)
        monkeypatch.setattr("rankmeter._report.desk.MAX_PLACES", 9 * 60)
        desk = content(page_of(found))
        assert (desk["n_users"], len(desk["users"]), len(desk["listed"])) == (N, 30, 9)
        users, x, y = found._paired("ndcg@10", *desk["pair"])
        ranked = [user for _, user in sorted(zip(x - y, users, strict=True))]
        assert {*ranked[:8], *ranked[-8:]} <= {*desk["users"]}
        assert {*ranked[:3], *ranked[-3:]} <= {desk["users"][user] for user in desk["listed"]}

    def test_without_the_rankings_it_has_values_alone(self):
        desk = content(page_of(rm.evaluate_ranks([1, 2, 4], "mrr")))
        assert desk["lists"] == []
        assert column(desk, desk["metrics"][0]["label"], "rankings") == [1.0, 0.5, 0.25]


class TestStatic:
    def test_it_has_no_desk_and_is_the_same_page_otherwise(self, found, page):
        static = page_of(found, interactive=False)
        assert "rankmeter-desk" not in static
        assert "data-at" not in static
        assert "data-pick" not in static
        shown = re.sub(r"<script.*?</script>\n?|<style>.*?</style>", "", page, flags=re.DOTALL)
        shown = re.sub(r' data-(at|pick)="[^"]*"|script-src .*?; style-src .*?; img', "", shown)
        other = re.sub(r"<script.*?</script>\n?|<style>.*?</style>", "", static, flags=re.DOTALL)
        assert shown == re.sub(r"script-src .*?; style-src .*?; img", "", other)

    def test_only_true_and_false_are_valid(self, found, tmp_path):
        with pytest.raises(UsageError, match="interactive"):
            found.report(tmp_path / "page.html", interactive="no")

    def test_by_command(self, tmp_path):
        (tmp_path / "run.csv").write_text("user,item,rank\na,x,1\na,y,2\nb,x,1\n", "utf-8")
        (tmp_path / "truth.csv").write_text("user,item\na,y\nb,x\n", "utf-8")
        (tmp_path / "queries.csv").write_text("user,text\na,first words\nb,second\n", "utf-8")
        files = [tmp_path / "run.csv", tmp_path / "truth.csv", "-m", "rr"]
        path = tmp_path / "page.html"
        queries = ("--queries", tmp_path / "queries.csv")
        assert rankmeter("evaluate", *files, "--report", path, *queries).code == 0
        assert content(path.read_text("utf-8"))["texts"] == ["first words", "second"]
        assert rankmeter("evaluate", *files, "--report", path, "--static").code == 0
        assert "rankmeter-desk" not in path.read_text("utf-8")
        for alone in (queries, ["--static"]):
            done = rankmeter("evaluate", *files, *alone)
            assert done.code == 2
            assert "--report" in done.err


class TestTexts:
    @pytest.mark.parametrize(
        "queries",
        [
            QUERIES,
            pl.DataFrame({"qid": [*QUERIES], "query": [*QUERIES.values()]}),
            pl.DataFrame({"query_id": [*QUERIES], "text": [*QUERIES.values()], "n": 1}),
            pl.DataFrame({"user": [*QUERIES], "whatever": [*QUERIES.values()]}).to_pandas(),
        ],
        ids=["mapping", "qid, query", "query_id, text, n", "pandas"],
    )
    def test_forms(self, found, queries):
        desk = content(page_of(found, queries=queries))
        assert desk["texts"] == [QUERIES[query] for query in desk["users"]]

    def test_ids_of_another_type_are_compared_as_text(self):
        result = rm.evaluate({7: ["a"]}, {7: {"a"}}, "rr")
        assert content(page_of(result, queries={"7": "seven"}))["texts"] == ["seven"]

    @pytest.mark.parametrize(
        ("queries", "error", "match"),
        [
            ({"other": "text"}, DataError, "queries= has no text of a query of the result"),
            ({"q1": 3}, DataError, "3 is not a text"),
            ([1, 2], UsageError, "must be a mapping from id to the text of a query"),
            (pl.DataFrame({"a": ["q1"], "b": ["x"]}), DataError, "Its columns are 'a', 'b'"),
            (pl.DataFrame({"user": ["q1"], "a": ["x"], "b": ["x"]}), DataError, "columns are"),
        ],
    )
    def test_what_cannot_be_read_is_refused(self, tmp_path, found, queries, error, match):
        with pytest.raises(error, match=match):
            found.report(tmp_path / "page.html", queries=queries)
        assert [*tmp_path.iterdir()] == []

    def test_titles_of_other_items_are_refused(self, tmp_path, found):
        with pytest.raises(DataError, match="items= has no title of an item of the result"):
            found.report(tmp_path / "page.html", items={"other": "title"})


def changes(found, metric, a, b):
    """The users by change, those that lost most first, and both values."""
    users, x, y = found._paired(metric, a, b)
    rows = zip(users.to_list(), x.tolist(), y.tolist(), strict=True)
    return sorted(rows, key=lambda row: row[1] - row[2])


@pytest.mark.skipif(BROWSER is None, reason="needs Chromium")
class TestBrowser:
    def test_three_clicks_show_who_lost_most_in_a_segment_and_why(self, tmp_path, found, page):
        script = """
        one('nav a[href="#desk-part"]').click();
        choose("Segment", "web");
        const shown = users();
        one("#desk-part .open").click();
        return { shown, why: one("#desk-part .why").textContent,
                 left: entries(0), right: entries(1),
                 lines: all("#desk-part .why path").length, hash: location.hash };
        """
        given, said = act(tmp_path, page, script)
        assert said == []
        a, b = content(page)["pair"]
        ranked = [row[0] for row in changes(found, "ndcg@10", a, b) if SEGMENTS[row[0]] == "web"]
        assert given["shown"] == ranked[:10]
        query = ranked[0]
        assert f"user={query}" in given["hash"]
        assert "segment=web" in given["hash"]
        for name, column in ((b, given["left"]), (a, given["right"])):
            ranked = SYSTEMS[name][query]
            assert [entry["text"] for entry in column[:20]] == [ITEMS[i] for i in ranked[:20]]
            hits = {entry["text"] for entry in column if entry["hit"]}
            assert hits == {ITEMS[item] for item in TRUTH[query]}
            assert [entry["rank"] for entry in column if entry["cut"]] == ["10"]
            in_top = sum(item in TRUTH[query] for item in ranked[:10])
            assert f"{name}: {in_top} of 3 relevant in the top 10" in given["why"]
        before = {ITEMS[item]: rank for rank, item in enumerate(SYSTEMS[b][query], 1)}
        seen = {entry["text"] for entry in given["left"] if entry["rank"] != "–"}
        for entry in given["right"]:
            up = before.get(entry["text"], 0) - int(entry["rank"] if entry["rank"] != "–" else 0)
            if entry["rank"] == "–":
                assert entry["gain"] == "relevant, not ranked"
            elif entry["text"] not in seen:
                assert entry["moved"] == "new"
            else:
                assert entry["moved"] == (f"▲ {up}" if up > 0 else f"▼ {-up}" if up else "=")
        common = seen & {entry["text"] for entry in given["right"] if entry["rank"] != "–"}
        assert given["lines"] == len(common)

    def test_search_filter_and_sort(self, tmp_path, found, page):
        script = """
        const given = {};
        for (const text of ["q7", "WORDS OF Q8", "d7", "number 11", "nothing"]) {
          await find(text);
          given[text] = [shown(), status()];
        }
        one("#desk-part .desk-status button").click();
        given.cleared = shown();
        for (const change of ["lost", "gained", "equal", "only-a", "only-b"]) {
          choose("Change", change);
          given[change] = shown();
        }
        choose("Change", "");
        all("#desk-part thead button").at(-1).click();
        given.best = users()[0];
        given.sorted = one("#desk-part thead [aria-sort]").getAttribute("aria-sort");
        one("#desk-part .more").click();
        given.more = users().length;
        return given;
        """
        given, said = act(tmp_path, page, script)
        assert said == []

        def with_items(items):
            seen = (
                query
                for query in TRUTH
                if TRUTH[query].keys() & items
                or any(items & {*ranked[query][:20]} for ranked in SYSTEMS.values())
            )
            return len([*seen])

        assert given["q7"][0] == 1
        assert given["WORDS OF Q8"][0] == 1 + sum(q.startswith("q8") for q in [*TRUTH] if q != "q8")
        assert given["d7"][0] == with_items({"d7"})
        assert given["number 11"][0] == with_items({"d11"})
        assert "found by name, " in given["d7"][1]
        assert given["nothing"][0] == 0
        assert given["cleared"] == N
        rows = changes(found, "ndcg@10", *content(page)["pair"])
        assert given["lost"] == sum(x < y for _, x, y in rows)
        assert given["gained"] == sum(x > y for _, x, y in rows)
        assert given["equal"] == sum(x == y for _, x, y in rows)
        assert given["only-a"] == sum(x > 0 == y for _, x, y in rows)
        assert given["only-b"] == sum(y > 0 == x for _, x, y in rows)
        assert given["best"] == rows[-1][0]
        assert given["sorted"] == "descending"
        assert given["more"] == 60

    def test_metric_k_and_systems_are_chosen_and_have_an_address(self, tmp_path, found, page):
        script = """
        const first = location.hash;
        const seen = { user: one("#desk-part [aria-expanded=true]").textContent, rows: rows(),
                       list: one("#desk-part .why ol").getAttribute("aria-label"), first };
        choose("k", "ndcg@10");
        seen.k = location.hash;
        choose("Metric", "rr");
        seen.metric = location.hash;
        seen.ks = one("#desk-part label.only span").textContent;
        choose("against", field("System").value);
        seen.swapped = [field("System").value, field("against").value];
        location.hash = "#user=q9&metric=recall@20";
        await pause();
        seen.moved = [one("#desk-part [aria-expanded=true]").textContent, field("k").value];
        location.hash = "#metric=unknown&a=unknown&user=unknown";
        await pause();
        seen.unknown = shown();
        return seen;
        """
        given, said = act(tmp_path, page, script, "#user=q5&metric=ndcg%405&a=rerank&b=bm25")
        assert said == []
        assert given["user"] == "q5"
        assert given["list"] == "List of bm25"
        rows = {q: (x, y) for q, x, y in changes(found, "ndcg@5", "rerank", "bm25")}
        for name, before, after, change in given["rows"]:
            x, y = rows[re.match(r"q\d+", name)[0]]
            assert (before, after) == (f"{y:.4f}", f"{x:.4f}")
            assert change == (f"{x - y:+.4f}".replace("-", "−") if x != y else "0")
        assert "metric" not in given["k"]
        assert "user=q5" in given["k"]
        assert "metric=rr" in given["metric"]
        assert given["ks"] == "k"
        assert given["swapped"] == ["bm25", "rerank"]
        assert given["moved"] == ["q9", "recall@20"]
        assert given["unknown"] == N

    def test_tables_and_charts_are_saved(self, tmp_path, found, page):
        script = """
        choose("Segment", "web");
        all("#desk-part .desk-status button").find((one) => one.textContent === "CSV").click();
        const csv = await files.pop().text();
        const figures = all("main figure");
        for (const figure of figures) one(".chart-tools button", figure).click();
        const svgs = await Promise.all(files.splice(0).map((file) => file.text()));
        const parsed = svgs.map((text) =>
          !new DOMParser().parseFromString(text, "image/svg+xml").querySelector("parsererror"));
        one(".chart-tools button + button", figures[0]).click();
        await until(() => files.length);
        const png = [...new Uint8Array(await files.pop().arrayBuffer())].slice(1, 4);
        const ofSegments = svgs[figures.findIndex((figure) => figure.closest("#segments-part"))];
        return { csv, parsed, svg: svgs[0], ofSegments, figures: figures.length, png };
        """
        given, said = act(tmp_path, page, script)
        assert said == []
        a, b = content(page)["pair"]
        rows = [row for row in changes(found, "ndcg@10", a, b) if SEGMENTS[row[0]] == "web"]
        lines = given["csv"].lstrip("\ufeff").splitlines()
        assert lines[0].startswith("query,text,ndcg@10 ") or lines[0].startswith(
            "user,text,ndcg@10 "
        )
        assert [line.split(",")[0] for line in lines[1:]] == [row[0] for row in rows]
        assert float(lines[1].split(",")[3]) == rows[0][1]
        assert given["figures"] > 10
        assert given["parsed"] == [True] * given["figures"]
        assert 'class="' not in given["svg"]
        assert "rgb(" in given["svg"]
        assert bytes(given["png"]) == b"PNG"
        assert all(f">{name}" in given["ofSegments"] for name in ("bm25", "rerank", "&lt;img"))

    def test_a_mark_of_a_chart_selects_its_users(self, tmp_path, page):
        script = """
        const given = [];
        for (const figure of all("main figure[data-pick]")) {
          const pick = JSON.parse(figure.dataset.pick);
          const marks = all("[data-at]", figure);
          const step = Math.ceil(marks.length / 9);  // browsers limit how often an address changes
          for (const mark of marks.filter((_, i) => i % step === 0)) {
            mark.dispatchEvent(new MouseEvent("click", { bubbles: true }));
            given.push([pick.kind, mark.getAttribute("aria-label"), shown()]);
          }
        }
        const [first, second] = all("[data-at]", one("main figure[data-pick]"));
        first.focus();
        press(first, "ArrowRight");
        const moved = document.activeElement === second;
        press(second, "Enter");
        return { given, moved, pressed: second.getAttribute("aria-pressed"), hash: location.hash,
                 stops: all("[data-at][tabindex='0']").length, figures: all("[data-pick]").length };
        """
        given, said = act(tmp_path, page, script)
        assert said == []
        kinds = {kind for kind, _, _ in given["given"]}
        assert kinds == {"segment", "cell", "difference"}
        for kind, label, shown in given["given"]:
            if kind == "segment":
                assert shown == N / 3
            else:
                assert shown == int(re.search(r"users ([\d,]+)", label)[1].replace(",", "")), label
        assert given["moved"]
        assert given["pressed"] == "true"
        assert "segment=" in given["hash"]
        assert given["stops"] == given["figures"]

    def test_of_one_evaluation(self, tmp_path):
        result = rm.evaluate(SYSTEMS["bm25"], TRUTH, METRICS)
        script = """
        const given = { heads: all("#desk-part thead th").map((head) => head.textContent),
                       hidden: all("#desk-part label.only span").map((span) => span.textContent) };
        one("#desk-part .open").click();
        given.lists = all("#desk-part .why ol").length;
        choose("Value", "zero");
        given.zero = shown();
        const marks = all("main figure[data-pick] [data-at]").slice(0, 20);
        given.marks = marks.map((mark) => {
          mark.dispatchEvent(new MouseEvent("click", { bubbles: true }));
          return [mark.getAttribute("aria-label"), shown()];
        });
        return given;
        """
        given, said = act(tmp_path, page_of(result), script)
        assert said == []
        assert given["heads"] == ["user", "ndcg@10"]
        assert given["hidden"] == ["System", "against", "Segment"]
        assert given["lists"] == 1
        assert given["zero"] == (result.per_user["ndcg@10"] == 0).sum()
        assert len(given["marks"]) == 20
        for label, shown in given["marks"]:
            assert shown == int(re.search(r"users (\d+)", label)[1])

    def test_names_are_text_everywhere(self, tmp_path):
        truth = {f"{EVIL}{n}": {f"{EVIL}d": 1} for n in range(20)}
        systems = {
            f"{EVIL}{s}": {user: [f"{EVIL}x", f"{EVIL}d"][:: 1 - 2 * ((n + s) % 3 > 0)]
                           for n, user in enumerate(truth)}
            for s in range(2)
        }  # fmt: skip
        words = dict.fromkeys(truth, f"</script>{EVIL}&amp;")
        result = rm.compare(systems, truth, "rr", segments=dict.fromkeys(truth, EVIL), test="t")
        script = """
        choose("Segment", field("Segment").options[1].value);
        one("#desk-part .open").click();
        await find("<img");
        one("main figure[data-pick] [data-at]").dispatchEvent(new MouseEvent("click"));
        return { shown: shown(), text: one("#desk-part tbody").textContent,
                 images: all("img").length,
                 title: document.title, rows: rows().length };
        """
        page = page_of(result, queries=words, items={f"{EVIL}d": EVIL, f"{EVIL}x": "</script>"})
        given, said = act(tmp_path, page, script, f"#user={EVIL}3&find={EVIL}&segment={EVIL}")
        assert said == []
        assert given["images"] == 0
        assert given["title"] != "1"
        assert given["shown"] == 20
        assert EVIL in given["text"]
        assert "&amp;" in given["text"]

    def test_all_is_done_by_key_and_has_a_name(self, tmp_path, page):
        script = """
        one("#desk-part .open").click();
        const named = (node) => node.closest("label")?.textContent || node.textContent
          || node.getAttribute("aria-label");
        const nodes = all("#desk-part :is(button, input, select)");
        const ids = all("[id]").map((node) => node.id);
        return { nameless: nodes.filter((node) => !named(node)).length, nodes: nodes.length,
                 unreached: nodes.filter((node) => node.tabIndex < 0).length,
                 repeated: ids.length - new Set(ids).size,
                 wide: document.documentElement.scrollWidth - innerWidth,
                 inline: all("#desk-part [onclick]").length };
        """
        given, said = act(tmp_path, page, script)
        assert said == []
        assert given.pop("nodes") > 20
        assert given["wide"] <= 0
        del given["wide"]
        assert given == {"nameless": 0, "unreached": 0, "repeated": 0, "inline": 0}

    def test_it_says_what_is_left_out(self, tmp_path, monkeypatch, found):
        monkeypatch.setattr("rankmeter._report.desk.MAX_VALUES", 30 * 12)
        monkeypatch.setattr("rankmeter._report.desk.MAX_PLACES", 9 * 60)
        script = """
        const without = all("#desk-part .open").at(-1);
        without.click();
        return [one("#desk-part .note").textContent, one("#desk-part .why").textContent];
        """
        (note, _), _ = act(tmp_path, page_of(found), script)
        assert "the values of 30 of 90" in note
        assert "the worst, the best and a sample" in note
        assert "cannot be read back whole" in note
        assert "Lists are here for 9" in note


def test_the_scripts_run_nothing_that_is_text_and_make_no_markup():
    from importlib.resources import files

    for name in ("page.js", "marks.js", "desk.js"):
        script = files("rankmeter._report").joinpath(name).read_text("utf-8")
        for word in ("eval(", "Function(", "innerHTML", "outerHTML", "insertAdjacent", "write("):
            assert word not in script, (name, word)


def test_many_users_fit_into_a_page():
    n = 20_000
    user = np.arange(n)
    truth = pl.DataFrame({"user": user, "item": user % 97})
    runs = {
        name: pl.DataFrame(
            {"user": np.repeat(user, 5), "item": np.tile(np.arange(5), n) + np.repeat(user, 5) % k,
             "rank": np.tile(np.arange(1, 6), n)}
        )
        for name, k in (("a", 89), ("b", 61))
    }  # fmt: skip
    result = rm.compare(runs, truth, "ndcg@5 rr", n_resamples=9)
    page = page_of(result)
    assert len(content(page)["users"]) == n
    assert len(page) < 1_200_000
