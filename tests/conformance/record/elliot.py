"""Elliot: ``eval()`` and ``eval_user_metric()`` of the accuracy metrics in ``elliot.evaluation``.

No registry carries Elliot: the source is a checkout, of which only the package
``elliot.evaluation`` is loaded (its ``__init__`` would start a recommender framework). As in its
``Evaluator``, users without truth leave the recommendations first. The relevance threshold is 1,
or that of the case; ``[relevance_threshold=2]`` is also recorded for graded truths.
"""

import os
import subprocess
import sys
import types
from importlib.metadata import version

import inputs

SOURCE = os.environ["TOOL_SOURCE"]
for name in ("elliot", "elliot.evaluation"):
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

METRICS = [
    "nDCG", "nDCGRendle2020", "Precision", "Recall", "HR", "MRR", "MAP", "MAR", "F1",
]  # fmt: skip


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
    for k in case["ks"]:
        evaluation = types.SimpleNamespace(relevance=Relevance(truth, threshold), cutoff=k)
        for metric in METRICS:
            asked = metrics.parse_metric(metric)(lists, None, None, evaluation)
            golden.attempt(
                case,
                f"{metric}{option}@{k}",
                lambda m=asked: (m.eval(), m.eval_user_metric()),
            )
