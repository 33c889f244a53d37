"""torchmetrics: the retrieval classes, ``metric.update(preds, target, indexes)``, ``compute()``.

torchmetrics scores the candidates it is given: ``[list]`` gives it the ranked items,
``[list+truth]`` adds the judged items that were not ranked with a score below every other. A user
without any candidate cannot be expressed. Values per user come from a metric object that saw that
user alone. Scores are float32, the mean is a float32 too.
"""

from importlib.metadata import version

import inputs
import torch
from torchmetrics.retrieval import (
    RetrievalFallOut,
    RetrievalHitRate,
    RetrievalMAP,
    RetrievalMRR,
    RetrievalNormalizedDCG,
    RetrievalPrecision,
    RetrievalRecall,
    RetrievalRPrecision,
)

VERSION = version("torchmetrics")
PACKAGES = {"torch": version("torch").partition("+")[0]}

CUT = {
    "RetrievalPrecision": RetrievalPrecision,
    "RetrievalPrecision[adaptive_k]": lambda **o: RetrievalPrecision(adaptive_k=True, **o),
    "RetrievalRecall": RetrievalRecall,
    "RetrievalHitRate": RetrievalHitRate,
    "RetrievalMAP": RetrievalMAP,
    "RetrievalMRR": RetrievalMRR,
    "RetrievalNormalizedDCG": RetrievalNormalizedDCG,
    "RetrievalFallOut": RetrievalFallOut,
}
WHOLE = {
    "RetrievalRPrecision": RetrievalRPrecision,
    "RetrievalMAP": RetrievalMAP,
    "RetrievalMRR": RetrievalMRR,
    "RetrievalNormalizedDCG": RetrievalNormalizedDCG,
}
# What counts for a user without anything relevant among the candidates; the default is "neg".
EMPTY = ("skip", "pos", "error")


def record(golden):
    for case in inputs.CASES:
        for scope in ("list", "list+truth"):
            for name, metric in WHOLE.items():
                keep(golden, case, f"{name}[{scope}]", scope, metric)
            for k in case["ks"]:
                for name, metric in CUT.items():
                    keep(golden, case, f"{name}[{scope}]@{k}", scope, metric, top_k=k)
        if case["name"] in ("no_hits", "zero_truth", "empty_truth"):
            for action in EMPTY:
                for name in ("RetrievalMAP", "RetrievalNormalizedDCG", "RetrievalFallOut"):
                    full = f"{name}[list, empty_target_action={action}]@10"
                    options = {"top_k": 10, "empty_target_action": action}
                    keep(golden, case, full, "list", CUT[name], **options)


def keep(golden, case, name, scope, metric, **options):
    def compute():
        graded = name.startswith("RetrievalNormalizedDCG")
        numbers = inputs.user_numbers(case)
        users = sorted(set(case["rankings"]) & set(case["truth"]))
        mean, per_user = metric(**options), {}
        for user in users:
            scores, gains = candidates(case, user, scope, graded)
            if not scores:
                continue
            fed = (
                torch.tensor(scores, dtype=torch.float32),
                torch.tensor(gains),
                torch.full((len(scores),), numbers[user]),
            )
            mean.update(*fed[:2], indexes=fed[2])
            if options.get("empty_target_action") != "error":
                alone = metric(**options)
                alone.update(*fed[:2], indexes=fed[2])
                per_user[user] = alone.compute()
        return mean.compute(), per_user or None

    golden.attempt(case, name, compute)


def candidates(case, user, scope, graded):
    judged = case["truth"][user]
    items = inputs.ranked_items(case, user)
    scores = [score for _, score in case["rankings"][user]]
    if scope == "list+truth":
        left = [item for item in judged if item not in items]
        items = items + left
        scores = scores + [min(scores, default=0.0) - 1.0] * len(left)
    gains = [judged.get(item, 0) for item in items]
    return scores, gains if graded else [inputs.is_relevant(case, gain) for gain in gains]
