"""The documentation: lists are complete, and pages load nothing from elsewhere.

Their examples run in `make test-wheel`: `installed.py`.
"""

from __future__ import annotations

import html
import inspect
import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from html.parser import HTMLParser
from pathlib import Path
from typing import get_args

import pytest

import rankmeter as rm
from command_line import rankmeter
from rankmeter._choices import CHOICES
from rankmeter.conventions import convention_names
from rankmeter.metrics import METRICS

pytestmark = pytest.mark.once

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


@pytest.fixture(autouse=True)
def extensions(monkeypatch):
    """Make the generators of the pages importable."""
    monkeypatch.syspath_prepend(DOCS / "_ext")


TIES = get_args(get_args(inspect.signature(rm.evaluate).parameters["ties"].annotation)[0])


@pytest.mark.parametrize("rule", TIES)
def test_every_tie_rule_is_on_its_page(rule):
    assert f"| `{rule}` |" in (DOCS / "guide" / "ties.md").read_text("utf-8")


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_has_a_page(name):
    pytest.importorskip("sphinx")
    from rankmeter_docs.metric_pages import page

    text = page(METRICS[name])
    for heading in ("Formula", "On the example list", "Names", "Example"):
        assert f"\n{heading}\n---" in text, f"the page of {name} has no section {heading}"


def test_a_metric_without_a_formula_has_no_complete_page(monkeypatch):
    pytest.importorskip("sphinx")
    from rankmeter_docs import metric_pages

    monkeypatch.setattr(metric_pages, "formulas", dict)
    assert "\nFormula\n---" not in metric_pages.page(METRICS["ndcg"])


def test_formulas_are_of_metrics_and_can_be_set():
    pytest.importorskip("docutils")
    from docutils.utils.math.latex2mathml import tex2mathml

    formulas = tomllib.loads((DOCS / "formulas.toml").read_text("utf-8"))
    assert set(formulas) <= set(METRICS)
    for name, entry in formulas.items():
        assert "<math" in tex2mathml(entry["formula"], as_block=True), name


def test_a_formula_defines_the_metrics_that_it_is_made_of():
    for name, entry in tomllib.loads((DOCS / "formulas.toml").read_text("utf-8")).items():
        formula, where = entry["formula"], entry.get("where", "")
        _, _, right = formula.partition("=")
        for other in re.findall(r"\\text\{(P|R|NDCG|DCG|IDCG|ERR|iprec|judged)@\}", right):
            defined = re.search(rf"\\text\{{{other}@\}}[^,=]*= ", right) is not None
            said = re.search(rf"\b{other}\b(?:@\S+)?(?: is| and| are)", where) is not None
            assert defined or said, (name, other)


@pytest.mark.parametrize(
    ("english", "korean"),
    [
        ("precision", "정밀도"),
        ("recall", "재현율"),
        ("hit rate", "적중률"),
        ("mean rank", "평균 순위"),
        ("reciprocal rank", "역순위"),
        ("cumulative gain", "누적 이득"),
        ("relevant item", "정답 아이템"),
        ("recommendation list", "추천 리스트"),
        ("evaluation metric", "평가 지표"),
        ("ranking metric", "순위 성능 지표"),
        ("diversity", "다양성"),
        ("statistics-based recommendation", "통계 기반 추천"),
    ],
)
def test_glossary_has_the_terms_of_the_sources(english, korean):
    pytest.importorskip("sphinx")
    from rankmeter_docs.glossary_index import terms

    assert english == terms()[korean]


def test_every_entry_of_the_glossary_is_explained_in_both_languages():
    pytest.importorskip("sphinx")
    from rankmeter_docs.glossary_index import GLOSSARY, terms

    text = GLOSSARY.read_text("utf-8").partition("```{glossary}")[2].partition("```")[0]
    for korean, english in terms().items():
        entry = text.partition(f"\n{english}\n{korean}\n")[2].partition("\n\n\n")[0]
        first, second = entry.split("\n\n")[:2]
        assert re.search("[a-z]{3}", first), english
        assert re.search("[가-힣]{2}", second), english


def test_summaries_in_korean_are_of_metrics_and_a_missing_one_is_noted():
    pytest.importorskip("sphinx")
    from rankmeter_docs.korean_summaries import sections

    texts = [entry for section in sections().values() for entry in section.items()]
    names = [name for name, _ in texts]
    assert len(names) == len(set(names))
    assert set(names) <= set(METRICS)
    for name, text in texts:
        assert 2 <= len(re.findall(r"[가-힣]\.(?: |\Z)", text)) <= 5, name
        assert text.count("`") % 2 == 0, name
    if missing := METRICS.keys() - set(names):
        names = ", ".join(sorted(missing))
        sys.stderr.write(f"no summary in Korean of {names}: docs/korean.toml\n")


