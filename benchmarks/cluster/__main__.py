"""``python -m cluster ROWS ... [--master local-cluster[2,1,2048]]``: Spark, with other tools.

The ways alternate in one session. CPU is that of the driver, the executors and their Python
workers, which is what counts where other processes share the machine. The other tools are measured
where they are installed: ``pip install recommenders 'replay-rec'`` next to PySpark and rankmeter.
``--output docs/spark`` writes the table, the chart and all figures.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import itertools
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import polars as pl
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

import rankmeter as rm
from size.data import generate
from speed.growth import growth
from speed.page import command, seconds, spread, table, times

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


def floor(rankings, truth):
    """A join of the rows with the broadcast truth, counted: it measures nothing."""
    return rankings.join(F.broadcast(truth), ["user", "item"]).count()


def with_rankmeter(rankings, truth):
    """All metrics in one call."""
    return rm.evaluate(rankings, truth, METRICS)["ndcg@10"].mean


def with_mllib(rankings, truth):
    """Lists by user from a window, cached, then RankingMetrics. It has no MRR."""
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


def with_recommenders(rankings, truth):
    """An object for each cutoff, which has all metrics but MRR."""
    from recommenders.evaluation.spark_evaluation import SparkRankingEvaluation

    columns = {"col_user": "user", "col_item": "item", "col_rating": "gain"}
    found = []
    for k in (5, 10, 20):
        made = SparkRankingEvaluation(truth, rankings, k, **columns, col_prediction="score")
        names = ("ndcg_at_k", "map_at_k", "precision_at_k", "recall_at_k")
        found.append([getattr(made, name)() for name in names])
    return found[1][0]


def with_replay(rankings, truth):
    """All metrics in one call."""
    from replay import metrics as tools

    names = ("NDCG", "MAP", "MRR", "Precision", "Recall")
    asked = [getattr(tools, name)([5, 10, 20]) for name in names]
    given = {"query_column": "user", "item_column": "item", "rating_column": "score"}
    found = tools.OfflineMetrics(asked, **given)(rankings, truth.withColumnRenamed("gain", "score"))
    return found["NDCG@10"]


WAYS = {
    "floor": floor,
    "rankmeter": with_rankmeter,
    "mllib": with_mllib,
    "recommenders": with_recommenders,
    "replay": with_replay,
}
TITLES = {
    "floor": "floor (join and count)",
    "rankmeter": "rankmeter",
    "mllib": "MLlib RankingMetrics",
    "recommenders": "recommenders, Spark",
    "replay": "RePlay on Spark",
}
NEEDED = {"mllib": "pyspark", "recommenders": "recommenders", "replay": "replay-rec"}
SLOW = {"replay": 1_000_000, "mllib": 50_000_000, "recommenders": 50_000_000}
"""Rows with more of which a tool would take most of the time."""
KINDS = {"rankmeter": "first", "floor": "floor"}
"""How the chart draws a way."""
LACKING = {"mllib": ["mrr"], "recommenders": ["mrr"]}


def measure(session, folder: Path, rows: int, ways: list[str], rounds: int, *, warm: bool) -> dict:
    """Seconds and CPU seconds of each round by way, after a round that warms up if that is cold."""
    rankings, truth = generate(folder, rows, per_user=20)  # the largest cutoff
    frames = session.read.parquet(str(rankings)), session.read.parquet(str(truth))
    print(f"{rows:,} rows, {pl.read_parquet(truth).height:,} judgments", flush=True)
    ways = [way for way in ways if rows <= SLOW.get(way, rows)]
    seen: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
    for number in range(1 if warm else 0, rounds + 1):
        for way in ways:
            start, used = time.perf_counter(), cpu()
            found = WAYS[way](*frames)
            took = time.perf_counter() - start, cpu() - used
            text = f"  {number} {way:<12} {took[0]:7.1f} s {took[1]:7.1f} s of CPU  {found}"
            print(text, flush=True)
            if number:
                seen[way].append(took)
    for way, took in seen.items():
        wall, used = (statistics.median(one) for one in zip(*took, strict=True))
        each = used / rows * 1e9
        print(f"{way:<12} {wall:7.1f} s {used:7.1f} s of CPU, {each:6.0f} ns a row", flush=True)
    return {"rows": rows, "ways": seen}


def page(measured: list[dict], asked: str) -> tuple[str, str]:
    """A table for each number of rows, and a chart of the CPU time for each row."""
    parts = []
    lines: dict[str, dict[int, list[float]]] = {}
    for one in measured:
        ours = [used for _, used in one["ways"]["rankmeter"]]
        rows = {}
        for way, took in one["ways"].items():
            wall, used = ([*column] for column in zip(*took, strict=True))
            ratios = [theirs / mine for theirs, mine in zip(used, ours, strict=True)]
            ratio = "1" if way == "rankmeter" else spread(ratios, times)
            text = spread(wall, seconds), spread(used, seconds), ratio
            rows[statistics.median(ratios), way] = (_name(way), *text)
            lines.setdefault(way, {})[one["rows"]] = used
        head = ("tool", "time", "CPU time", "CPU time, times rankmeter")
        parts += [f"{one['rows']:,} rows:", table(head, [rows[at] for at in sorted(rows)])]
    parts.append(f"`{asked}`, {measured[0]['machine']}.")
    title = f"{len(METRICS)} metrics in Spark: CPU time"
    tools = {TITLES[way]: found for way, found in lines.items()}
    kinds = {TITLES[way]: kind for way, kind in KINDS.items()}
    return "\n\n".join(parts) + "\n", growth(title, tools, kinds)


def _name(way: str) -> str:
    if way == "rankmeter":
        return "**rankmeter**"
    package = NEEDED.get(way)
    version = f" {importlib.metadata.version(package)}" if package else ""
    lacking = f", without {', '.join(LACKING[way])}" if way in LACKING else ""
    return TITLES[way] + version + lacking


def installed() -> list[str]:
    """The ways whose tools are here."""
    found = {way: way for way in ("recommenders", "replay")}
    return [way for way in WAYS if importlib.util.find_spec(found.get(way, "pyspark"))]


def main() -> None:
    parser = argparse.ArgumentParser(prog="cluster", description=__doc__)
    parser.add_argument("rows", nargs="+", type=lambda text: int(float(text)))
    parser.add_argument(
        "--rounds", type=int, nargs="+", default=[3], help="for all, or for each number of rows"
    )
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=installed())
    parser.add_argument("--master", default=f"local[{os.cpu_count()}]")
    parser.add_argument("--output", type=Path, help="a folder for the table and the chart")
    options = parser.parse_args()
    if len(options.rounds) not in (1, len(options.rows)):
        parser.error("--rounds must be one number, or one for each number of rows")
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = (
        SparkSession.builder.master(options.master)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "4g")
        .config("spark.executor.memory", "2g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "8")
        .getOrCreate()
    )
    machine = f"{os.cpu_count()} cores, PySpark {session.version}"
    measured = []
    for rows, rounds in zip(options.rows, itertools.cycle(options.rounds), strict=False):
        with tempfile.TemporaryDirectory() as folder:
            given = Path(folder), rows, options.ways, rounds
            found = measure(session, *given, warm=bool(measured))
        measured.append(found | {"machine": machine})
        if options.output is not None:
            options.output.mkdir(parents=True, exist_ok=True)
            text, picture = page(measured, command("cluster"))
            (options.output / "table.md").write_text(text, encoding="utf-8")
            (options.output / "chart.svg").write_text(picture, encoding="utf-8")
            figures = json.dumps(measured, indent=1)
            (options.output / "figures.json").write_text(figures + "\n", encoding="utf-8")
    session.stop()


if __name__ == "__main__":
    main()
