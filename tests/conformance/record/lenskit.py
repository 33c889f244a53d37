"""LensKit: ``RunAnalysis().add_metric(...).measure(lists, test)``.

The test lists hold the relevant items with their gain as ``rating``; ``[gain=rating]`` metrics were
given every judged item. Lists are ordered item lists in list order with their scores. Values per
user are the rows of ``list_metrics()``; the mean is that of ``list_summary()``.
"""

import warnings
from importlib.metadata import version

import inputs
from lenskit.data import ItemList, ItemListCollection
from lenskit.metrics import (
    DCG,
    NDCG,
    RBP,
    Hit,
    Precision,
    Recall,
    RecipRank,
    RunAnalysis,
)  # fmt: skip
from lenskit.metrics.ranking import AveragePrecision

VERSION = version("lenskit")
PACKAGES = {name: version(name) for name in ("numpy", "pandas")}

BINARY = {
    "Precision": Precision,
    "Recall": Recall,
    "AveragePrecision": AveragePrecision,
    "RecipRank": RecipRank,
    "Hit": Hit,
    "NDCG": NDCG,
    "DCG": DCG,
    "RBP": RBP,
    "RBP[patience=0.5]": lambda n=None: RBP(n, patience=0.5),
    "RBP[normalize]": lambda n=None: RBP(n, normalize=True),
}
GRADED = {
    "NDCG[gain=rating]": lambda n=None: NDCG(n, gain="rating"),
    "DCG[gain=rating]": lambda n=None: DCG(n, gain="rating"),
}
# Here some values are undefined: LensKit fills in 0 by default.
UNDEFINED = ["empty_lists", "extra_users", "zero_truth", "empty_truth"]


def record(golden):
    for case in map(inputs.with_typed_items, inputs.CASES):
        lists = ItemListCollection(["user_id"])
        for user, listed in case["rankings"].items():
            items, scores = [item for item, _ in listed], [score for _, score in listed]
            lists.add(ItemList(item_ids=items, scores=scores, ordered=True), user_id=user)
        relevant = collection(case, inputs.relevant_items)
        judged = collection(case, lambda case, user: list(case["truth"][user]))
        for n in [None, *case["ks"]]:
            for name, metric in BINARY.items():
                keep(golden, case, spelled(name, n), metric(n), lists, relevant)
                if case["name"] in UNDEFINED:
                    full = spelled(name + "[fill_missing=False]", n)
                    keep(golden, case, full, metric(n), lists, relevant, fill=False)
            for name, metric in GRADED.items():
                keep(golden, case, spelled(name, n), metric(n), lists, judged)


def collection(case, chosen):
    found = ItemListCollection(["user_id"])
    for user in case["truth"]:
        items = chosen(case, user)
        gains = [float(case["truth"][user][item]) for item in items]
        found.add(ItemList(item_ids=items, rating=gains), user_id=user)
    return found


def spelled(name, n):
    return name if n is None else f"{name}@{n}"


def keep(golden, case, name, metric, lists, test, fill=True):
    def compute():
        analysis = RunAnalysis()
        analysis.add_metric(metric, label="value")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = analysis.measure(lists, test)
        values = result.list_metrics(fill_missing=fill)["value"]
        per_user = {key[0] if isinstance(key, tuple) else key: v for key, v in values.items()}
        # The summary always fills in: without it the mean is that of the defined values.
        return (result.list_summary().loc["value", "mean"] if fill else values.mean()), per_user

    golden.attempt(case, name, compute)
