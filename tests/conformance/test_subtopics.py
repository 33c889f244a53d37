"""Judgments by subtopic against ir_measures, as recorded by ``record_subtopics.py``."""

import json
import math
from pathlib import Path

import polars as pl
import pytest

import rankmeter as rm

RECORDED = json.loads(
    (Path(__file__).parents[1] / "data" / "ir_measures_subtopics.json").read_text()
)
pytestmark = pytest.mark.once
ROUNDING = 5e-4
"""With alpha=0.2 the greedy ideal compares sums that differ in the last bit."""


def values(case, folder):
    """The value of each measure for each query; run and judgments are read from TREC files."""
    qrels, run = folder / "qrels", folder / "run"
    qrels.write_text("".join(" ".join(map(str, row)) + "\n" for row in case["qrels"]))
    run.write_text("".join(f"{q} Q0 {doc} 1 {score} tag\n" for q, doc, score in case["run"]))
    return rm.evaluate(run, qrels, list(case["values"]), like="ir_measures").per_user


@pytest.mark.parametrize("case", RECORDED["cases"])
def test_every_query_has_the_value_of_ir_measures(case, tmp_path):
    per_query = values(case, tmp_path)
    for measure, recorded in case["values"].items():
        if measure.endswith("@1") and measure.startswith(("ERR_IA", "alpha_DCG")):
            continue  # pyndeval does not divide by the largest possible value at rank 1
        ours = dict(zip(per_query["user"], per_query[measure], strict=True))
        # A query without anything relevant has nNRBP = 0 / 0 in pyndeval.
        wanted = {q: 0.0 if math.isnan(value) else value for q, value in recorded.items()}
        tolerance = ROUNDING if "alpha=0.2" in measure else 1e-12
        assert ours == pytest.approx(wanted, abs=tolerance, rel=0), measure


def test_few_values_differ_by_the_rounding_of_an_ideal(tmp_path):
    differ = n = 0
    for case in RECORDED["cases"]:
        per_query = values(case, tmp_path)
        for measure, recorded in case["values"].items():
            if "alpha=0.2" in measure and not measure.endswith("@1"):
                ours = dict(zip(per_query["user"], per_query[measure], strict=True))
                differ += sum(abs(ours[q] - value) > 1e-12 for q, value in recorded.items())
                n += len(recorded)
    assert 0 < differ <= 0.01 * n


def test_all_forms_of_judgments_by_subtopic_agree(tmp_path):
    case = RECORDED["cases"][3]
    wanted = values(case, tmp_path)
    names = ["query_id", "iteration", "doc_id", "relevance"]
    frame = pl.DataFrame(case["qrels"], schema=names, orient="row")
    others = [
        frame,
        frame.sample(fraction=1.0, shuffle=True, seed=1),
        frame.to_pandas(),
        frame.rename({"query_id": "user", "iteration": "intent", "doc_id": "item"}),
        frame.to_dicts(),
    ]
    path = tmp_path / "judgments.csv"
    frame.write_csv(path)
    for truth in (*others, path):
        result = rm.evaluate(tmp_path / "run", truth, list(case["values"]), like="ir_measures")
        assert result.per_user.equals(wanted), truth
