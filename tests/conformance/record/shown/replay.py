"""RePlay: list metrics, fed dictionaries; categories are in a frame of pandas.

An empty list is an empty list, and in the frame an absence of rows. Categorical diversity is asked
where each item has one category.
"""

from importlib.metadata import version

import pandas
import shown as inputs
from replay.metrics import (
    CategoricalDiversity,
    Coverage,
    Novelty,
    PerUser,
    Surprisal,
    Unexpectedness,
)

VERSION = version("replay-rec")
PACKAGES = {name: version(name) for name in ("numpy", "pandas", "polars")}


def record(golden):
    for case in inputs.CASES:
        if case["name"] == "shown_repeated":
            continue
        lists = {u: [tuple(pair) for pair in own] for u, own in case["rankings"].items()}
        base = {u: [(i, -float(at)) for at, i in enumerate(o)] for u, o in case["baseline"].items()}
        asked = [(Surprisal, lists, case["train"]), (Novelty, lists, case["train"]),
                 (Coverage, lists, case["train"]), (Unexpectedness, lists, base)]  # fmt: skip
        if case["name"] == "shown_one_category":
            rows = [(u, i, s, case["categories"][i][0]) for u, o in lists.items() for i, s in o]
            columns = ["query_id", "item_id", "rating", "category_id"]
            asked.append((CategoricalDiversity, pandas.DataFrame(rows, columns=columns)))
        for k in case["ks"]:
            for metric, *fed in asked:
                name = f"{metric.__name__}@{k}"
                golden.attempt(case, name, lambda m=metric, k=k, f=fed: answer(m, k, f))


def answer(metric, k, fed):
    (mean,) = metric([k])(*fed).values()
    if metric is Coverage:
        return mean
    (per_user,) = metric([k], mode=PerUser())(*fed).values()
    return mean, per_user
