"""DGL-KE: ``KEModel.forward_test`` for given scores of a positive edge and its negatives.

DGL is not installed: what the module imports of it is a stand-in, except for the two functions of
its PyTorch backend that the ranking calls. Each true item of each user is one positive edge, the
user's other items are its negatives: so only the cases whose lists hold every item. ``filtered``
leaves the other true items out of the negatives. ``per_user`` holds the logs under "user/item".
"""

import os
import sys
import types
from importlib.metadata import version

import inputs
import torch

os.environ["DGLBACKEND"] = "pytorch"


class Anything(types.ModuleType):
    """A stand-in for what the module imports but its rank arithmetic never uses."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


for absent in ("dgl", "dgl.backend", "dgl.base", "dgl.contrib", "dgl.contrib.sampling"):
    sys.modules[absent] = Anything(absent)
sys.modules["dgl"].backend = sys.modules["dgl.backend"]
sys.modules["dgl.backend"].sum = lambda x, dim: x.sum(dim)
sys.modules["dgl.backend"].asnumpy = lambda x: x.numpy()

from dglke.models.general_models import KEModel

VERSION = version("dglke")
PACKAGES = {"torch": version("torch").partition("+")[0]}


class Given:
    """What ``forward_test`` reads of a model and its graphs."""

    args = types.SimpleNamespace(neg_deg_sample_eval=False, eval_filter=False)
    score_func = types.SimpleNamespace(prepare=lambda *_: None)

    def __init__(self, positive, negatives):
        self.positive, self.negatives = positive, negatives

    def entity_emb(self, *_):
        return None

    relation_emb = entity_emb

    def predict_score(self, _):
        return self.positive

    def predict_neg_score(self, *_, **__):
        return self.negatives


GRAPH = types.SimpleNamespace(ndata={"id": None}, edata={"id": None}, number_of_edges=lambda: 1)


def record(golden):
    for case in inputs.CASES:
        if not case["name"].startswith("full_catalogue"):
            golden.refuse(case, "needs the score of every candidate: full catalogues only")
            continue
        for setting in ("filtered", "raw"):
            keep(golden, case, setting)


def keep(golden, case, setting):
    logs = {}
    for user in sorted(case["truth"]):
        relevant = inputs.relevant_items(case, user)
        scores = dict(map(tuple, case["rankings"][user]))
        for item in relevant:
            out = relevant if setting == "filtered" else [item]
            negatives = [float(score) for other, score in scores.items() if other not in out]
            model, kept = Given(torch.tensor([float(scores[item])]), torch.tensor([negatives])), []
            KEModel.forward_test(model, GRAPH, GRAPH, kept)
            logs[f"{user}/{item}"] = kept[0]
    for name in ("MRR", "MR", "HITS@1", "HITS@3", "HITS@10"):
        head, _, k = name.partition("@")
        label = f"{head}[{setting}]" + (f"@{k}" if k else "")
        golden.metric(case, label, per_user={at: log[name] for at, log in logs.items()})
