"""Run by `test_spark_cluster.py` in a process of its own, since a process has one Spark.

A driver and two executors, each a process. What was found is printed as JSON.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import sys
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path

import polars as pl
from pyspark.sql import SparkSession
from test_disk import outcome, some
from test_disk_pieces import assert_same
from test_spark import CASES, SETTINGS, many

from rankmeter._engine.memory import Memory
from rankmeter._rankings.spark import gather, judged_or_counted
from rankmeter._reading.opened import open_spark
from rankmeter._reading.read import read_rankings, read_truth
from rankmeter._reading.table import unify_all
from rankmeter.conventions._plan import resolve

# The address of the host's name may be one at which executors do not reach the driver: they would
# wait for each other.
SETTINGS |= {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": SETTINGS["spark.driver.extraJavaOptions"],
}

RULES = [
    "ndcg@3", "rr(ties=expected)", "recall(ties=text-descending)@2", "ap(duplicates=best)@5",
    "rr(pool=judged,ties=pessimistic)", "ndcg(depth=3,duplicates=each)",
]  # fmt: skip


def start():
    builder = SparkSession.builder.master("local-cluster[2,1,512]")
    for setting in SETTINGS.items():
        builder = builder.config(*setting)
    return builder.getOrCreate()


def read(session, folder, frame, partitions=4):
    """A frame as Parquet files, which executors read."""
    path = Path(tempfile.mkdtemp(dir=folder))
    size = -(-frame.height // partitions)
    for number, part in enumerate(frame.iter_slices(size)):
        part.write_parquet(path / f"{number}.parquet")
    return session.read.parquet(str(path))


def executor_processes():
    """The numbers of the processes that run tasks."""
    found = set()
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (path / "cmdline").read_bytes().split(b"\0")
            mine = os.getsid(int(path.name)) == os.getsid(0)
            if mine and any(word.endswith(b"CoarseGrainedExecutorBackend") for word in words):
                found.add(int(path.name))
    return found


def equal_by_rules(session, folder):
    """How many metrics of two of the cases have the values and counts of rankings in memory."""
    equal = 0
    for order, words in (CASES[0], CASES[-1]):
        seed = CASES.index((order, words))
        rankings, truth = many(seed, order, words=words)
        plan = resolve(RULES)
        judged, tables = unify_all(read_truth(truth), {"": read_rankings(rankings)})
        wanted = Memory().open(judged, tables).run(plan)[""]
        table = open_spark(read(session, folder, rankings))
        table = replace(table, origin=replace(table.origin, source="polars DataFrame"))
        judged, tables = unify_all(judged, {"": table})
        gathered = {"": gather(tables[""], judged, [*plan.alignments()], room=2**30)}
        assert_same(Memory().open(judged, gathered).run(plan)[""], wanted)
        equal += len(plan.metrics)
    return equal


def plan_of_the_first_pass(session, folder):
    """The exchanges of the first pass, and what each of them moves."""
    rankings, truth = some()
    rows = open_spark(read(session, folder, rankings)).rows.query
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        judged_or_counted(rows, truth.select("user", "item")).explain()
    lines = said.getvalue().splitlines()
    return [lines[at + 1] for at, line in enumerate(lines) if " Exchange " in line]


def killed(session, folder):
    """What is found if an executor is killed while it works, and whether it did and was."""
    rankings, truth = some(1000)
    rankings = rankings.with_columns(pl.col("score").cast(pl.Float64))
    wanted = outcome(rankings, truth)
    # After an exchange, so that what the executor has written for others is lost, too.
    rows = read(session, folder, rankings).repartition(8)
    slow = "java_method('java.lang.Thread', 'sleep', 2L) = ''"
    rows = rows.selectExpr("user", "item", f"if({slow}, 0, score) AS score")
    before, done, found = executor_processes(), threading.Event(), {}

    def kill():
        tracker = session.sparkContext.statusTracker()
        while not done.is_set():
            stages = [tracker.getStageInfo(one) for one in tracker.getActiveStageIds()]
            if any(one and one.numCompletedTasks and one.numActiveTasks for one in stages):
                os.kill(min(before), signal.SIGKILL)
                found["while it worked"] = not done.is_set()
                return
            time.sleep(0.01)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        result = outcome(rows, truth)
    finally:
        done.set()
        thread.join()
    found |= {"executors": len(before), "survived": len(before & executor_processes())}
    return found | {"equal": result == wanted}


def main():
    began = time.monotonic()
    session = start()
    try:
        with tempfile.TemporaryDirectory() as folder:
            found = {
                "equal": equal_by_rules(session, folder),
                "exchanges": plan_of_the_first_pass(session, folder),
                "killed": killed(session, folder),
            }
    finally:
        session.stop()
    json.dump(found | {"seconds": time.monotonic() - began}, sys.stdout)


if __name__ == "__main__":
    main()
