"""LightGBM: ``ndcg`` and ``map`` of ``Booster.eval_train`` before the first round.

LightGBM scores the rows that it is given: ``[list]`` gives it the ranked items with their gains as
labels, ``[list+truth]`` adds the judged items that were not ranked, with a score below every other.
The scores are the initial ones of the data set (``init_score``), in double precision, and the
sizes of the lists are the groups. A group of one user alone gives the value of the user. Labels
are the gains in every case: for MAP a label above 0.5 is relevant.
"""

import os
from importlib.metadata import version

# One thread: thousands of calls on a few rows each.
os.environ["OMP_NUM_THREADS"] = "1"

import inputs
import lightgbm
import numpy

VERSION = version("lightgbm")
PACKAGES = {name: version(name) for name in ("numpy", "scipy")}


def record(golden):
    for case in inputs.CASES:
        for scope in ("list", "list+truth"):
            rows = inputs.candidates(case, scope)
            try:
                means = evaluated(case["ks"], rows.values())
                alone = {user: evaluated(case["ks"], [row]) for user, row in rows.items()}
            except lightgbm.basic.LightGBMError as error:
                golden.refuse(case, error)
                break
            for name, mean in means.items():
                metric, _, k = name.partition("@")
                per_user = {user: one[name] for user, one in alone.items()}
                golden.metric(case, f"{metric}[{scope}]@{k}", mean, per_user)


def evaluated(ks, rows):
    """The values by name, of all rows together."""
    rows = list(rows)
    data = lightgbm.Dataset(
        numpy.zeros((sum(len(labels) for labels, _ in rows), 1)),
        numpy.concatenate([labels for labels, _ in rows]),
        group=[len(labels) for labels, _ in rows],
        init_score=numpy.concatenate([scores for _, scores in rows]),
        params={"verbose": -1},
    )
    options = {"objective": "lambdarank", "metric": ["ndcg", "map"], "eval_at": ks, "verbose": -1}
    booster = lightgbm.Booster({**options, "num_threads": 1}, data)
    return {name: value for _, name, value, _ in booster.eval_train()}
