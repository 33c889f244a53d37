"""rankmeter measures rankings: recommendations, retrieval runs, link predictions.

>>> import rankmeter as rm
>>> result = rm.evaluate({"ann": ["b", "a", "c"]}, {"ann": {"a"}}, "ndcg@10")
>>> round(result["ndcg@10"].mean, 4)
0.6309
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rankmeter._version import __version__ as __version__

# Nothing heavy is imported before it is used: `import rankmeter` takes a few milliseconds.
_HOMES = {
    "DEFAULT_METRICS": "_api",
    "Comparison": "_results.comparison",
    "Curve": "_estimates.curves",
    "by_activity": "_estimates.segments",
    "by_popularity": "_estimates.segments",
    "compare": "_api",
    "curve": "_api",
    "Description": "_interactions.describe",
    "Estimate": "_estimates.estimates",
    "Metric": "metrics",
    "Plan": "_plan",
    "Split": "splits",
    "Summary": "_results.summary",
    "describe": "_interactions.describe",
    "Explanation": "_results.explanation",
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
    from rankmeter._estimates.curves import Curve
    from rankmeter._estimates.estimates import Estimate
    from rankmeter._estimates.segments import by_activity, by_popularity
    from rankmeter._explain import explain
    from rankmeter._interactions.describe import Description, describe
    from rankmeter._plan import Plan
    from rankmeter._results.comparison import Comparison
    from rankmeter._results.explanation import Explanation
    from rankmeter._results.summary import Summary
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
