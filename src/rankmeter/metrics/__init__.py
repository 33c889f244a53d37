"""The metrics: pure functions from evidence to one number per user, and facts about them.

A metric of your own needs `register`, `Hits` and, for a share that can be pooled, `Ratio`.
"""

from __future__ import annotations

from typing import Any

from rankmeter._hits import FloatArray, Hits, Span, ratio
from rankmeter._lists import (
    Catalogue,
    Features,
    Likeness,
    Lists,
    Popularity,
    Profiles,
    Propensity,
    Similarity,
)
from rankmeter.metrics import (
    baselinewise,
    chancewise,
    countwise,
    curvewise,
    gainwise,
    groupwise,
    itemwise,
    judgedwise,
    lengthwise,
    listwise,
    novelwise,
    pairwise,
    positionwise,
    profilewise,
    rankwise,
    setwise,
    systemwise,
    tailwise,
    topicwise,
)
from rankmeter.metrics._registry import (
    ADJUSTED,
    EVIDENCE,
    METRICS,
    RESERVED,
    SYNONYMS,
    Example,
    Option,
    Spec,
    register,
    remembered,
    unregister,
)
from rankmeter.metrics._spelling import (
    Metric,
    is_elsewhere,
    metric,
    parse_metrics,
    read_metric,
    take_cutoffs,
)
from rankmeter.metrics.exposures import Exposure
from rankmeter.metrics.states import Ratio, Runs, State, Weighted

# In the order in which readers look for them: common metrics first, counts last.
_FAMILIES = [
    f.__name__
    for f in (
        setwise, rankwise, positionwise, pairwise, gainwise, itemwise, listwise, topicwise,
        novelwise, tailwise, profilewise, baselinewise, lengthwise, systemwise, groupwise,
        judgedwise, curvewise, chancewise, countwise,
    )
]  # fmt: skip
for _name in sorted(METRICS, key=lambda n: (_FAMILIES.index(METRICS[n].family), n)):
    METRICS[_name] = METRICS.pop(_name)

__all__ = [
    "ADJUSTED",
    "EVIDENCE",
    "METRICS",
    "RESERVED",
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
    "is_elsewhere",
    "metric",
    "parse_metrics",
    "ratio",
    "read_metric",
    "register",
    "remembered",
    "take_cutoffs",
    "unregister",
]
__all__ += list(METRICS)


def __getattr__(name: str) -> Any:
    if name not in METRICS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return METRICS[name].function
