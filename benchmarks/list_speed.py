"""List metrics next to RecTools and LensKit, each in its own environment.

    python benchmarks/list_speed.py --rectools PATH/bin/python --lenskit PATH/bin/python

100,000 users with lists of 10 of 10,000 items, which have 64 features of 0 and 1, and 1.3 million
training interactions. Tools take turns in processes of their own, several rounds; each is timed
from data in the form that it wants (frames; lists of items for LensKit) to the mean, in processor
seconds of all threads. The means must agree. Prints the table of docs/guide/beyond-accuracy.md.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

K, N_ITEMS, N_FEATURES, PER_USER = 10, 10_000, 64, 20


def generate(path, n_users):
    """Lists without repeated items, training interactions, and features."""
    rng = np.random.default_rng(1)
    lists = np.argsort(rng.random((n_users, 50)), axis=1)[:, :K] * 199 % N_ITEMS
    lists = (lists + rng.integers(0, N_ITEMS, n_users)[:, None]) % N_ITEMS
    train = np.minimum(rng.zipf(1.3, (n_users, PER_USER)) - 1, N_ITEMS - 1)
    features = (rng.random((N_ITEMS, N_FEATURES)) < 0.2).astype(float)
    np.savez(path, lists=lists, train=train, features=features)


def long(matrix):
    """The users and the items of a matrix with a row for each user."""
    return np.repeat(np.arange(len(matrix)), matrix.shape[1]), matrix.ravel()


def with_rankmeter(data):
    """The calls of rankmeter by what they measure."""
    import polars as pl

    import rankmeter as rm

    def frame(matrix):
        return pl.DataFrame(dict(zip(("user", "item"), long(matrix), strict=True)))

    lists = frame(data["lists"])
    train = frame(data["train"]).unique(maintain_order=True)
    side = {
        "ild": {"items": data["features"]},
        "novelty": {"train": train},
        "popularity": {"train": train},
        "coverage": {"catalogue": N_ITEMS},
        "gini": {"catalogue": N_ITEMS},
    }
    asked = {
        "ild": f"ild(distance=hamming)@{K}",
        "novelty": f"novelty@{K}",
        "popularity": f"popularity(scale=rank)@{K}",
        "coverage": f"coverage@{K}",
        "gini": f"gini@{K}",
    }
    return {
        name: lambda name=name, text=text: (
            next(iter(rm.evaluate(lists, None, text, **side[name]).values())).mean
        )
        for name, text in asked.items()
    }


def with_rectools(data):
    """The same for RecTools."""
    import pandas as pd
    from rectools import Columns
    from rectools.metrics import (
        CatalogCoverage,
        IntraListDiversity,
        MeanInvUserFreq,
        PairwiseHammingDistanceCalculator,
    )

    def frame(matrix):
        columns = dict(zip((Columns.User, Columns.Item), long(matrix), strict=True))
        return pd.DataFrame(columns)

    lists, train = frame(data["lists"]), frame(data["train"]).drop_duplicates()
    lists[Columns.Rank] = np.tile(np.arange(1, K + 1), len(data["lists"]))
    features = pd.DataFrame(data["features"])
    return {
        "ild": lambda: IntraListDiversity(K, PairwiseHammingDistanceCalculator(features)).calc(
            lists
        ),
        "novelty": lambda: MeanInvUserFreq(K).calc(lists, train),
        "coverage": lambda: CatalogCoverage(K, normalize=True).calc(lists, range(N_ITEMS)),
    }


def with_lenskit(data):
    """The same for LensKit."""
    import pandas as pd
    from lenskit.data import ItemList, ItemListCollection, from_interactions_df
    from lenskit.metrics import ListGini, MeanPopRank, RunAnalysis

    rows = dict(zip(("user_id", "item_id"), long(data["train"]), strict=True))
    train = from_interactions_df(pd.DataFrame(rows).drop_duplicates())
    lists, test = ItemListCollection(["user_id"]), ItemListCollection(["user_id"])
    for user, items in enumerate(data["lists"]):
        lists.add(ItemList(item_ids=items, ordered=True), user_id=user)
        test.add(ItemList(item_ids=items[:0]), user_id=user)

    def measured(metric):
        analysis = RunAnalysis()
        analysis.add_metric(metric, label="value")
        return analysis.measure(lists, test)

    return {
        "popularity": lambda: measured(MeanPopRank(train, n=K)).list_summary().loc["value", "mean"],
        "gini": lambda: measured(ListGini(K, items=N_ITEMS)).global_metrics()["value"],
    }


def work(tool, path):
    """Print the time and the mean of each call."""
    calls = globals()[f"with_{tool}"](dict(np.load(path)))
    found = {}
    for name, call in calls.items():
        if tool == "rankmeter":
            call()  # it is imported lazily
        start = time.process_time()
        value = float(call())
        found[name] = [time.process_time() - start, value]
    print(json.dumps(found))


def run(python, tool, path):
    """One turn of a tool."""
    command = [python, __file__, "--work", tool, "--data", path]
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return json.loads(done.stdout.splitlines()[-1])


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    for tool in ("rectools", "lenskit"):
        parser.add_argument(f"--{tool}", help="the Python of its environment")
    parser.add_argument("--users", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--work", help=argparse.SUPPRESS)
    parser.add_argument("--data", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        work(given.work, given.data)
        return
    tools = {"rankmeter": sys.executable, "rectools": given.rectools, "lenskit": given.lenskit}
    tools = {tool: python for tool, python in tools.items() if python}
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "data.npz")
        generate(path, given.users)
        rounds = [
            {t: run(python, t, path) for t, python in tools.items()} for _ in range(given.rounds)
        ]
    print("| metric | rankmeter | tool | times as fast |")
    print("|---|---:|---:|---:|")
    for tool in [*tools][1:]:
        for name in rounds[0][tool]:
            ours, theirs = ([one[t][name] for one in rounds] for t in ("rankmeter", tool))
            assert np.isclose(ours[0][1], theirs[0][1], rtol=1e-6), (name, ours[0], theirs[0])
            ratio = [b[0] / a[0] for a, b in zip(ours, theirs, strict=True)]
            mine, other = (np.median([one[0] for one in side]) for side in (ours, theirs))
            times = f"{np.median(ratio):.1f} ({min(ratio):.1f} to {max(ratio):.1f})"
            print(f"| {name} | {mine:.2f} s | {tool} {other:.2f} s | {times} |")


if __name__ == "__main__":
    main()
