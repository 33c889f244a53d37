"""Record the recall of ann-benchmarks for neighbours with equal and with repeated distances.

    TOOL_SOURCE=CHECKOUT python tests/conformance/record_neighbours.py

CHECKOUT is a clone of https://github.com/erikbern/ann-benchmarks at `COMMIT`, whose metrics need
NumPy alone. Writes ``tests/data/ann_benchmarks.json``: distances of exact and of found neighbours,
and how many of each query count by ``knn`` and ``epsilon`` with their defaults.
"""

import json
import os
import runpy
from pathlib import Path
from random import Random

OUTPUT = Path(__file__).parents[1] / "data" / "ann_benchmarks.json"
COMMIT = "f402b2cc17b980d7cd45241ab5a7a4cc0f965e55"
QUERIES, LONGEST, COUNTS = 40, 12, (1, 3, 10)


def main():
    path = Path(os.environ["TOOL_SOURCE"]) / "ann_benchmarks" / "plotting" / "metrics.py"
    tool = runpy.run_path(str(path))
    random = Random(0)
    exact, found = [], []
    for _ in range(QUERIES):
        own = sorted(random.randrange(1, 40) / 16 for _ in range(LONGEST))
        near = [x + random.choice([0, 0, 0, 0.0005, 0.0015, 0.01, 0.1, x * 0.008]) for x in own]
        exact.append(own)
        found.append(sorted(near)[: random.choice([LONGEST, LONGEST, 5])])
    values = tool["get_recall_values"]
    recalls = {
        name: {
            str(k): values(exact, found, k, tool[threshold], epsilon)[2].tolist() for k in COUNTS
        }
        for name, threshold, epsilon in (
            ("knn", "knn_threshold", 1e-3),
            ("epsilon", "epsilon_threshold", 0.01),
        )
    }
    content = {"version": COMMIT, "exact": exact, "found": found, "found_within": recalls}
    lines = [
        f"{json.dumps(key)}: {json.dumps(one, separators=(',', ':'))}"
        for key, one in content.items()
    ]
    OUTPUT.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


if __name__ == "__main__":
    main()
