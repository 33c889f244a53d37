"""MTEB: ``calculate_retrieval_scores(results, qrels, k_values)``, behind all retrieval tasks.

Means are rounded to five decimals, but for MRR; relevant is what has a gain above 0. The tasks of
LMEB add ``recall_cap``, whose mean is that of the queries with a value.
"""

from importlib.metadata import version

import inputs
from mteb._evaluators.retrieval_metrics import calculate_retrieval_scores, mrr, recall_cap

VERSION = version("mteb")
PACKAGES = {"pytrec-eval-terrier": version("pytrec-eval-terrier")}

CUT = {"NDCG": "ndcg_cut", "MAP": "map_cut", "Recall": "recall", "P": "P", "HitRate": "success"}


def record(golden):
    for case in inputs.CASES:
        run = {user: dict(map(tuple, listed)) for user, listed in case["rankings"].items()}
        try:
            found = calculate_retrieval_scores(run, case["truth"], case["ks"])
        except Exception as error:
            golden.refuse(case, error)
            continue
        means = {**found.ndcg, **found.map, **found.recall, **found.precision, **found.hit_rate}
        for name, measure in CUT.items():
            for k in case["ks"]:
                per_user = {user: one[f"{measure}_{k}"] for user, one in found.all_scores.items()}
                golden.metric(case, f"{name}@{k}", means[f"{name}@{k}"], per_user)
        for name, values in mrr(case["truth"], run, case["ks"]).items():
            golden.metric(case, name, found.mrr[name], dict(zip(run, values)))
        for name, values in recall_cap(case["truth"], run, case["ks"]).items():
            defined = [value for value in values if value is not None]
            per_user = {u: float("nan") if v is None else v for u, v in zip(run, values)}
            mean = sum(defined) / len(defined)
            golden.metric(case, name.replace("_at_", "@"), mean, per_user)
