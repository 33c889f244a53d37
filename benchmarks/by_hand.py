"""``python benchmarks/by_hand.py [--rounds N] [--only NAME ...]``: against what one would write.

Each way is a process of its own that is warm. rankmeter and the other take turns, so that both see
the same machine. The values must be equal. Printed are the ratios: the median of the pairs with
their quartiles, of the clock and of the CPU seconds of all threads.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from speed.data import Data, Shape

FILES = ("rankings", "truth")
METRICS = ("ndcg@10", "map@10", "recall@20", "mrr")

DUCKDB = """
WITH ranked AS (
    SELECT user, item, row_number() OVER (PARTITION BY user ORDER BY score DESC) AS rank
    FROM '{rankings}'
), hits AS (
    SELECT user, rank, row_number() OVER (PARTITION BY user ORDER BY rank) AS number
    FROM ranked JOIN '{truth}' USING (user, item)
), sums AS (
    SELECT user,
        sum(1 / log2(rank + 1)) FILTER (rank <= 10) AS dcg,
        sum(number / rank) FILTER (rank <= 10) AS precisions,
        count(*) FILTER (rank <= 20) AS found,
        1 / min(rank) AS rr
    FROM hits GROUP BY user
), judged AS (
    SELECT user, count(*) AS n, list_sum(list_transform(range(1, least(count(*), 10) + 1),
        lambda rank: 1 / log2(rank + 1))) AS ideal
    FROM '{truth}' GROUP BY user
)
SELECT avg(coalesce(dcg / ideal, 0)), avg(coalesce(precisions / n, 0)),
    avg(coalesce(found / n, 0)), avg(coalesce(rr, 0))
FROM judged LEFT JOIN sums USING (user)
"""


def duckdb(folder: Path) -> Callable[[], list[float]]:
    """One query of DuckDB."""
    import duckdb

    query = DUCKDB.format(rankings=folder / "rankings.parquet", truth=folder / "truth.parquet")
    return lambda: list(duckdb.execute(query).fetchall()[0])


def polars(folder: Path) -> Callable[[], list[float]]:
    """One lazy query of Polars."""
    import polars as pl

    ideal = np.cumsum(1 / np.log2(np.arange(1, 11) + 1))
    rank, n, number = pl.col("rank"), pl.col("n"), pl.int_range(1, pl.len() + 1)

    def run() -> list[float]:
        truth = pl.scan_parquet(folder / "truth.parquet").with_columns(judged=True)
        ranked = pl.scan_parquet(folder / "rankings.parquet").with_columns(
            rank=pl.col("score").rank("ordinal", descending=True).over("user")
        )
        hits = ranked.join(truth, on=["user", "item"])
        sums = hits.group_by("user").agg(
            dcg=(1 / (rank.filter(rank <= 10) + 1).log(2)).sum(),
            precisions=(number / rank.sort()).filter(rank.sort() <= 10).sum(),
            found=(rank <= 20).sum(),
            rr=1 / rank.min(),
        )
        by_user = truth.group_by("user").agg(n=pl.len()).join(sums, on="user", how="left")
        best = n.clip(upper_bound=10).replace_strict(range(1, 11), ideal)
        values = [pl.col("dcg") / best, pl.col("precisions") / n, pl.col("found") / n, pl.col("rr")]
        means = [value.fill_null(0).mean().alias(str(at)) for at, value in enumerate(values)]
        return list(by_user.select(means).collect().row(0))

    return run


def rankmeter(folder: Path) -> Callable[[], list[float]]:
    """Two files."""
    import rankmeter as rm

    files = folder / "rankings.parquet", folder / "truth.parquet"

    def run() -> list[float]:
        result = rm.evaluate(*files, list(METRICS))
        return [result[metric].mean for metric in METRICS]

    return run


def rankmeter_frames(folder: Path) -> Callable[[], list[float]]:
    """Two frames in memory."""
    import polars as pl

    import rankmeter as rm

    frames = [pl.read_parquet(folder / f"{name}.parquet") for name in FILES]

    def run() -> list[float]:
        result = rm.evaluate(*frames, list(METRICS))
        return [result[metric].mean for metric in METRICS]

    return run


def rank_and_join(folder: Path) -> Callable[[], list[float]]:
    """The floor for frames: rank within users and join the truth; no metrics."""
    import polars as pl

    rankings, truth = (pl.read_parquet(folder / f"{name}.parquet") for name in FILES)
    rank = pl.col("score").rank("ordinal", descending=True).over("user")

    def run() -> list[float]:
        rankings.with_columns(rank=rank).join(truth, on=["user", "item"], how="inner")
        return []

    return run


def rankmeter_scores(folder: Path) -> Callable[[], list[float]]:
    """A matrix of scores with the positions of the relevant items."""
    import rankmeter as rm

    scores, targets = np.load(folder / "scores.npy"), np.load(folder / "targets.npy")

    def run() -> list[float]:
        result = rm.evaluate_scores(scores, targets, ["mrr", "recall@20"])
        return [result["mrr"].mean, result["recall@20"].mean]

    return run


def numpy_scores(folder: Path) -> Callable[[], list[float]]:
    """Three lines of NumPy."""
    scores, targets = np.load(folder / "scores.npy"), np.load(folder / "targets.npy")

    def run() -> list[float]:
        of_target = np.take_along_axis(scores, targets, axis=1)
        rank = np.stack([(scores > one[:, None]).sum(axis=1) for one in of_target.T], axis=1) + 1
        return [float(np.mean(1 / rank.min(axis=1))), float(np.mean(rank <= 20))]

    return run


def write_rows(shape: Shape, folder: Path) -> None:
    """Rankings and ground truth as Parquet, with numbers of 32 bits."""
    import polars as pl

    small = {pl.Int64: pl.Int32, pl.Float64: pl.Float32}
    for name, frame in zip(FILES, Data(shape).polars(), strict=True):
        frame.cast(small).write_parquet(folder / f"{name}.parquet")


def write_scores(targets: int, folder: Path) -> None:
    """Scores of 2,000 queries × 10,000 items."""
    rng = np.random.default_rng(0)
    scores = rng.permuted(np.tile(np.arange(10_000, dtype=np.float32), (2_000, 1)), axis=1)
    np.save(folder / "scores.npy", scores)
    picks = rng.random((2_000, 10_000)).argpartition(targets, axis=1)[:, :targets]
    np.save(folder / "targets.npy", picks)


@dataclass(frozen=True)
class Work:
    """What is measured: its data, rankmeter's way and the others."""

    title: str
    write: Callable[[Path], None]
    ours: str
    others: tuple[str, ...]


