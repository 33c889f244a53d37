"""Azure AI Evaluation: ``DocumentRetrievalEvaluator`` on the documents of each query.

Its cutoff is 3. The mean is that of the values of all queries that it takes.
"""

from importlib.metadata import version

import inputs
from azure.ai.evaluation import DocumentRetrievalEvaluator

VERSION = version("azure-ai-evaluation")
PACKAGES = {}


def record(golden):
    for case in inputs.CASES:
        golden.attempt(case, "ndcg@3", lambda c=case: answer(c))


def answer(case):
    values = {}
    gains = [gain for judged in case["truth"].values() for gain in judged.values()]
    evaluator = DocumentRetrievalEvaluator(
        ground_truth_label_min=min(0, *map(int, gains)),
        ground_truth_label_max=max(4, *map(int, gains)),
    )
    for user in sorted(case["truth"]):
        judged = [
            {
                "document_id": str(item),
                "query_relevance_label": int(gain) if gain == int(gain) else gain,
            }
            for item, gain in case["truth"][user].items()
        ]
        retrieved = [
            {"document_id": str(item), "relevance_score": float(score)}
            for item, score in case["rankings"].get(user, [])
        ]
        if judged:
            asked = {"retrieval_ground_truth": judged, "retrieved_documents": retrieved}
            values[user] = evaluator(**asked)["document_retrieval"]
    return sum(values.values()) / len(values), values
