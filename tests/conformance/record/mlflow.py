"""MLflow: ``precision_at_k``, ``recall_at_k`` and ``ndcg_at_k`` of ``mlflow.metrics``.

They take lists and sets of relevant items, without gains: those that the rule of the case makes
relevant. Lists are in list order; users are those with a list and a truth.
"""

import logging
from importlib.metadata import version

import inputs
import pandas
from mlflow.metrics import ndcg_at_k, precision_at_k, recall_at_k

VERSION = version("mlflow")
PACKAGES = {name: version(name) for name in ("numpy", "pandas", "scikit-learn")}
METRICS = {"precision_at_k": precision_at_k, "recall_at_k": recall_at_k, "ndcg_at_k": ndcg_at_k}

logging.getLogger("mlflow").setLevel(logging.ERROR)


def record(golden):
    for case in inputs.CASES:
        users = sorted(set(case["rankings"]) & set(case["truth"]))
        lists = pandas.Series([inputs.ranked_items(case, user) for user in users])
        truth = pandas.Series([inputs.relevant_items(case, user) for user in users])
        for name, metric in METRICS.items():
            for k in case["ks"]:
                golden.attempt(
                    case, f"{name}@{k}", lambda m=metric, k=k: of(m(k), lists, truth, users)
                )


def of(metric, lists, truth, users):
    answer = metric.eval_fn(lists, truth)
    return answer.aggregate_results["mean"], dict(zip(users, answer.scores))
