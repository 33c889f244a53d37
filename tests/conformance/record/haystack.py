"""Haystack: the evaluators of documents, ``run(ground_truth_documents, retrieved_documents)``.

``[graded]`` marks expected documents with a score, which is then the gain.
"""

from importlib.metadata import version

import inputs
from haystack import Document
from haystack.components.evaluators import (
    DocumentMAPEvaluator,
    DocumentMRREvaluator,
    DocumentNDCGEvaluator,
    DocumentRecallEvaluator,
)

VERSION = version("haystack-ai")
PACKAGES = {}

EVALUATORS = {
    "DocumentMRREvaluator": DocumentMRREvaluator(),
    "DocumentMAPEvaluator": DocumentMAPEvaluator(),
    "DocumentNDCGEvaluator": DocumentNDCGEvaluator(),
    "DocumentNDCGEvaluator[graded]": DocumentNDCGEvaluator(),
    "DocumentRecallEvaluator[multi_hit]": DocumentRecallEvaluator("multi_hit"),
    "DocumentRecallEvaluator[single_hit]": DocumentRecallEvaluator("single_hit"),
}


def record(golden):
    for case in inputs.CASES:
        if case["name"] == "duplicates":
            continue
        for name, evaluator in EVALUATORS.items():
            golden.attempt(case, name, lambda n=name, e=evaluator: answer(case, e, "graded" in n))


def answer(case, evaluator, graded):
    users = sorted(case["truth"])
    expected = [
        [
            Document(id=item, content=item, score=case["truth"][user][item] if graded else None)
            for item in sorted(inputs.relevant_items(case, user))
        ]
        for user in users
    ]
    retrieved = [
        [Document(id=item, content=item) for item, _ in case["rankings"].get(user, [])]
        for user in users
    ]
    found = evaluator.run(expected, retrieved)
    return found["score"], dict(zip(users, found["individual_scores"]))
