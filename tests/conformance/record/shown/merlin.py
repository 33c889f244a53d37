"""Merlin Models: list metrics, ``merlin.models.tf.metrics.evaluation``.

They get a matrix of item numbers, so the lists of a case are cut to the shortest one. The frequency
of an item is its count in the training data. All float32.
"""

import shown as inputs
from golden import load

merlin = load("merlin")

import tensorflow
from merlin.models.tf.metrics import evaluation

VERSION, PACKAGES = merlin.VERSION, merlin.PACKAGES


def record(golden):
    for case in inputs.CASES:
        length = min(map(len, case["rankings"].values()))
        if case["name"] == "shown_repeated":
            continue
        number = {item: at for at, item in enumerate(case["catalogue"])}
        train = [number[item] for own in case["train"].values() for item in own]
        counts = tensorflow.constant([train.count(at) for at in range(len(number))])
        lists = {
            user: [number[item] for item, _ in listed[:length]]
            for user, listed in case["rankings"].items()
        }
        for k in case["ks"]:
            if k > length:
                continue
            for name, metric in (
                ("novelty_at", evaluation.NoveltyAt(counts, k=k)),
                ("popularity_bias_at", evaluation.PopularityBiasAt(counts, k=k)),
                ("item_coverage_at", evaluation.ItemCoverageAt(len(number), k=k)),
            ):
                golden.attempt(
                    case, f"{name}@{k}", lambda m=metric: number_of(m, [*lists.values()])
                )


def number_of(metric, lists):
    metric.update_state(tensorflow.constant(lists))
    return float(metric.result())
