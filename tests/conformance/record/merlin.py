"""Merlin Models (TensorFlow): the classes of ``merlin.models.tf.metrics.topk``.

The source is a checkout, of which the metrics and ``tf_utils`` are loaded; what they import for
other purposes is replaced by stand-ins. A metric gets one row of scores over all items for each
user and a multi-hot row of labels. It does not support short lists: dummy items follow
every list, then the unlisted items. Merlin breaks ties by random noise, so cases with ties are
left out. A value per user is the metric of that row alone. All float32.
"""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import subprocess
import sys
import types
from importlib.metadata import version

import inputs
import numpy
import tensorflow

SOURCE = os.environ["TOOL_SOURCE"]


class Anything(types.ModuleType):
    """A stand-in for what the modules import but the metrics never use."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


for absent in ("merlin.core", "merlin.core.compat", "merlin.core.dispatch", "merlin.io",
               "merlin.models.tf.typing", "merlin.models.tf.core", "merlin.models.tf.core.base",
               "merlin.models.utils.misc_utils"):  # fmt: skip
    sys.modules[absent] = Anything(absent)
sys.modules["merlin.models.tf.typing"].TabularData = dict
for name in ("merlin", "merlin.models", "merlin.models.utils", "merlin.models.tf",
             "merlin.models.tf.utils"):  # fmt: skip
    package = types.ModuleType(name)
    package.__path__ = [os.path.join(SOURCE, *name.split("."))]
    sys.modules[name] = package

from merlin.models.tf.metrics import topk

VERSION = subprocess.run(
    ["git", "-C", SOURCE, "describe", "--tags", "--always"],
    check=True,
    stdout=subprocess.PIPE,
    universal_newlines=True,
).stdout.strip()
PACKAGES = {"numpy": version("numpy"), "tensorflow": tensorflow.__version__}

METRICS = {
    "recall_at": topk.RecallAt,
    "precision_at": topk.PrecisionAt,
    "map_at": topk.AvgPrecisionAt,
    "mrr_at": topk.MRRAt,
    "ndcg_at": topk.NDCGAt,
}
TIED = ["ties", "ties_graded", "three_way_tie", "float32_ties", "string_ids", "integer_ids",
        "full_catalogue_ties"]  # fmt: skip


def record(golden):
    for case in inputs.CASES:
        if case["name"] in TIED:
            golden.refuse(case, "equal scores are shuffled: the answer changes from run to run")
            continue
        items = {item: at for at, item in enumerate(inputs.item_numbers(case))}
        users = sorted(case["truth"])
        behind = max(case["ks"])
        # Falling scores for what is not listed: equal ones would be shuffled.
        scores = numpy.tile(-1000.0 - numpy.arange(len(items) + behind), (len(users), 1))
        scores[:, : len(items)] -= 1000.0
        labels = numpy.zeros(scores.shape)
        for row, user in enumerate(users):
            for item, score in case["rankings"].get(user, []):
                # Of a duplicate the better place stays: a row holds an item once.
                scores[row, items[item]] = max(score, scores[row, items[item]])
            for item in inputs.relevant_items(case, user):
                labels[row, items[item]] = 1.0
        for name, metric in METRICS.items():
            for k in case["ks"]:
                per_user = {
                    user: value(metric(k=k), labels[[row]], scores[[row]])
                    for row, user in enumerate(users)
                }
                golden.metric(case, f"{name}@{k}", value(metric(k=k), labels, scores), per_user)


def value(metric, labels, scores):
    # Two equal rows: a single one would be squeezed to no row at all.
    if len(labels) == 1:
        labels, scores = labels.repeat(2, axis=0), scores.repeat(2, axis=0)
    metric.update_state(
        tensorflow.constant(labels, dtype="float32"), tensorflow.constant(scores, dtype="float32")
    )
    return float(metric.result())
