"""WarpRec: the metric classes of ``warprec.evaluation``, fed as its ``Evaluator`` feeds them.

A metric gets one row of scores over all items for each user, with -inf for unlisted items, and
one of gains. It ranks the whole catalogue and does not support short lists: dummy items (as many as
the largest k) follow every list, so that no unlisted item is drawn in. The blocks are what its
evaluator computes once for all metrics. AUC, GAUC and LAUC are recorded where the lists hold the
whole catalogue.
"""

from importlib.metadata import version

import inputs
import numpy
import torch
import warprec.evaluation
from warprec.utils.registry import metric_registry

VERSION = version("warprec")
PACKAGES = {"numpy": version("numpy"), "torch": version("torch").partition("+")[0]}

METRICS = ["Precision", "Recall", "HitRate", "MRR", "MAP", "MAR", "nDCG", "nDCGRendle2020", "F1"]
AREAS = ["AUC", "GAUC", "LAUC"]


def record(golden):
    assert warprec.evaluation  # it registers the metrics
    for case in inputs.CASES:
        items = inputs.item_numbers(case)
        users = sorted(case["truth"])
        whole = case["name"].startswith("full_catalogue")
        behind = 0 if whole else max(case["ks"])
        scores = torch.full((len(users), max(items.values()) + behind), -numpy.inf)
        scores[:, scores.shape[1] - behind :] = -1000.0 - torch.arange(behind)
        gains = torch.zeros(scores.shape)
        for row, user in enumerate(users):
            for item, score in case["rankings"].get(user, []):
                # Of a duplicate the better place stays: a row holds an item once.
                at = items[item] - 1
                scores[row, at] = max(score, scores[row, at].item())
            for item in inputs.relevant_items(case, user):
                gains[row, items[item] - 1] = case["truth"][user][item]
        for k in case["ks"]:
            for name in METRICS + AREAS * whole:
                golden.attempt(
                    case, f"{name}@{k}", lambda n=name, k=k: answer(n, k, users, scores, gains)
                )


def answer(name, k, users, scores, gains, **given):
    """The number of a metric, with the values of its users if it has them."""
    metric = metric_registry.get(
        name, k=k, num_users=len(users), num_items=scores.shape[1], **given
    )
    ground = {"ground": gains, **blocks(metric, k, scores, gains)}
    metric.update(scores, user_indices=torch.arange(len(users)), **ground)
    found = metric.compute()[metric.name]
    if isinstance(found, torch.Tensor) and found.numel() == len(users):
        values = dict(zip(users, found.tolist()))
        return found.nanmean().item(), values
    return float(found)


def blocks(metric, k, scores, gains):
    """What the evaluator computes for all metrics once."""
    top, at = torch.topk(scores, min(k, scores.shape[1]), dim=1)
    binary, graded = metric.binary_relevance(gains), metric.discounted_relevance(gains)
    return {
        "binary_relevance": binary,
        "discounted_relevance": graded,
        "valid_users": metric.valid_users(gains),
        f"top_{k}_values": top,
        f"top_{k}_indices": at,
        f"top_{k}_binary_relevance": torch.gather(binary, 1, at),
        f"top_{k}_discounted_relevance": torch.gather(graded, 1, at),
    }
