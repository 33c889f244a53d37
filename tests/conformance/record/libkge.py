"""LibKGE: ``_get_ranks_and_num_ties``, ``_get_ranks``, ``_compute_metrics`` of its ranking job.

No registry carries the evaluation alone: the source is a checkout, of which the module
``kge.job.eval_entity_ranking`` is loaded. Each true item of each user is one triple, the whole
catalogue its candidates: so only the cases whose lists hold every item. ``filtered`` gives the
user's other true items the score -inf, as LibKGE does. ``per_user`` holds the one-based rank of
each triple under "user/item". The tolerances are LibKGE's own (atol 1e-5, rtol 1e-4).
"""

import os
import subprocess
import sys
import types
from importlib.metadata import version

import inputs
import torch

SOURCE = os.environ["TOOL_SOURCE"]


class Anything(types.ModuleType):
    """A stand-in for what LibKGE's ranking module imports but its rank arithmetic never uses."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


for absent in ("kge", "kge.job", "kge.config", "kge.dataset", "kge.util"):
    sys.modules[absent] = Anything(absent)
script = types.ModuleType("eval_entity_ranking")
path = os.path.join(SOURCE, "kge", "job", "eval_entity_ranking.py")
with open(path, encoding="utf-8") as file:
    exec(compile(file.read(), path, "exec"), script.__dict__)
Job = script.EntityRankingJob

VERSION = subprocess.run(
    ["git", "-C", SOURCE, "rev-parse", "--short", "HEAD"],
    check=True,
    stdout=subprocess.PIPE,
    universal_newlines=True,
).stdout.strip()
PACKAGES = {"torch": version("torch").partition("+")[0]}

KINDS = ["rounded_mean_rank", "best_rank", "worst_rank"]


class Settings:
    """What the three methods read of a job."""

    tie_atol, tie_rtol = 1e-5, 1e-4
    hits_at_k_s = [1, 3, 5, 10]

    def __init__(self, tie_handling, candidates):
        self.tie_handling = tie_handling
        self.device = "cpu"
        self.dataset = types.SimpleNamespace(num_entities=lambda: candidates)


def record(golden):
    for case in inputs.CASES:
        if not case["name"].startswith("full_catalogue"):
            golden.refuse(case, "needs the score of every candidate: full catalogues only")
            continue
        for setting in ("filtered", "raw"):
            for kind in KINDS:
                keep(golden, case, setting, kind)


def keep(golden, case, setting, kind):
    items = {item: at for at, item in enumerate(inputs.item_numbers(case))}
    job = Settings(kind, len(items))
    histogram = torch.zeros(len(items))
    ranks = {}
    for user in sorted(case["truth"]):
        scores = torch.zeros(1, len(items))
        for item, score in case["rankings"][user]:
            scores[0, items[item]] = score
        relevant = inputs.relevant_items(case, user)
        for item in relevant:
            row = scores.clone()
            if setting == "filtered":
                for other in relevant:
                    if other != item:
                        row[0, items[other]] = -torch.inf
            true = scores[:, items[item]]
            rank = Job._get_ranks(job, *Job._get_ranks_and_num_ties(job, row, true))
            histogram[rank] += 1
            ranks[f"{user}/{item}"] = rank.item() + 1
    for name, value in Job._compute_metrics(job, histogram).items():
        head, _, k = name.rpartition("_at_")
        full = "{}[{}, {}]{}".format(head or name, setting, kind, "@" + k if head else "")
        golden.metric(case, full, value)
    golden.metric(case, f"rank[{setting}, {kind}]", per_user=ranks)
