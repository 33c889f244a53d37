"""allRank: ``ndcg``, ``dcg`` and ``mrr`` of ``allrank.models.metrics`` on padded rows.

A row holds one user's candidates: ``[list]`` the ranked items with their gains, ``[list+truth]``
also the judged items that were not ranked, below every other. Shorter rows are padded with the
label -1, which is masked. The sort is not stable, so lists with ties are left out, and so are
negative gains, since -1 is the padding. MRR gets labels of 0 and 1. Users of the truth only. All in
single precision. The module that defines the padding loads data sets with libraries that are not
installed, so it is replaced by its constant.
"""

import sys
import types
from importlib.metadata import version

sys.modules["allrank.data.dataset_loading"] = types.SimpleNamespace(PADDED_Y_VALUE=-1)

import inputs
import torch
from allrank.models.metrics import dcg, mrr, ndcg

VERSION = version("allRank")
PACKAGES = {name: version(name) for name in ("torch", "numpy")}
METRICS = {"ndcg": ndcg, "dcg": dcg, "mrr": mrr}
TIED = ["ties", "ties_graded", "three_way_tie", "float32_ties", "string_ids", "integer_ids",
        "full_catalogue_ties"]  # fmt: skip


def record(golden):
    for case in inputs.CASES:
        if case["name"] in TIED:
            golden.refuse(case, "the sort of equal scores is not stable")
            continue
        if case["name"] == "negative_gains":
            golden.refuse(case, "-1 is the padding")
            continue
        for scope in ("list", "list+truth"):
            rows = inputs.candidates(case, scope)
            for name, metric in METRICS.items():
                for k in case["ks"]:
                    values = answer(rows, metric, k)
                    mean = sum(values.values()) / len(values)
                    golden.metric(case, f"{name}[{scope}]@{k}", mean, values)


def answer(rows, metric, k):
    width = max(len(labels) for labels, _ in rows.values())
    labels, scores = torch.full((2, len(rows), width), -1.0)
    for row, (given, scored) in enumerate(rows.values()):
        gains = torch.tensor(given)
        labels[row, : len(given)] = (gains > 0).float() if metric is mrr else gains
        scores[row, : len(scored)] = torch.tensor(scored)
    return dict(zip(rows, metric(scores, labels, ats=[k])[:, 0].tolist()))
