"""PyTorch Geometric: link prediction list metrics, ``metric.update`` and ``compute``.

They take a matrix of k items for each user, so only cases with lists of 10 and more are recorded;
diversity takes one category per item.
"""

from importlib.metadata import version

import shown as inputs
import torch
from torch_geometric.metrics import (
    LinkPredAveragePopularity,
    LinkPredCoverage,
    LinkPredDiversity,
    LinkPredPersonalization,
)

VERSION = version("torch_geometric")
PACKAGES = {name: version(name) for name in ("torch", "numpy")}


def record(golden):
    for case in inputs.CASES:
        if min(map(len, case["rankings"].values())) < 10 or case["name"] == "shown_repeated":
            continue
        number = {item: at for at, item in enumerate(case["catalogue"])}
        train = [item for own in case["train"].values() for item in own]
        popularity = torch.tensor([train.count(item) for item in number], dtype=torch.float)
        truth = [
            (row, number[item])
            for row, user in enumerate(case["rankings"])
            for item in inputs.relevant_items(case, user)
        ]
        shown = torch.tensor(
            [[number[item] for item in inputs.ranked_items(case, u)[:10]] for u in case["rankings"]]
        )
        for k in case["ks"]:
            asked = {
                "coverage": LinkPredCoverage(k, num_dst_nodes=len(number)),
                "personalization": LinkPredPersonalization(k),
                "average_popularity": LinkPredAveragePopularity(k, popularity),
            }
            if case["name"] == "shown_one_category":
                genres = sorted({own[0] for own in case["categories"].values()})
                category = [genres.index(case["categories"][item][0]) for item in number]
                asked["diversity"] = LinkPredDiversity(k, torch.tensor(category))
            for name, metric in asked.items():
                golden.attempt(
                    case,
                    f"{name}@{k}",
                    lambda m=metric: answer(m, shown[:, :k], torch.tensor(truth).T),
                )


def answer(metric, shown, truth):
    metric.update(shown, truth)
    return float(metric.compute())
