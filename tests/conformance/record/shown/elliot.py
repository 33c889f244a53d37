"""Elliot: list metrics, as ``record/elliot.py`` loads them.

Popularity is counted by its own class, over the items of the training data. Items are numbers, as
its files of topics and of clusters of items want them; these are the categories, the clusters only
where each item has one. ``[discounted]`` metrics have ``relevance: discounted``.
"""

import os
import tempfile
import types

import shown as inputs
from golden import load

elliot = load("elliot")

import numpy
from elliot.evaluation.metrics import parse_metric
from elliot.evaluation.popularity_utils.popularity import Popularity
from elliot.evaluation.relevance.relevance import Relevance
from scipy.sparse import csr_matrix

VERSION, PACKAGES = elliot.VERSION, elliot.PACKAGES

PER_USER = ["EFD", "EPC", "ARP", "APLT", "ACLT"]
WHOLE = ["NumRetrieved", "ItemCoverage", "UserCoverage", "UserCoverageAtN", "Gini", "SEntropy",
         "PopRSP", "PopREO"]  # fmt: skip
CLUSTERED = ["RSP", "REO", "ItemMADranking"]


def record(golden):
    for case in inputs.CASES:
        if case["name"] == "shown_repeated":
            continue
        number = {item: at for at, item in enumerate(case["catalogue"], start=1)}
        lists = {
            user: [(number[item], score) for item, score in listed]
            for user, listed in case["rankings"].items()
            if case["truth"].get(user)
        }
        truth = {u: {number[i]: g for i, g in own.items()} for u, own in case["truth"].items()}
        train = {u: {number[i]: 1 for i in own} for u, own in case["train"].items()}
        with tempfile.TemporaryDirectory() as folder:
            more = files(case, number, folder)
            for k in case["ks"]:
                given = evaluation(case, truth, train, number, k)
                asked = [(name, name, None) for name in PER_USER + WHOLE]
                asked += [(n + "[discounted]", "Extended" + n, {"relevance": "discounted"})
                          for n in ("EFD", "EPC")]  # fmt: skip
                for label, name, data in asked + more:
                    golden.attempt(
                        case, f"{label}@{k}", lambda n=name, d=data, g=given: answer(n, d, lists, g)
                    )


def evaluation(case, truth, train, number, k):
    known = sorted({item for own in train.values() for item in own})
    cells = numpy.array([[item in own for item in known] for own in train.values()], dtype=float)
    data = types.SimpleNamespace(
        train_dict=train,
        items=sorted(number.values()),
        sp_i_train=csr_matrix(cells),
        private_items=dict(enumerate(known)),
        transactions=int(cells.sum()),
    )
    return types.SimpleNamespace(
        relevance=Relevance(truth, 1),
        cutoff=k,
        num_items=len(number),
        data=data,
        pop=Popularity(data),
    )


def files(case, number, folder):
    """The metrics that read a file: label, name and settings."""
    genres = sorted({genre for own in case["categories"].values() for genre in own})
    rows = [[number[item], *map(genres.index, own)] for item, own in case["categories"].items()]
    path = os.path.join(folder, "topics.tsv")
    with open(path, "w") as file:
        file.writelines("\t".join(map(str, row)) + "\n" for row in rows)
    found = [("SRecall", "SRecall", {"feature_data": path})]
    if case["name"] == "shown_one_category":
        clusters = {"clustering_file": path, "clustering_name": "genre"}
        found += [(name, name, clusters) for name in CLUSTERED]
    return found


def answer(name, data, lists, given):
    more = () if data is None else (data,)
    metric = parse_metric(name)(lists, elliot.CONFIG, None, given, *more)
    if name in CLUSTERED:
        return metric.get()[-1].eval()
    return metric.eval(), None if name in WHOLE else metric.eval_user_metric()
