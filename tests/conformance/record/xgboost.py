"""XGBoost: ``ndcg``, ``map``, ``pre`` and ``auc`` of ``Booster.eval_set`` before the first round.

XGBoost scores the rows that it is given: ``[list]`` gives it the ranked items with their gains as
labels, ``[list+truth]`` adds the judged items that were not ranked, with a score below every other.
The scores are the margins of the matrix (``base_margin``), in single precision, and the sizes of
the lists are the groups. A group of one user alone gives the value of the user. Labels are
the gains in every case; MAP and precision refuse other labels than 0 and 1.
``[row order reversed]`` gives the same rows of each group in reversed order.
"""

import os
import re
from importlib.metadata import version

# One thread: thousands of calls on a few rows each.
os.environ["OMP_NUM_THREADS"] = "1"

import inputs
import numpy
import xgboost

VERSION = version("xgboost")
PACKAGES = {name: version(name) for name in ("numpy", "scipy")}

# Those that refuse the same labels are asked for together.
GRADED = ["ndcg", "ndcg-", "ndcg@{k}", "ndcg@{k}-"]
BINARY = ["pre", "map", "map-", "map@{k}", "map@{k}-", "pre@{k}"]


def record(golden):
    for case in inputs.CASES:
        for scope in ("list", "list+truth"):
            rows = inputs.candidates(case, scope)
            turned = {user: (labels[::-1], scores[::-1]) for user, (labels, scores) in rows.items()}
            keep(golden, case, scope, rows, GRADED)
            keep(golden, case, f"{scope}, ndcg_exp_gain=False", rows, GRADED, ndcg_exp_gain=False)
            keep(golden, case, scope, rows, BINARY)
            keep(golden, case, scope, rows, ["auc"])
            keep(golden, case, f"{scope}, row order reversed", turned, ["auc"])


def full(name, options):
    """``ndcg@10-`` as ``ndcg-[list]@10``."""
    metric, _, k = name.rstrip("-").partition("@")
    minus = "-" if name.endswith("-") else ""
    return f"{metric}{minus}[{options}]" + (f"@{k}" if k else "")


def keep(golden, case, options, rows, metrics, **settings):
    names = [metric.format(k=k) for metric in metrics for k in case["ks"]]
    names = list(dict.fromkeys(names))
    try:
        means = evaluated(rows.values(), names, **settings)
        alone = {user: evaluated([row], names, **settings) for user, row in rows.items()}
    except xgboost.core.XGBoostError as error:
        # The rest is where in its source it was raised.
        words = re.sub(r"Stack trace.*", "", str(error), flags=re.DOTALL).split("Check failed")[-1]
        means = {name: ValueError("Check failed" + words) for name in names}
    for name, mean in means.items():

        def answer(name=name, mean=mean):
            if isinstance(mean, ValueError):
                raise mean
            return mean, {user: one[name] for user, one in alone.items()}

        golden.attempt(case, full(name, options), answer)


def evaluated(rows, names, **settings):
    """The values by name, of all rows together."""
    rows = list(rows)
    data = xgboost.DMatrix(
        numpy.zeros((sum(len(labels) for labels, _ in rows), 1)),
        numpy.concatenate([labels for labels, _ in rows]),
        base_margin=numpy.concatenate([scores for _, scores in rows]),
        nthread=1,
    )
    data.set_group([len(labels) for labels, _ in rows])
    params = {"objective": "rank:ndcg", "eval_metric": names, "nthread": 1, "verbosity": 0}
    answer = xgboost.Booster({**params, **settings}, [data]).eval_set([(data, "")])
    found = [float(part.rpartition(":")[2]) for part in answer.split("\t")[1:]]
    return dict(zip(names, found, strict=True))