@pytest.mark.parametrize(
    ("metric", "needed"),
    [
        ("ndcg", "ground truth"),
        ("novelty", "``train=``"),
        ("efd", "ground truth, ``train=``"),
        ("calibration", "``train=``, ``items=``"),
        ("personalization", ""),
    ],
)
def test_what_a_metric_needs(metric, needed):
    from rankmeter_docs.needs import needs

    assert needs(metric) == needed


def test_the_page_for_language_models_is_that_of_the_registry():
    from rankmeter_docs import llms

    made = llms.text()
    assert llms.FILE.read_text("utf-8") == made, "`make llms` writes docs/llms.txt again"
    for name, spec in METRICS.items():
        assert f"\n- [{name}](metrics/{name}.html): " in made
        assert all(f"`{option}` (" in made for option in spec.options), name
    for name in convention_names():
        assert f'`like="{name}"`' in made
    for name in CHOICES:
        assert f"\n- `{name}`" in made
    for link in re.findall(r"\]\(((?:guide/|ko/)?[\w-]+)\.html\)", made):
        assert (DOCS / f"{link}.md").is_file(), link


def test_matrix_of_agreement_tells_full_partial_and_no_agreement():
    pytest.importorskip("sphinx")
    from rankmeter_docs.conventions import agreement

    same = {"compared": 90, "largest": 1e-16, "differs": 0, "excused": []}
    text = agreement(
        {
            "one": {"NDCG": {"metric": "ndcg", **same}, "MAP": {"metric": "ap", **same}},
            "two": {
                "ndcg": {"metric": "ndcg(gain=exp2)", **same, "excused": ["it rounds"]},
                "rr": {"metric": "rr", **same, "differs": 3},
            },
        }
    )
    tools = re.findall(r'<th scope="col"><a href="\w+\.html">(\w+)</a></th>', text)
    rows = re.findall(r'<th scope="row"><code>(\w+)</code></th>(.*?)</tr>', text)
    shown = {
        name: dict(zip(tools, re.findall(r"<td[^>]*>(?:<abbr[^>]*>)?(.?)<?", row), strict=True))
        for name, row in rows
    }
    assert shown == {
        "ap": {"one": "✓", "two": "<"},
        "rr": {"one": "<", "two": "≠"},
        "ndcg": {"one": "✓", "two": "≈"},
    }


def test_korean_is_marked_in_text_and_not_in_tags():
    pytest.importorskip("sphinx")
    from rankmeter_docs.korean import mark

    body = '<dt id="정밀도">정밀도<a title="정밀도">¶</a></dt><p>MAP (평균 정밀도)</p>'
    assert mark(body) == (
        '<dt id="정밀도"><span lang="ko">정밀도</span><a title="정밀도">¶</a></dt>'
        '<p>MAP (<span lang="ko">평균 정밀도</span>)</p>'
    )


# -- the pages --------------------------------------------------------------------------------


