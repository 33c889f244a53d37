"""RankerEval: ``Metric(k).score(labels, rankings)`` and ``.mean(..., nan_handling=)``.

``[ranked]`` gives ``Rankings.from_ranked_indices`` the lists, ``[scores]`` gives
``Rankings.from_scores`` a dense row of scores, unranked items as NaN. Binary metrics know the
relevant items, DCG and NDCG every judged gain. Rows are the users of the truth; a user without a
list is an empty row.
"""

import warnings
from importlib.metadata import version

import inputs
import numpy
from rankereval import (
    AP,
    DCG,
    F1,
    NDCG,
    BinaryLabels,
    FirstRelevantRank,
    HitRate,
    MeanRanks,
    NumericLabels,
    Precision,
    Rankings,
    Recall,
    ReciprocalRank,
)  # fmt: skip

VERSION = version("rankereval")
PACKAGES = {name: version(name) for name in ("numba", "numpy", "scipy")}

BINARY = {
    "Precision": Precision,
    "Precision[truncated]": lambda k: Precision(k, truncated=True),
    "Recall": Recall,
    "Recall[truncated]": lambda k: Recall(k, truncated=True),
    "F1": F1,
    "HitRate": HitRate,
    "ReciprocalRank": ReciprocalRank,
    "AP": AP,
}
GRADED = {
    "DCG": DCG,
    "DCG[log_base=2]": lambda k: DCG(k, log_base="2"),
    "NDCG": NDCG,
    "NDCG[log_base=2]": lambda k: NDCG(k, log_base="2"),
    "NDCG[relevance_scaling=power]": lambda k: NDCG(k, relevance_scaling="power"),
}
WHOLE = {"MeanRanks": MeanRanks, "FirstRelevantRank": FirstRelevantRank}
SCORED = ["ties", "ties_graded", "three_way_tie", "float32_ties", "unsorted", "negative_scores"]


def record(golden):
    warnings.simplefilter("ignore")
    for case in inputs.CASES:
        items = {item: at for at, item in enumerate(inputs.item_numbers(case))}
        users = sorted(case["truth"])
        relevant = BinaryLabels.from_positive_indices(
            [sorted(items[item] for item in inputs.relevant_items(case, user)) for user in users]
        )
        gains = numpy.zeros((len(users), len(items)))
        scores = numpy.full(gains.shape, numpy.nan)
        for row, user in enumerate(users):
            for item, gain in case["truth"][user].items():
                gains[row, items[item]] = gain
            for item, score in case["rankings"].get(user, []):
                scores[row, items[item]] = score
        judged = NumericLabels.from_matrix(gains)
        listed = [[items[item] for item in inputs.ranked_items(case, user)] for user in users]
        rankings = {"ranked": Rankings.from_ranked_indices(listed)}
        if case["name"] in SCORED:
            rankings["scores"] = Rankings.from_scores(scores)
        for fed, ranked in rankings.items():
            for k in case["ks"]:
                for name, metric in BINARY.items():
                    keep(golden, case, name, fed, k, metric(k), relevant, ranked, users)
                for name, metric in GRADED.items():
                    keep(golden, case, name, fed, k, metric(k), judged, ranked, users)
            for name, metric in WHOLE.items():
                keep(golden, case, name, fed, None, metric(), relevant, ranked, users)


def keep(golden, case, name, fed, k, metric, labels, ranked, users):
    for handling in ("propagate", "drop", "zerofill"):
        if handling != "propagate" and case["name"] not in ("zero_truth", "one_item", "no_hits"):
            continue
        options = fed if handling == "propagate" else fed + ", nan_handling=" + handling

        def compute(handling=handling):
            mean = metric.mean(labels, ranked, nan_handling=handling)
            if handling != "propagate":
                return mean
            return mean, dict(zip(users, metric.score(labels, ranked)))

        spelled = name[:-1] + ", " if name.endswith("]") else name + "["
        full = spelled + options + "]" + ("" if k is None else f"@{k}")
        golden.attempt(case, full, compute)
