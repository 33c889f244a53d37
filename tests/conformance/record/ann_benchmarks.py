"""ann-benchmarks: ``get_recall_values`` with the threshold of its metric ``k-nn``.

``$TOOL_SOURCE`` is a clone of the repository, whose metrics need NumPy alone. It compares
distances: a relevant item is as near as the k exact neighbours, and every other one is farther than
these. How distances become hits is recorded by ``record_neighbours.py``.
"""

import os
import runpy
from pathlib import Path

import inputs
import numpy

VERSION = "f402b2c"
PACKAGES = {"numpy": numpy.__version__}
TOOL = Path(os.environ["TOOL_SOURCE"], "ann_benchmarks", "plotting", "metrics.py")


def record(golden):
    tool = runpy.run_path(str(TOOL))
    for case in inputs.CASES:
        users = [user for user in case["rankings"] if user in case["truth"]]
        for k in case["ks"]:
            exact = [[0.0] * k for _ in users]
            found = []
            for user in users:
                relevant = set(inputs.relevant_items(case, user))
                ranked = inputs.ranked_items(case, user)
                found.append([0.0 if item in relevant else 1.0 for item in ranked])
            mean, _, counts = tool["get_recall_values"](exact, found, k, tool["knn_threshold"])
            per_user = dict(zip(users, (counts / k).tolist()))
            golden.metric(case, f"k-nn@{k}", float(mean), per_user)
