"""``python benchmarks/starts.py [--rounds N]``: CPU seconds of first calls and of large pages.

Each is a process of its own, and takes turns with ``import numpy, polars``. Printed are the medians
with their quartiles, and the ratio to that import where the work is small. Children count, too.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

IMPORT = "import numpy, polars"
FIRST = """
import polars as pl, rankmeter as rm
rankings = pl.DataFrame({"user": [1, 1, 2], "item": [1, 2, 3], "score": [0.3, 0.2, 0.1]})
rm.evaluate(rankings, pl.DataFrame({"user": [1, 2], "item": [1, 3]}), "ndcg@10")
"""
DATA = """
import numpy as np, polars as pl, rankmeter as rm
rng = np.random.default_rng(0)
def lists(k):
    items = np.argsort(rng.random((1000, 2000)), axis=1)[:, :k].ravel()
    return pl.DataFrame({"user": np.repeat(np.arange(1000), k), "item": items})
def ranked(k):
    return lists(k).with_columns(score=np.tile(np.arange(k, 0, -1.0), 1000))
"""
COMPARE = """
systems = {f"s{i}": ranked(20) for i in range(64)}
"""
COMPARED = 'rm.compare(systems, truth, "ndcg@10 map@10 recall@10 rr").report("c.html")'
METRICS = [f"{name}@{k}" for name in ("ndcg", "map", "recall", "precision") for k in range(1, 51)]
REPORT = f"rm.evaluate(ranked(100), truth, {METRICS}).report('r.html')"
MEASURED = "\nimport time\nbegun = time.process_time()\n{}\nprint(time.process_time() - begun)"
RUN, QRELS = "q1 Q0 d1 1 3.0 x\nq1 Q0 d2 2 2.0 x\n", "q1 0 d1 1\n"
CSV, JUDGED = "user,item,score\n1,1,0.3\n1,2,0.2\n2,3,0.1\n", "user,item\n1,1\n2,3\n"


def seconds(folder: Path, *arguments: str) -> float:
    """CPU seconds of a process, or those that it prints."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if "process_time" in arguments[-1]:
        return float(done.stdout)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def quartiles(values: list[float]) -> str:
    low, _, high = statistics.quantiles(values, n=4)
    return f"{statistics.median(values):.2f} ({low:.2f}–{high:.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=9)
    rounds = parser.parse_args().rounds
    evaluate = ("-m", "rankmeter", "evaluate")
    small = {
        "first `evaluate` of two frames": ("-c", FIRST),
        "command, a TREC run of 2 lines": (*evaluate, "a.run", "a.qrels", "-m", "ndcg@10"),
        "command, a CSV file of 3 rows": (*evaluate, "a.csv", "judged.csv", "-m", "ndcg@10"),
    }
    truth = DATA + "truth = lists(5)\n"
    large = {
        "`compare` of 64 systems, 4 metrics, with report": truth
        + COMPARE
        + MEASURED.format(COMPARED),
        "`evaluate` of 200 metrics, with report": truth + MEASURED.format(REPORT),
    }
    print("| work | s of CPU | s of import NumPy, Polars | import / work |\n|---|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = {"a.run": RUN, "a.qrels": QRELS, "a.csv": CSV, "judged.csv": JUDGED}
        for file, text in files.items():
            (folder / file).write_text(text)
        for what, call in small.items():
            pairs = [(seconds(folder, *call), seconds(folder, "-c", IMPORT)) for _ in range(rounds)]
            took, imported = map(list, zip(*pairs, strict=True))
            ratios = quartiles([base / one for one, base in pairs])
            print(f"| {what} | {quartiles(took)} | {quartiles(imported)} | {ratios} |", flush=True)
        for what, code in large.items():
            took = [seconds(folder, "-c", code) for _ in range(max(3, rounds // 3))]
            print(f"| {what} | {quartiles(took)} | – | – |", flush=True)


if __name__ == "__main__":
    main()
