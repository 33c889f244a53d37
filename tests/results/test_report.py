"""The report: one page that opens offline, can be read back, and escapes all names."""

from __future__ import annotations

import errno
import json
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

import cases
import rankmeter as rm
from command_line import rankmeter
from pages import page_of
from rankmeter.errors import MissingDependencyError, to_one_line

pytestmark = pytest.mark.once

EVIL = "<img src=x onerror=alert(1)>"
TABLE_TAGS = {"table", "caption", "thead", "tbody", "tr", "th", "td", "strong", "sup", "span"}
BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--enable-logging=stderr",
    "--virtual-time-budget=20000",
    "--dump-dom",
)
LATEX = shutil.which("pdflatex")


def compared(names=("one", "two", EVIL), metrics="ndcg@5 rr", **options):
    truth = cases.batch(0)[1]
    truth = {f"{EVIL}{user}": judged for user, judged in truth.items()}
    systems = {
        name: {f"{EVIL}{user}": ranked for user, ranked in cases.batch(seed)[0].items()}
        for seed, name in enumerate(names)
    }
    segments = {user: f"{EVIL} {number % 2}" for number, user in enumerate(truth)}
    chosen = {"segments": segments, "n_resamples": 99, **options}
    return rm.compare(systems, truth, metrics, **chosen)


