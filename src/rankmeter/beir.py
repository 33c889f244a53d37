"""Evaluators of BEIR with its own signatures, names and rounding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from rankmeter._evaluation.evaluate import evaluate as evaluate_rankings
from rankmeter.errors._checks import check_choice

__all__ = ["evaluate", "evaluate_custom"]

Qrels = Mapping[str, Mapping[str, int]]
Results = Mapping[str, Mapping[str, float]]
Values = dict[str, float]
_Exclude = Literal["none", "self"]

_CUSTOM = {"mrr": "MRR", "recall_cap": "R_cap", "r_cap": "R_cap", "top_k_accuracy": "Accuracy"}
_CUSTOM |= {f"{name}@k": metric for name, metric in _CUSTOM.items()}
_CUSTOM |= {"accuracy": "Accuracy", "acc": "Accuracy", "accuracy@k": "Accuracy"}


def evaluate(
    qrels: Qrels, results: Results, k_values: Sequence[int], ignore_identical_ids: bool = True
) -> tuple[Values, Values, Values, Values]:
    """Compute what ``EvaluateRetrieval.evaluate`` of BEIR does, without pytrec_eval.

    Parameters
    ----------
    qrels : mapping of query to mapping of document to grade
    results : mapping of query to mapping of document to score
    k_values : sequence of int
        The cutoffs.
    ignore_identical_ids : bool
        Whether the document with the id of the query is left out.

    Returns
    -------
    tuple of four dict
        NDCG, MAP, Recall and P by name and cutoff, ``NDCG@10``, rounded to five decimals.

    Examples
    --------
    >>> import rankmeter as rm
    >>> qrels, results = {"q1": {"d2": 1}}, {"q1": {"d1": 0.9, "d2": 0.8}}
    >>> ndcg, _, recall, _ = rm.beir.evaluate(qrels, results, [1, 10])
    >>> ndcg, recall["Recall@10"]
    ({'NDCG@1': 0.0, 'NDCG@10': 0.63093}, 1.0)
    """
    own: _Exclude = "self" if ignore_identical_ids else "none"
    ndcg, ap, recall, precision = (
        _means(qrels, results, k_values, name, own) for name in ("NDCG", "MAP", "Recall", "P")
    )
    return ndcg, ap, recall, precision


def evaluate_custom(qrels: Qrels, results: Results, k_values: Sequence[int], metric: str) -> Values:
    """Compute what ``EvaluateRetrieval.evaluate_custom`` of BEIR does, but for ``hole``.

    Parameters
    ----------
    qrels, results, k_values
        As in `evaluate`.
    metric : {"mrr", "recall_cap", "top_k_accuracy"}

    Returns
    -------
    dict
        Values by name and cutoff, ``MRR@10``, rounded to five decimals.

    Examples
    --------
    >>> import rankmeter as rm
    >>> rm.beir.evaluate_custom({"q1": {"d2": 1}}, {"q1": {"d1": 0.9, "d2": 0.8}}, [10], "mrr")
    {'MRR@10': 0.5}
    """
    name = check_choice("metric", metric.lower(), _CUSTOM)
    return _means(qrels, results, k_values, _CUSTOM[name], "none")


def _means(
    qrels: Qrels, results: Results, k_values: Sequence[int], name: str, exclude: _Exclude
) -> Values:
    names = [f"{name}@{k}" for k in k_values]
    found = evaluate_rankings(
        results,
        qrels,
        names,
        like="beir",
        exclude=exclude,
        no_overlap="allow",
    )
    return {name: round(found[name].mean, 5) for name in names}
