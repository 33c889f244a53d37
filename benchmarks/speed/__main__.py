"""``python -m speed [--quick] [--only NAME ...]``: run the benchmark and write its page."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from speed.environments import HOME, ROOT
from speed.page import tables, write
from speed.run import QUICK, WORKLOADS, measure_all


def merged(figures: dict, output: Path) -> dict:
    """The figures, with those of earlier runs for the other workloads."""
    known = output / "figures.json"
    earlier = json.loads(known.read_text("utf-8"))["workloads"] if known.exists() else []
    found = {one["name"]: one for one in [*earlier, *figures["workloads"]]}
    order = [workload.name for workload in WORKLOADS if workload.name in found]
    return figures | {"workloads": [found[name] for name in order]}


def main() -> None:
    parser = argparse.ArgumentParser(prog="speed", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="small data, and no tool that is not installed yet"
    )
    parser.add_argument(
        "--only", nargs="+", metavar="NAME", help="parts of names; other figures are kept"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--output", type=Path, help="default: docs/speed, or .bench/quick")
    options = parser.parse_args()
    output = options.output or (HOME / "quick" if options.quick else ROOT / "docs" / "speed")
    chosen = [
        workload
        for workload in (QUICK if options.quick else WORKLOADS)
        if not options.only or any(part in workload.name for part in options.only)
    ]
    shown: dict = {}
    for figures in measure_all(
        chosen,
        rounds=options.rounds,
        install=not options.quick,
        command="make bench-quick" if options.quick else "make bench",
    ):
        kept = options.only and not options.quick
        shown = merged(figures, output) if kept else figures
        write(shown, output)
    print(tables(shown))
    if options.quick:
        print("Smaller data and fewer tools than make bench, which writes the page of the docs.")
    print(f"Written: {output}")


if __name__ == "__main__":
    main()
