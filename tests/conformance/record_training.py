"""Train a ranker of each tool with `rankmeter.group_metric` next to the tool's own metric.

    PYTHONPATH=src python tests/conformance/record_training.py TOOL   # in the tool's environment

TOOL is lightgbm, xgboost or catboost; the environment also needs Polars. Each round's scores, and
the values that the tool printed for its own metric and for ours, are kept in ``training.json``.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np

import rankmeter as rm

KEPT = Path(__file__).with_name("training.json")
ROUNDS = 3


def data(seed):
    """Rows of 12 groups: features with few values, so that scores are tied, and grades 0 to 2."""
    draw = np.random.default_rng(seed)
    sizes = draw.integers(1, 15, 12)
    features = draw.integers(0, 4, (sizes.sum(), 3)).astype(float)
    labels = np.clip(features[:, 0] - draw.integers(0, 4, len(features)), 0, 2).astype(int)
    labels[: sizes[0]] = 0
    return features, labels, sizes


TRAIN, TEST = data(1), data(2)


def lightgbm():
    import lightgbm as tool

    train, test = (tool.Dataset(x, y, group=g) for x, y, g in (TRAIN, TEST))
    params = {"objective": "lambdarank", "metric": "ndcg", "eval_at": 5, "min_data_in_leaf": 2}
    printed = {}
    model = tool.train(
        {**params, "min_data_in_bin": 1, "num_threads": 1, "verbose": -1},
        train,
        ROUNDS,
        valid_sets=[test],
        feval=rm.group_metric("ndcg(ties=input)@5", like="lightgbm"),
        callbacks=[tool.record_evaluation(printed)],
    )
    theirs, ours = printed["valid_0"].values()
    scores = [model.predict(TEST[0], num_iteration=n + 1) for n in range(ROUNDS)]
    ranker = tool.LGBMRanker(n_estimators=ROUNDS, min_child_samples=2, n_jobs=1, verbose=-1)
    ranker.fit(
        *TRAIN[:2],
        group=TRAIN[2],
        eval_set=[TEST[:2]],
        eval_group=[TEST[2]],
        eval_at=5,
        eval_metric=rm.group_metric("ndcg(ties=input)@5", like="lightgbm"),
    )
    theirs_too, ours_too = ranker.evals_result_["valid_0"].values()
    return "ndcg@5", scores, [*theirs, *theirs_too], [*ours, *ours_too]


def xgboost():
    import xgboost as tool

    train, test = (tool.DMatrix(x, y, group=g, nthread=1) for x, y, g in (TRAIN, TEST))
    params = {"objective": "rank:ndcg", "eval_metric": "ndcg@5", "nthread": 1, "verbosity": 0}
    printed = {}
    model = tool.train(
        params,
        train,
        ROUNDS,
        evals=[(test, "test")],
        custom_metric=rm.group_metric("ndcg(ties=input)@5", like="xgboost"),
        evals_result=printed,
        verbose_eval=False,
    )
    theirs, ours = printed["test"].values()
    scores = [model.predict(test, iteration_range=(0, n + 1)) for n in range(ROUNDS)]
    return "ndcg@5", scores, theirs, ours


def catboost():
    import catboost as tool

    ids = [np.repeat(np.arange(len(g)), g) for g in (TRAIN[2], TEST[2])]
    train, test = (
        tool.Pool(x, y, group_id=i) for (x, y, _), i in zip((TRAIN, TEST), ids, strict=True)
    )
    settings = {"iterations": ROUNDS, "loss_function": "YetiRank", "thread_count": 1}
    settings |= {"verbose": False, "allow_writing_files": False, "random_seed": 0}
    printed = {}
    names = "NDCG:top=5;type=Exp"
    metric = rm.group_metric(names, like="catboost", groups=[TRAIN[2], TEST[2]])
    for eval_metric in (names, metric):
        model = tool.CatBoost({**settings, "eval_metric": eval_metric, "use_best_model": False})
        model.fit(train, eval_set=test)
        found = model.get_evals_result()["validation"]
        _, printed[str(eval_metric)] = found.values()  # after NDCG:type=Base, that of the loss
    theirs, ours = printed.values()
    scores = list(model.staged_predict(test))
    return names, scores, theirs, ours


def main(tool):
    name, scores, theirs, ours = {"lightgbm": lightgbm, "xgboost": xgboost, "catboost": catboost}[
        tool
    ]()
    kept = json.loads(KEPT.read_text("utf-8")) if KEPT.exists() else {}
    kept[tool] = {
        "version": version(tool),
        "metric": name,
        "labels": TEST[1].tolist(),
        "group": TEST[2].tolist(),
        "scores": [np.asarray(one, dtype=float).tolist() for one in scores],
        "theirs": [float(one) for one in theirs],
        "ours": [float(one) for one in ours],
    }
    lines = (f"  {json.dumps(key)}: {json.dumps(kept[key])}" for key in sorted(kept))
    KEPT.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
    sys.stdout.write(f"{tool}\n{kept[tool]['theirs']}\n{kept[tool]['ours']}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
