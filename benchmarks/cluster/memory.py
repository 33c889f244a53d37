"""``python -m cluster.memory``: what a judgment and a user take on the driver of Spark.

Each case is a process with a local session of its own; two of them differ by 2,000,000 of what is
measured. Python: the peak of its resident memory. JVM: the peak of its old generation.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
from pyspark.sql import SparkSession

import rankmeter as rm
from cluster.__main__ import METRICS

MORE = 2_000_000
FEW = {"judgments": 100_000, "users": 100_000}
CASES = {
    "few": FEW,
    "judgment": FEW | {"judgments": FEW["judgments"] + MORE},
    "user": FEW | {"users": FEW["users"] + MORE},
}
ROWS = 4_200_000


def resident(kind: str) -> int:
    """Bytes of memory of this process: now (VmRSS) or at most (VmHWM)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(kind)).split()[1]) * 1024


def measure(judgments: int, users: int) -> dict[str, int]:
    """Peaks of one evaluation, without what was there before."""
    builder = SparkSession.builder.master("local[2]").config("spark.driver.memory", "6g")
    builder = builder.config("spark.driver.extraJavaOptions", "-XX:+UseSerialGC")
    session = builder.config("spark.ui.enabled", "false").getOrCreate()
    columns = f"int(id % {users}) AS user", f"int(floor(id / {users})) AS item"
    rankings = session.range(ROWS).selectExpr(*columns, "double(hash(id)) AS score")
    number = np.arange(judgments)
    item = number // users
    pairs = {"user": number % users, "item": item}
    truth = pl.DataFrame(pairs).cast(pl.Int32)
    rm.evaluate(rankings.limit(1000), truth.head(1000), METRICS)
    jvm = session._jvm.java.lang
    jvm.System.gc()
    pools = jvm.management.ManagementFactory.getMemoryPoolMXBeans()
    old = next(pool for pool in pools if "Tenured" in pool.getName())
    old.resetPeakUsage()
    before, used = resident("VmRSS"), old.getUsage().getUsed()
    Path("/proc/self/clear_refs").write_text("5")
    result = rm.evaluate(rankings, truth, METRICS)
    assert result.counts["users_in_rankings"] == users
    return {"python": resident("VmHWM") - before, "jvm": old.getPeakUsage().getUsed() - used}


def main() -> None:
    """Measure all cases, each in a process."""
    if len(sys.argv) > 1:
        print(json.dumps(measure(**CASES[sys.argv[1]])))
        return
    found = {}
    for case in CASES:
        command = [sys.executable, "-m", "cluster.memory", case]
        ran = subprocess.run(command, capture_output=True, text=True, check=True)
        found[case] = json.loads(ran.stdout.splitlines()[-1])
    for case in ("judgment", "user"):
        each = {kind: (found[case][kind] - found["few"][kind]) / MORE for kind in ("python", "jvm")}
        print(case, {kind: round(n) for kind, n in each.items()})


if __name__ == "__main__":
    main()
