"""LlamaIndex: the retrieval metrics, ``metric.compute(expected_ids=…, retrieved_ids=…)``.

They take one query, and refuse one without retrieved or without expected ids.
"""

from importlib.metadata import version

import inputs
from llama_index.core.evaluation.retrieval import metrics as tool

VERSION = version("llama-index-core")
PACKAGES = {}

METRICS = {
    "hit_rate": tool.HitRate(),
    "hit_rate[use_granular_hit_rate]": tool.HitRate(use_granular_hit_rate=True),
    "mrr": tool.MRR(),
    "precision": tool.Precision(),
    "recall": tool.Recall(),
    "ap": tool.AveragePrecision(),
    "ndcg": tool.NDCG(),
}


def record(golden):
    for case in inputs.CASES:
        if case["name"] == "duplicates":
            continue  # some metrics take a set of ids, others every occurrence
        for name, metric in METRICS.items():
            per_user = {}
            for user in case["truth"]:
                expected = sorted(inputs.relevant_items(case, user))
                retrieved = [item for item, _ in case["rankings"].get(user, [])]
                if expected and retrieved:
                    answer = metric.compute(expected_ids=expected, retrieved_ids=retrieved)
                    per_user[user] = answer.score
            golden.metric(case, name, per_user=per_user)
