"""The metrics of an evaluator of sentence-transformers, with its own signature and names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rankmeter._evaluation.evaluate import evaluate

__all__ = ["compute_metrics"]

_CUTOFFS = {
    "accuracy": "accuracy_at_k",
    "precision": "precision_recall_at_k",
    "recall": "precision_recall_at_k",
    "ndcg": "ndcg_at_k",
    "mrr": "mrr_at_k",
    "map": "map_at_k",
}


def compute_metrics(
    evaluator: Any, queries_result_list: Sequence[Sequence[Mapping[str, Any]]]
) -> dict[str, dict[int, float]]:
    """Compute what ``InformationRetrievalEvaluator.compute_metrics`` does.

    Parameters
    ----------
    evaluator : InformationRetrievalEvaluator
        Its ``queries_ids``, ``relevant_docs`` and cutoffs are used.
    queries_result_list : list of list of dict
        For each query its hits, with ``corpus_id`` and ``score``.

    Returns
    -------
    dict of dict
        Means by name and cutoff: ``found["ndcg@k"][10]``.

    Notes
    -----
    In place of the own method it serves all evaluators, with any model::

        InformationRetrievalEvaluator.compute_metrics = rm.sentence_transformers.compute_metrics
    """
    queries = [*evaluator.queries_ids]
    run = {
        query: {hit["corpus_id"]: float(hit["score"]) for hit in hits}
        for query, hits in zip(queries, queries_result_list, strict=True)
    }
    truth = {query: set(evaluator.relevant_docs[query]) for query in queries}
    cutoffs = {name: [*getattr(evaluator, where)] for name, where in _CUTOFFS.items()}
    asked = [f"{name}@{k}" for name, own in cutoffs.items() for k in own]
    found = evaluate(run, truth, asked, like="sentence_transformers", no_overlap="allow")
    return {
        f"{name}@k": {k: found[f"{name}@{k}"].mean for k in own} for name, own in cutoffs.items()
    }
