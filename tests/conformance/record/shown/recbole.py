"""RecBole: list metrics, from the matrix of the items of each user.

The matrix needs lists of one length, so only cases with lists of 10 and more are recorded. Items
are numbers; the number of items is that of the catalogue, without the padding item.
"""

from importlib.metadata import version

import shown as inputs
import torch
from recbole.evaluator import metrics
from recbole.evaluator.collector import DataStruct

VERSION = version("recbole")
PACKAGES = {name: version(name) for name in ("torch", "numpy")}
METRICS = ["ItemCoverage", "AveragePopularity", "ShannonEntropy", "GiniIndex", "TailPercentage"]


def record(golden):
    for case in inputs.CASES:
        if min(map(len, case["rankings"].values())) < 10 or case["name"] == "shown_repeated":
            continue
        number = {item: at for at, item in enumerate(case["catalogue"], start=1)}
        train = [number[item] for own in case["train"].values() for item in own]
        data = DataStruct()
        shown = [[number[i] for i in inputs.ranked_items(case, u)[:10]] for u in case["rankings"]]
        data.set("rec.items", torch.tensor(shown))
        data.set("data.num_items", len(number))
        data.set("data.count_items", {item: train.count(item) for item in train})
        config = {"topk": case["ks"], "metric_decimal_place": 16, "tail_ratio": None}
        for name in METRICS:
            answers = getattr(metrics, name)(config).calculate_metric(data)
            for label, value in answers.items():
                golden.metric(case, label, value)
