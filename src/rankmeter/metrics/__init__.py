"""The metrics: pure functions from evidence to one number per user, and facts about them.

A metric of your own needs `register`, `Hits` and, for a share that can be pooled, `Ratio`.
"""

from __future__ import annotations

import sys
from pkgutil import get_data
from types import ModuleType
from typing import TYPE_CHECKING, Any

from rankmeter._evidence.hits import FloatArray, Hits, Span, ratio
from rankmeter._evidence.lists import (
    Catalogue,
    Features,
    Likeness,
    Lists,
    Popularity,
    Profiles,
    Propensity,
    Similarity,
)
from rankmeter.metrics._formula import formula
from rankmeter.metrics._metric_strings import (
    Metric,
    is_elsewhere,
    metric,
    parse_metrics,
    read_metric,
    take_cutoffs,
    without_braces,
)
from rankmeter.metrics._registry import (
    ADJUSTED,
    EVIDENCE,
    METRICS,
    RESERVED,
    SIDE_DATA,
    SYNONYMS,
    Example,
    Option,
    Spec,
    register,
    remembered,
    require,
    unregister,
)
from rankmeter.metrics.states import Exposure, Ratio, Runs, State, Weighted

if TYPE_CHECKING:
    from rankmeter.metrics.auc import auc as auc
    from rankmeter.metrics.calibration import calibration as calibration
    from rankmeter.metrics.coverage import coverage as coverage
    from rankmeter.metrics.gini import gini as gini
    from rankmeter.metrics.mean_rank import mean_rank as mean_rank
    from rankmeter.metrics.ndcg import ndcg as ndcg
    from rankmeter.metrics.novelty import novelty as novelty
    from rankmeter.metrics.popularity import popularity as popularity
    from rankmeter.metrics.serendipity import serendipity as serendipity
    from rankmeter.metrics.unjudged import unjudged as unjudged

# In the order in which readers look for them: common metrics first, counts last.
_FILES = [
    "precision_recall", "average_precision", "reciprocal_rank", "ndcg", "rank_biased_precision",
    "user_models", "auc", "mean_rank", "confusion_matrix", "propensity", "diversity",
    "category_diversity", "intent_aware", "novelty", "serendipity", "calibration", "popularity",
    "coverage", "gini", "fairness", "unjudged", "interpolated_precision", "link_prediction",
    "counts",
]  # fmt: skip


def _announce(file: str) -> None:
    """Add the metrics of a file to the registry, which imports it when one of them is used."""
    try:
        text = get_data(__name__, f"{file}.py")
    except OSError:
        text = None
    METRICS.announce(f"{__name__}.{file}", text)


class _Package(ModuleType):
    """A package in which a metric hides a file of its name: `rankmeter.metrics.ndcg`."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (isinstance(value, ModuleType) and name in METRICS):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
for _file in _FILES:
    _announce(_file)

__all__ = [
    "ADJUSTED",
    "EVIDENCE",
    "METRICS",
    "RESERVED",
    "SIDE_DATA",
    "SYNONYMS",
    "Catalogue",
    "Example",
    "Exposure",
    "Features",
    "FloatArray",
    "Hits",
    "Likeness",
    "Lists",
    "Metric",
    "Option",
    "Popularity",
    "Profiles",
    "Propensity",
    "Ratio",
    "Runs",
    "Similarity",
    "Span",
    "Spec",
    "State",
    "Weighted",
    "formula",
    "is_elsewhere",
    "metric",
    "parse_metrics",
    "ratio",
    "read_metric",
    "register",
    "remembered",
    "require",
    "take_cutoffs",
    "unregister",
    "without_braces",
]
__all__ += list(METRICS)


def __getattr__(name: str) -> Any:
    if name not in METRICS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return METRICS[name].function
