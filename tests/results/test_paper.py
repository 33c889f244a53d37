"""Tables for papers, means as a frame, and what public objects show of themselves."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import rankmeter as rm
from command_line import rankmeter
from rankmeter.errors import UsageError

pytestmark = pytest.mark.once

TRUTH = {u: {"a"} for u in range(40)}


def lists(rank):
    return {u: ["x", "y", "z", "v", "w"][: rank - 1] + ["a"] for u in TRUTH}


SYSTEMS = {"old_1": lists(3), "new": lists(1), "mid": lists(2)}


@pytest.fixture(scope="module")
def found():
    return rm.compare(SYSTEMS, TRUTH, "ndcg@2,5 mr", baseline="old_1")


def test_the_best_is_bold_and_the_second_underlined(found):
    rows = found.to_latex().splitlines()
    rows = rows[rows.index(r"\midrule") + 1 :]
    assert rows[0].startswith(r"old\_1 & 3 & 0.0000 & 0.5000 & 3.0000 ")
    assert rows[1].startswith(r"new & 1 & \textbf{1.0000}$^{+}$ & \textbf{1.0000}$^{+}$ & ")
    assert r"& \underline{2.0000}$^{+}$ \\" in rows[2]  # lower is better
    assert "| **1.0000** ▲ |" in found.to_markdown()
    assert "| <ins>2.0000</ins> ▲ |" in found.to_markdown()


def test_cutoffs_are_under_one_head(found):
    text = found.to_latex()
    assert r" &  & \multicolumn{2}{c}{ndcg} &  \\" + "\n" + r"\cmidrule(lr){3-4}" in text
    assert r"system & rank & @2 & @5 & mr \\" in text


def test_caption_label_digits_and_intervals(found):
    text = found.to_latex(caption="Main", label="tab:main", digits=2, intervals=True)
    assert "\\begin{table}\n\\centering\n\\caption{Main}\n\\label{tab:main}\n" in text
    assert text.endswith("\\end{table}")
    assert r"\textbf{1.00}$^{+}$ {\scriptsize {[" in text
    with pytest.raises(UsageError, match="digits"):
        found.to_latex(digits=-1)


def test_marks_are_explained_below_the_last_rule(found):
    below = found.to_latex().partition("\\bottomrule\n")[2].splitlines()
    assert below[-1] == r"\end{tabular}"
    start, end = r"\multicolumn{5}{@{}l@{}}{\footnotesize ", r"} \\"
    assert all(line.startswith(start) and line.endswith(end) for line in below[:-1])
    said = " ".join(line.removeprefix(start).removesuffix(end) for line in below[:-1])
    assert said.endswith(" convention rankmeter: items with a gain above 0 are relevant")
    assert said.startswith(r"$^{+}$ $^{-}$ significantly better, worse than old\_1 (randomization,")
    letters = rm.compare(SYSTEMS, TRUTH, "rr").to_latex().partition("\\bottomrule\n")[2]
    assert letters.startswith(r"\multicolumn{3}{@{}l@{}}{\footnotesize letters: the systems that")
    same = rm.compare({"one": lists(1), "two": lists(1)}, TRUTH, "rr").to_latex()
    below = same.partition("\\bottomrule\n")[2]
    assert below.startswith(r"\multicolumn{3}{@{}l@{}}{\footnotesize rank: the places on rr that")


def test_one_evaluation_has_digits_a_caption_and_a_label():
    result = rm.evaluate(SYSTEMS["mid"], TRUTH, "rr ndcg@5")
    text = result.to_latex(digits=2, caption="Main", label="tab:main")
    assert "\\begin{table}\n\\centering\n\\caption{Main}\n\\label{tab:main}\n" in text
    assert "ndcg@5 & 0.63 & {[0.47, 0.77]} & 40 " in text
    assert text.endswith("\\end{tabular}\n\\end{table}")
    assert "| ndcg@5 | 0.631 | [0.471, 0.766] | 40 |" in result.to_markdown(digits=3)
    with pytest.raises(UsageError, match="digits"):
        result.to_markdown(digits=16)


def test_equal_means_are_best_together_as_they_are_printed():
    systems = {"one": lists(1), "two": lists(1), "three": lists(2)}
    text = rm.compare(systems, TRUTH, "rr").to_latex()
    assert text.count(r"\textbf{1.0000}") == 2
    assert r"\underline{0.5000}" in text
    same = rm.compare({"one": lists(1), "two": lists(1)}, TRUTH, "rr").to_latex()
    assert r"\textbf" not in same


def test_systems_that_lead_together_are_named_together():
    systems = {"one": lists(1), "two": lists(1), "three": lists(2)}
    assert rm.compare(systems, TRUTH, "rr").headline().title == (
        "one and two lead on rr, with the same values"
    )


def test_letters_are_raised():
    assert r"\textbf{1.0000}$^{\mathrm{ac}}$" in rm.compare(SYSTEMS, TRUTH, "rr").to_latex()


def test_means_are_a_frame_of_systems_and_metrics(found):
    frame = found.means()
    assert frame.columns == ["system", "ndcg@2", "ndcg@5", "mr"]
    assert frame["system"].to_list() == ["old_1", "new", "mid"]
    assert frame["mr"].to_list() == [3.0, 1.0, 2.0]


def test_values_from_elsewhere_are_printed_alike():
    values = pl.DataFrame({"system": ["a"] * 9 + ["b"] * 9, "user": [*range(9)] * 2,
                           "value": [0.5] * 9 + [0.7] * 9})  # fmt: skip
    compared = rm.compare_values(values)
    assert r"\textbf{0.7000}" in compared.to_latex()
    assert "user" in " ".join(compared.sentences())


@pytest.mark.parametrize(
    ("thing", "start"),
    [
        (lambda r: r.plan, "convention  rankmeter"),
        (lambda r: r.scores, "Values of rr, ndcg@2 for 40 users"),
        (lambda _: rm.accumulator("rr"), "Accumulator of rr (keep="),
        (lambda _: rm.link_queries([(0, 0, 1)]), "LinkQueries: 2 queries, 1 relation"),
        (lambda _: rm.curve([["a"]], [{"a"}], "rr", 3), "Curve of rr"),
    ],
)
def test_public_objects_say_what_they_are(thing, start):
    result = rm.evaluate(SYSTEMS["new"], TRUTH, "rr ndcg@2")
    shown = repr(thing(result))
    assert shown.startswith(start)
    assert len(shown.splitlines()) < 40


# -- what a paper must say: the convention, the spread over seeds, a sentence to cite -------------

SEEDS = [lists(1), lists(2), {u: lists(1 + u % 2)[u] for u in TRUTH}]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "convention rankmeter: items with a gain above 0 are relevant"),
        ({"like": "ranx"}, "convention ranx 0.3.21: items with a gain of at least 1 are relevant"),
        (
            {"ties": "expected"},
            "convention rankmeter with ties=expected: items with a gain above 0 are",
        ),
        ({"relevant": ">=1"}, "convention rankmeter: items with a gain of at least 1 are relevant"),
    ],
)
def test_the_convention_is_printed_and_cited(options, said):
    result = rm.evaluate(lists(2), TRUTH, "rr ndcg@5", **options)
    both = rm.compare({"one": lists(1), "two": lists(2)}, TRUTH, "rr ndcg@5", **options)
    for made in (result, both):
        below = made.to_latex().partition("\\bottomrule\n")[2]
        words = " ".join(
            line.partition("footnotesize ")[2].removesuffix(r"} \\") for line in below.split("\n")
        )
        assert said in words
        assert f"rr and ndcg@5 were computed with rankmeter {rm.__version__} ({said}" in made.cite()
        assert made.to_dict()["citation"] == made.cite()


def test_options_that_differ_between_metrics_are_not_passed_over():
    result = rm.evaluate(lists(2), TRUTH, "ndcg(gain=exp2)@5 rr")
    assert result.cite().startswith("ndcg(gain=exp2)@5 and rr were computed")


def test_a_mean_of_several_seeds_has_its_spread_in_latex_and_markdown():
    found = rm.compare({"seeds": SEEDS, "one": lists(2)}, TRUTH, "rr", baseline="one")
    means = [rm.evaluate(run, TRUTH, "rr")["rr"].mean for run in SEEDS]
    spread = f"{pl.Series(means).std():.4f}"
    assert rf"\textbf{{0.7500}} {{\scriptsize $\pm$ {spread}}}" in found.to_latex()
    assert rf"{{\scriptsize $\pm$ {spread} [" in found.to_latex(intervals=True)
    assert f"| **0.7500** ± {spread} |" in found.to_markdown()
    assert "standard deviation over runs (3 training runs of seeds; 1" in found.to_markdown()
    assert found.cite().endswith("; 3 training runs of seeds; 1 training run of one).")
    same = rm.compare({"x": SEEDS, "y": SEEDS[::-1]}, TRUTH, "rr")
    assert "(3 training runs of each system)" in same.to_markdown()
    once = rm.compare({"x": SEEDS[0], "y": SEEDS[1]}, TRUTH, "rr")
    assert "±" not in once.to_markdown() + once.to_latex() + once.cite()


def test_a_citation_has_three_forms():
    result = rm.evaluate(lists(2), TRUTH, "r_precision")
    assert rf"r\_precision was computed with rankmeter {rm.__version__}~\cite{{rankmeter}} (" in (
        result.cite("latex")
    )
    assert result.cite("bibtex").startswith("@misc{rankmeter,")
    assert rm.compare_values({"a": [1, 0], "b": [0, 1]}).cite().startswith("value was averaged")
    with pytest.raises(UsageError, match="form"):
        result.cite("apa")
    many = rm.evaluate(lists(2), TRUTH, "hr@1,2,3,4,5,6,7,8,9").cite()
    assert many.startswith("hr@1, hr@2, hr@3, hr@4, hr@5, hr@6, hr@7 and 2 others were computed")


def test_the_entry_agrees_with_the_file_of_the_repository():
    file = Path(__file__).parents[2] / "CITATION.cff"
    said = dict(
        line.split(": ", 1) for line in file.read_text("utf-8").splitlines() if ": " in line
    )
    entry = rm.evaluate(lists(2), TRUTH, "rr").cite("bibtex")
    assert said["title"].strip('"') in entry.replace("{rankmeter}:", "rankmeter:")
    assert f"Version {said['version']}" in entry
    assert said["  - name"] in entry


def test_a_page_is_cited_in_a_shell(tmp_path):
    found = rm.compare({"one": lists(1), "two": lists(2)}, TRUTH, "rr")
    found.report(tmp_path / "page.html")
    text = rankmeter("cite", "--read", str(tmp_path / "page.html")).out
    assert text == f"{found.cite()}\n\n{found.cite('bibtex')}\n"
    latex = rankmeter("cite", "--read", str(tmp_path / "page.html"), "--form", "latex").out
    assert latex == found.cite("latex") + "\n"
    assert rankmeter("cite", "--form", "bibtex").out == found.cite("bibtex") + "\n"
    assert rankmeter("cite").out.startswith("All numbers were computed with rankmeter")
    page = (tmp_path / "page.html").read_text("utf-8").replace('"citation"', '"quotation"')
    (tmp_path / "old.html").write_text(page, "utf-8")
    assert "write the page again" in rankmeter("cite", "--read", str(tmp_path / "old.html")).err
