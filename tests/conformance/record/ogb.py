"""OGB: the link prediction ``Evaluator``, torch and NumPy input alike.

Each true item of each user is one positive, the whole catalogue its candidates: so only the cases
whose lists hold every item. ``mrr`` gets the user's other items as negatives — ``filtered`` without
the other true ones, ``raw`` with them — one call for each positive, because the evaluator wants as
many negatives for each. ``hits`` gets all positives and one pool of all negatives' scores.
"""

from importlib.metadata import version

import inputs
import numpy
import torch
from ogb.linkproppred import Evaluator

VERSION = version("ogb")
PACKAGES = {"numpy": version("numpy"), "torch": version("torch").partition("+")[0]}

MRR = ["mrr_list", "hits@1_list", "hits@3_list", "hits@10_list"]


def record(golden):
    for case in inputs.CASES:
        if not case["name"].startswith("full_catalogue"):
            golden.refuse(case, "needs the score of every candidate: full catalogues only")
            continue
        for kind, array in (("torch", torch.tensor), ("numpy", numpy.array)):
            for setting in ("filtered", "raw"):
                ranked(golden, case, setting, kind, array)
            pooled(golden, case, kind, array)


def ranked(golden, case, setting, kind, array):
    evaluator = Evaluator("ogbl-wikikg2")

    def answers():
        for user in sorted(case["truth"]):
            relevant = inputs.relevant_items(case, user)
            scores = dict(map(tuple, case["rankings"][user]))
            for item in relevant:
                out = relevant if setting == "filtered" else [item]
                negatives = [float(score) for other, score in scores.items() if other not in out]
                fed = {
                    "y_pred_pos": array([float(scores[item])]),
                    "y_pred_neg": array([negatives]),
                }
                yield f"{user}/{item}", evaluator.eval(fed)

    for name in MRR:
        golden.attempt(
            case,
            f"{name}[{setting}, {kind}]",
            lambda name=name: (None, {at: float(answer[name][0]) for at, answer in answers()}),
        )


def pooled(golden, case, kind, array):
    evaluator = Evaluator("ogbl-ddi")
    positives, negatives = [], []
    for user, listed in case["rankings"].items():
        relevant = inputs.relevant_items(case, user)
        for item, score in listed:
            (positives if item in relevant else negatives).append(float(score))
    for k in (1, 3, 10, 20, 100, len(negatives) + 1):
        evaluator.K = k
        fed = {"y_pred_pos": array(positives), "y_pred_neg": array(negatives)}
        golden.metric(case, f"hits[pool, {kind}]@{k}", evaluator.eval(fed)[f"hits@{k}"])
