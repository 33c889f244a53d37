"""Wrappers for other libraries give the values of `evaluate_scores`."""

from __future__ import annotations

import pickle
from types import SimpleNamespace

import numpy as np
import pytest

import rankmeter as rm
from rankmeter.errors import DataError, UsageError

pytestmark = pytest.mark.once

METRICS = ["mrr", "hits@1", "ndcg@3"]


def batches():
    rng = np.random.default_rng(3)
    return [(rng.random((4, 6)), rng.integers(0, 6, 4)) for _ in range(3)]


@pytest.mark.parametrize("keep", ["values", "moments"])
def test_a_metric_of_torchmetrics(keep):
    torch = pytest.importorskip("torch")
    torchmetrics = pytest.importorskip("torchmetrics")
    metric = rm.torch.RankMetric(METRICS, keep=keep)
    assert isinstance(metric, torchmetrics.Metric)
    assert repr(metric) == "RankMetric(mrr, hits@1, ndcg@3)"
    acc = rm.accumulator(METRICS, keep=keep)
    for scores, target in batches():
        metric.update(torch.tensor(scores), torch.tensor(target))
        acc.update(scores=scores, target=target)
    wanted = acc.compute()
    assert len(metric.parts) == (1 if keep == "moments" else 3)
    assert metric.summary()["mrr"] == wanted["mrr"]
    assert {n: v.item() for n, v in metric.compute().items()} == pytest.approx(
        {n: e.mean for n, e in wanted.items()}
    )
    # What synchronization does: the states of all processes, one after the other.
    joined = torch.cat([*metric.parts, *metric.parts])
    metric.reset()
    metric.parts.append(joined)
    assert metric.summary()["mrr"].n == 2 * wanted["mrr"].n
    metric.reset()
    first = metric(torch.tensor(batches()[0][0]), torch.tensor(batches()[0][1]))
    assert first["mrr"].item() == pytest.approx(
        rm.evaluate_scores(*batches()[0], "mrr", each=False)["mrr"].mean
    )


def test_a_process_without_a_batch_is_gathered_and_a_metric_can_be_pickled():
    torch = pytest.importorskip("torch")
    pytest.importorskip("torchmetrics")
    empty, full = rm.torch.RankMetric("mrr"), rm.torch.RankMetric("mrr")
    full.update(torch.tensor([[0.3, 0.9, 0.2]]), torch.tensor([0]), torch.tensor([[1]]))
    sent = []

    def gathered(part, group=None):
        sent.append(part)
        return [part, *full.parts]

    empty.sync(dist_sync_fn=gathered, distributed_available=lambda: True)
    assert {part.dtype for part in sent} == {torch.uint8}
    assert empty._merge_batches().compute()["mrr"].mean == 1.0
    again = pickle.loads(pickle.dumps(full))
    assert type(again) is type(full)
    assert again.compute() == {"mrr": torch.tensor(1.0)}


def test_a_metric_of_keras(monkeypatch, tmp_path):
    pytest.importorskip("torch")
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    keras = pytest.importorskip("keras")
    (scores, target), *rest = batches()
    metric = rm.keras.RankMetric(["mrr", "hits@3"])
    model = keras.Sequential([keras.layers.Identity()])  # its output are the scores
    model.compile(loss="mse", metrics=[metric])
    labels = np.eye(6)[target]
    found = model.evaluate(scores, labels, batch_size=3, return_dict=True, verbose=0)
    wanted = rm.evaluate_scores(scores.astype(np.float32), target, ["mrr", "hits@3"], each=False)
    assert {name: found[name] for name in wanted} == {n: e.mean for n, e in wanted.items()}
    assert metric.summary()["mrr"] == wanted["mrr"]
    again = model.evaluate(*rest[0][:1], np.eye(6)[rest[0][1]], return_dict=True, verbose=0)
    assert again["mrr"] != found["mrr"]  # Keras has reset it
    assert metric.summary()["mrr"].n == 4
    with pytest.raises(UsageError, match="has no sample weights"):
        metric.update_state(labels, scores, sample_weight=np.ones(4))
    tracer = type("JVPTracer", (), {})()
    with pytest.raises(UsageError, match="cannot count in a compiled function"):
        metric.update_state(labels, tracer)


def test_functions_for_trainers_and_scorers_are_checked_at_once_and_can_be_pickled():
    for wrong in (
        lambda: rm.compute_metrics("mrr", foo=2),
        lambda: rm.compute_metrics("foo"),
        lambda: rm.scorer("mrr", foo=1),
        lambda: rm.scorer(["mrr", "mr"]),
        lambda: rm.scorer("mrr", aggregate="high"),
    ):
        with pytest.raises(UsageError):
            wrong()
    scores, target = batches()[0]
    function, score = rm.compute_metrics("mrr", each=False), rm.scorer("mrr", users="all")
    assert (repr(function), repr(score)) == ("compute_metrics(['mrr'])", "scorer(mrr)")
    again = pickle.loads(pickle.dumps((function, score)))
    assert again[0]((scores, target)) == function((scores, target))
    assert again[1](Model(), scores[:, :3], [10] * 4) == score(Model(), scores[:, :3], [10] * 4)


def test_metrics_of_a_trainer():
    scores, target = batches()[0]
    wanted = rm.evaluate_scores(scores, target, METRICS)
    function = rm.compute_metrics(METRICS)
    for given in ((scores, target), SimpleNamespace(predictions=(scores, 0), label_ids=target)):
        found = function(given)
        assert list(found) == ["mrr", "hits_at_1", "ndcg_at_3"]
        assert list(found.values()) == [estimate.mean for estimate in wanted.values()]


class Model:
    classes_ = np.array([30, 10, 20])

    def decision_function(self, X):
        return np.asarray(X)


@pytest.mark.parametrize(
    ("way", "given", "y", "mrr"),
    [
        ("decision_function", [0.5, -2.0, 1.0], [20, 20, 10], (1 + 1 / 2 + 1 / 2) / 3),
        ("predict_proba", [[[0.9, 0.1], [0.2, 0.8]], [[0.5, 0.5], [0.6, 0.4]]], [[0, 1]] * 2, 0.75),
    ],
)
def test_a_scorer_takes_what_estimators_give_for_two_classes_and_for_labels(way, given, y, mrr):
    def scores(X):
        return [np.array(one) for one in given] if way == "predict_proba" else np.array(given)

    model = SimpleNamespace(classes_=np.array([10, 20]), **{way: scores})
    assert rm.scorer("mrr")(model, None, np.array(y)) == pytest.approx(mrr)
    regression = SimpleNamespace(predict=np.array)
    with pytest.raises(DataError, match="a row for each query and a column for each item"):
        rm.scorer("mrr")(regression, [0.5, 1.0], [0, 1])


def test_a_scorer_for_model_selection():
    X = [[0.5, 0.1, 0.9], [0.2, 0.7, 0.1]]
    assert rm.scorer("mrr")(Model(), X, [30, 10]) == 0.75
    assert rm.scorer("mr")(Model(), X, [30, 10]) == -1.5
    assert rm.scorer("ndcg@1", each=False)(Model(), X, np.array([[1, 0, 1], [0, 1, 0]])) == 1.0
    with pytest.raises(DataError, match="the class 40 of row 1 is not one of the 3 classes"):
        rm.scorer("mrr")(Model(), X, [30, 40])
