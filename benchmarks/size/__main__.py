"""``python -m size ROWS ... [--memory 2GiB]``: time and peak memory for growing numbers of rows.

Data are generated in a temporary folder, of one size after the other, and removed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from size.data import generate
from speed.growth import growth, nanoseconds
from speed.page import command, memory, seconds, table

METRICS = ["ndcg@10", "map@100", "recall@100"]
WAYS = {
    "disk": {"engine": "disk"},
    "memory": {"engine": "memory"},
    "floor": {},
}
"""What is measured; the floor is a scan and a join by Polars, which measures nothing."""

LARGEST = {"memory": 100_000_000}
"""The most rows that a way is tried with: in memory they need about 60 bytes each."""
KINDS = {"disk": "first", "memory": "second", "floor": "floor"}
"""How the chart draws a way."""

WORK = """
import json, resource, sys, time
asked = json.loads(sys.argv[1])
import polars as pl
import rankmeter as rm
start = time.perf_counter()
if asked["options"]:
    result = rm.evaluate(asked["rankings"], asked["truth"], asked["metrics"], **asked["options"])
    found = {metric: one.mean for metric, one in result.items()}
else:
    truth = pl.scan_parquet(asked["truth"])
    rows = pl.scan_parquet(asked["rankings"] + "/*.parquet").join(truth, on=["user", "item"])
    found = {"rows": rows.collect(engine="streaming").height}
lines = open("/proc/self/status").read().splitlines()
peak = next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({"seconds": time.perf_counter() - start, "cpu": used.ru_utime + used.ru_stime,
                  "peak": peak, "found": found}))
"""


def measure(rankings: Path, truth: Path, options: dict) -> dict:
    """One evaluation in a process of its own."""
    asked = {
        "rankings": str(rankings), "truth": str(truth), "metrics": METRICS, "options": options,
    }  # fmt: skip
    ran = subprocess.run(
        [sys.executable, "-c", WORK, json.dumps(asked)], check=True, stdout=subprocess.PIPE
    )
    return json.loads(ran.stdout)


def page(measured: dict[str, dict[int, dict]], asked: str) -> tuple[str, str]:
    """A table of time and memory, and a chart of the time for each row."""
    sizes = sorted({n for found in measured.values() for n in found})
    lines = []
    for n in sizes:
        cells = []
        for found in measured.values():
            one = found.get(n)
            each = one and nanoseconds(one["seconds"] / n * 1e9)
            text = one and f"{seconds(one['seconds'])}, {each} a row, {memory(one['peak'])}"
            cells.append(text or "–")
        lines.append((f"{n / 1e6:,g} million", *cells))
    took = {way: {n: [one["seconds"]] for n, one in of.items()} for way, of in measured.items()}
    text = f"{table(('rows', *measured), lines)}\n\n`{asked}`, {os.cpu_count()} cores.\n"
    return text, growth(f"{len(METRICS)} metrics of shuffled rows on one machine", took, KINDS)


def main() -> None:
    parser = argparse.ArgumentParser(prog="size", description=__doc__)
    parser.add_argument("rows", nargs="+", type=lambda text: int(float(text)))
    parser.add_argument("--memory", default="2GiB")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--folder", type=Path, help="keep the data here, and use those there")
    parser.add_argument("--output", type=Path, help="a folder for the table and the chart")
    options = parser.parse_args()
    measured: dict[str, dict[int, dict]] = {way: {} for way in options.ways}
    for n in options.rows:
        with tempfile.TemporaryDirectory() as temporary:
            folder = options.folder or Path(temporary)
            start = time.perf_counter()
            rankings, truth = folder / f"rankings-{n}", folder / f"truth-{n}.parquet"
            if not truth.exists():
                generate(folder, n)
            print(f"{n:.0e} rows made in {time.perf_counter() - start:.0f} s", flush=True)
            for way in options.ways:
                if n > LARGEST.get(way, n):
                    continue
                given = dict(WAYS[way])
                if given.get("engine") == "disk":
                    given["memory"] = options.memory
                found = measured[way][n] = measure(rankings, truth, given)
                print(
                    f"{n:>13,} {way:<10} {found['seconds']:8.1f} s {found['cpu']:8.1f} s of CPU "
                    f"{found['seconds'] / n * 1e9:6.1f} ns a row "
                    f"{found['peak'] / 2**20:7.0f} MiB  {found['found']}",
                    flush=True,
                )
        if options.output is not None:
            options.output.mkdir(parents=True, exist_ok=True)
            text, picture = page(measured, command("size"))
            (options.output / "table.md").write_text(text, encoding="utf-8")
            (options.output / "chart.svg").write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
