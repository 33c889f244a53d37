"""What is one query: a row, or each of its true items. All functions give the same numbers."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse

import rankmeter as rm
from command_line import rankmeter as run
from rankmeter.conventions import convention_names

pytestmark = pytest.mark.once

RNG = np.random.default_rng(7)
N_ROWS, N_COLUMNS = 12, 9
SCORES = np.array([RNG.permutation(N_COLUMNS) + 0.5 for _ in range(N_ROWS)])
TRUE = [RNG.permutation(N_COLUMNS)[: 1 + row % 4].tolist() for row in range(N_ROWS)]
LABELS = np.array([[column in true for column in range(N_COLUMNS)] for true in TRUE])
PADDED = np.array([[*true, *[-1] * (4 - len(true))] for true in TRUE])
METRICS = ["rr", "hit_rate@1", "recall@2"]

EACH = {"ampligraph", "dgl_ke", "libkge", "ogb", "pyg", "pykeen", "torchkge"}
"""Tools of link prediction: a query has one true item, and the others are filtered."""
NAMED = [None, "sklearn", "torchmetrics", "recbole", "pykeen", "libkge", "ogb"]


def slow(*, each):
    """The means by their definitions."""
    rr, hit, recall = [], [], []
    for scores, true in zip(SCORES, TRUE, strict=True):
        for wanted in [[one] for one in true] if each else [true]:
            others = set(true) - set(wanted)
            order = [c for c in np.argsort(-scores).tolist() if c not in others]
            ranks = sorted(order.index(one) + 1 for one in wanted)
            rr.append(1 / ranks[0])
            hit.append(float(ranks[0] == 1))
            recall.append(sum(rank <= 2 for rank in ranks) / len(wanted))
    return [sum(values) / len(values) for values in (rr, hit, recall)], len(rr)


def means(result):
    return [estimate.mean for estimate in result.values()]


def test_the_two_readings_differ_on_these_data():
    (row, n), (each, m) = slow(each=False), slow(each=True)
    assert (n, m) == (12, 30)
    assert not np.isclose(row, each).any()


@pytest.mark.parametrize("like", convention_names())
def test_every_convention_counts_the_queries_of_its_tool(like):
    wanted, n = slow(each=like in EACH)
    result = rm.evaluate_scores(SCORES, LABELS, METRICS[:1], like=like)
    assert result["rr"].mean == pytest.approx(wanted[0], abs=1e-12)
    assert (result["rr"].n, result.plan.each) == (n, like in EACH)


@pytest.mark.parametrize("like", NAMED)
def test_all_functions_give_the_number_of_the_definition(like, tmp_path, monkeypatch):
    each = like in EACH
    wanted, n = slow(each=each)
    given = {"like": like} if like else {}
    found = {}
    for form in (LABELS, TRUE, PADDED, scipy.sparse.csr_matrix(LABELS), LABELS.astype(float)):
        result = rm.evaluate_scores(SCORES, form, METRICS, **given)
        assert [one.n for one in result.values()] == [n] * 3
        found[f"evaluate_scores of {type(form)}"] = means(result)
    for keep in ("values", "moments"):
        acc = rm.accumulator(METRICS, keep=keep, **given)
        for part in np.array_split(np.arange(N_ROWS), 3):
            acc.update(scores=SCORES[part], target=LABELS[part])
        found[f"accumulator of {keep}"] = means(acc.compute())
    lists = rm.accumulator(METRICS, **given)
    lists.update(items=np.argsort(-SCORES, axis=1), target=PADDED)
    found["accumulator of lists"] = means(lists.compute())
    found["compute_metrics"] = [*rm.compute_metrics(METRICS, **given)((SCORES, LABELS)).values()]
    model = type("Model", (), {"decision_function": lambda _, X: X})()
    found["scorer"] = [rm.scorer(one, **given)(model, SCORES, LABELS) for one in METRICS]
    monkeypatch.chdir(tmp_path)
    np.save("scores.npy", SCORES)
    (tmp_path / "true.json").write_text(json.dumps(TRUE), "utf-8")
    words = ["evaluate-scores", "scores.npy", "true.json", "--json"]
    words += [word for one in METRICS for word in ("-m", one)] + (["--like", like] if like else [])
    found["command"] = [one["mean"] for one in run(*words).json["metrics"].values()]
    if not each:
        rankings = [dict(enumerate(row)) for row in SCORES.tolist()]
        found["evaluate"] = means(rm.evaluate(rankings, [*map(set, TRUE)], METRICS, **given))
    for name, got in found.items():
        assert got == pytest.approx(wanted, abs=1e-12), name


@pytest.mark.parametrize("like", NAMED)
def test_metrics_for_torchmetrics_and_keras_give_it_too(like, monkeypatch, tmp_path):
    torch = pytest.importorskip("torch")
    wanted, _ = slow(each=like in EACH)
    given = {"like": like} if like else {}
    pytest.importorskip("torchmetrics")
    metric = rm.torch.RankMetric(METRICS, **given)
    metric.update(torch.tensor(SCORES), torch.tensor(PADDED))
    assert means(metric.summary()) == pytest.approx(wanted, abs=1e-12)
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    pytest.importorskip("keras")
    metric = rm.keras.RankMetric(METRICS, **given)
    metric.update_state(LABELS, SCORES)
    assert means(metric.summary()) == pytest.approx(wanted, abs=1e-12)


def test_scores_of_scikit_learn_itself():
    """The numbers of the documentation of the default: 50 rows are 50 queries."""
    rng = np.random.default_rng(0)
    scores, labels = rng.random((50, 400)), rng.random((50, 400)) < 0.03
    result = rm.evaluate_scores(scores, labels, "ndcg@10", like="sklearn")
    assert result["ndcg@10"].mean == 0.028759114779180167  # ndcg_score(labels, scores, k=10), 1.9
    metrics = pytest.importorskip("sklearn.metrics")
    again = metrics.ndcg_score(labels, scores, k=10)
    assert result["ndcg@10"].mean == pytest.approx(again, abs=1e-15)


@pytest.mark.parametrize("keep", ["values", "moments"])
@pytest.mark.parametrize(
    ("each", "rule"),
    [
        (False, "a row is one query; each=False"),
        (True, "each true item is one query, ranked without the others; each=True"),
    ],
)
def test_plan_and_notes_say_which_of_both_it_is(each, rule, keep):
    acc = rm.accumulator("rr", keep=keep, each=each)
    acc.update(scores=SCORES, target=TRUE)
    for result in (acc.compute(), rm.evaluate_scores(SCORES, TRUE, "rr", each=each)):
        assert f"rows with several true items: 9 ({rule})" in repr(result)
        assert repr(result).splitlines()[0].split()[-1] == "queries"
        assert result.to_dict()["plan"]["each"] is each
        assert f"\neach        {each}\n" in str(result.plan)
        assert result.counts["rows_with_several_targets"] == 9
    assert "several" not in repr(rm.evaluate_scores(SCORES, PADDED[:, 0], "rr", each=each))


def test_plans_with_other_queries_are_not_equal():
    one, other = (rm.evaluate_scores(SCORES, TRUE, "rr", each=each).plan for each in (True, False))
    assert one != other


def test_a_tool_can_be_overruled():
    wanted, _ = slow(each=False)
    result = rm.evaluate_scores(SCORES, TRUE, METRICS, like="pykeen", each=False)
    assert means(result) == pytest.approx(wanted, abs=1e-12)
