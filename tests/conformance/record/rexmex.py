"""rexmex: the functions of ``rexmex.metrics.ranking``, one call for each user.

Lists are given in list order, the truth as the list of relevant items. Means are rexmex's own where
it has a function for them (``mean_average_precision_at_k``, ``mean_average_recall_at_k``) over the
users of the truth, one without a list having an empty one.
"""

from importlib.metadata import version

import inputs
from rexmex.metrics import ranking

VERSION = version("rexmex")
PACKAGES = {name: version(name) for name in ("numpy", "scipy", "scikit-learn")}

CUT = {
    "average_precision_at_k": ranking.average_precision_at_k,
    "average_recall_at_k": ranking.average_recall_at_k,
    "hits_at_k": ranking.hits_at_k,
}
MEANS = {
    "average_precision_at_k": ranking.mean_average_precision_at_k,
    "average_recall_at_k": ranking.mean_average_recall_at_k,
}
# These want every relevant item in the list.
WHOLE = {
    "mean_reciprocal_rank": ranking.mean_reciprocal_rank,
    "mean_rank": ranking.mean_rank,
    "gmean_rank": ranking.gmean_rank,
}


def record(golden):
    for case in inputs.CASES:
        users = sorted(case["truth"])
        truth = {user: inputs.relevant_items(case, user) for user in users}
        lists = {user: inputs.ranked_items(case, user) for user in users}
        for k in case["ks"]:
            for name, metric in CUT.items():

                def compute(name=name, metric=metric, k=k):
                    per_user = {user: metric(truth[user], lists[user], k) for user in users}
                    mean = MEANS.get(name)
                    if mean is None:
                        return None, per_user
                    return mean(list(truth.values()), list(lists.values()), k), per_user

                golden.attempt(case, f"{name}@{k}", compute)
        for name, metric in WHOLE.items():
            golden.attempt(
                case,
                name,
                lambda m=metric: (None, {user: m(truth[user], lists[user]) for user in users}),
            )
