"""Inputs that are chosen to be slow: how the time grows with their size.

    python benchmarks/worst_case.py
    python benchmarks/worst_case.py --only ids ties --least 0.5

Doubles each size until a call takes `--least` seconds of processor time, and twice more. The
exponent is the logarithm to base 2 of the ratio of the times of a size and of its double, the mean
of the two doublings. Of several rounds the fastest counts. Prints the table of
docs/speed/worst_case.md, and exits with 1 if an exponent is above 1.2.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import math
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import polars as pl

import rankmeter as rm
from rankmeter._cli._gates import read_comparison_gate, read_gate
from rankmeter.errors import RankmeterError

MOST = 1.2
LARGEST = 2**23
TEMPORARY = tempfile.TemporaryDirectory()
FOLDER = Path(TEMPORARY.name)
CASES = {}


def case(name, start=2**10):
    """A function from a size to the call that is timed."""

    def add(make):
        CASES[name] = make, start
        return make

    return add


# Ids --------------------------------------------------------------------------------------------


def crafted(n):
    """Ids that a multiplication by the golden ratio, with a fold, would put into one place."""
    inverse = np.arange(n, dtype=np.uint64) * np.uint64(pow(0x9E3779B97F4A7C15, -1, 2**64))
    return (inverse ^ inverse >> np.uint64(32)).view(np.int64)


IDS = {
    "scattered": lambda n: np.random.default_rng(1).permutation(n) * 1_000_003,
    "crafted": crafted,
    "multiples of 2^40": lambda n: np.arange(n) << 40,
    "packed: two halves": lambda n: (np.arange(n) % 1000 << 32) + np.arange(n) // 1000,
}
DOCIDS = {
    "the start alike": lambda n: [f"clueweb09-en0000-00-{i:012}" for i in range(n)],
    "the end alike": lambda n: [f"{i:012}-clueweb09-en0000-00" for i in range(n)],
    "of 8 letters": lambda n: [f"{i:08x}"[::-1] for i in range(n)],
    "equal sums of bytes": lambda n: [f"{i:07}{9999999 - i:07}" for i in range(n)],
}


def often(call):
    """Many small calls: their tables stay in the caches of the processor at all sizes."""
    return lambda: [call() for _ in range(16)]


for kind, ids_of in IDS.items():

    @case(f"ids in a frame, one user, {kind}", 2**15)
    def _(n, ids_of=ids_of):
        frame = pl.DataFrame({"user": np.ones(n, np.int64), "item": ids_of(n)})
        frame = frame.with_columns(score=pl.int_range(n) * -1.0)
        truth = frame.gather_every(7).drop("score")
        return often(lambda: rm.evaluate(frame, truth, "ndcg@10 auc"))

    @case(f"users in a frame, {kind}", 2**15)
    def _(n, ids_of=ids_of):
        frame = pl.DataFrame({"user": ids_of(n), "item": np.arange(n) % 9})
        frame = frame.with_columns(score=1.0)
        return often(lambda: rm.evaluate(frame, frame.gather_every(7).drop("score"), "rr"))

    @case(f"ids in a list, {kind}", 2**15)
    def _(n, ids_of=ids_of):
        items = ids_of(n).tolist()
        return often(lambda: rm.evaluate({1: items}, {1: items[::7]}, "ndcg@10 auc"))

    @case(f"ids in a dictionary, {kind}", 2**15)
    def _(n, ids_of=ids_of):
        scores = dict(zip(ids_of(n).tolist(), range(n), strict=True))
        return often(lambda: rm.evaluate({1: scores}, {1: [*scores][::7]}, "ndcg@10 auc"))


for kind, docids_of in DOCIDS.items():

    @case(f"docids in a TREC run, {kind}", 2**15)
    def _(n, docids_of=docids_of):
        docids, path, judged = docids_of(n), FOLDER / f"{n}.run", FOLDER / f"{n}.qrels"
        path.write_text("".join(f"1 Q0 {x} 1 {-i} t\n" for i, x in enumerate(docids)))
        judged.write_text("".join(f"1 0 {x} 1\n" for x in docids[::7]))
        return often(lambda: rm.evaluate(path, judged, "ndcg@10 auc"))

    @case(f"text ids in a list, {kind}", 2**15)
    def _(n, docids_of=docids_of):
        items = docids_of(n)
        return often(lambda: rm.evaluate({1: items}, {1: items[::7]}, "ndcg@10 auc"))


# Rows -------------------------------------------------------------------------------------------


def of_users(n, per_user=10, seed=1):
    """Rankings and ground truth of many users, as frames."""
    rng = np.random.default_rng(seed)
    user = np.repeat(np.arange(n), per_user)
    frame = pl.DataFrame({"user": user, "item": np.tile(np.arange(per_user), n)})
    frame = frame.with_columns(score=pl.Series(rng.random(n * per_user)))
    return frame, frame.filter(pl.col("item") < 2).drop("score")


@case("rows: ordinary data, more for each of 500 users")
def _(n):
    frame, truth = of_users(500, n)
    return lambda: rm.evaluate(frame, truth, "ndcg@10 map@10 recall@20 rr")


@case("users: ordinary data, 20 rows each", 2**12)
def _(n):
    frame, truth = of_users(n, 20)
    return lambda: rm.evaluate(frame, truth, "ndcg@10 map@10 recall@20 rr")


@case("items: ordinary data, so many different ones in 2 million rows")
def _(n):
    frame = pl.DataFrame({"user": np.arange(2_000_000) // 20, "item": np.arange(2_000_000) % n})
    frame = frame.with_columns(score=pl.Series(np.random.default_rng(1).random(2_000_000)))
    return lambda: rm.evaluate(frame, frame.gather_every(9).drop("score"), "ndcg@10 map@10 rr")


@case("judged items: ordinary data, so many of each of 200 users")
def _(n):
    frame = of_users(200, n + 100)[0]
    truth = frame.filter(pl.col("item") < n).drop("score")
    return lambda: rm.evaluate(frame, truth, "ndcg@10 map@10 recall@20 rr")


for ties in ("item", "text", "expected", "input", "realistic"):

    @case(f"ties of one user, all judged, ties={ties}")
    def _(n, ties=ties):
        frame = pl.DataFrame({"user": np.ones(n, np.int64), "item": np.arange(n), "score": 1.0})
        return lambda: rm.evaluate(frame, frame.drop("score"), "ndcg@10 ap rr", ties=ties)


@case("judged items of one user")
def _(n):
    return lambda: rm.evaluate({1: [0]}, {1: range(n)}, "ndcg@10 ap")


@case("rows of one pair, duplicates=first")
def _(n):
    frame = pl.DataFrame({"user": np.ones(n, np.int64), "item": 1, "score": np.arange(n) * 1.0})
    return lambda: rm.evaluate(frame, {1: [1]}, "rr", duplicates="first")


@case("training items of one user")
def _(n):
    train = {1: range(n - 1)}
    return lambda: rm.evaluate({1: range(n)}, {1: [n - 1]}, "unseen@10 novelty@10", train=train)


@case("cutoff of a list and of a curve", 2**6)
def _(n):
    return lambda: rm.curve({1: range(n)}, {1: [n - 1]}, "ndcg", max_k=n)


@case("rows in pieces from disk")
def _(n):
    frame, truth = of_users(n)
    frame.write_csv(FOLDER / f"{n}.a.csv")
    return lambda: rm.evaluate(FOLDER / f"{n}.a.csv", truth, "ndcg@10", engine="disk")


@case("items of one user: show")
def _(n):
    result = rm.evaluate({1: range(n)}, {1: range(0, n, 7)}, "ndcg@10 ap")
    return lambda: result.show(1)


@case("items of one user that are not all ranked: show")
def _(n):
    result = rm.evaluate({1: range(n)}, {1: range(0, 2 * n, 2)}, "ndcg@10 ap", scope="ranked")
    return lambda: result.show(1)


@case("items that are appended")
def _(n):
    run = {u: range(10) for u in range(n // 10)}
    truth = {u: range(5, 15) for u in range(n // 10)}
    return lambda: rm.evaluate(run, truth, "ndcg@10 ap", scope="appended")


@case("items of one user that are appended")
def _(n):
    return lambda: rm.evaluate({1: [0]}, {1: range(n)}, "ndcg@10 ap", scope="appended")


for kind, users_of in {
    "no users": lambda _: None,
    "users in order": lambda step: range(8 * step, 8 * step + 8),
    "users of text": lambda step: [f"u{row}" for row in range(8 * step, 8 * step + 8)],
}.items():

    @case(f"batches of an accumulator, compute after each, {kind}", 2**8)
    def _(n, users_of=users_of):
        scores, target = np.random.default_rng(1).random((8, 50)), np.zeros(8, np.int64)

        def steps():
            batches = rm.accumulator("mrr ndcg@10")
            for step in range(n):
                batches.update(scores=scores, target=target, users=users_of(step))
                batches.compute()

        return steps


@case("parts of one document")
def _(n):
    parts = [f"d#{i}" for i in range(n)]
    return lambda: rm.evaluate({1: parts}, {1: ["d"]}, "rr", collapse="before:#")


@case("columns of a score matrix")
def _(n):
    scores = np.random.default_rng(1).integers(0, 3, (8, n)).astype(float)
    return lambda: rm.evaluate_scores(scores, np.zeros(8, np.int64), "mrr")


@case("users with metrics of lists", 2**6)
def _(n):
    side = {"items": np.eye(20), "catalogue": 20}
    return lambda: rm.evaluate({u: range(20) for u in range(n)}, {0: [1]}, "ild@9 gini@9", **side)


# Segments, systems and metrics --------------------------------------------------------------------


@case("users with a segment of their own: means", 2**13)
def _(n):
    result = rm.evaluate(*of_users(n, 3), "rr")
    labels = {u: f"s{u}" for u in range(n)}
    return lambda: result.by_segment(labels)


@case("segments of a comparison", 2**8)
def _(n):
    a, truth = of_users(n * 20, 3)
    systems = {"a": a, "b": of_users(n * 20, 3, 2)[0]}
    labels = {u: f"s{u % n}" for u in range(n * 20)}
    return lambda: rm.compare(systems, truth, "rr", segments=labels, test="t", correction="holm")


@case("clusters of an evaluation", 2**8)
def _(n):
    data, clusters = of_users(n * 2, 3), {u: u // 2 for u in range(n * 2)}
    return lambda: rm.evaluate(*data, "rr", clusters=clusters)


@case("systems against a baseline, 100 at most", 2**4)
def _(n):
    systems = {f"s{i}": of_users(10_000, 5, i)[0] for i in range(min(n, 100))}
    truth = of_users(10_000, 5)[1]
    return lambda: rm.compare(systems, truth, "rr", baseline="s0", test="t", correction="holm")


@case("pairs of systems with rankings, 100 systems at most", 2**9)
def _(n):
    n_systems = min(math.isqrt(2 * n) + 1, 100)  # of 2,048 pairs: 65
    systems = {f"s{i}": of_users(200, 5, i)[0] for i in range(n_systems)}
    return lambda: rm.compare(systems, of_users(200, 5)[1], "rr")


@case("pairs of systems, 100 systems at most", 2**6)
def _(n):
    scores = np.random.default_rng(1).random((128, 500))
    systems = {f"s{i}": dict(enumerate(scores[i].tolist())) for i in range(math.isqrt(2 * n) + 1)}
    return lambda: rm.compare_values(systems)


def cutoffs(n):
    """So many metrics."""
    names = ("ndcg", "recall", "precision", "ap")
    return [f"{names[i % 4]}@{1 + i // 4}" for i in range(n)]


@case("metrics of an evaluation", 2**10)
def _(n):
    data = of_users(50, 20)
    return lambda: str(rm.evaluate(*data, cutoffs(n)))


@case("metrics of a comparison", 2**8)
def _(n):
    a, truth = of_users(50, 20)
    systems = {"a": a, "b": of_users(50, 20, 2)[0]}
    return lambda: str(rm.compare(systems, truth, cutoffs(n)))


@case("metrics in the report of an evaluation", 2**9)
def _(n):
    result = rm.evaluate(*of_users(50, 20), cutoffs(n))
    return lambda: result.report(FOLDER / "report.html")


@case("metrics in the report of a comparison", 2**9)
def _(n):
    a, truth = of_users(50, 20)
    result = rm.compare({"a": a, "b": of_users(50, 20, 2)[0]}, truth, cutoffs(n))
    return lambda: result.report(FOLDER / "report.html")


# Text -------------------------------------------------------------------------------------------


def refused(call):
    """A call that ends with one of our errors."""

    def timed():
        with contextlib.suppress(RankmeterError):
            call()

    return timed


@case("letters of metrics: digits")
def _(n):
    return refused(lambda: rm.metric("ndcg@" + "1" * n))


TEXTS = {"blanks": " ", "brackets": "(", "pairs of brackets": "()", "commas": ",", "cutoffs": "@1"}
for kind, letters in TEXTS.items():

    @case(f"letters of metrics: {kind}")
    def _(n, letters=letters):
        return refused(lambda: rm.metric("ndcg" + letters * n + "x"))

    @case(f"letters of --fail-if: {kind}")
    def _(n, letters=letters):
        return refused(lambda: read_gate("mrr" + letters * n + "x"))


@case("letters of --fail-if: digits")
def _(n):
    return refused(lambda: read_gate("mrr<" + "1" * n + "x"))


for kind, letters in {"claims": "a shown worse than ", "blanks": " ", "on": " on"}.items():

    @case(f"letters of --fail-if of a comparison: {kind}")
    def _(n, letters=letters):
        return refused(lambda: read_comparison_gate("a worse than b" + letters * n, ["a"]))


@case("letters of an id")
def _(n):
    return lambda: rm.evaluate({"u" * n: ["x" * n]}, {"u" * n: ["x" * n]}, "rr")


@case("depth of JSON")
def _(n):
    (FOLDER / f"{n}.a.json").write_text("[" * n)
    return refused(lambda: rm.evaluate(FOLDER / f"{n}.a.json", {1: [1]}, "rr"))


@case("quotation marks in CSV")
def _(n):
    (FOLDER / f"{n}.q.csv").write_text("user,item,score\n" + '"' * n + "\n")
    return refused(lambda: rm.evaluate(FOLDER / f"{n}.q.csv", {1: [1]}, "rr"))


# ------------------------------------------------------------------------------------------------


def seconds(calls, rounds):
    """Of processor time, for each of some calls that take turns, in its fastest round."""
    times = [math.inf] * len(calls)
    for _ in range(rounds):
        for i, call in enumerate(calls):
            gc.collect()  # or the fastest round is that of a small size without a collection
            start = time.process_time()
            call()
            times[i] = min(times[i], time.process_time() - start)
    return times


def growth(make, n, least, rounds):
    """The first of three sizes, each the double of the one before, their times, the exponent.

    Tables that grow out of the caches of a processor seem to be worse than linear, but only there;
    what is quadratic is so at all large sizes. So an exponent above the most is measured again,
    also at other sizes, and the least counts.
    """
    make(n)()  # imports what it needs
    while (first := seconds([make(n)], 1)[0]) < least and n < LARGEST:
        n *= 4 if first < least / 5 else 2
    measured = []
    for start in (n, n, n // 2, 2 * n, 4 * n):
        times = seconds([make(size) for size in (start, 2 * start, 4 * start)], rounds)
        measured.append((math.log2(times[2] / times[0]) / 2, start, times))
        if measured[-1][0] <= MOST:
            break
    exponent, start, times = min(measured)
    return start, times, exponent


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="*", default=[""], help="words of the cases to measure")
    parser.add_argument("--least", type=float, default=0.05, help="seconds of the first size")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| what | size | s | s of the double | s of the fourfold | exponent |")
    print("|---|--:|--:|--:|--:|--:|")
    above = []
    for name, (make, start) in CASES.items():
        if not any(word in name for word in options.only):
            continue
        n, times, exponent = growth(make, start, options.least, options.rounds)
        cells = " | ".join(f"{t:.2f}" for t in times)
        print(f"| {name} | {n:,} | {cells} | {exponent:.2f} |", flush=True)
        if exponent > MOST:
            above.append(name)
    if above:
        sys.exit(f"above {MOST}: {', '.join(above)}")
    print(f"\nNothing above {MOST}.")


if __name__ == "__main__":
    main()
