"""``python -m cluster.executors ROWS [--folder DATA]``: metrics by the driver and by executors.

After one gathering of the rows with judged items, the values of all users are computed by the
driver and by the executors of a session with two cores, in turns: with 15 metrics, with 200, and
with one that takes 50 µs for each user. They must be equal.
"""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
from pyspark.sql import SparkSession

import rankmeter as rm
from cluster.__main__ import METRICS, cpu
from rankmeter._align import gather
from rankmeter._engine import Memory, executors
from rankmeter._ingest import meet_all, open_spark, read_truth
from rankmeter._plan import resolve
from rankmeter.metrics import register
from size.data import generate

NAMES = ("ndcg", "map", "mrr", "precision", "recall")
MANY = [f"{name}@{k}" for name in NAMES for k in range(1, 41)]


def slow(hits, k=None):
    """Take 50 µs for each user."""
    import time

    end = time.perf_counter() + 5e-5 * hits.n_users
    while time.perf_counter() < end:
        pass
    return hits.n_relevant * 1.0


def main() -> None:
    """Measure each way."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", type=lambda text: int(float(text)))
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "rankmeter")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    rows, truth = generate(given.folder, given.rows, per_user=20)
    session = SparkSession.builder.master("local[2]").config("spark.driver.memory", "4g")
    session = session.config("spark.ui.enabled", "false").getOrCreate()
    table = open_spark(session.read.parquet(str(rows)))
    judged, tables = meet_all(read_truth(pl.read_parquet(truth)), {"": table})
    kept = {"": gather(tables[""], judged, room=2**31, repeats=False)}
    register("Slow", high=math.inf)(slow)
    data = Memory().open(judged, kept)
    print(f"rankmeter {rm.__version__}: {kept[''].height:,} rows with judged items")
    for asked in (METRICS, MANY, ["slow"]):
        plan, matrices = resolve(asked), []
        for worth in (math.inf, -math.inf) * given.rounds:
            executors._WORTH = worth
            began, used = time.perf_counter(), cpu()
            found = data.run(plan)[""]
            seconds, work = time.perf_counter() - began, cpu() - used
            who = "executors" if found.by_executors else "driver"
            print(
                f"{len(asked):4} metrics, {who:9} {seconds:6.1f} s, {work:6.1f} s of CPU",
                flush=True,
            )
            matrices.append(found.matrix)
        assert all(np.array_equal(one, matrices[0], equal_nan=True) for one in matrices)


if __name__ == "__main__":
    main()
