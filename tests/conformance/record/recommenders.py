"""recommenders: the functions of ``recommenders.evaluation.python_evaluation``.

``rating_true`` holds the relevant items with their gain as rating; ``[judged]`` marks metrics that
were given every judged item instead, so that gains of zero are there too. ``rating_pred`` holds the
list in list order with its scores. An empty list or truth is the absence of rows. Means only.
"""

from importlib.metadata import version

import inputs
import pandas
from recommenders.evaluation import python_evaluation as evaluation

VERSION = version("recommenders")
PACKAGES = {name: version(name) for name in ("numpy", "pandas")}

BINARY = {
    "precision_at_k": evaluation.precision_at_k,
    "recall_at_k": evaluation.recall_at_k,
    "r_precision_at_k": evaluation.r_precision_at_k,
    "map": evaluation.map,
    "map_at_k": evaluation.map_at_k,
    "ndcg_at_k": evaluation.ndcg_at_k,
    "ndcg_at_k[discfun_type=log2]": lambda *a, **o: evaluation.ndcg_at_k(
        *a, discfun_type="log2", **o
    ),
}
SCORE_TYPES = ["binary", "raw", "exp"]


def record(golden):
    for case in map(inputs.with_typed_items, inputs.CASES):
        predicted = frame(
            [user, item, score]
            for user, listed in case["rankings"].items()
            for item, score in listed
        ).rename(columns={"rating": "prediction"})
        relevant = frame(
            [user, item, case["truth"][user][item]]
            for user in case["truth"]
            for item in inputs.relevant_items(case, user)
        )
        judged = frame(
            [user, item, gain]
            for user, items in case["truth"].items()
            for item, gain in items.items()
        )
        for k in case["ks"]:
            for name, metric in BINARY.items():
                keep(golden, case, f"{name}@{k}", metric, relevant, predicted, k=k)
            for score_type in SCORE_TYPES:
                name = f"ndcg_at_k[judged, score_type={score_type}]@{k}"
                options = {"k": k, "score_type": score_type}
                keep(golden, case, name, evaluation.ndcg_at_k, judged, predicted, **options)
            if case["name"] == "plain":
                # The threshold is used as a number of items.
                for name in ("precision_at_k", "recall_at_k"):
                    full = f"{name}[relevancy_method=by_threshold, threshold=3]@{k}"
                    options = {"k": k, "relevancy_method": "by_threshold", "threshold": 3}
                    keep(golden, case, full, BINARY[name], relevant, predicted, **options)


def frame(rows):
    return pandas.DataFrame(list(rows), columns=["userID", "itemID", "rating"])


def keep(golden, case, name, metric, truth, predicted, **options):
    # Copies: get_top_k_items writes into the frame it is given.
    golden.attempt(case, name, lambda: metric(truth.copy(), predicted.copy(), **options))
