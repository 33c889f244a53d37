"""The metrics: pure functions from hits to one number per user, and what is known about them."""

from __future__ import annotations

from rankmeter.metrics import rankwise, setwise
from rankmeter.metrics._registry import METRICS, SYNONYMS, Option, Spec, register
from rankmeter.metrics._spelling import Metric, metric, parse_metrics
from rankmeter.metrics.rankwise import ap, dcg, err, mean_rank, ndcg, nerr, rbp, rbp_residual, rr
from rankmeter.metrics.setwise import (
    accuracy,
    cg,
    f_beta,
    hit_rate,
    precision,
    r_precision,
    recall,
)

__all__ = [
    "METRICS",
    "SYNONYMS",
    "Metric",
    "Option",
    "Spec",
    "accuracy",
    "ap",
    "cg",
    "dcg",
    "err",
    "f_beta",
    "hit_rate",
    "mean_rank",
    "metric",
    "ndcg",
    "nerr",
    "parse_metrics",
    "precision",
    "r_precision",
    "rankwise",
    "rbp",
    "rbp_residual",
    "recall",
    "register",
    "rr",
    "setwise",
]