def _rows(users: int, *, text: bool = False, shuffled: bool = True) -> Callable[[Path], None]:
    return functools.partial(write_rows, Shape(users, 100, 5, text, shuffled))


WORK = {
    "integer": Work(
        "Parquet, integer ids, 5 M rows", _rows(50_000), "rankmeter", ("duckdb", "polars")
    ),
    "text": Work(
        "Parquet, text ids, 3 M rows", _rows(30_000, text=True), "rankmeter", ("duckdb", "polars")
    ),
    "shuffled": Work(
        "frames, 2 M rows, shuffled", _rows(20_000), "rankmeter_frames", ("rank_and_join",)
    ),
    "sorted": Work(
        "frames, 2 M rows, sorted",
        _rows(20_000, shuffled=False),
        "rankmeter_frames",
        ("rank_and_join",),
    ),
    **{
        f"scores-{n}": Work(
            f"scores, 2,000 × 10,000, {n} target{'s' if n > 1 else ''}",
            functools.partial(write_scores, n),
            "rankmeter_scores",
            ("numpy_scores",),
        )
        for n in (1, 10)
    },
}


def cpu_seconds() -> float:
    """Of all threads of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def serve(name: str, folder: Path) -> None:
    """A worker: run a way once for each line that comes in."""
    run = globals()[name](folder)
    for _ in sys.stdin:
        clock, cpu = time.perf_counter(), cpu_seconds()
        values = run()
        spent = time.perf_counter() - clock, cpu_seconds() - cpu
        print(json.dumps([*spent, values]), flush=True)


class Worker:
    """A process of one way; `sources` is where its rankmeter comes from."""

    def __init__(self, name: str, folder: Path, sources: str = "") -> None:
        here = str(Path(__file__).parent)
        places = [here, *([sources] if sources else []), os.environ.get("PYTHONPATH", "")]
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--serve", name, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(places)},
        )

    def run(self) -> tuple[float, float, list[float]]:
        """Seconds of the clock and of the CPU, and the values."""
        print(file=self.process.stdin, flush=True)
        return tuple(json.loads(self.process.stdout.readline()))

    def stop(self) -> None:
        self.process.communicate()


def pairs(work: Work, other: str, folder: Path, rounds: int, before: str) -> Iterator[tuple]:
    """Clock and CPU of both, in turn; the first turn is not counted."""
    ours = Worker(work.ours, folder)
    theirs = Worker(work.ours, folder, before) if before else Worker(other, folder)
    try:
        first = ours.run()[2], theirs.run()[2]
        if first[1] and not np.allclose(*first, rtol=0, atol=1e-12):
            raise SystemExit(f"{work.title}: {other} has other values: {first}")
        for _ in range(rounds):
            yield ours.run()[:2], theirs.run()[:2]
    finally:
        ours.stop()
        theirs.stop()


def spread(values: list[float]) -> str:
    """The median and the quartiles."""
    low, _, high = statistics.quantiles(values, n=4)
    return f"{statistics.median(values):.2f} ({low:.2f}–{high:.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--only", nargs="+", default=[*WORK], choices=[*WORK])
    parser.add_argument("--before", default="", help="sources of an older rankmeter: the only peer")
    parser.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve[0], Path(options.serve[1]))
        return
    print("| work | other | rankmeter, s (CPU) | other, s (CPU) | ratio | of CPU |")
    print("|---|---|--:|--:|--:|--:|")
    for name in options.only:
        work = WORK[name]
        with tempfile.TemporaryDirectory(prefix="by-hand-") as folder:
            work.write(Path(folder))
            for other in ("before",) if options.before else work.others:
                found = np.array(
                    [*pairs(work, other, Path(folder), options.rounds, options.before)]
                )
                ours, theirs = (
                    f"{clock:.3f} ({cpu:.3f})" for clock, cpu in np.median(found, axis=0)
                )
                ratios = [spread((found[:, 1, at] / found[:, 0, at]).tolist()) for at in (0, 1)]
                print(f"| {work.title} | {other} | {ours} | {theirs} | {' | '.join(ratios)} |")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
