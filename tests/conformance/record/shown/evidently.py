"""Evidently: ``Report(metrics=[...]).run(...)`` with the legacy list metrics.

Predictions are places in the list, the target is the gain, training data are additional data; the
categories are columns of 0 and 1. An empty list is an absence of rows. Means only.
"""

import warnings
from importlib.metadata import version

import pandas
import shown as inputs
from evidently.legacy.metrics.recsys.diversity import DiversityMetric
from evidently.legacy.metrics.recsys.novelty import NoveltyMetric
from evidently.legacy.metrics.recsys.personalisation import PersonalizationMetric
from evidently.legacy.metrics.recsys.popularity_bias import PopularityBias
from evidently.legacy.metrics.recsys.serendipity import SerendipityMetric
from evidently.legacy.pipeline.column_mapping import ColumnMapping
from evidently.legacy.report import Report

VERSION = version("evidently")
PACKAGES = {name: version(name) for name in ("numpy", "pandas")}


def record(golden):
    warnings.simplefilter("ignore")
    for case in inputs.CASES:
        if case["name"] == "shown_repeated":
            continue
        genres = sorted({genre for own in case["categories"].values() for genre in own})
        vectors = {
            item: [float(genre in case["categories"].get(item, ())) for genre in genres]
            for item in case["catalogue"]
        }
        rows = [
            (user, item, place, case["truth"].get(user, {}).get(item, 0), *vectors[item])
            for user in case["rankings"]
            for place, item in enumerate(inputs.ranked_items(case, user), start=1)
        ]
        shown = pandas.DataFrame(rows, columns=["user", "item", "prediction", "gain", *genres])
        rows = [(user, i, *vectors[i]) for user, own in case["train"].items() for i in own]
        train = pandas.DataFrame(rows, columns=["user", "item", *genres])
        for k in case["ks"]:
            bias = PopularityBias(k)
            for name, metric, value in [
                ("PopularityBias[arp]", bias, "current_apr"),
                ("PopularityBias[coverage]", bias, "current_coverage"),
                ("PopularityBias[gini]", bias, "current_gini"),
                (
                    "PopularityBias[arp, normalize_arp]",
                    PopularityBias(k, normalize_arp=True),
                    "current_apr",
                ),
                ("PersonalizationMetric", PersonalizationMetric(k), "current_value"),
                ("NoveltyMetric", NoveltyMetric(k), "current_value"),
                ("DiversityMetric", DiversityMetric(k, genres), "current_value"),
                ("SerendipityMetric", SerendipityMetric(k, genres), "current_value"),
            ]:
                golden.attempt(
                    case, f"{name}@{k}", lambda m=metric, v=value: answer(m, v, shown, train)
                )


def answer(metric, value, shown, train):
    mapping = ColumnMapping(
        target="gain", prediction="prediction", user_id="user", item_id="item",
        recommendations_type="rank",
    )  # fmt: skip
    report = Report(metrics=[metric])
    report.run(
        reference_data=None,
        current_data=shown.copy(),
        column_mapping=mapping,
        additional_data={"current_train_data": train.copy()},
    )
    return float(getattr(metric.get_result(), value))
