"""Evidently: ``Report(metrics=[...]).run(...)`` with the legacy recommendation metrics.

Evidently knows the rows it is given: ``[list]`` gives it the ranked items with their gain as
target, ``[list+truth]`` appends the judged items that were not ranked. ``rank`` marks predictions
that are places in the list, ``score`` predictions that are scores, which Evidently ranks itself. Of
the curve from 1 to k that a metric answers with, the value at k is kept. Means only.
"""

import warnings
from importlib.metadata import version

import inputs
import pandas
from evidently.legacy.metrics import (
    FBetaTopKMetric,
    HitRateKMetric,
    MRRKMetric,
    NDCGKMetric,
    PrecisionTopKMetric,
    RecallTopKMetric,
)
from evidently.legacy.metrics.recsys.map_k import MAPKMetric
from evidently.legacy.metrics.recsys.mar_k import MARKMetric
from evidently.legacy.pipeline.column_mapping import ColumnMapping
from evidently.legacy.report import Report

VERSION = version("evidently")
PACKAGES = {name: version(name) for name in ("numpy", "pandas")}

METRICS = {
    "PrecisionTopK": PrecisionTopKMetric,
    "RecallTopK": RecallTopKMetric,
    "FBetaTopK": FBetaTopKMetric,
    "MAPK": MAPKMetric,
    "MARK": MARKMetric,
    "NDCGK": NDCGKMetric,
    "HitRateK": HitRateKMetric,
    "MRRK": MRRKMetric,
}
RATED = {"rated_at_least_4": 4, "rated_above_4": 5}


def record(golden):
    warnings.simplefilter("ignore")
    for case in inputs.CASES:
        for scope in ("list", "list+truth"):
            keep(golden, case, scope, "rank", {})
        keep(golden, case, "list", "score", {})
        if case["name"] in ("no_hits", "zero_truth", "empty_truth"):
            keep(golden, case, "list", "rank", {"no_feedback_users": True})


def keep(golden, case, scope, kind, options):
    options = dict(options)
    if case["name"] in RATED:
        options["min_rel_score"] = RATED[case["name"]]
    rows = frame(case, scope, kind)
    mapping = ColumnMapping(
        target="gain", prediction="prediction", user_id="user", item_id="item",
        recommendations_type=kind,
    )  # fmt: skip
    words = [scope, kind] + ["no_feedback_users"] * ("no_feedback_users" in options)
    words = ", ".join(words)
    for name, metric in METRICS.items():
        for k in case["ks"]:

            def compute(metric=metric, k=k):
                asked = metric(k=k, **options)
                report = Report(metrics=[asked])
                report.run(reference_data=None, current_data=rows, column_mapping=mapping)
                result = asked.get_result()
                if hasattr(result, "current_value"):
                    return result.current_value
                return result.current.to_list()[k - 1]

            golden.attempt(case, f"{name}[{words}]@{k}", compute)


def frame(case, scope, kind):
    rows = []
    for user in sorted(set(case["rankings"]) & set(case["truth"])):
        judged = case["truth"][user]
        listed = list(case["rankings"][user])
        if scope == "list+truth":
            ranked = set(inputs.ranked_items(case, user))
            low = min((score for _, score in listed), default=0.0) - 1.0
            listed += [[item, low - at] for at, item in enumerate(judged) if item not in ranked]
        for place, (item, score) in enumerate(listed, start=1):
            prediction = place if kind == "rank" else float(score)
            rows.append((user, item, prediction, judged.get(item, 0)))
    return pandas.DataFrame(rows, columns=["user", "item", "prediction", "gain"])
