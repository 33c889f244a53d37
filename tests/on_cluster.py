"""Run by `test_spark_cluster.py` in a process of its own, since a process has one Spark.

A driver and two executors, each a process. With ``--standalone`` (`make cluster`, some minutes) a
master and two workers on the loopback address, of which one is killed, and executors without
memory. The results are printed as JSON.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path

import polars as pl
import pyspark
from pyspark.sql import SparkSession
from test_disk import outcome, some
from test_disk_pieces import assert_same
from test_spark import CASES, SETTINGS, many

import rankmeter as rm
from rankmeter._engine import open_data
from rankmeter._large.opened_spark import open_spark
from rankmeter._reading.read import read_rankings, read_truth
from rankmeter._reading.table import unify_all_id_types
from rankmeter.conventions._plan import resolve_plan
from rankmeter.errors import MissingDependencyError, NotEnoughMemoryError

# The address of the host's name may be one at which executors do not reach the driver: they would
# wait for each other.
SETTINGS |= {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.memory": "512m",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.cores.max": "2",
    "spark.executor.extraJavaOptions": SETTINGS["spark.driver.extraJavaOptions"],
}

RULES = [
    "ndcg@3", "rr(ties=expected)", "recall(ties=text-descending)@2", "ap(duplicates=best)@5",
    "rr(pool=judged,ties=pessimistic)", "ndcg(depth=3,duplicates=each)",
]  # fmt: skip


SMALL = {
    "spark.cores.max": "1",
    "spark.executor.memory": "320m",
    "spark.testing.reservedMemory": str(64 << 20),
}
"""Settings of executors without room for the judgments of `without_memory`."""


@contextlib.contextmanager
def cluster(folder):
    """The address of a master with two workers, all of which end with the block."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    program = [str(Path(pyspark.__file__).with_name("bin") / "spark-class")]
    deploy = "org.apache.spark.deploy"
    address = f"spark://127.0.0.1:{port}"
    here = ["--host", "127.0.0.1", "--webui-port", "0"]
    worker = [f"{deploy}.worker.Worker", *here, "--cores", "1", "--memory", "512m"]
    worker += ["--work-dir", folder, address]
    commands = [[f"{deploy}.master.Master", *here, "--port", port], worker, worker]
    environment = {**os.environ, "SPARK_DAEMON_MEMORY": "128m"}
    environment["SPARK_DAEMON_JAVA_OPTS"] = SETTINGS["spark.driver.extraJavaOptions"]
    with contextlib.ExitStack() as running:
        for command in commands:
            process = subprocess.Popen(
                program + command,
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            running.callback(process.wait)
            running.callback(process.kill)
        yield address


@contextlib.contextmanager
def started(address, **settings):
    """A session with an executor of each worker, as soon as all are there."""
    builder = SparkSession.builder.master(address)
    for setting in {**SETTINGS, **settings}.items():
        builder = builder.config(*setting)
    session = builder.getOrCreate()
    try:
        yield session
    finally:
        session.stop()


def read(session, folder, frame, partitions=4):
    """A frame as Parquet files, which executors read."""
    path = Path(tempfile.mkdtemp(dir=folder))
    size = -(-frame.height // partitions)
    for number, part in enumerate(frame.iter_slices(size)):
        part.write_parquet(path / f"{number}.parquet")
    return session.read.parquet(str(path))


def processes(name):
    """The numbers of the processes of a class of Spark."""
    found = set()
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (path / "cmdline").read_bytes().split(b"\0")
            mine = os.getsid(int(path.name)) == os.getsid(0)
            if mine and any(word.endswith(name.encode()) for word in words):
                found.add(int(path.name))
    return found


def equal_by_rules(session, folder, cases):
    """How many metrics of some cases have the values and counts of rankings in memory."""
    equal = 0
    for order, words in cases:
        seed = CASES.index((order, words))
        rankings, truth = many(seed, order, words=words)
        plan = resolve_plan(RULES)
        judged, tables = unify_all_id_types(read_truth(truth), {"": read_rankings(rankings)})
        wanted = open_data(judged, tables).run(plan)[""]
        table = open_spark(read(session, folder, rankings), 2**30)
        table = replace(table, origin=replace(table.origin, source="polars DataFrame"))
        judged, tables = unify_all_id_types(judged, {"": table})
        assert_same(open_data(judged, tables).run(plan)[""], wanted)
        equal += len(plan.metrics)
    return equal


def without_the_package(session, folder):
    """The error where Python on the executors has no rankmeter."""
    rankings, truth = some()
    try:
        rm.evaluate(read(session, folder, rankings), truth)
    except MissingDependencyError as error:
        return str(error)
    return ""


def path_without_the_package(folder):
    """A folder that hides rankmeter, as the first of PYTHONPATH."""
    hiding = Path(folder) / "hiding"
    hiding.mkdir()
    text = "raise ModuleNotFoundError(\"No module named 'rankmeter'\")"
    (hiding / "rankmeter.py").write_text(text, encoding="utf-8")
    return str(hiding)


def killed(session, folder, name):
    """The result if a process is killed while a query runs, and whether it was and ran."""
    rankings, truth = some(1000)
    rankings = rankings.with_columns(pl.col("score").cast(pl.Float64))
    wanted = outcome(rankings, truth)
    # After an exchange, so that what the executor has written for others is lost, too.
    rows = read(session, folder, rankings).repartition(8)
    slow = "java_method('java.lang.Thread', 'sleep', 2L) = ''"
    rows = rows.selectExpr("user", "item", f"if({slow}, 0, score) AS score")
    before, done, found = processes(name), threading.Event(), {}

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
    found |= {"processes": len(before), "survived": len(before & processes(name))}
    return found | {"equal": result == wanted}


def without_memory(session, folder):
    """The error if executors have no room for the judgments, and if `memory=` leaves them room."""
    truth = pl.DataFrame({"user": pl.int_range(1_500_000, eager=True)})
    truth = truth.with_columns(item=pl.format("{}" + "-" * 90, pl.col("user")))
    rankings = truth.with_columns(score=pl.lit(1.0))
    rows = read(session, folder, rankings)
    ends = []
    for options in ({}, {"memory": "70MB"}):
        try:
            ends.append(rm.evaluate(rows, truth, "hit_rate@1", **options)["hit_rate@1"].mean)
        except NotEnoughMemoryError as error:
            ends.append(str(error))
    return ends


def main():
    began = time.monotonic()
    standalone = "--standalone" in sys.argv
    cases = [CASES[0], CASES[-1]] if standalone else [CASES[0]]
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as running:
        where = running.enter_context(cluster(folder)) if standalone else "local-cluster[2,1,512]"
        with started(where) as session:
            found = {
                "equal": equal_by_rules(session, folder, cases),
                "executor": killed(session, folder, "CoarseGrainedExecutorBackend"),
            }
            if standalone:
                found["worker"] = killed(session, folder, "deploy.worker.Worker")
        hidden = {"spark.executorEnv.PYTHONPATH": path_without_the_package(folder)}
        with started(where, **hidden) as session:
            found["without the package"] = without_the_package(session, folder)
        if standalone:
            with started(where, **SMALL) as session:
                found["without memory"] = without_memory(session, folder)
    json.dump(found | {"seconds": time.monotonic() - began}, sys.stdout)


if __name__ == "__main__":
    main()
