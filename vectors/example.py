"""NDCG, recall and reciprocal rank as anyone may write them, for ``run.py``."""

from math import log2


def measure(metric, ranking, truth, k, options):
    if metric not in ("ndcg", "recall", "rr") or options.get("options"):
        raise NotImplementedError
    if "ties" in options or "duplicates" in options:
        raise NotImplementedError
    gains = sorted((gain for gain in truth.values() if gain > 0), reverse=True)
    if not gains:
        return None  # a user without relevant items has no value
    found = [max(truth.get(item, 0), 0) for item, score in ranking][:k]
    hits = [rank for rank, gain in enumerate(found) if gain]
    if metric == "recall":
        return len(hits) / len(gains)
    if metric == "rr":
        return 1 / (hits[0] + 1) if hits else 0.0
    return dcg(found) / dcg(gains[:k])


def dcg(gains):
    return sum(gain / log2(rank + 2) for rank, gain in enumerate(gains))
