"""pyvespa: ``VespaEvaluator(queries, relevant_docs, …).run()``.

An object that answers each query with the list of its user stands for the application. ``[graded]``
gives grades from 0 to 1: the gains over the largest one. The value of a query is that of an
evaluator of this query alone.
"""

from importlib.metadata import version
from types import SimpleNamespace

import inputs
from vespa.evaluation import VespaEvaluator

VERSION = version("pyvespa")
PACKAGES = {}
NAMES = ["accuracy", "precision", "recall", "mrr", "ndcg", "map"]


class Application:
    """Answers a query with the list of a user."""

    def __init__(self, rankings):
        self.rankings = rankings

    def query_many(self, bodies, max_concurrent):
        return [
            SimpleNamespace(
                status_code=200,
                hits=[
                    {"fields": {"id": str(item)}, "relevance": score}
                    for item, score in self.rankings.get(body["user"], [])
                ],
                get_json=dict,
            )
            for body in bodies
        ]


def record(golden):
    for case in inputs.CASES:
        largest = max((g for judged in case["truth"].values() for g in judged.values()), default=1)
        binary = {u: set(map(str, inputs.relevant_items(case, u))) for u in case["truth"]}
        graded = {
            user: {str(item): gain / largest for item, gain in judged.items()}
            for user, judged in case["truth"].items()
        }
        for relevant, names, mark in ((binary, NAMES, ""), (graded, ["ndcg"], "[graded]")):
            try:
                means = evaluated(case, relevant)
                alone = {u: evaluated(case, {u: relevant[u]}) for u in relevant if relevant[u]}
            except ValueError as error:
                for name in names:
                    for k in case["ks"]:
                        golden.attempt(case, f"{name}{mark}@{k}", lambda e=error: raise_again(e))
                continue
            for name in names:
                for k in case["ks"]:
                    per_user = {user: one[f"{name}@{k}"] for user, one in alone.items()}
                    golden.metric(case, f"{name}{mark}@{k}", means[f"{name}@{k}"], per_user)


def raise_again(error):
    raise error


def evaluated(case, relevant):
    ks = case["ks"]
    return VespaEvaluator(
        {user: user for user in relevant},
        relevant,
        lambda text, _: {"user": text},
        Application(case["rankings"]),
        id_field="id",
        accuracy_at_k=ks,
        precision_recall_at_k=ks,
        mrr_at_k=ks,
        ndcg_at_k=ks,
        map_at_k=ks,
    ).run()
