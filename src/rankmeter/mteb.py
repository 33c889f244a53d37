"""Evaluators of MTEB with its own signatures, names and rounding."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from rankmeter._evaluation.evaluate import evaluate
from rankmeter._evidence.hits import FloatArray
from rankmeter._results.summary import Summary

__all__ = [
    "calculate_pmrr",
    "calculate_retrieval_scores",
    "max_over_subqueries",
    "paired_accuracy",
    "recall_cap",
    "robustness_at_10",
    "top_k_accuracy",
]

Qrels = Mapping[str, Mapping[str, int]]
Run = Mapping[str, Mapping[str, float]]
Scores = Mapping[str, Mapping[str, float]]
Values = dict[str, float]

_CUT = {"NDCG": "ndcg_cut", "MAP": "map_cut", "Recall": "recall", "P": "P", "HitRate": "success"}
_ABSTENTION = np.linspace(0.0, 1.0, 11)[:-1]


class RetrievalScores(NamedTuple):
    """What ``calculate_retrieval_scores`` of MTEB returns, field by field."""

    all_scores: dict[str, Values]
    ndcg: Values
    map: Values
    recall: Values
    precision: Values
    naucs: Values
    mrr: Values
    naucs_mrr: Values
    hit_rate: Values


def calculate_retrieval_scores(
    results: Run, qrels: Qrels, k_values: Sequence[int], skip_first_result: bool = False
) -> RetrievalScores:
    """Compute what the function of this name in MTEB does, without pytrec_eval.

    Parameters
    ----------
    results : mapping of query to mapping of document to score
    qrels : mapping of query to mapping of document to grade
    k_values : sequence of int
        The cutoffs.
    skip_first_result : bool
        Whether the best document of each query is left out, the first one of equal scores.

    Returns
    -------
    RetrievalScores
        A named tuple with the fields of MTEB: values of each query by the names of pytrec_eval;
        means by name and cutoff, ``NDCG@10``, rounded to five decimals but for MRR; and how much
        better the confident queries are (nAUC), by metric and confidence.

    Examples
    --------
    >>> import rankmeter as rm
    >>> results = {"q1": {"d1": 0.9, "d2": 0.8}, "q2": {"d3": 0.7, "d4": 0.1}}
    >>> qrels = {"q1": {"d2": 1}, "q2": {"d3": 1}}
    >>> found = rm.mteb.calculate_retrieval_scores(results, qrels, [10])
    >>> found.ndcg, found.mrr, found.naucs["nAUC_NDCG@10_diff1"]
    ({'NDCG@10': 0.81546}, {'MRR@10': 0.75}, 1.0)
    """
    if skip_first_result:
        results = {
            query: dict(sorted(found.items(), key=lambda pair: pair[1], reverse=True)[1:])
            for query, found in results.items()
        }
    result = _evaluated(results, qrels, [*_CUT, "MRR"], k_values)
    values = {name: _values(result, name, results) for name in result}
    all_scores = {
        query: {
            f"{measure}_{k}": values[f"{name}@{k}"][row]
            for name, measure in _CUT.items()
            for k in k_values
        }
        for row, query in enumerate(results)
    }

    def means(name: str) -> Values:
        return {f"{name}@{k}": round(result[f"{name}@{k}"].mean, 5) for k in k_values}

    cut = [f"{name}@{k}" for name in ("NDCG", "MAP", "Recall", "P") for k in k_values]
    reciprocal = [f"MRR@{k}" for k in k_values]
    return RetrievalScores(
        all_scores=all_scores,
        ndcg=means("NDCG"),
        map=means("MAP"),
        recall=means("Recall"),
        precision=means("P"),
        naucs=_abstention(results, {name: values[name] for name in cut}),
        mrr={name: result[name].mean for name in reciprocal},
        naucs_mrr=_abstention(results, {name: values[name] for name in reciprocal}),
        hit_rate=means("HitRate"),
    )


def recall_cap(
    qrels: Qrels, results: Run, k_values: Sequence[int]
) -> dict[str, list[float | None]]:
    """Recall divided by at most k, query by query, as the function of this name in MTEB.

    None for a query without a relevant document.

    Examples
    --------
    >>> import rankmeter as rm
    >>> rm.mteb.recall_cap({"q": {"d1": 1, "d2": 1}}, {"q": {"d1": 0.9, "d3": 0.8}}, [1, 10])
    {'R_cap_at_1': [1.0], 'R_cap_at_10': [0.5]}
    """
    result = _evaluated(results, qrels, ["R_cap"], k_values)
    found = {k: _values(result, f"R_cap@{k}", results) for k in k_values}
    return {
        f"R_cap_at_{k}": [None if math.isnan(value) else value for value in found[k]]
        for k in k_values
    }


def top_k_accuracy(qrels: Qrels, results: Run, k_values: Sequence[int]) -> dict[str, list[float]]:
    """A 1 for each query with a hit, as in MTEB, whose lists leave the other queries out.

    Examples
    --------
    >>> import rankmeter as rm
    >>> results = {"q": {"d1": 0.9, "d2": 0.8}, "r": {"d1": 0.9}}
    >>> rm.mteb.top_k_accuracy({"q": {"d2": 1}, "r": {"d2": 1}}, results, [1, 2])
    {'Accuracy@2': [1.0]}
    """
    result = _evaluated(results, qrels, ["HitRate"], k_values)
    hits = {k: [v for v in _values(result, f"HitRate@{k}", results) if v == 1.0] for k in k_values}
    return {f"Accuracy@{k}": found for k, found in hits.items() if found}


def calculate_pmrr(
    original_run: Run, new_run: Run, changed_qrels: Mapping[str, Iterable[str]]
) -> float:
    """p-MRR of FollowIR: how far documents moved that an instruction made irrelevant.

    Parameters
    ----------
    original_run, new_run : mapping of query to mapping of document to score
        Before and after: queries have the endings ``-og`` and ``-changed``.
    changed_qrels : mapping of query, without ending, to its documents that changed

    Returns
    -------
    float
        The mean over queries of the mean over documents: 0 where nothing moved, positive where
        they fell; at most 1, at least -1.

    Examples
    --------
    The document falls from rank 1 to 2.

    >>> import rankmeter as rm
    >>> before, after = {"q-og": {"a": 0.9, "b": 0.1}}, {"q-changed": {"a": 0.1, "b": 0.9}}
    >>> rm.mteb.calculate_pmrr(before, after, {"q": ["a"]})
    0.5
    """
    means = []
    for query, documents in changed_qrels.items():
        if (old := original_run.get(f"{query}-og")) is None:
            continue
        if (new := new_run.get(f"{query}-changed")) is None:
            continue
        moved = []
        for document in documents:
            before, after = _rank(old, document), _rank(new, document)
            moved.append(after / before - 1.0 if before >= after else 1.0 - before / after)
        if moved:
            means.append(float(np.mean(moved)))
    return float(np.mean(means)) if means else float("nan")


def robustness_at_10(qrels: Qrels, results: Run, scores: Scores) -> float:
    """Mean over groups of queries, of the same name before ``_``, of their least ``ndcg@10``.

    `scores` are the values of each query, ``calculate_retrieval_scores(…).all_scores``.

    Examples
    --------
    >>> import rankmeter as rm
    >>> scores = {"1_a": {"ndcg_cut_10": 0.5}, "1_b": {"ndcg_cut_10": 1.0}}
    >>> rm.mteb.robustness_at_10({"1_a": {"d": 1}, "1_b": {"d": 1}}, {}, scores)
    0.5
    """
    least: dict[str, float] = {}
    for query in qrels:
        group = query.split("_")[0]
        least[group] = min(least.get(group, np.inf), scores[query]["ndcg_cut_10"])
    return float(np.mean([*least.values()]))


def paired_accuracy(qrels: Qrels, results: Run, scores: Scores) -> float:
    """Share of pairs ``NAME_q1``, ``NAME_q2`` whose first documents are both right.

    `scores` are the values of each query, ``calculate_retrieval_scores(…).all_scores``.

    Examples
    --------
    >>> import rankmeter as rm
    >>> scores = {"1_q1": {"recall_1": 1.0}, "1_q2": {"recall_1": 0.0}}
    >>> rm.mteb.paired_accuracy({"1_q1": {"d": 1}, "1_q2": {"e": 1}}, {}, scores)
    0.0
    """
    pairs = {query.split("_")[0] for query in qrels}
    right = [all(scores[f"{pair}_{q}"]["recall_1"] == 1 for q in ("q1", "q2")) for pair in pairs]
    return float(np.mean(right))


def max_over_subqueries(qrels: Qrels, results: Run, k_values: Sequence[int]) -> Values:
    """Scores of queries whose parts, ``NAME_1``, ``NAME_2``, are merged by their best scores.

    Returns
    -------
    dict
        Values by name, such as ``max_over_subqueries_map_at_1000``; ``k_values`` must have 1, as
        in MTEB.

    Examples
    --------
    >>> import rankmeter as rm
    >>> results = {"q_1": {"a": 0.9}, "q_2": {"a": 0.1, "b": 0.95}}
    >>> found = rm.mteb.max_over_subqueries({"q_1": {"b": 1}, "q_2": {"b": 1}}, results, [1])
    >>> found["max_over_subqueries_map_at_1"]
    1.0
    """
    merged: dict[str, Values] = defaultdict(dict)
    judged: dict[str, Mapping[str, int]] = {}
    for query, judgments in qrels.items():
        whole = "_".join(query.split("_")[:-1])
        judged[whole] = judgments
        for document, score in results[query].items():
            merged[whole][document] = max(score, merged[whole].get(document, score))
    found = calculate_retrieval_scores(merged, judged, k_values)
    names = {"ndcg": found.ndcg, "map": found.map, "recall": found.recall, "mrr": found.mrr,
             "precision": found.precision, "hit_rate": found.hit_rate}  # fmt: skip
    values = {
        f"{name}_at_{key.partition('@')[2]}": mean
        for name, means in names.items()
        for key, mean in means.items()
    }
    values["accuracy"] = found.recall["Recall@1"]
    for key, value in (found.naucs | found.naucs_mrr).items():
        values[key.replace("@", "_at_").replace("_P", "_precision").lower()] = value
    return {f"max_over_subqueries_{name}": value for name, value in values.items()}


def _evaluated(run: Run, qrels: Qrels, names: Sequence[str], k_values: Sequence[int]) -> Summary:
    asked = [f"{name}@{k}" for name in names for k in k_values]
    return evaluate(run, qrels, asked, like="mteb", no_overlap="allow")


def _values(result: Summary, name: str, run: Run) -> list[float]:
    """Values in the order of the run; NaN without."""
    frame = result.per_user
    known = dict(zip(frame["user"].to_list(), frame[name].to_list(), strict=True))
    return [float("nan") if known.get(query) is None else known[query] for query in run]


def _rank(found: Mapping[str, float], document: str) -> int:
    """Rank of a document, equal scores by descending id; behind the last one if it is missing."""
    if document not in found:
        return len(found) + 1
    own = (found[document], document)
    return 1 + sum((score, other) > own for other, score in found.items())


def _abstention(results: Run, values: Mapping[str, Sequence[float]]) -> Values:
    """The nAUC of each metric by each confidence."""
    found = [np.sort(np.array([*own.values()], dtype=float))[::-1] for own in results.values()]
    confidences = {
        "max": [own[0] if own.size else 0.0 for own in found],
        "std": [float(np.std(own)) if own.size else 0.0 for own in found],
        "diff1": [own[0] - own[1] if own.size > 1 else 0.0 for own in found],
    }
    return {
        f"nAUC_{name}_{by}": _nauc(np.array(confidence), np.array(one))
        for name, one in values.items()
        for by, confidence in confidences.items()
    }


def _nauc(confidence: FloatArray, values: FloatArray) -> float:
    """Area under the curve of abstention, from 0 (none is gained) to 1 (that of an oracle)."""
    if not values.size:
        return math.nan
    curve, oracle = _curve(confidence, values), _curve(values, values)
    areas = [float(np.trapezoid(one, _ABSTENTION)) for one in (curve, oracle)]
    flat = float(oracle[0] * (_ABSTENTION[-1] - _ABSTENTION[0]))
    return (areas[0] - flat) / (areas[1] - flat) if areas[1] != flat else float("nan")


def _curve(confidence: FloatArray, values: FloatArray) -> FloatArray:
    """Means without the least confident queries, share by share.

    Of equally confident queries each counts as their mean: they could be in any order.
    """
    _, group, size = np.unique(confidence, return_inverse=True, return_counts=True)
    means = np.repeat(np.bincount(group, values) / size, size)
    left_out = [min(round(float(rate) * means.size), means.size - 1) for rate in _ABSTENTION]
    return np.array([means[n:].mean() for n in left_out])
