"""Tables for papers, means as a frame, and what public objects show of themselves."""

from __future__ import annotations

import polars as pl
import pytest

import rankmeter as rm
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
