"""rankmeter measures rankings: recommendations, retrieval runs, link predictions.

>>> import rankmeter as rm
>>> result = rm.evaluate({"ann": ["b", "a", "c"]}, {"ann": {"a"}}, "ndcg@10")
>>> round(result["ndcg@10"].mean, 4)
0.6309
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

# Nothing heavy is imported before it is used: `import rankmeter` takes a few milliseconds.
_HOMES = {
    "DEFAULT_METRICS": "_api",
    "Comparison": "_comparison",
    "Curve": "_curves",
    "by_activity": "_segments",
    "by_popularity": "_segments",
    "compare": "_api",
    "curve": "_api",
    "Description": "_interactions.describe",
    "Estimate": "_summary",
    "Metric": "metrics",
    "Plan": "_plan",
    "Split": "splits",
    "Summary": "_summary",
    "describe": "_interactions.describe",
    "Explanation": "_explanation",
    "evaluate": "_api",
    "explain": "_explain",
    "metric": "metrics",
}
_MODULES = ("baselines", "datasets", "errors", "metrics", "splits", "testing")
_METRICS = {
    "AP": "ap",
    "CG": "cg",
    "DCG": "dcg",
    "ERR": "err",
    "MAP": "map",
    "MRR": "mrr",
    "NDCG": "ndcg",
    "NERR": "nerr",
    "RBP": "rbp",
    "RR": "rr",
    "Accuracy": "accuracy",
    "FBeta": "f_beta",
    "HitRate": "hit_rate",
    "MeanRank": "mean_rank",
    "Precision": "precision",
    "RBPResidual": "rbp_residual",
    "RPrecision": "r_precision",
    "Recall": "recall",
}

__version__ = "0.1.0"
__all__ = [
    "AP",
    "CG",
    "DCG",
    "DEFAULT_METRICS",
    "ERR",
    "MAP",
    "MRR",
    "NDCG",
    "NERR",
    "RBP",
    "RR",
    "Accuracy",
    "Comparison",
    "Curve",
    "Description",
    "Estimate",
    "Explanation",
    "FBeta",
    "HitRate",
    "MeanRank",
    "Metric",
    "Plan",
    "Precision",
    "RBPResidual",
    "RPrecision",
    "Recall",
    "Split",
    "Summary",
    "baselines",
    "by_activity",
    "by_popularity",
    "compare",
    "curve",
    "datasets",
    "describe",
    "errors",
    "evaluate",
    "explain",
    "metric",
    "metrics",
    "splits",
    "testing",
]

if TYPE_CHECKING:
    from rankmeter import baselines, datasets, errors, metrics, splits, testing
    from rankmeter._api import DEFAULT_METRICS, compare, curve, evaluate
    from rankmeter._comparison import Comparison
    from rankmeter._curves import Curve
    from rankmeter._explain import explain
    from rankmeter._explanation import Explanation
    from rankmeter._interactions.describe import Description, describe
    from rankmeter._plan import Plan
    from rankmeter._segments import by_activity, by_popularity
    from rankmeter._summary import Estimate, Summary
    from rankmeter.metrics import Metric, metric
    from rankmeter.splits import Split

    AP: Metric
    CG: Metric
    DCG: Metric
    ERR: Metric
    MAP: Metric
    MRR: Metric
    NDCG: Metric
    NERR: Metric
    RBP: Metric
    RR: Metric
    Accuracy: Metric
    FBeta: Metric
    HitRate: Metric
    MeanRank: Metric
    Precision: Metric
    RBPResidual: Metric
    RPrecision: Metric
    Recall: Metric


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(f"rankmeter.{_HOMES[name]}"), name)
    elif name in _MODULES:
        value = import_module(f"rankmeter.{name}")
    elif name in _METRICS:
        value = import_module("rankmeter.metrics").metric(_METRICS[name])
    else:
        raise AttributeError(f"module 'rankmeter' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
