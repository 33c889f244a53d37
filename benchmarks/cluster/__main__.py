"""``python -m cluster ROWS [--rounds 3]``: Spark on this machine, next to MLlib's RankingMetrics.

The ways alternate in one session. CPU is that of the JVM and of Python, which is what counts where
other processes share the machine.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path

import polars as pl
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

import rankmeter as rm
from size.data import generate

METRICS = [
    f"{name}@{k}" for name in ("ndcg", "map", "mrr", "precision", "recall") for k in (5, 10, 20)
]


SEEN: dict[int, float] = {}


def cpu() -> float:
    """Seconds of CPU of this process, its JVM and Python workers, even if they have ended."""
    mine = {os.getpid()}
    for stat in sorted(Path("/proc").glob("[0-9]*/stat"), key=lambda path: int(path.parent.name)):
        number = int(stat.parent.name)
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if number in mine or int(fields[1]) in mine:
            mine.add(number)
            SEEN[number] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return sum(SEEN.values())


def floor(rankings, truth, _path):
    """A join of the rows with the broadcast truth, counted: it measures nothing."""
    return rankings.join(F.broadcast(truth), ["user", "item"]).count()


def with_rankmeter(**options):
    def run(rankings, _truth, path):
        return rm.evaluate(rankings, path, METRICS, **options)["ndcg@10"].mean

    return run


def with_mllib(rankings, truth, _path):
    """As recommenders' `spark_evaluation`: lists by user from a window, then RankingMetrics."""
    from pyspark.mllib.evaluation import RankingMetrics
    from pyspark.sql import Window

    order = Window.partitionBy("user").orderBy(F.col("score").desc())
    top = rankings.withColumn("rank", F.row_number().over(order)).where("rank <= 20")
    lists = top.groupBy("user").agg(
        F.expr("transform(array_sort(collect_list(struct(rank, item))), x -> x.item) AS found")
    )
    judged = truth.groupBy("user").agg(F.collect_list("item").alias("judged"))
    pairs = lists.join(judged, "user").select("found", "judged").rdd.cache()
    metrics = RankingMetrics(pairs)
    found = [
        getattr(metrics, name)(k)
        for name in ("ndcgAt", "meanAveragePrecisionAt", "precisionAt", "recallAt")
        for k in (5, 10, 20)
    ]
    pairs.unpersist()
    return found[1]


WAYS = {
    "floor": floor,
    "unchecked": with_rankmeter(duplicates="unchecked"),
    "rankmeter": with_rankmeter(),
    "mllib": with_mllib,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="cluster", description=__doc__)
    parser.add_argument("rows", type=lambda text: int(float(text)))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--cores", type=int, default=os.cpu_count())
    options = parser.parse_args()
    session = (
        SparkSession.builder.master(f"local[{options.cores}]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "4g")
        .config("spark.sql.shuffle.partitions", "8")
        .getOrCreate()
    )
    with tempfile.TemporaryDirectory() as folder:
        rankings, truth = generate(Path(folder), options.rows)
        frames = session.read.parquet(str(rankings)), session.read.parquet(str(truth))
        print(f"{options.rows:,} rows, {pl.read_parquet(truth).height:,} judgments", flush=True)
        seen: dict[str, list[tuple[float, float]]] = {way: [] for way in options.ways}
        for number in range(options.rounds + 1):  # the first warms up
            for way in options.ways:
                start, used = time.perf_counter(), cpu()
                found = WAYS[way](*frames, str(truth))
                took = time.perf_counter() - start, cpu() - used
                print(
                    f"  {number} {way:<12} {took[0]:7.1f} s {took[1]:7.1f} s of CPU  {found}",
                    flush=True,
                )
                if number:
                    seen[way].append(took)
    for way, times in seen.items():
        wall, used = (statistics.median(one) for one in zip(*times, strict=True))
        each = used / options.rows * 1e9
        print(f"{way:<12} {wall:7.1f} s {used:7.1f} s of CPU, {each:6.0f} ns a row")
    session.stop()


if __name__ == "__main__":
    main()
