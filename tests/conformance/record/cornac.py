"""Cornac: ``ranking_eval(model, metrics, train, test)`` and the metrics' own ``compute``.

Cornac ranks the whole catalogue, so its evaluation runs on the cases whose lists hold every item,
with a model that returns our scores; each metric is asked alone, because the largest k asked for
changes the others: ``MRR[beside k=3]`` shows it. Elsewhere ``compute(gt_pos=, pd_rank=)`` is called
for each user with the list, and no mean is Cornac's own.
"""

from collections import OrderedDict
from importlib.metadata import version

import inputs
import numpy
from cornac.data import Dataset
from cornac.eval_methods.base_method import ranking_eval
from cornac.metrics import AUC, MAP, MRR, NCRR, NDCG, FMeasure, HitRatio, Precision, Recall
from cornac.models import Recommender

VERSION = version("cornac")
PACKAGES = {name: version(name) for name in ("numpy", "scipy")}

CUT = {
    "NDCG": NDCG, "NCRR": NCRR, "HitRatio": HitRatio, "Precision": Precision, "Recall": Recall,
    "F1": FMeasure,
}  # fmt: skip
WHOLE = {"MRR": MRR, "MAP": MAP, "AUC": AUC, "NDCG": NDCG, "NCRR": NCRR}


class Scores(Recommender):
    """A model that answers with the scores of the case."""

    def __init__(self, scores):
        super().__init__(name="lists")
        self._scores = scores

    def score(self, user_idx, item_idx=None):
        return self._scores[user_idx]


def record(golden):
    for case in inputs.CASES:
        if case["name"].startswith("full_catalogue"):
            whole_catalogue(golden, case)
        else:
            lists(golden, case)


def lists(golden, case):
    items = inputs.item_numbers(case)
    for name, k in [("MRR", None)] + [(name, k) for name in CUT for k in case["ks"]]:
        metric = MRR() if k is None else CUT[name](k)
        per_user, refused = {}, None
        for user in sorted(case["truth"]):
            relevant = numpy.array([items[item] for item in inputs.relevant_items(case, user)])
            listed = numpy.array([items[item] for item in inputs.ranked_items(case, user)])
            if len(relevant) == 0:
                continue
            try:
                per_user[user] = metric.compute(gt_pos=relevant, pd_rank=listed)
            except ValueError as error:
                refused = error
        if refused is not None:
            golden.note(case, f"{name} refuses the other users: ValueError: {refused}")
        full = name if k is None else f"{name}@{k}"
        golden.metric(case, full, per_user=per_user)


def whole_catalogue(golden, case):
    users, items = OrderedDict(), OrderedDict()
    everything = [("trained", item, 1.0) for item in sorted(inputs.item_numbers(case))]
    train = Dataset.build(everything, global_uid_map=users, global_iid_map=items)
    relevant = [
        (user, item, 1.0) for user in case["truth"] for item in inputs.relevant_items(case, user)
    ]
    test = Dataset.build(
        relevant, global_uid_map=users, global_iid_map=items, exclude_unknowns=False
    )
    scores = {
        users[user]: numpy.array([dict(map(tuple, listed))[item] for item in items], dtype=float)
        for user, listed in case["rankings"].items()
    }
    model = Scores(scores).fit(train)
    names = {number: user for user, number in users.items()}

    def keep(full, *metrics):
        means, values = ranking_eval(model, list(metrics), train, test)
        per_user = {names[number]: value for number, value in values[0].items()}
        golden.metric(case, full, means[0], per_user)

    for name, metric in WHOLE.items():
        keep(name, metric())
    for k in case["ks"]:
        for name, metric in CUT.items():
            keep(f"{name}@{k}", metric(k))
    keep("MRR[beside k=3]", MRR(), Precision(3))
