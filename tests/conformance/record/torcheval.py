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
    return {
        user: (
            torch.tensor(scores),
            torch.tensor([int(inputs.is_relevant(case, grade)) for grade in grades]),
        )
        for user, (grades, scores) in inputs.candidates(case, scope).items()
    }
