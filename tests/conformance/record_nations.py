"""Record PyKEEN's evaluation of a model trained on Nations, a data set that it ships.

    PYTHON tests/conformance/record_nations.py

in the environment of ``record/pykeen.toml``. Writes ``tests/data/pykeen_nations.json``: triples,
the scores of all entities for both sides, rounded to one decimal so that many are tied, and every
number of `RankBasedEvaluator` for each side and rank type.
"""

import json
import logging
from importlib.metadata import version
from pathlib import Path

import torch
from pykeen.datasets import Nations
from pykeen.evaluation import RankBasedEvaluator
from pykeen.pipeline import pipeline

OUTPUT = Path(__file__).parents[1] / "data" / "pykeen_nations.json"


def main():
    logging.disable(logging.CRITICAL)
    data = Nations()
    trained = pipeline(
        dataset=data, model="TransE", random_seed=0, training_kwargs={"num_epochs": 30},
        evaluation_fallback=False, device="cpu",
    )  # fmt: skip
    model = trained.model
    score_t, score_h = model.score_t, model.score_h
    model.score_t = lambda hr_batch, **more: torch.round(score_t(hr_batch, **more), decimals=1)
    model.score_h = lambda rt_batch, **more: torch.round(score_h(rt_batch, **more), decimals=1)
    train, valid, test = (
        part.mapped_triples for part in (data.training, data.validation, data.testing)
    )
    with torch.no_grad():
        tails, heads = model.score_t(test[:, :2]), model.score_h(test[:, 1:])
    evaluator = RankBasedEvaluator()
    result = evaluator.evaluate(
        model, test, additional_filter_triples=[train, valid], use_tqdm=False, batch_size=64
    )
    metrics = {
        f"{side}.{kind}.{name}": float(value)
        for (side, kind, name), value in sorted(result.data.items())
    }
    tenths = {
        side: [[round(10 * value) for value in row] for row in scores.tolist()]
        for side, scores in (("head", heads), ("tail", tails))
    }
    found = {
        "version": version("pykeen"),
        "command": "python tests/conformance/record_nations.py",
        "train": train.tolist(),
        "valid": valid.tolist(),
        "test": test.tolist(),
        "tenths": tenths,
        "metrics": metrics,
    }
    lines = [
        f"{json.dumps(key)}: {json.dumps(one, separators=(',', ':'))}" for key, one in found.items()
    ]
    OUTPUT.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


if __name__ == "__main__":
    main()
