"""RecPack: ``Metric(K).calculate(y_true, y_pred)``, then ``.value`` and ``.results``.

``y_pred`` is a sparse matrix of scores: an item with score zero is not recommended, so if a case
has scores at or below zero, all scores of that user are shifted up by a constant. ``y_true`` holds
ones. Rows are the users of the truth. Of a duplicate the better place is kept: a cell holds one
score.
"""

from importlib.metadata import version

import inputs
from recpack.metrics import (
    DCGK,
    NDCGK,
    CalibratedRecallK,
    HitK,
    PercentileRanking,
    PrecisionK,
    RecallK,
    ReciprocalRankK,
)  # fmt: skip
from scipy.sparse import csr_matrix, lil_matrix

VERSION = version("recpack")
PACKAGES = {name: version(name) for name in ("numpy", "scipy")}

CUT = {
    "PrecisionK": PrecisionK,
    "RecallK": RecallK,
    "CalibratedRecallK": CalibratedRecallK,
    "NDCGK": NDCGK,
    "DCGK": DCGK,
    "ReciprocalRankK": ReciprocalRankK,
    "HitK": HitK,
}


def record(golden):
    for case in inputs.CASES:
        users = sorted(case["truth"])
        items = {item: at for at, item in enumerate(inputs.item_numbers(case))}
        true = lil_matrix((len(users), len(items)))
        scores = lil_matrix(true.shape)
        for row, user in enumerate(users):
            for item in inputs.relevant_items(case, user):
                true[row, items[item]] = 1
            listed = case["rankings"].get(user, [])
            lowest = min((score for _, score in listed), default=1)
            shift = 0 if lowest > 0 else 1 - lowest
            for item, score in reversed(listed):
                scores[row, items[item]] = max(score + shift, scores[row, items[item]])
        matrices = csr_matrix(true), csr_matrix(scores)
        for k in case["ks"]:
            for name, metric in CUT.items():
                full = f"{name}@{k}"
                golden.attempt(case, full, lambda m=metric(k): answer(m, users, *matrices))
        golden.attempt(
            case, "PercentileRanking", lambda: answer(PercentileRanking(), users, *matrices)[0]
        )


def answer(metric, users, true, scores):
    metric.calculate(true, scores)
    per_user = None
    if "user_id" in metric.results:
        summed = metric.results.groupby("user_id")["score"].sum()
        per_user = {users[row]: value for row, value in summed.items()}
    return metric.value, per_user
