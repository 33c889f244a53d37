"""RecBole: the collector's ``eval_batch_collect`` and the metric classes of ``recbole.evaluator``.

The collector is fed one row of scores over all items for each user, as its trainer does it, with
-inf for the padding item 0 and for unlisted items. RecBole does not support short lists: dummy
items (as many as the largest k) follow every list, so that no unlisted item is drawn in. It
evaluates only users with relevant items: others get no row. All digits are kept by asking for 17
decimal places (the default is four). Values per user are those of ``metric_info``. GAUC is recorded
where the lists hold the whole catalogue.
"""

from importlib.metadata import version

import inputs
import numpy
import torch
from recbole.evaluator import Collector
from recbole.evaluator.metrics import GAUC, MAP, MRR, NDCG, Hit, Precision, Recall

VERSION = version("recbole")
PACKAGES = {"numpy": version("numpy"), "torch": version("torch").partition("+")[0]}

METRICS = {
    "hit": Hit, "mrr": MRR, "map": MAP, "recall": Recall, "ndcg": NDCG, "precision": Precision,
}  # fmt: skip

NEED_LENGTH = ["map", "recall", "ndcg"]


def record(golden):
    for case in inputs.CASES:
        items = inputs.item_numbers(case)
        users = [user for user in sorted(case["truth"]) if inputs.relevant_items(case, user)]
        whole = case["name"].startswith("full_catalogue")
        behind = 0 if whole else max(case["ks"])
        scores = torch.full((len(users), max(items.values()) + 1 + behind), -numpy.inf)
        scores[:, scores.shape[1] - behind :] = -1000.0
        rows, columns = [], []
        for row, user in enumerate(users):
            for item, score in case["rankings"].get(user, []):
                # Of a duplicate the better place stays: a row holds an item once.
                scores[row, items[item]] = max(score, scores[row, items[item]].item())
            for item in inputs.relevant_items(case, user):
                rows.append(row)
                columns.append(items[item])
        positives = torch.tensor(rows), torch.tensor(columns)
        config = Config(case["ks"])
        collector = Collector(config)
        collector.eval_batch_collect(scores, None, *positives)
        collected = collector.get_data_struct()
        for name, metric in METRICS.items():
            keep(golden, case, name, metric(config), collected, users)
        if whole:
            golden.metric(case, "gauc", GAUC(config).calculate_metric(collected)["gauc"])


class Config(dict):
    """What the collector and the metrics read of RecBole's configuration."""

    def __init__(self, ks):
        super().__init__(
            topk=ks,
            metrics=["Hit", "MRR", "MAP", "Recall", "NDCG", "Precision", "GAUC"],
            metric_decimal_place=17,
            eval_args={"mode": "full"},
            device="cpu",
        )


def keep(golden, case, name, metric, collected, users):
    means = metric.calculate_metric(collected)
    hits, relevant = metric.used_info(collected)
    values = metric.metric_info(*([hits, relevant] if name in NEED_LENGTH else [hits]))
    for k in case["ks"]:
        per_user = {user: values[row, k - 1] for row, user in enumerate(users)}
        golden.metric(case, f"{name}@{k}", means[f"{name}@{k}"], per_user)
