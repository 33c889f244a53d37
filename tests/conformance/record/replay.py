"""RePlay: ``Metric(topk)(recommendations, ground_truth)``, and again with ``mode=PerUser()``.

``[pandas]`` and ``[polars]`` are fed frames, which RePlay sorts by (rating, item) descending;
``[dict]`` dictionaries of (item, score) in list order, which it sorts by score alone. The ground
truth holds the relevant items; an empty list or truth is an absence of rows, in a dictionary an
empty list.
"""

from importlib.metadata import version

import inputs
import pandas
import polars
from replay.metrics import MAP, MRR, NDCG, HitRate, PerUser, Precision, Recall, RocAuc

VERSION = version("replay-rec")
PACKAGES = {name: version(name) for name in ("numpy", "pandas", "polars")}

METRICS = [HitRate, Precision, Recall, MAP, MRR, NDCG, RocAuc]


def record(golden):
    for case in map(inputs.with_typed_items, inputs.CASES):
        lists = [
            (user, item, float(score))
            for user, listed in case["rankings"].items()
            for item, score in listed
        ]
        truth = [
            (user, item) for user in case["truth"] for item in inputs.relevant_items(case, user)
        ]
        columns = ["query_id", "item_id", "rating"]
        fed = {
            "pandas": [
                pandas.DataFrame(lists, columns=columns),
                pandas.DataFrame(truth, columns=columns[:2]),
            ],
            "polars": [
                polars.DataFrame(lists, schema=columns, orient="row"),
                polars.DataFrame(truth, schema=columns[:2], orient="row"),
            ],
            "dict": [
                {
                    user: [(item, float(score)) for item, score in listed]
                    for user, listed in case["rankings"].items()
                },
                {user: inputs.relevant_items(case, user) for user in case["truth"]},
            ],
        }
        for kind, (recommendations, ground_truth) in fed.items():
            for metric in METRICS:
                for k in case["ks"]:
                    name = f"{metric.__name__}[{kind}]@{k}"
                    golden.attempt(
                        case,
                        name,
                        lambda m=metric, k=k, r=recommendations, t=ground_truth: answer(m, k, r, t),
                    )


def answer(metric, k, recommendations, truth):
    (mean,) = metric([k])(recommendations, truth).values()
    (per_user,) = metric([k], mode=PerUser())(recommendations, truth).values()
    return mean, per_user
