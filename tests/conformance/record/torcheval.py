"""torcheval: ``retrieval_precision``, ``hit_rate`` and ``reciprocal_rank`` of single queries.

torcheval scores the candidates that it is given: ``[list]`` gives it the ranked items,
``[list+truth]`` adds the judged items that were not ranked with a score below every other. It has
no recall and no mean of its own. ``hit_rate`` and ``reciprocal_rank`` take one true item for each
query: only the cases without a query of several get them. Scores are in single precision.
"""

from importlib.metadata import version

import inputs
import torch
from torcheval.metrics.functional import hit_rate, reciprocal_rank, retrieval_precision

VERSION = version("torcheval")
PACKAGES = {"torch": version("torch").partition("+")[0]}


def limited(scores, target, k):
    return retrieval_precision(scores, target, k=k, limit_k_to_size=True)


def of_one(metric):
    return lambda scores, target, k: metric(scores[None], target.argmax()[None], k=k)[0]


SEVERAL = {
    "retrieval_precision": lambda scores, target, k: retrieval_precision(scores, target, k=k),
    "retrieval_precision[limit_k_to_size]": limited,
}
ONE = {"hit_rate": of_one(hit_rate), "reciprocal_rank": of_one(reciprocal_rank)}


def record(golden):
    for case in inputs.CASES:
        for scope in ("list", "list+truth"):
            rows = candidates(case, scope)
            single = {user: row for user, row in rows.items() if int(row[1].sum()) == 1}
            if any(len(inputs.relevant_items(case, user)) > 1 for user in case["truth"]):
                single = {}
            for metrics, users in ((SEVERAL, rows), (ONE, single)):
                for name, metric in metrics.items():
                    for k in case["ks"]:
                        per_user = {u: float(metric(*row, k)) for u, row in users.items()}
                        if per_user:
                            golden.metric(case, f"{name}[{scope}]@{k}", None, per_user)


def candidates(case, scope):
    """Scores and labels of each user with a candidate, in list order."""
    rows = {}
    for user in sorted(set(case["rankings"]) & set(case["truth"])):
        judged, listed = case["truth"][user], list(case["rankings"][user])
        if scope == "list+truth":
            ranked = set(inputs.ranked_items(case, user))
            low = min((score for _, score in listed), default=0.0) - 1.0
            listed += [[item, low] for item in judged if item not in ranked]
        if listed:
            labels = [int(inputs.is_relevant(case, judged.get(item, 0))) for item, _ in listed]
            rows[user] = torch.tensor([score for _, score in listed]), torch.tensor(labels)
    return rows
