"""TF-Ranking: the Keras metrics of ``tfr.keras.metrics`` on padded rows.

A row holds one user's candidates: ``[list]`` the ranked items with their gains, ``[list+truth]``
also the judged items that were not ranked, below every other. Shorter rows are padded with the
label -1, which TF-Ranking masks. Equal scores are shuffled by TF-Ranking, so lists with ties are
left out. A value per user is the metric of that row alone; users of the truth only. All float32.
"""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

from importlib.metadata import version

import inputs
import tensorflow as tf
import tensorflow_ranking as tfr

VERSION = version("tensorflow-ranking")
PACKAGES = {name: version(name) for name in ("numpy", "tensorflow")}

METRICS = {
    "PrecisionMetric": lambda k: tfr.keras.metrics.PrecisionMetric(topn=k),
    "RecallMetric": lambda k: tfr.keras.metrics.RecallMetric(topn=k),
    "HitsMetric": lambda k: tfr.keras.metrics.HitsMetric(topn=k),
    "MRRMetric": lambda k: tfr.keras.metrics.MRRMetric(topn=k),
    "MeanAveragePrecisionMetric": lambda k: tfr.keras.metrics.MeanAveragePrecisionMetric(topn=k),
    "NDCGMetric": lambda k: tfr.keras.metrics.NDCGMetric(topn=k),
    "DCGMetric": lambda k: tfr.keras.metrics.DCGMetric(topn=k),
}
WHOLE = {"ARPMetric": tfr.keras.metrics.ARPMetric, "OPAMetric": tfr.keras.metrics.OPAMetric}
TIED = ["ties", "ties_graded", "three_way_tie", "float32_ties", "string_ids", "integer_ids",
        "full_catalogue_ties"]  # fmt: skip
PADDING = -1.0


def record(golden):
    for case in inputs.CASES:
        if case["name"] in TIED:
            golden.refuse(case, "equal scores are shuffled: the answer changes from run to run")
            continue
        for scope in ("list", "list+truth"):
            labels, scores, users = rows(case, scope)
            for name, metric in METRICS.items():
                for k in case["ks"]:
                    full = f"{name}[{scope}]@{k}"
                    keep(golden, case, full, lambda m=metric, k=k: m(k), labels, scores, users)
            for name, metric in WHOLE.items():
                keep(golden, case, f"{name}[{scope}]", metric, labels, scores, users)


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
        graded = "gains" in " ".join(case["features"]) or case["name"].endswith("graded")
        gains = [judged.get(item, 0) for item, _ in listed]
        if not graded:
            gains = [int(inputs.is_relevant(case, gain)) for gain in gains]
        labels.append([float(gain) for gain in gains])
        scores.append([float(score) for _, score in listed])
    width = max(map(len, labels))
    for row in range(len(users)):
        missing = width - len(labels[row])
        labels[row] += [PADDING] * missing
        scores[row] += [-1000.0] * missing
    return labels, scores, users


def keep(golden, case, name, metric, labels, scores, users):
    def of(labels, scores):
        measured = metric()
        measured.update_state(tf.constant(labels), tf.constant(scores))
        return float(measured.result())

    per_user = {user: of([labels[row]], [scores[row]]) for row, user in enumerate(users)}
    golden.metric(case, name, of(labels, scores), per_user)
