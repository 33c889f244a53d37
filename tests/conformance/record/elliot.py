"""Elliot: ``eval()`` and ``eval_user_metric()`` of the accuracy metrics in ``elliot.evaluation``.

No registry carries Elliot: the source is a checkout, of which only the package
``elliot.evaluation`` is loaded (its ``__init__`` would start a recommender framework). As in its
``Evaluator``, users without truth leave the recommendations first. The relevance threshold is 1,
or that of the case; ``[relevance_threshold=2]`` is also recorded for graded truths. The catalogue
is that of the case, without any training data.
"""

import os
import subprocess
import sys
import types
from importlib.metadata import version

import inputs

SOURCE = os.environ["TOOL_SOURCE"]
for name in ("elliot", "elliot.evaluation", "elliot.utils"):
    package = types.ModuleType(name)
    package.__path__ = [os.path.join(SOURCE, *name.split("."))]
    sys.modules[name] = package

from elliot.evaluation import metrics
from elliot.evaluation.relevance.relevance import Relevance

VERSION = subprocess.run(
    ["git", "-C", SOURCE, "describe", "--tags", "--always"],
    check=True,
    stdout=subprocess.PIPE,
    universal_newlines=True,
).stdout.strip()
PACKAGES = {"numpy": version("numpy")}
CONFIG = types.SimpleNamespace(config_test=True)

METRICS = [
    "nDCG", "nDCGRendle2020", "Precision", "Recall", "HR", "MRR", "MAP", "MAR", "F1", "LAUC",
]  # fmt: skip
# Without a cutoff. AUC is the mean over all ranked relevant items; users have no values.
WHOLE = ["AUC", "GAUC"]


def record(golden):
    for case in inputs.CASES:
        keep(
            golden, case, "", case["relevant"].get("at_least", case["relevant"].get("above", 0) + 1)
        )
        if case["name"] in ("graded", "ties_graded", "fractional_gains", "negative_gains"):
            keep(golden, case, "[relevance_threshold=2]", 2)


def keep(golden, case, option, threshold):
    truth = case["truth"]
    lists = {
        user: [tuple(pair) for pair in listed]
        for user, listed in case["rankings"].items()
        if truth.get(user)
    }
    for k in [None, *case["ks"]]:
        evaluation = types.SimpleNamespace(
            relevance=Relevance(truth, threshold),
            cutoff=k,
            num_items=len(inputs.item_numbers(case)),
            data=types.SimpleNamespace(train_dict=dict.fromkeys(lists, ())),
        )
        for metric in METRICS if k else WHOLE:
            if metric == "AUC" and not case["name"].startswith("full_catalogue"):
                continue
            asked = metrics.parse_metric(metric)(lists, CONFIG, None, evaluation)
            golden.attempt(
                case,
                f"{metric}{option}" + ("" if k is None else f"@{k}"),
                lambda m=asked: answer(m),
            )


def answer(metric):
    return metric.eval(), metric.eval_user_metric() if metric.name() != "AUC" else None
