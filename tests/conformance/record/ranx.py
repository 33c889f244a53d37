"""ranx: ``evaluate(Qrels, Run, metric, make_comparable=True)``.

``[dict]`` marks plain dictionaries instead of ``Qrels`` and ``Run``, which ranx sorts by another
path; they are recorded if both sides have every user (ranx refuses them otherwise). The
values per user are those that ranx keeps in ``run.scores``. One thread, because bpref leaves the
users behind one with nothing relevant at 0, in each thread's share.
"""

import os

os.environ["NUMBA_NUM_THREADS"] = "1"

from importlib.metadata import version

import inputs
from ranx import Qrels, Run, evaluate

VERSION = version("ranx")
PACKAGES = {name: version(name) for name in ("numba", "numpy")}

CUT = [
    "hits", "hit_rate", "precision", "recall", "f1", "map", "mrr", "dcg", "dcg_burges", "ndcg",
    "ndcg_burges",
]  # fmt: skip
WHOLE = [
    "precision", "recall", "f1", "r-precision", "mrr", "map", "dcg", "ndcg", "ndcg_burges",
    "bpref", "rbp.80", "rbp.95",
]  # fmt: skip
FROM_DICT = ["ndcg", "mrr", "map", "precision"]


def record(golden):
    for case in inputs.CASES:
        level = case["relevant"].get("at_least", case["relevant"].get("above", 0) + 1)
        suffix = f"-l{level}" if level > 1 else ""
        names = [f"{name}@{k}" for name in CUT for k in case["ks"]] + WHOLE
        names = [name + suffix for name in names]
        if "gains" in " ".join(case["features"]):
            names += [name + "-l2" for name in WHOLE]
            names += [f"{name}@{k}-l2" for name in CUT for k in case["ks"]]
        for name in names:
            golden.attempt(case, spelled(name), lambda name=name: from_objects(case, name))
        if case["rankings"].keys() == case["truth"].keys():
            for name in FROM_DICT:
                for k in case["ks"]:
                    asked = f"{name}@{k}{suffix}"
                    golden.attempt(
                        case, spelled(asked, "[dict]"), lambda asked=asked: from_dicts(case, asked)
                    )


def runs(case):
    return {user: dict(map(tuple, listed)) for user, listed in case["rankings"].items()}


def from_objects(case, name):
    run = Run(runs(case))
    mean = evaluate(Qrels(case["truth"]), run, name, make_comparable=True)
    return mean, dict(run.scores[name])


def from_dicts(case, name):
    return evaluate(case["truth"], runs(case), name)


def spelled(name, option=""):
    """ranx's spelling with "@k" last: ``ndcg-l2@10``."""
    name, _, level = name.partition("-l")
    name, at, k = name.partition("@")
    return name + ("-l" + level if level else "") + option + at + k
