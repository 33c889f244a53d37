"""sentence-transformers: ``InformationRetrievalEvaluator.compute_metrics`` of given hits.

The metrics of the evaluator without the model: the hits are the scores of the shared inputs.
"""

from importlib.metadata import version

import inputs
from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator

VERSION = version("sentence-transformers")
PACKAGES = {name: version(name) for name in ("torch", "numpy")}

NAMES = ["accuracy", "precision", "recall", "ndcg", "mrr", "map"]
CUTOFFS = ["accuracy_at_k", "precision_recall_at_k", "mrr_at_k", "ndcg_at_k", "map_at_k"]


def record(golden):
    for case in inputs.CASES:
        relevant = {user: set(inputs.relevant_items(case, user)) for user in case["truth"]}
        items = sorted({item for listed in case["rankings"].values() for item, _ in listed})
        evaluator = InformationRetrievalEvaluator(
            {user: user for user in case["truth"]},
            {item: item for item in items},
            relevant,
            **dict.fromkeys(CUTOFFS, case["ks"]),
        )
        hits = [
            [{"corpus_id": i, "score": s} for i, s in dict(map(tuple, listed)).items()]
            for listed in (case["rankings"].get(user, []) for user in evaluator.queries_ids)
        ]
        try:
            found = evaluator.compute_metrics(hits)
        except Exception as error:
            golden.refuse(case, error)
            continue
        for name in NAMES:
            for k in case["ks"]:
                golden.metric(case, f"{name}@{k}", found[f"{name}@k"][k])
