"""The evaluators with the signatures of other tools, held against what these answered."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import inputs
import pytest
from recordings import answers

import rankmeter as rm
from rankmeter.errors import UsageError

pytestmark = pytest.mark.once

CASES = [case for case in inputs.CASES if case["name"] != "duplicates"]
TASKS = json.loads((Path(__file__).parents[1] / "data" / "mteb_tasks.json").read_text("utf-8"))


def fed(case):
    """The run and the judgments as the tools take them."""
    return {u: dict(map(tuple, own)) for u, own in case["rankings"].items()}, case["truth"]


def recorded(tool, case):
    """The answers of a tool, by name of the metric; none where it refused all."""
    found = answers(tool)["cases"].get(case["name"], {}).get("metrics", {})
    return {name: answer for name, answer in found.items() if "refused" not in answer}


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_beir(case):
    run, truth = fed(case)
    wanted, found = recorded("beir", case), {}
    for part in rm.beir.evaluate(truth, run, case["ks"]):
        found |= part
    for metric in ("mrr", "recall_cap", "accuracy"):
        found |= rm.beir.evaluate_custom(truth, run, case["ks"], metric)
    common = found.keys() & {name for name, answer in wanted.items() if "mean" in answer}
    assert len(common) >= len(wanted) > 0
    for name in common:
        assert found[name] == pytest.approx(wanted[name]["mean"], abs=1.0001e-5)


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_sentence_transformers(case):
    run, truth = fed(case)
    relevant = {user: set(inputs.relevant_items(case, user)) for user in truth}
    queries = [user for user in truth if relevant[user]]
    cutoffs = ("accuracy_at_k", "precision_recall_at_k", "mrr_at_k", "ndcg_at_k", "map_at_k")
    evaluator = SimpleNamespace(
        queries_ids=queries, relevant_docs=relevant, **dict.fromkeys(cutoffs, case["ks"])
    )
    hits = [
        [{"corpus_id": i, "score": s} for i, s in run.get(user, {}).items()] for user in queries
    ]
    found = rm.sentence_transformers.compute_metrics(evaluator, hits)
    wanted = recorded("sentence_transformers", case)
    assert wanted
    for name, answer in wanted.items():
        metric, _, k = name.partition("@")
        assert found[f"{metric}@k"][int(k)] == pytest.approx(answer["mean"], abs=1e-9)


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_mteb(case):
    run, truth = fed(case)
    wanted = recorded("mteb", case)
    both = {user: own for user, own in run.items() if user in truth}
    found = rm.mteb.calculate_retrieval_scores(both, truth, case["ks"])
    means = {**found.ndcg, **found.map, **found.recall, **found.precision, **found.hit_rate}
    means |= found.mrr
    for name, answer in wanted.items():
        if name in means:
            assert means[name] == pytest.approx(answer["mean"], abs=1.0001e-5)
    assert not wanted or means.keys() <= wanted.keys()


def close(found, wanted):
    """Whether nested numbers agree, NaN with NaN."""
    if isinstance(wanted, dict):
        return found.keys() == wanted.keys() and all(close(found[k], wanted[k]) for k in wanted)
    if isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(close, found, wanted))
    return found == pytest.approx(wanted, abs=1.0001e-5, nan_ok=True)


def test_the_tasks_of_mteb():
    run, qrels, ks = TASKS["run"], TASKS["qrels"], TASKS["ks"]
    scores = rm.mteb.calculate_retrieval_scores(run, qrels, ks)
    for field, wanted in TASKS["scores"].items():
        assert close(getattr(scores, field), wanted), field
    skipped = rm.mteb.calculate_retrieval_scores(run, qrels, ks, skip_first_result=True)
    for field, wanted in TASKS["skipped"].items():
        assert close(getattr(skipped, field), wanted), field
    assert close(rm.mteb.recall_cap(qrels, run, ks), TASKS["recall_cap"])
    assert close(rm.mteb.top_k_accuracy(qrels, run, ks), TASKS["top_k_accuracy"])
    before = {f"{query}-og": own for query, own in run.items()}
    moved = rm.mteb.calculate_pmrr(before, TASKS["after"], TASKS["changed"])
    assert moved == pytest.approx(TASKS["p_mrr"], abs=1e-12)
    for name in ("robustness_at_10", "paired_accuracy"):
        found = getattr(rm.mteb, name)(qrels, run, scores.all_scores)
        assert found == pytest.approx(TASKS[name], abs=1e-12)
    assert close(rm.mteb.max_over_subqueries(qrels, run, ks), TASKS["max_over_subqueries"])


def test_what_is_declared_as_missing_names_where_it_is():
    for name in ("nAUC", "p-MRR", "robustness_at_10", "paired_accuracy", "max_over_subqueries"):
        with pytest.raises(UsageError, match=r"rm\.mteb"):
            rm.evaluate({"q": ["a"]}, {"q": {"a"}}, name, like="mteb")
    found = rm.evaluate({"q": ["a"]}, {"q": {"a"}}, ["Recall@5", "MRR", "DCG"], like="opensearch")
    for name in ("recall", "rr", "dcg"):
        assert f"{name} of OpenSearch came in a later version" in str(found.details())
    with pytest.raises(UsageError, match="`metric` must be one of"):
        rm.beir.evaluate_custom({"q": {"a": 1}}, {"q": {"a": 1.0}}, [1], "hole")
