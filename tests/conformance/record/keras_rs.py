"""keras-rs: the metrics of ``keras_rs.metrics`` on padded rows, with NumPy as the backend of Keras.

A row holds one user's candidates: ``[list]`` the ranked items with their gains, ``[list+truth]``
also the judged items that were not ranked, below every other. Shorter rows are padded with the
label -1, which is masked. Equal scores are shuffled, so lists with ties are left out. A value per
user is the metric of that row alone, if it has a candidate; users of the truth only. All in single
precision.
"""

import os

os.environ["KERAS_BACKEND"] = "numpy"

from importlib.metadata import version

import inputs
import keras_rs
import numpy

VERSION = version("keras-rs")
PACKAGES = {name: version(name) for name in ("keras", "numpy")}

METRICS = ["NDCG", "DCG", "MeanAveragePrecision", "MeanReciprocalRank", "PrecisionAtK", "RecallAtK"]
TIED = ["ties", "ties_graded", "three_way_tie", "float32_ties", "string_ids", "integer_ids",
        "full_catalogue_ties"]  # fmt: skip
PADDING = -1.0
NO_CANDIDATE = -1000.0


def record(golden):
    for case in inputs.CASES:
        if case["name"] in TIED:
            golden.refuse(case, "equal scores are shuffled: the answer changes from run to run")
            continue
        for scope in ("list", "list+truth"):
            labels, scores, users = rows(case, scope)
            for name in METRICS:
                for k in case["ks"]:
                    keep(golden, case, f"{name}[{scope}]@{k}", (name, k), labels, scores, users)


def rows(case, scope):
    users = sorted(set(case["rankings"]) & set(case["truth"]))
    labels, scores = [], []
    for user in users:
        judged = case["truth"][user]
        listed = list(case["rankings"][user])
        if scope == "list+truth":
            ranked = set(inputs.ranked_items(case, user))
            low = min((score for _, score in listed), default=0.0) - 1.0
            listed += [[item, low - at] for at, item in enumerate(judged) if item not in ranked]
        labels.append([float(judged.get(item, 0)) for item, _ in listed])
        scores.append([float(score) for _, score in listed])
    width = max(map(len, labels))
    for row in range(len(users)):
        missing = width - len(labels[row])
        labels[row] += [PADDING] * missing
        scores[row] += [NO_CANDIDATE] * missing
    return numpy.array(labels), numpy.array(scores), users


def keep(golden, case, name, asked, labels, scores, users):
    def of(labels, scores):
        metric = getattr(keras_rs.metrics, asked[0])(k=asked[1])
        metric.update_state(labels, scores)
        return float(metric.result())

    per_user = {
        user: of(labels[[row]], scores[[row]])
        for row, user in enumerate(users)
        if scores[row, 0] > NO_CANDIDATE
    }
    golden.metric(case, name, of(labels, scores), per_user)
