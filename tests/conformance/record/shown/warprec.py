"""WarpRec: list metrics, as ``record/warprec.py`` feeds them.

It ranks whole catalogues, so only cases with a list of 10 and more for every user and without seen
items are recorded. Seen items have the score -inf, as its evaluator gives them, and unlisted ones
follow the list. Only users with relevant items are evaluated. Clusters are the categories, where
each item has one.
"""

import numpy
import shown as inputs
import torch
from golden import load
from scipy.sparse import csr_matrix

warprec = load("warprec")

VERSION, PACKAGES = warprec.VERSION, warprec.PACKAGES
CASES = ["shown", "shown_lacking", "shown_one_category"]
METRICS = ["EFD", "EPC", "ARP", "APLT", "ACLT", "ItemCoverage", "NumRetrieved", "UserCoverage",
           "Gini", "ShannonEntropy"]  # fmt: skip
CLUSTERED = ["RSP", "REO", "ItemMADRanking"]


def record(golden):
    for case in inputs.CASES:
        if case["name"] not in CASES:
            continue
        number = {item: at for at, item in enumerate(case["catalogue"])}
        users = [user for user in case["truth"] if case["truth"][user]]
        trained = [*case["train"]]
        train = numpy.zeros((len(trained), len(number)))
        for row, user in enumerate(trained):
            train[row, [number[item] for item in case["train"][user]]] = 1.0
        scores = -1000.0 - torch.arange(len(number)).repeat(len(users), 1)
        gains = torch.zeros(scores.shape)
        for row, user in enumerate(users):
            for item, score in case["rankings"][user]:
                scores[row, number[item]] = score
            for item in case["train"].get(user, []):
                scores[row, number[item]] = -numpy.inf
            for item, gain in case["truth"][user].items():
                gains[row, number[item]] = gain
        given = {
            "item_interactions": torch.tensor(train.sum(axis=0)).float(),
            "train_matrix": csr_matrix(train),
            "feature_lookup": topics(case, number),
        }
        names = [*METRICS, "SRecall"]
        if case["name"] == "shown_one_category":
            names += CLUSTERED
            given["item_cluster"] = given["feature_lookup"].argmax(dim=1) + 1
        for k in case["ks"]:
            for name in names:
                golden.attempt(
                    case,
                    f"{name}@{k}",
                    lambda n=name, k=k, g=given: warprec.answer(n, k, users, scores, gains, **g),
                )
            for name in ("EFD", "EPC"):
                golden.attempt(
                    case,
                    f"{name}[discounted]@{k}",
                    lambda n=name, k=k, g=given: discounted(n, k, users, scores, gains, g),
                )


def topics(case, number):
    """A row of 0 and 1 for each item."""
    genres = sorted({genre for own in case["categories"].values() for genre in own})
    found = torch.zeros((len(number), len(genres)))
    for item, own in case["categories"].items():
        found[number[item], [genres.index(genre) for genre in own]] = 1.0
    return found


def discounted(name, k, users, scores, gains, given):
    return warprec.answer(name, k, users, scores, gains, relevance="discounted", **given)
