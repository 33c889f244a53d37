"""RecTools: ``metric.calc(reco, interactions)`` and ``calc_per_user``.

``reco`` holds user, item and the place in the list as rank (RecTools reads no scores); the
interactions are the relevant items. An empty list or an empty truth is the absence of rows.
"""

from importlib.metadata import version

import inputs
import pandas
from rectools import Columns
from rectools.metrics import (
    MAP,
    MCC,
    MRR,
    NDCG,
    PAP,
    Accuracy,
    F1Beta,
    HitRate,
    PartialAUC,
    Precision,
    Recall,
)  # fmt: skip

VERSION = version("rectools")
PACKAGES = {name: version(name) for name in ("numpy", "pandas", "scipy")}

METRICS = {
    "Precision": Precision,
    "Precision[r_precision]": lambda k: Precision(k, r_precision=True),
    "Recall": Recall,
    "F1Beta": F1Beta,
    "F1Beta[beta=2]": lambda k: F1Beta(k, beta=2),
    "HitRate": HitRate,
    "MAP": MAP,
    "MAP[divide_by_k]": lambda k: MAP(k, divide_by_k=True),
    "NDCG": NDCG,
    "NDCG[divide_by_achievable]": lambda k: NDCG(k, divide_by_achievable=True),
    "NDCG[log_base=3]": lambda k: NDCG(k, log_base=3),
    "NDCG[log_base=3, divide_by_achievable]": lambda k: NDCG(
        k, log_base=3, divide_by_achievable=True
    ),
    "MRR": MRR,
    "PartialAUC": lambda k: PartialAUC(k, insufficient_handling="ignore"),
    "PartialAUC[insufficient_handling=exclude]": lambda k: PartialAUC(
        k, insufficient_handling="exclude"
    ),
    "PAP": lambda k: PAP(k, insufficient_handling="ignore"),
    "PAP[insufficient_handling=exclude]": lambda k: PAP(k, insufficient_handling="exclude"),
}
OVER_CATALOGUE = {"Accuracy": Accuracy, "MCC": MCC}


def record(golden):
    for case in map(inputs.with_typed_items, inputs.CASES):
        reco = frame(
            [user, item, rank]
            for user in case["rankings"]
            for rank, item in enumerate(inputs.ranked_items(case, user), start=1)
        )
        truth = frame(
            [user, item, 0] for user in case["truth"] for item in inputs.relevant_items(case, user)
        ).drop(columns=Columns.Rank)
        catalogue = sorted(inputs.item_numbers(case))
        for k in case["ks"]:
            for name, metric in METRICS.items():
                full = f"{name}@{k}"
                golden.attempt(case, full, lambda m=metric(k): answer(m, reco, truth))
            for name, metric in OVER_CATALOGUE.items():
                full = f"{name}@{k}"
                golden.attempt(case, full, lambda m=metric(k): answer(m, reco, truth, catalogue))


def frame(rows):
    return pandas.DataFrame(list(rows), columns=[Columns.User, Columns.Item, Columns.Rank])


def answer(metric, *fed):
    return metric.calc(*fed), metric.calc_per_user(*fed).to_dict()
