"""BEIR: ``EvaluateRetrieval.evaluate(qrels, results, k_values)`` and ``evaluate_custom``.

Both give means, rounded to five decimals; relevant is what has a gain above 0.
"""

from copy import deepcopy
from importlib.metadata import version

import inputs
from beir.retrieval.evaluation import EvaluateRetrieval

VERSION = version("beir")
PACKAGES = {"pytrec-eval-terrier": version("pytrec-eval-terrier")}

CUSTOM = ["mrr", "recall_cap", "accuracy"]


def record(golden):
    for case in inputs.CASES:
        run = {user: dict(map(tuple, listed)) for user, listed in case["rankings"].items()}
        keep(golden, case, "evaluate", lambda: EvaluateRetrieval.evaluate(*fed(case, run)))
        for name in CUSTOM:
            keep(
                golden,
                case,
                name,
                lambda name=name: [EvaluateRetrieval.evaluate_custom(*fed(case, run), name)],
            )


def fed(case, run):
    return deepcopy(case["truth"]), deepcopy(run), case["ks"]


def keep(golden, case, what, compute):
    answers = []
    golden.attempt(case, what, lambda: answers.extend(compute()) or 0)
    if answers:  # an attempt that succeeds is not an answer by itself
        del golden.cases[case["name"]]["metrics"][what]
    for answer in answers:
        for name, mean in answer.items():
            golden.metric(case, name, mean)
