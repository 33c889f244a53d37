"""How long an evaluation takes, side by side with the bare Polars expression for its hardest part.

The floor ranks every row within its user and joins the truth: no checks, no metrics. Both run in
turn, in one process, on the same frames of unsorted rows; the ratio of each pair is what counts.

    python benchmarks/speed.py [--users 20000] [--repeat 7]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

import rankmeter as rm

METRICS = ["ndcg@10", "map@100", "rr", "recall@100", "precision@10"]


def frames(n_users: int, length: int = 100, n_items: int = 5000, n_true: int = 10):
    """Unsorted rankings with integer ids and untied scores, and their truth."""
    rng = np.random.default_rng(0)
    user = np.repeat(np.arange(n_users), length)
    # Distinct items per user without a Python loop: a random start and an odd random step.
    start = rng.integers(0, n_items, n_users)[:, None]
    step = rng.integers(1, n_items // length, n_users)[:, None]
    item = ((start + step * np.arange(length)) % n_items).ravel()
    order = rng.permutation(user.size)
    rankings = pl.DataFrame(
        {"user": user[order], "item": item[order], "score": rng.random(user.size)}
    )
    picks = rng.permuted(np.tile(np.arange(length), (n_users, 1)), axis=1)[:, : n_true // 2]
    found = np.take_along_axis(item.reshape(n_users, length), picks, axis=1)
    other = rng.integers(n_items, 2 * n_items, (n_users, n_true - n_true // 2))
    truth = pl.DataFrame(
        {
            "user": np.repeat(np.arange(n_users), n_true),
            "item": np.concatenate([found, other], axis=1).ravel(),
        }
    ).unique(maintain_order=True)
    return rankings, truth


def floor(rankings: pl.DataFrame, truth: pl.DataFrame) -> pl.DataFrame:
    """Rank within users, join the truth."""
    rank = pl.col("score").rank("ordinal", descending=True).over("user")
    return rankings.with_columns(rank=rank).join(truth, on=["user", "item"], how="inner")


def seconds(run) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def frames_benchmark(n_users: int, repeat: int, *, strings: bool) -> None:
    rankings, truth = frames(n_users)
    if strings:
        ids = [
            pl.format("user-{}", "user").alias("user"),
            pl.format("item-{}", "item").alias("item"),
        ]
        rankings, truth = rankings.with_columns(ids), truth.with_columns(ids)
    pairs = []
    floor(rankings, truth), rm.evaluate(rankings, truth, METRICS)  # warm up both
    for _ in range(repeat):
        pairs.append(
            (
                seconds(lambda: floor(rankings, truth)),
                seconds(lambda: rm.evaluate(rankings, truth, METRICS)),
            )
        )
    ratios = sorted(ours / bare for bare, ours in pairs)
    bare, ours = (statistics.median(column) for column in zip(*pairs, strict=True))
    kind = "string" if strings else "integer"
    print(
        f"{rankings.height:,} rows, {kind} ids: floor {bare:.3f} s, rankmeter {ours:.3f} s, "
        f"ratio {statistics.median(ratios):.2f} ({ratios[0]:.2f}–{ratios[-1]:.2f})"
    )


def metrics_benchmark(n_users: int, repeat: int) -> None:
    """Forty metrics compared with one: hits are found once, so further metrics are cheap."""
    rankings, truth = frames(n_users)
    names = ("ndcg", "map", "rr", "recall", "precision", "hr", "f1", "dcg")
    forty = [f"{name}@{k}" for name in names for k in (1, 5, 10, 20, 100)]
    rm.evaluate(rankings, truth, forty)
    ratios = []
    for _ in range(repeat):
        one = seconds(lambda: rm.evaluate(rankings, truth, "ndcg@10"))
        ratios.append(seconds(lambda: rm.evaluate(rankings, truth, forty)) / one)
    ratios.sort()
    print(
        f"{len(forty)} metrics take {statistics.median(ratios):.2f} times as long as one "
        f"({ratios[0]:.2f}–{ratios[-1]:.2f})"
    )


def command_benchmark(repeat: int) -> None:
    """Wall time of the import and of the command on two tiny files, and of a bare interpreter."""
    with tempfile.TemporaryDirectory() as folder:
        rankings, truth = Path(folder, "rankings.csv"), Path(folder, "truth.csv")
        rankings.write_text("user,item,score\nann,a,3\nann,b,2\nbob,b,1\n")
        truth.write_text("user,item\nann,b\nbob,b\n")
        script = [sys.executable, "-m", "rankmeter", "evaluate", str(rankings), str(truth)]
        commands = {
            "bare interpreter": [sys.executable, "-c", "pass"],
            "import rankmeter": [sys.executable, "-c", "import rankmeter"],
            "rankmeter evaluate, two tiny files": [*script, "-m", "ndcg@10"],
        }
        for _ in range(2):
            for command in commands.values():
                subprocess.run(command, check=True, capture_output=True)
        times: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(repeat):
            for name, command in commands.items():
                run = lambda: subprocess.run(command, check=True, capture_output=True)  # noqa: B023, E731
                times[name].append(seconds(run))
        for name, values in times.items():
            print(
                f"{name}: {statistics.median(values) * 1e3:.0f} ms "
                f"({min(values) * 1e3:.0f}–{max(values) * 1e3:.0f})"
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--users", type=int, default=20_000)
    parser.add_argument("--repeat", type=int, default=7)
    arguments = parser.parse_args()
    frames_benchmark(arguments.users, arguments.repeat, strings=False)
    frames_benchmark(arguments.users, arguments.repeat, strings=True)
    metrics_benchmark(arguments.users, arguments.repeat)
    command_benchmark(arguments.repeat)
