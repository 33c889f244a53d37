"""implicit: ``ranking_metrics_at_k(model, train, test, K)`` with a model that returns our lists.

The model's ``recommend`` answers with the shared lists by item number, -1 behind the end of a short
one, as implicit's own models do. The training matrix is empty. implicit gives means only: a value
per user is one more call in which nobody else has a truth.
"""

from importlib.metadata import version

import inputs
import numpy
from implicit.evaluation import ranking_metrics_at_k
from scipy.sparse import csr_matrix

VERSION = version("implicit")
PACKAGES = {name: version(name) for name in ("numpy", "scipy")}

METRICS = ["precision", "map", "ndcg", "auc"]


class Lists:
    """A model that recommends what the case says, in list order."""

    def __init__(self, case, users, items):
        self._lists = {
            users[user]: [items[item] for item in inputs.ranked_items(case, user)] for user in users
        }

    def recommend(self, userid, user_items, N):
        ids = numpy.full((len(userid), N), -1, dtype=numpy.int32)
        for row, user in enumerate(userid):
            listed = self._lists[user][:N]
            ids[row, : len(listed)] = listed
        return ids, numpy.zeros(ids.shape, dtype=numpy.float32)


def record(golden):
    for case in inputs.CASES:
        users = {user: number - 1 for user, number in inputs.user_numbers(case).items()}
        items = {item: at for at, item in enumerate(inputs.item_numbers(case))}
        model = Lists(case, users, items)
        shape = (len(users), len(items))
        pairs = [
            (user, item) for user in case["truth"] for item in inputs.relevant_items(case, user)
        ]

        def measure(chosen, k, model=model, users=users, items=items, shape=shape):
            rows = [users[user] for user, _ in chosen]
            columns = [items[item] for _, item in chosen]
            test = csr_matrix((numpy.ones(len(rows)), (rows, columns)), shape=shape)
            return ranking_metrics_at_k(model, csr_matrix(shape), test, k, show_progress=False)

        for k in case["ks"]:
            together = measure(pairs, k)
            alone = {
                user: measure([pair for pair in pairs if pair[0] == user], k)
                for user in sorted({user for user, _ in pairs})
            }
            for name in METRICS:
                per_user = {user: answer[name] for user, answer in alone.items()}
                golden.metric(case, f"{name}@{k}", together[name], per_user)