class Page(HTMLParser):
    """The parts of a page: its elements with their attributes, its scripts, its text."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.texts, self.open = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_endtag(self, tag):
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data):
        if not {"script", "style"} & set(self.open[-1:]):
            self.texts.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module")
def found():
    return compared(baseline=EVIL)


@pytest.fixture(scope="module")
def text(found):
    return page_of(found)


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


def read_back(path):
    done = rankmeter("report", "--read", path, "--json")
    assert done.code == 0, done.err
    return done.json


class TestReadBack:
    def test_the_result_comes_back_whole(self, tmp_path, found):
        path = tmp_path / "report.html"
        found.report(path)
        assert read_back(path) == json.loads(found.to_json())

    def test_a_write_that_fails_keeps_the_old_page(self, tmp_path, monkeypatch, found):
        path = tmp_path / "report.html"
        path.write_text("old")

        def no_space(file, _):
            raise OSError(errno.ENOSPC, "no space left", file)

        monkeypatch.setattr(Path, "replace", no_space)
        with pytest.raises(OSError, match="no space left") as raised:
            found.report(path)
        assert raised.value.filename == str(path)
        assert [one.name for one in tmp_path.iterdir()] == ["report.html"]
        assert path.read_text() == "old"

    def test_by_command_too(self, tmp_path, found):
        path = tmp_path / "report.html"
        found.report(path)
        assert rankmeter("report", "--read", path, "--json").json == json.loads(found.to_json())
        told = rankmeter("report", "--read", path).out
        assert f"baseline {EVIL}" in told
        assert told.startswith(to_one_line(found.headline().title))
        assert all(sentence in told for sentence in found.sentences())
        e = found.estimates["rr", "one"]
        assert f"{e.mean:.4f} [{e.low:.4f}, {e.high:.4f}]" in told

    def test_from_standard_input(self, text, found):
        told = rankmeter("report", "--read", "-", "--json", stdin=text)
        assert told.json == json.loads(found.to_json())

    def test_means_that_do_not_exist_are_dashes(self, tmp_path):
        path = tmp_path / "report.html"
        rm.compare({"x": [["a"]], "y": [["a"]]}, [{"a": 0}], "rr").report(path)
        told = rankmeter("report", "--read", path)
        assert told.code == 0
        assert "– [–, –]" in told.out
        assert "cannot be compared" in told.out

    @pytest.mark.parametrize(
        "content", [b"", b"<p>hello</p>", b"\xff\xfe", b'{"schema": 1}', b"user,item\n1,2\n"]
    )
    def test_other_files_are_refused(self, tmp_path, content):
        path = tmp_path / "other.html"
        path.write_bytes(content)
        done = rankmeter("report", "--read", path)
        assert (done.code, done.out) == (3, "")
        assert "rankmeter compare --report" in done.err

    @pytest.mark.parametrize(
        "content",
        [
            "[]", "null", "1", '"x"', "NaN", "{}", '{"a": 1}', '{"schema": 1}', "[" * 10**5,
            '{"schema": 1, "x": ' + "9" * 5000 + "}",
            ('{"schema": 1, "systems": [], "metrics": {}, "differences": [], "baseline": null,'
            ' "plan": {"convention": "x"}}'),
            '{"schema": 1, "systems": ["a"], "metrics": {"m": {"a": 3}}, "differences": []}',
            ('{"schema": 1, "systems": ["a"], "metrics": {"m": {"a": {"mean": "x", "low": 1,'
            ' "high": 1}}}, "differences": [], "baseline": null, "plan": {"convention": "x"}}'),
            '{"schema": 1, "systems": "a", "metrics": [], "differences": 3}',
        ],
    )  # fmt: skip
    def test_json_of_another_shape_is_refused(self, tmp_path, content):
        path = tmp_path / "other.html"
        page = f'<script type="application/json" id="rankmeter-result">{content}</script>'
        path.write_text(page, "utf-8")
        done = rankmeter("report", "--read", path)
        assert (done.code, done.out) == (3, "")
        assert "rankmeter compare --report" in done.err

    def test_a_missing_file(self, tmp_path):
        done = rankmeter("report", "--read", tmp_path / "none.html")
        assert done.code == 3
        assert "none.html" in done.err


class TestContents:
    def test_nothing_is_asked_of_the_net(self, page, text):
        for tag, attributes in page.elements:
            for name in ("src", "href", "action", "data", "srcset", "poster"):
                assert re.match(r"#|data:,$", attributes.get(name) or "#"), (tag, attributes)
        style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)[1]
        assert not re.search(r"url\(|@import", style)

    def test_the_policy_allows_only_our_own_scripts_and_style(self, page):
        (policy,) = (a["content"] for a in page.all("meta") if "http-equiv" in a)
        assert policy.startswith("default-src 'none'; script-src 'sha256-")
        assert "unsafe" not in policy
        assert "http" not in policy
        assert not [
            a for _, a in page.elements if "style" in a or any(n.startswith("on") for n in a)
        ]

    def test_names_are_text_everywhere(self, page, text):
        assert page.all("img") == []
        assert "<img" not in text
        assert len(page.all("script")) == 5  # the result, the desk, and three scripts
        assert page.texts.count(EVIL) > 3
        assert f"difference from {EVIL}" not in text

    def test_no_name_is_read_as_a_markup_of_any_kind(self):
        """Units, Markdown and the titles of our own columns, in headers, rows, groups and cells."""
        names = (
            f"{EVIL}{{{{x}}}}",
            "b{{v2}}",
            "**bold** 5 % \n</script>\\ $x$ &amp; _i_ `c`",
            "user",
            "difference",
        )
        for a, b in zip(names, [*names[1:], names[0]], strict=True):
            truth = {f"{b} {number}": {"a"} for number in range(9)}
            flip = {user: number % 3 for number, user in enumerate(truth)}
            first = {user: ["a"] if flip[user] else ["b", "a"] for user in truth}
            second = {user: ["b", "a"] if flip[user] else ["a"] for user in truth}
            found = rm.compare(
                {a: first, b: second}, truth, "mrr", segments=dict.fromkeys(truth, a), test="t"
            )
            text = re.sub("<svg.*?</svg>", "", page_of(found), flags=re.DOTALL)
            tables = re.findall("<table>.*?</table>", text, re.DOTALL)
            assert len(tables) == 6  # means, differences, first hits, segments, users, counts
            for table in tables:
                page = Page(table)
                tags = {tag for tag, _ in page.elements}
                assert tags <= TABLE_TAGS
                told = [line.strip() for line in page.texts]
                assert len(told) - told.count("") > 6
                for name in (a, b):
                    assert any(name in line for line in told), (name, told)
            header = [text for text in Page(tables[4]).texts if text.strip()][1:5]
            assert header == ["user", a, b, "difference"]

    def test_everything_that_was_found_is_told(self, found, page):
        text = "".join(page.texts)
        for e in found.estimates.values():
            assert f"{e.mean:.4f}" in text
            assert f"[{e.low:.4f}, {e.high:.4f}]" in text
        for row in found.difference_table().rows:
            assert all(cell in text for cell in row)
        for line in found.plan.describe().splitlines():
            assert line in text
        for name, value in found.settings.items():
            assert name.replace("_", " ") in text
            assert ("none" if value is None else str(value)) in text
        for name in found.summaries["one"].counts:
            assert name.replace("_", " ") in text

    def test_who_cannot_see_it_can_follow_it(self, page):
        assert page.all("html") == [{"lang": "en"}]
        assert [len(page.all(tag)) for tag in ("main", "header", "nav", "h1")] == [1, 1, 1, 1]
        ids = {a["id"] for _, a in page.elements if "id" in a}
        for tag, attributes in page.elements:
            if "aria-labelledby" in attributes:
                assert attributes["aria-labelledby"] in ids, tag
            if tag == "a":
                assert attributes["href"].removeprefix("#") in ids
            if tag == "th":
                assert "scope" in attributes
        assert len(page.all("caption")) == len(page.all("table")) > 3

    def test_every_chart_describes_itself(self, page):
        charts = [svg for svg in page.all("svg") if svg["height"] != "14"]  # no bars
        # Two forests, two curves, the first hits, two charts of segments, and for each metric a
        # scatter and two pairs.
        assert len(charts) == 13 == len(page.all("figcaption"))
        assert all(one["role"] == "img" and len(one["aria-label"]) > 20 for one in charts)

    def test_size(self):
        names = [f"system {number}" for number in range(10)]
        many = compared(names, "ndcg@5,10 rr recall@10 precision@10", test="t")
        assert len(page_of(many).encode()) < 2_000_000

    def test_a_hundred_systems_stay_readable(self):
        names = [f"system {number}" for number in range(100)]
        text = page_of(compared(names, "rr", test="t", segments=None))
        assert len(re.findall(r"beats \d+<", text)) == 100
        assert "The first 200 of 4,950" in text
        assert "The 10 best of 100 systems" in text

    @pytest.mark.parametrize("name", ["altair", "jinja2", "vl_convert"])
    def test_what_is_not_installed_is_named(self, monkeypatch, tmp_path, found, name):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(MissingDependencyError, match=rf"{name}: pip install 'rankmeter\[rep"):
            found.report(tmp_path / "report.html")
        assert list(tmp_path.iterdir()) == []


class TestHeadline:
    truth = {u: {"a"} for u in range(40)}
    good = {u: ["a", "b"] for u in range(40)}
    bad = {u: ["b", "a"] for u in range(40)}
    mixed = {u: ["a"] if u % 2 else ["b", "a"] for u in range(40)}
    half = {u: ["b", "a"] if u % 2 else ["a"] for u in range(40)}

    def told(self, systems, **options):
        found = rm.compare(systems, self.truth, "rr", **options)
        return found.headline()

    @pytest.mark.parametrize(
        ("systems", "baseline", "title"),
        [
            ({"x": good, "y": bad}, "y", "x beats y on rr by 100.0%"),
            ({"x": good, "y": bad}, "x", "No system beats x on rr"),
            ({"x": mixed, "y": half}, "x", "No system beats x on rr"),
            ({"x": good, "y": bad}, None, "x beats y on rr by 100.0%"),
            ({"x": good, "y": mixed, "z": bad}, None, "x leads on rr by 33.3%, ahead of y"),
            ({"x": good, "y": good}, None, "x and y have the same rr"),
        ],
    )
    def test_says_what_is_better(self, systems, baseline, title):
        assert self.told(systems, baseline=baseline).title == title

    def test_says_if_there_is_nothing_to_compare(self):
        found = rm.compare({"x": {0: ["b", "a"]}, "y": {0: ["a"]}}, {0: {"a"}}, "rr")
        told = found.headline("RR")
        assert told.title == "The systems cannot be compared on rr"
        assert "at least 2 users" in told.sentences[0]

    def test_says_how_sure(self):
        slightly = {u: ["a"] if u < 21 else ["b", "a"] for u in range(40)}
        lead = self.told({"x": slightly, "y": self.mixed}, baseline="y")
        assert lead.title == "No system is shown to beat y on rr"
        assert "would have found a true difference of" in lead.sentences[2]
        clear = self.told({"x": self.good, "y": self.bad}, baseline="y")
        assert "x is better for 40 users, equal for 0, worse for 0" in clear.sentences[0]
        open_ = self.told({"x": slightly, "y": self.mixed})
        assert open_.title == "The data do not decide between x and y on rr"


@pytest.mark.skipif(BROWSER is None, reason="needs Chromium")
class TestBrowser:
    def opened(self, tmp_path, text):
        """The final page in the browser, and the console output."""
        (tmp_path / "report.html").write_text(text, "utf-8")
        profile, page = f"--user-data-dir={tmp_path / 'profile'}", tmp_path / "report.html"
        done = subprocess.run(
            [BROWSER, *FLAGS, profile, page.as_uri()],
            capture_output=True, text=True, timeout=120, check=True,
        )  # fmt: skip
        return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]

    def test_all_is_there_without_a_word_on_the_console(self, tmp_path, text):
        dom, said = self.opened(tmp_path, text)
        assert said == []
        page, before = Page(dom), Page(text)
        assert len(page.all("svg")) == len(before.all("svg"))
        assert page.all("img") == []
        # Two tools for each table, and a button to sort by each column; for each chart two, too.
        columns = [one for one in before.all("th") if one["scope"] == "col"]
        tools = len(before.all("table")) + len(before.all("figure"))
        desk = len(
            re.findall("<button", dom[dom.index('id="desk-part"') : dom.index('id="users-')])
        )
        assert len(page.all("button")) == 2 * tools + len(columns) + desk
        assert f"{EVIL} 0" in page.texts  # a segment, on an axis
        assert any(one.startswith("difference from <img src=x") for one in page.texts)

    def test_the_browser_would_tell_of_anything_that_is_fetched_or_run(self, tmp_path, text):
        """The check above can fail: the console reports what the policy forbids."""
        for foreign in (
            '<img src="http://example.org/x.png">',
            "<script>document.title = 1</script>",
            '<p style="color: red">',
        ):
            _, said = self.opened(tmp_path, text.replace("<footer>", f"{foreign}<footer>"))
            assert len(said) == 1
            assert "Content Security Policy" in said[0]

    def test_a_result_without_anything_to_draw(self, tmp_path):
        nothing = rm.compare({"x": [["a"]], "y": [["a"]]}, [{"a": 0}], "rr")
        dom, said = self.opened(tmp_path, page_of(nothing))
        assert said == []
        assert "<button" in dom


@pytest.mark.skipif(LATEX is None, reason="needs pdfLaTeX with booktabs")
def test_latex_tables_compile(tmp_path):
    names = (EVIL, "[50 %] Café_1", "* a&b #1 $2 ~^\\{}", '− ▲▼ – ≥ ≤ -1 "q" | new\n\nline')
    all_pairs = compared(names, test="t")
    against = compared(names, baseline=EVIL, test="t")
    truth = {u: {"a"} for u in range(20)}
    seeds = [{u: ["b", "a"] if u % n else ["a"] for u in truth} for n in (2, 3, 4)]
    several = rm.compare({EVIL: seeds, "* one": seeds[0]}, truth, "rr hr@1", ties="expected")
    (tmp_path / "references.bib").write_text(against.cite("bibtex"), "utf-8")
    tables = [
        all_pairs.to_latex(),
        against.to_latex(),
        against.difference_table().to_latex(),
        against.summaries[EVIL].to_latex(),
        against.summaries[EVIL].to_latex(caption="One", label="tab:one", digits=2),
        against.to_latex(caption="All", label="tab:all", intervals=True),
        several.to_latex(intervals=True),
        *(result.cite("latex") for result in (against, several, against.summaries[EVIL])),
        r"\bibliographystyle{plain}\bibliography{references}",
    ]
    source = "\n\n".join(
        [r"\documentclass{article}", r"\usepackage{booktabs}", r"\begin{document}", *tables]
    )
    (tmp_path / "tables.tex").write_text(f"{source}\n\\end{{document}}\n", "utf-8")
    latex = [LATEX, "-interaction=nonstopmode", "-halt-on-error", "tables.tex"]
    for command in (latex, [shutil.which("bibtex"), "tables"], latex, latex):
        done = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, errors="replace",
            timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-2000:]
    assert "undefined" not in done.stdout
    assert (tmp_path / "tables.pdf").stat().st_size > 10_000


def test_latex_spells_marks_and_minus_signs():
    text = rm.compare(
        {"x": {u: ["a"] for u in range(30)}, "y": {u: ["b", "a"] for u in range(30)}},
        {u: {"a"} for u in range(30)},
        "rr",
        baseline="x",
    )
    assert "y & 2 & 0.5000$^{-}$ " in text.to_latex()
    assert (
        r"y $-$ x & rr & $-$0.5000 & {[$-$0.5347, $-$0.4653]}" in text.difference_table().to_latex()
    )
