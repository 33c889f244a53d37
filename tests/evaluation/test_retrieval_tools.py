"""What retrieval tools take from rankmeter: a provider, experiments, data sets by name."""

from __future__ import annotations

import sys

import pytest

import rankmeter as rm
from command_line import rankmeter
from rankmeter.errors import DataError, MissingDependencyError

pytestmark = pytest.mark.once

QRELS = {"q1": {"d2": 2, "d4": 1, "d7": 0}, "q2": {"d4": 1}, "q3": {"d1": 0}, "q4": {"d1": 1}}
RUN = {
    "q1": {"d1": 0.9, "d2": 0.8, "d3": 0.8, "d4": 0.1},
    "q2": {"d2": 0.6, "d4": 0.5},
    "q3": {"d1": 1.0},
}
MEASURES = [
    *("nDCG", "nDCG@10", "nDCG@2", "AP", "AP@2", "AP(rel=2)", "RR", "RR@2", "P@2", "R@2", "Rprec"),
    *("P(judged_only=True)@2", "Success@1", "Bpref", "NumRet", "NumRel", "NumRet(rel=1)"),
    *("Judged@2", "infAP", "SetP", "IPrec@0.1"),
]


@pytest.mark.parametrize("name", MEASURES)
def test_the_provider_has_the_values_of_ir_measures(name):
    ir_measures = pytest.importorskip("ir_measures")
    measure = ir_measures.parse_measure(name)
    provider = rm.ir_measures.provider()
    assert provider.supports(measure)
    found, wanted = (one.calc([measure], QRELS, RUN) for one in (provider, ir_measures))
    assert found.aggregated == pytest.approx(wanted.aggregated, abs=1e-12)
    values = ({m.query_id: m.value for m in one.per_query} for one in (found, wanted))
    assert next(values) == pytest.approx(next(values), abs=1e-12)


@pytest.mark.parametrize("name", ["nDCG@10", "AP(rel=2)", "P@2", "RR(rel=2)@3"])
def test_a_measure_is_a_metric(name):
    ir_measures = pytest.importorskip("ir_measures")
    measure = ir_measures.parse_measure(name)
    for metrics in (measure, [measure], (measure, "map@5")):
        result = rm.evaluate(RUN, QRELS, metrics, like="ir_measures")
        assert next(iter(result.values())).mean == pytest.approx(
            ir_measures.calc_aggregate([measure], QRELS, RUN)[measure], abs=1e-12
        )


def test_the_provider_is_registered_and_reads_every_form_of_a_run():
    ir_measures = pytest.importorskip("ir_measures")
    provider = rm.ir_measures.provider()
    assert ir_measures.providers.registry["rankmeter"] is provider
    qrels = [ir_measures.Qrel(q, d, gain) for q, of in QRELS.items() for d, gain in of.items()]
    run = [ir_measures.ScoredDoc(q, d, score) for q, of in RUN.items() for d, score in of.items()]
    measures = [ir_measures.nDCG @ 10, ir_measures.RR]
    evaluator = provider.evaluator(measures, qrels)
    assert evaluator.calc_aggregate(run) == provider.calc_aggregate(measures, QRELS, RUN)
    assert not provider.supports(ir_measures.nDCG(gains={0: 1, 1: 5}) @ 3)
    assert provider.supports(ir_measures.nDCG(gains={1: 5}) @ 3)


@pytest.mark.filterwarnings("ignore")  # of pandas and PyTerrier about each other
def test_an_experiment_has_the_means_of_pyterrier():
    pt = pytest.importorskip("pyterrier")
    import pandas as pd

    topics = pd.DataFrame({"qid": ["q1", "q2", "q3"], "query": ["a", "b", "c"]})
    rows = [("q1", "d2", 2), ("q1", "d4", 1), ("q2", "d4", 1), ("q3", "d1", 1), ("q9", "d1", 1)]
    qrels = pd.DataFrame(rows, columns=["qid", "docno", "label"])
    rows = [("q1", "d1", 0.9), ("q1", "d2", 0.8), ("q2", "d4", 0.7), ("q3", "d2", 0.6)]
    rows += [("q3", "d1", 0.5)]
    first = pt.Transformer.from_df(pd.DataFrame(rows, columns=["qid", "docno", "score"]))
    second = first >> pt.apply.doc_score(lambda row: -row["score"])
    measures = [pt.measures.nDCG @ 10, pt.measures.RR, pt.measures.AP]
    wanted = pt.Experiment([first, second], topics, qrels, measures, names=["one", "two"])
    systems = {"one": first, "two": second(topics)}
    found = rm.pyterrier.experiment(systems, topics, qrels, measures, baseline="one")
    means = found.means().drop(columns="system").to_numpy()
    assert means == pytest.approx(wanted[[*map(str, measures)]].to_numpy())
    assert {difference.n for difference in found.differences} == {3}


@pytest.fixture
def irds():
    """A data set that ir_datasets has under the name house/test."""
    ir_datasets = pytest.importorskip("ir_datasets")
    from ir_datasets.formats import BaseQrels, BaseScoredDocs, GenericScoredDoc, TrecQrel

    class Qrels(BaseQrels):
        def qrels_iter(self):
            yield from (TrecQrel(q, d, n, "0") for q, of in QRELS.items() for d, n in of.items())

    class Docs(BaseScoredDocs):
        def scoreddocs_iter(self):
            yield from (GenericScoredDoc(q, d, s) for q, of in RUN.items() for d, s in of.items())

    class Broken(BaseQrels):
        def qrels_iter(self):
            raise OSError("no network")

    for name, parts in {"test": (Qrels(), Docs()), "broken": (Broken(),)}.items():
        if f"house/{name}" not in ir_datasets.registry:
            ir_datasets.registry.register(f"house/{name}", ir_datasets.Dataset(*parts))
    return ir_datasets


def test_a_data_set_of_ir_datasets_by_its_name(irds, tmp_path):
    wanted = rm.evaluate(RUN, QRELS, "ndcg@10 ap")
    assert (
        rm.evaluate(RUN, "irds:house/test", "ndcg@10 ap").to_dict()["metrics"]
        == (wanted.to_dict()["metrics"])
    )
    both = rm.evaluate("irds:house/test", "irds:house/test", "ap")
    assert both["ap"].mean == wanted["ap"].mean
    run = tmp_path / "run.txt"
    lines = (f"{q} Q0 {d} 0 {s} tag\n" for q, of in RUN.items() for d, s in of.items())
    run.write_text("".join(lines), "utf-8")
    done = rankmeter("evaluate", run, "irds:house/test", "-m", "ap", "--json")
    assert done.json["metrics"]["ap"]["mean"] == wanted["ap"].mean


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("irds:house/missing", "ir_datasets has no data set 'house/missing'"),
        ("irds:house/broken", "ir_datasets cannot read irds:house/broken: no network"),
    ],
)
def test_a_data_set_that_cannot_be_read_is_an_error(irds, name, said):
    with pytest.raises(DataError, match=said):
        rm.evaluate(RUN, name, "ap")


@pytest.mark.parametrize("package", ["ir_measures", "ir_datasets"])
def test_a_missing_package_is_named(monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setitem(sys.modules, f"{package}.providers", None)
    call = {
        "ir_measures": rm.ir_measures.provider,
        "ir_datasets": lambda: rm.evaluate(RUN, "irds:vaswani", "ap"),
    }[package]
    with pytest.raises(MissingDependencyError, match=f"pip install {package}"):
        call()
