"""Counts of what was read, and doubts that are said while a result is made.

The sentences on them are in `notes`, which is loaded when a result is shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from rankmeter._engine.scores import UserValues
from rankmeter._evidence.hits import BoolArray, IntArray
from rankmeter._reading.table import Table
from rankmeter._results.wording import number_text
from rankmeter._statistics.intervals import effective_clusters
from rankmeter.conventions._plan import Plan
from rankmeter.errors._checks import count_items, words_in_use

NEGATIVE = "negative_gains"
"""The count of gains below 0, where a tool takes them otherwise."""
UNUSED_LABELS = {
    "users_without_segment": "{users} without a segment",
    "segments_of_other_users": "segment labels of other {users}",
    "users_without_cluster": "{users} without a cluster, each counted as one cluster",
    "clusters_of_other_users": "cluster labels of other {users}",
}
"""Notes about the labels of users, in which the word for users is left open."""
FEW_WEIGHTS = 0.1
"""Below this share of the relevant items their effective number is small."""
SKEWED = "so skewed that the interval is too short (use interval=bca, gmr or a median)"
"""A note on values or differences without an upper limit."""
SKEWED_DIFFERENCES = "so skewed that p can be too small: a few {users} weigh as much as all others"
"""A note on differences with limits, whose interval counts large changes that are not seen.

The word for users is left open.
"""


def counts_of_tables(rankings: Table, truth: Table) -> dict[str, int]:
    """Counts of rows read, dropped or converted; counts of the truth are called ``truth_…``.

    Only the truth has gains, so ``assumed_gains`` and ``rounded_gains`` keep their names.
    """
    judged = {
        name if name.endswith("_gains") else f"truth_{name}": count
        for name, count in truth.counts.items()
    }
    return {**rankings.counts, **judged}


def count_in_words(name: str) -> str:
    """Name of a count in the words in use: ``float_user_ids`` is ``float query ids``."""
    words = asdict(words_in_use())
    return " ".join(words.get(part, part) for part in name.split("_"))


def uneven_weight_cautions(plan: Plan, scores: UserValues) -> list[str]:
    """Caution for each metric with an effective sample size below a tenth of the relevant items."""
    sizes = {entry.label: scores.effective_size(entry) for entry in plan.metrics}
    return [
        f"{label}: {count_items(size[1], 'relevant')} with these weights vary as much as "
        f"{number_text(size[0])} of equal weight, so a few rare items decide: choose `clip`, or a "
        "smaller `gamma`"
        for label, size in sizes.items()
        if size is not None and size[0] < FEW_WEIGHTS * size[1]
    ]


def count_clusters(clusters: IntArray) -> dict[str, int]:
    """Number of clusters, and the effective number of clusters of equal size, rounded."""
    sizes = np.unique(clusters, return_counts=True)[1]
    return {"clusters": sizes.size, "effective_clusters": round(effective_clusters(sizes))}


def cluster_counts_by_metric(clusters: IntArray, users: Mapping[str, BoolArray]) -> dict[str, Any]:
    """Numbers of clusters among the users of any metric, and among each metric's own users."""
    return {
        **count_clusters(clusters[np.any([*users.values()], axis=0)]),
        "clusters_by_metric": {
            label: count_clusters(clusters[mask]) for label, mask in users.items()
        },
    }
