"""Run fuzzers for long: ``python -m fuzz`` with names of them, such as readers.csv and api."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from fuzz import harness, invariance, readers, writers

FUZZERS = [*(f"readers.{form}" for form in readers.FORMS), "api", "calls", "invariance", "doors"]
NAMES = [*FUZZERS, *(f"rows.{form}" for form in readers.FORMS), "threads", "writers"]


def main() -> int:
    """Run what the command line asks for; 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(NAMES)} [all]")
    parser.add_argument("--n", type=int, default=20_000, help="inputs of each [%(default)s]")
    parser.add_argument("--first", type=int, default=0, help="number of the first [%(default)s]")
    parser.add_argument("--seed", type=int, default=0, help="seed [%(default)s]")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes [all cores]")
    parser.add_argument(
        "--failures", type=Path, default=Path("fuzz-failures"), help="[%(default)s]"
    )
    chosen = parser.parse_args()
    failed = False
    for name in chosen.names or NAMES:
        if name == "threads":
            found = invariance.digests(chosen.seed, max(chosen.n // 1000, 5))
            print(f"threads, seed {chosen.seed}: {found}", flush=True)
            failed = failed or len(set(found.values())) > 1
            continue
        if name == "writers":
            print(f"writers, seed {chosen.seed}: {_end(chosen.n, chosen.seed)}", flush=True)
            continue
        jobs = min(chosen.jobs, chosen.n)
        report = harness.run(
            name, chosen.n, seed=chosen.seed, first=chosen.first, jobs=jobs, folder=chosen.failures
        )
        print(f"{name}, seed {chosen.seed}: {report}", flush=True)
        failed = failed or bool(report.failures)
    return int(failed)


def _end(n: int, seed: int) -> str:
    """End and cut writers: 200 and 100 of them at most, since each is a process."""
    kills, cuts = min(n, 200), min(n, 100)
    with tempfile.TemporaryDirectory() as home:
        jobs = writers.prepare(Path(home))
        killed = writers.kill(Path(home), jobs, kills, seed)
        cut = writers.cut(Path(home), jobs, cuts, seed)
    return f"{kills} ended and {cuts} cut, nothing torn or left; exit codes {dict(killed + cut)}"


if __name__ == "__main__":
    sys.exit(main())
