"""Transformers4Rec (torch): the classes of ``transformers4rec.torch.ranking_metric``.

The source is a checkout, of which that module and ``torch_utils`` are loaded; what they import for
other purposes is replaced by stand-ins. A metric gets one row of scores over all items for each
user and a multi-hot row of labels. It does not support short lists: dummy items follow
every list, then the unlisted items. Values per user are the rows of ``_metric``. All float32.
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
    """A stand-in for what the two modules import but the metrics never use."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


class Registry:
    @staticmethod
    def class_registry(name):
        return Registry()

    def register_with_multiple_names(self, *names):
        return lambda registered: registered


for absent in (
    "merlin", "merlin.models", "merlin.models.utils", "merlin.models.utils.registry",
    "merlin.schema", "merlin.schema.io", "merlin.schema.io.proto_utils", "merlin.schema.tags",
    "merlin_standard_lib", "merlin_standard_lib.schema", "merlin_standard_lib.schema.schema",
    "transformers4rec.config", "transformers4rec.config.schema", "transformers4rec.torch.typing",
    "transformers4rec.torch.masking",
):  # fmt: skip
    sys.modules[absent] = Anything(absent)
sys.modules["merlin.models.utils.registry"].Registry = Registry
sys.modules["transformers4rec.torch.typing"].TabularData = dict
for name in ("transformers4rec", "transformers4rec.torch", "transformers4rec.torch.utils"):
    package = types.ModuleType(name)
    package.__path__ = [os.path.join(SOURCE, *name.split("."))]
    sys.modules[name] = package

from transformers4rec.torch import ranking_metric

VERSION = subprocess.run(
    ["git", "-C", SOURCE, "describe", "--tags", "--always"],
    check=True,
    stdout=subprocess.PIPE,
    universal_newlines=True,
).stdout.strip()
PACKAGES = {
    "torch": version("torch").partition("+")[0],
    "torchmetrics": version("torchmetrics"),
}

METRICS = {
    "precision_at": ranking_metric.PrecisionAt,
    "recall_at": ranking_metric.RecallAt,
    "avg_precision_at": ranking_metric.AvgPrecisionAt,
    "dcg_at": ranking_metric.DCGAt,
    "ndcg_at": ranking_metric.NDCGAt,
    "mrr_at": ranking_metric.MeanReciprocalRankAt,
}


def record(golden):
    for case in inputs.CASES:
        items = {item: at for at, item in enumerate(inputs.item_numbers(case))}
        users = sorted(case["truth"])
        behind = max(case["ks"])
        scores = torch.full((len(users), len(items) + behind), -2000.0)
        scores[:, len(items) :] = -1000.0
        labels = torch.zeros(scores.shape)
        for row, user in enumerate(users):
            for item, score in case["rankings"].get(user, []):
                # Of a duplicate the better place stays: a row holds an item once.
                scores[row, items[item]] = max(score, scores[row, items[item]].item())
            for item in inputs.relevant_items(case, user):
                labels[row, items[item]] = 1.0
        for name, metric in METRICS.items():
            asked = metric(top_ks=case["ks"])
            asked.update(scores, labels)
            means = asked.compute()
            rows = asked._metric(case["ks"], scores, labels)
            for column, k in enumerate(case["ks"]):
                per_user = {user: rows[row, column] for row, user in enumerate(users)}
                golden.metric(case, f"{name}@{k}", means[column], per_user)
