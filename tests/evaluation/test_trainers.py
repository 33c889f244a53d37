"""Training loops of the real libraries give the values of `evaluate_scores`."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import rankmeter as rm

pytestmark = [pytest.mark.once, pytest.mark.filterwarnings("ignore")]

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "training-loops.md"


def batches():
    rng = np.random.default_rng(3)
    return [(rng.random((4, 6)), rng.integers(0, 6, 4)) for _ in range(3)]


def test_the_module_of_the_page_in_a_trainer_of_lightning(tmp_path):
    lightning = pytest.importorskip("lightning")
    torch = pytest.importorskip("torch")
    (code,) = re.findall(r"```python\n(class Model.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    names = {"lightning": lightning, "rm": rm}
    exec(code, names)

    class Model(names["Model"]):
        def forward(self, batch):
            return batch["scores"]

    acc, loader = rm.accumulator(["ndcg@10", "recall@20"]), []
    for number, (scores, target) in enumerate(batches()):
        seen, user = (target[:, None] + 1) % 6, np.arange(4) + 4 * number
        batch = {"scores": scores, "target": target, "seen": seen, "user": user}
        loader.append({name: torch.tensor(one) for name, one in batch.items()})
        acc.update(scores=scores, target=target, exclude=seen, users=user)
    trainer = lightning.Trainer(
        accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False, default_root_dir=tmp_path,
    )  # fmt: skip
    loader = torch.utils.data.DataLoader(loader, batch_size=None)
    (found,) = trainer.validate(Model(), loader, verbose=False)
    assert found == pytest.approx({name: one.mean for name, one in acc.compute().items()})


def test_metrics_in_a_trainer_of_hugging_face(tmp_path, monkeypatch):
    for name in ("HF_HUB_OFFLINE", "HF_HUB_DISABLE_TELEMETRY"):
        monkeypatch.setenv(name, "1")
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.eye(6))

        def forward(self, scores, labels):
            logits = scores @ self.weight
            return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}

    scores = np.concatenate([one for one, _ in batches()]).astype(np.float32)
    target = np.concatenate([one for _, one in batches()])
    trainer = transformers.Trainer(
        Model(),
        transformers.TrainingArguments(
            str(tmp_path), use_cpu=True, report_to=[], disable_tqdm=True
        ),
        eval_dataset=[{"scores": s, "labels": t} for s, t in zip(scores, target, strict=True)],
        compute_metrics=rm.compute_metrics(["mrr", "hits@1"]),
    )
    found = trainer.evaluate()
    wanted = rm.evaluate_scores(scores, target, ["mrr", "hits@1"])
    assert found["eval_mrr"] == pytest.approx(wanted["mrr"].mean)
    assert found["eval_hits_at_1"] == pytest.approx(wanted["hits@1"].mean)


def test_a_scorer_in_the_model_selection_of_scikit_learn():
    selection = pytest.importorskip("sklearn.model_selection")
    linear = pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c"], 20)
    X = rng.normal(size=(60, 3)) + np.eye(3)[np.repeat(np.arange(3), 20)]
    model, folds = linear.LogisticRegression(), selection.StratifiedKFold(3)
    found = selection.cross_val_score(model, X, y, scoring=rm.scorer("mrr"), cv=folds)
    for value, (train, test) in zip(found, folds.split(X, y), strict=True):
        scores = model.fit(X[train], y[train]).predict_proba(X[test])
        place = np.searchsorted(model.classes_, y[test])
        assert value == rm.evaluate_scores(scores, place, "mrr")["mrr"].mean
    search = selection.GridSearchCV(model, {"C": [0.01, 1.0]}, scoring=rm.scorer("mr"), cv=folds)
    search.fit(X, y)
    assert search.best_score_ == max(search.cv_results_["mean_test_score"]) < 0