class Page(HTMLParser):
    """The resources that a page loads, and the targets of its links."""

    LOADING = {
        "script": ("src",),
        "link": ("href",),
        "img": ("src", "srcset"),
        "source": ("src", "srcset"),
        "iframe": ("src",),
        "object": ("data",),
        "embed": ("src",),
        "video": ("src", "poster"),
        "audio": ("src",),
        "use": ("href", "xlink:href"),
        "image": ("href", "xlink:href"),
    }

    def __init__(self, path):
        super().__init__()
        self.loads, self.links, self.formulas = [], [], 0
        self.text = path.read_text("utf-8")
        self.feed(self.text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.loads += [found[name] for name in self.LOADING.get(tag, ()) if found.get(name)]
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        self.formulas += tag == "math"


def leaves(address):
    return re.match(r"\s*(?:[a-z]+:)?//", address, re.IGNORECASE) is not None


def test_what_a_page_loads_from_elsewhere_is_noticed(tmp_path):
    page = tmp_path / "page.html"
    page.write_text(
        '<script src="https://cdn.example/a.js"></script><link href="//fonts.example/b.css">'
        '<img src="logo.svg"><a href="https://example.org">elsewhere</a>'
    )
    found = [address for address in Page(page).loads if leaves(address)]
    assert found == ["https://cdn.example/a.js", "//fonts.example/b.css"]


def test_pages_build_without_a_warning_complete_and_self_contained():
    """One test, because the build takes long; `make docs` continues it."""
    pytest.importorskip("sphinx", reason="the group docs is not installed")
    out = DOCS / "_build" / "html"
    shutil.rmtree(out, ignore_errors=True)
    built = subprocess.run(
        [sys.executable, "-m", "sphinx", "-n", "-W", "--keep-going", "-q", "-b", "html"]
        + [str(DOCS), str(out)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    pages = {p.relative_to(out).as_posix(): Page(p) for p in out.rglob("*.html")}
    loaded_from_elsewhere(out, pages)
    complete(pages)
    computed(pages)
    searched(out)
    if BROWSER is not None:
        named = [name for name in pages if not name.startswith("_static")]
        assert parts_that_are_cut(out, named) == {}


def loaded_from_elsewhere(out, pages):
    for name, page in pages.items():
        assert [address for address in page.loads if leaves(address)] == [], name
        assert [link for link in page.links if link.startswith("mailto:")] == [], name
        assert "MathJax" not in page.text, name
    for sheet in out.rglob("*.css"):
        found = re.findall(r"url\(([^)]*)\)|@import\s+([^;]*)", sheet.read_text("utf-8"))
        loads = [("".join(parts)).strip("'\" ") for parts in found]
        assert [address for address in loads if leaves(address)] == [], sheet.name
    for script in out.rglob("*.js"):
        calls = re.findall(
            r"(?:fetch|import|importScripts)\(\s*[\"'`]((?:https?:)?//[^\"'`]*)|"
            r"\.src\s*=\s*[\"'`]((?:https?:)?//[^\"'`]*)",
            script.read_text("utf-8"),
        )
        assert calls == [], script.name


def searched(out):
    """A search in a browser, of pages on a disk: the page of the name first, with an excerpt."""
    if (browser := shutil.which("chromium") or shutil.which("google-chrome")) is None:
        return
    flags = ("--headless", "--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP * ~NOTFOUND")
    done = subprocess.run(
        [browser, *flags, "--virtual-time-budget=5000", "--dump-dom"]
        + [f"--user-data-dir={out / 'profile'}", f"{(out / 'search.html').as_uri()}?q=ndcg"],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    shutil.rmtree(out / "profile", ignore_errors=True)
    first = re.search(r'<ul[^>]* class="search">(.*?)</li>', done.stdout, re.DOTALL)[1]
    assert 'href="metrics/ndcg.html"' in first
    assert "DCG over that of the ideal ranking." in re.sub("<.*?>", "", first)


def complete(pages):
    from rankmeter_docs.metric_pages import formulas
    from rankmeter_docs.public import objects, ready_made

    for name, spec in METRICS.items():
        page = pages[f"metrics/{name}.html"]
        for synonym in spec.synonyms:
            assert f">{synonym}</span>" in page.text, (name, synonym)
        for option in spec.options:
            assert f">{option}<" in page.text, (name, option)
        assert page.formulas >= (name in formulas()), name
        assert f'href="{name}.html"' in pages["metrics/index.html"].text
    for name in convention_names():
        assert f"conventions/{name}.html" in pages
    assert any("copybutton.js" in address for address in pages["gallery.html"].loads)
    assert "_static/report.html" in pages["gallery.html"].links
    wall = re.findall(r'<li><a href="#([\w-]+)"><div aria-hidden', pages["gallery.html"].text)
    shown = re.findall(r"\{(?:shown|framed)\}", (DOCS / "gallery.md").read_text("utf-8"))
    assert len({*wall}) == len(wall) == len(shown)
    assert all(f'<section id="{section}">' in pages["gallery.html"].text for section in wall)
    numbers = pages["conventions/numbers.html"].text
    assert numbers.count("the defaults of rankmeter") == 4
    assert all(
        f"{tool}.html" in numbers for tool in ("lightgbm", "sklearn", "trec_eval", "lenskit")
    )
    assert "sig-line" in pages["api/rankmeter.evaluate.html"].text
    assert not [name for name, page in pages.items() if re.search(r"<dl>\s*<dd>", page.text)]
    reference = pages["api/index.html"].text
    for full in objects():
        assert f"api/{full}.html" in pages or f'id="{full}"' in reference, full
    for name in ready_made():
        assert f"rm.{name}<" in reference, name
    for name in inspect.unwrap(rm.evaluate).__kwdefaults__:
        assert f"--{name.replace('_', '-')}" in pages["guide/command-line.html"].text, name


def computed(pages):
    """Numbers from the literature on pages that compute them at build time."""
    for page, numbers in {
        "metrics/ap.html": "0.4611 0.2767 0.6917 0.4533 0.3778 0.7556",
        "metrics/ndcg.html": "0.6693 0.6577 0.6664 0.5903 0.8815",
        "metrics/recall.html": "0.5000 0.6000",
        "metrics/rbp.html": "0.4519",
        "metrics/err.html": "0.8958",
        "guide/ties.html": "0.179887 0.3520134 0.3611111 0.5205354 0.09633838 0.284819 10.5",
        "errata.html": "6.5972 0.9238 2.8",
    }.items():
        for number in numbers.split():
            assert f">{number}<" in pages[page].text, (page, number)


@pytest.mark.parametrize("name", METRICS)
def test_a_page_has_a_line_to_copy_that_runs(name):
    from rankmeter_docs.example import RANKING, truth_for
    from rankmeter_docs.metric_pages import line, page
    from rankmeter_docs.needs import SIDE

    spec = METRICS[name]
    call = line(spec)
    assert f".. code-block:: python\n\n   {call}\n" in page(spec)
    known = {"rankings": {"u": list(RANKING)}, "truth": {"u": truth_for(spec)}, **SIDE}

    assert [*eval(call, {"rm": rm, **known})]


def test_every_line_of_the_cookbook_runs(tmp_path, monkeypatch):
    pytest.importorskip("sphinx")
    from rankmeter_docs.recipes import book

    monkeypatch.chdir(tmp_path)
    names = {}
    exec(book()["data"], names)
    (tmp_path / "qrels.txt").write_text("q1 0 d1 1\nq2 0 d2 1\n")
    for run, first in (("bm25", 1), ("rerank", 2)):
        lines = (f"q{q} Q0 d{d} {d} {9 - d} {run}\n" for q in (1, 2) for d in (first, 3 - first))
        (tmp_path / f"{run}.run").write_text("".join(lines))
    for recipe in (recipe for section in book()["section"] for recipe in section["recipe"]):
        line = recipe["line"]
        if line.startswith("rankmeter "):
            done = rankmeter(*shlex.split(line)[1:])
            assert done.code in ({0, 1} if "--fail-if" in line else {0}), (line, done.err)
            assert done.out, line
        else:
            assert eval(line, names) is not None, line


def test_shapes_of_the_cookbook_have_korean_names():
    pytest.importorskip("sphinx")
    from rankmeter_docs.recipes import english_shapes, korean_shapes

    assert english_shapes().count("* - ") == korean_shapes().count("* - ")


BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
CUT = """
(async () => {
  const cut = {};
  for (const page of PAGES) {
    const frame = document.createElement("iframe");
    frame.style.cssText = "width:1280px;height:900px;border:0";
    frame.src = page;
    await new Promise((done) => { frame.onload = done; document.body.append(frame); });
    const { document: inside, getComputedStyle: style } = frame.contentWindow;
    const parts = [inside.documentElement, ...inside.querySelectorAll(".bd-article *")]
      .filter((part) => part.clientWidth && part.scrollWidth > part.clientWidth + 1)
      .filter((part) => !["visible", ""].includes(style(part).overflowX))
      .filter((part) => !part.closest("svg, math, [aria-hidden]") && !part.querySelector("iframe"));
    if (parts.length)
      cut[page] = parts.map((part) =>
        `${part.tagName}.${part.className}: ${part.scrollWidth} in ${part.clientWidth}: ${
          part.textContent.trim().slice(0, 40)}`);
    frame.remove();
  }
  const out = document.createElement("pre");
  out.id = "cut";
  out.textContent = JSON.stringify(cut);
  document.body.append(out);
})();
"""


def parts_that_are_cut(out, pages):
    """What is wider than its place in a window of 1,280 px, by page."""
    harness = out / "harness.html"
    script = CUT.replace("PAGES", json.dumps(pages))
    harness.write_text(f'<!doctype html><meta charset="utf-8"><body><script>{script}</script>')
    flags = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-web-security")
    done = subprocess.run(
        [BROWSER, *flags, "--allow-file-access-from-files", "--window-size=1280,900"]
        + ["--host-resolver-rules=MAP * ~NOTFOUND", "--virtual-time-budget=600000", "--dump-dom"]
        + [f"--user-data-dir={out / 'profile'}", harness.as_uri()],
        capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    harness.unlink()
    shutil.rmtree(out / "profile", ignore_errors=True)
    return json.loads(html.unescape(re.search('<pre id="cut">(.*?)</pre>', done.stdout)[1]))


@pytest.mark.skipif(BROWSER is None, reason="needs Chromium")
def test_a_part_that_is_cut_is_noticed(tmp_path):
    wide = '<pre style="width:300px;overflow:auto">' + "wide " * 50 + "</pre>"
    (tmp_path / "page.html").write_text(f'<article class="bd-article">{wide}</article>')
    (tmp_path / "good.html").write_text('<article class="bd-article"><p>short</p></article>')
    assert [*parts_that_are_cut(tmp_path, ["page.html", "good.html"])] == ["page.html"]
