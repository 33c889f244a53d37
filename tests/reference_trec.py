"""The definitions of trec_eval's measures, as slow and simple as in `reference`.

A case is one ranking, a list of items in order, and one truth, a dict from item to gain: an item
is relevant if its gain is above 0, judged as not relevant if it is 0, and if it is below 0 it was
to be judged and was not.
"""

from __future__ import annotations

import math
from fractions import Fraction

import reference
from reference import NAN, hit_at, hits, relevant


def nonrelevant(truth, negative="unjudged"):
    return {i for i, gain in truth.items() if gain == 0 or (gain < 0 and negative != "unjudged")}


def n_ranked(ranking, truth, k):
    return len(ranking[:k])


def n_relevant(ranking, truth, k):
    return len(relevant(truth))


def n_hits(ranking, truth, k):
    return len([item for item in ranking[:k] if truth.get(item, 0) > 0])


def n_nonrelevant(ranking, truth, k, negative="unjudged"):
    return len([item for item in ranking[:k] if item in nonrelevant(truth, negative)])


def judged(ranking, truth, k, denominator="ranked", negative="unjudged"):
    known = set(relevant(truth)) | nonrelevant(truth, negative)
    whole = len(ranking[:k]) if denominator == "ranked" or k is None else k
    return len([item for item in ranking[:k] if item in known]) / whole if whole else 0.0


def unjudged(ranking, truth, k, denominator="k", negative="unjudged"):
    known = set(relevant(truth)) | nonrelevant(truth, negative)
    whole = len(ranking[:k]) if denominator == "ranked" or k is None else k
    return len([item for item in ranking[:k] if item not in known]) / whole if whole else 0.0


def set_ap(ranking, truth, k):
    return reference.precision(ranking, truth, None) * reference.recall(ranking, truth, None)


def utility(ranking, truth, k, found=1.0, wrong=-1.0, missed=0.0, spared=0.0, n_items=None):
    top, true = set(ranking[:k]), set(relevant(truth))
    neither = (n_items or 0) - len(top | true)
    return (
        found * len(top & true)
        + wrong * len(top - true)
        + missed * len(true - top)
        + spared * neither
    )


def bpref(ranking, truth, k, negative="unjudged"):
    others = nonrelevant(truth, negative)
    r = len(relevant(truth))
    total = 0.0
    for place, item in enumerate(ranking):
        if item in relevant(truth):
            above = [other for other in ranking[:place] if other in others]
            total += 1 - min(len(above), r) / min(len(others), r) if above else 1
    return total / r


def infap(ranking, truth, k, epsilon=1e-5):
    total = 0.0
    for place, item in enumerate(ranking):
        if truth.get(item, 0) > 0:
            above = ranking[:place]
            pooled = [other for other in above if other in truth]
            rel = len([other for other in pooled if truth[other] > 0])
            non = len([other for other in pooled if truth[other] == 0])
            share = (rel + epsilon) / (rel + non + 2 * epsilon)
            total += (1 + len(pooled) * share) / (place + 1)
    return total / len(relevant(truth))


def iprec(ranking, truth, k, recall, rounding="trec9"):
    r = len(relevant(truth))
    needed = {
        "trec9": math.floor(recall * r + 0.9),
        "up": math.ceil(Fraction(str(recall)) * r),
        "nearest": math.floor(recall * r + 0.5),
    }[rounding]
    found = [0.0]
    for rank in range(1, len(ranking) + 1):
        if hits(ranking, truth, rank) >= needed:
            found.append(hits(ranking, truth, rank) / rank)
    return max(found)


def eleven_point(ranking, truth, k, rounding="trec9"):
    return sum(iprec(ranking, truth, k, i / 10, rounding) for i in range(11)) / 11


def rprec_mult(ranking, truth, k, multiple):
    cutoff = math.floor(multiple * len(relevant(truth)) + 0.9)
    return reference.precision(ranking, truth, cutoff) if cutoff else 0.0


def yaap(ranking, truth, k):
    r = len(relevant(truth))
    total = sum(
        hits(ranking, truth, rank) / rank
        for rank in range(1, len(ranking) + 1)
        if hit_at(ranking, truth, rank)
    )
    return math.log((1 + total) / (1 + r - total))


def best(truth):
    return sorted(relevant(truth), key=lambda item: -truth[item])


def ideal_dcg(ranking, truth, k, gain="linear", discount="log2"):
    return reference.dcg(best(truth), truth, k, gain, discount)


def ndcg_at(ranking, truth, rank):
    return reference.dcg(ranking, truth, rank) / reference.dcg(best(truth), truth, rank)


def ndcg_rel(ranking, truth, k):
    ranks = [r for r in range(1, len(ranking) + 1) if hit_at(ranking, truth, r)]
    missed = len(relevant(truth)) - len(ranks)
    total = sum(ndcg_at(ranking, truth, rank) for rank in ranks)
    return (total + missed * ndcg_at(ranking, truth, None)) / len(relevant(truth))


def rndcg(ranking, truth, k):
    gains = [truth[item] for item in best(truth)]
    ranks = [n for n in range(1, len(gains) + 1) if n == len(gains) or gains[n] != gains[n - 1]]
    if len(ranking) > len(gains) + 1:
        ranks.append(len(ranking))
    return sum(ndcg_at(ranking, truth, rank) for rank in ranks) / len(ranks)


def g(ranking, truth, k, gain="linear"):
    worth = {item: 1 if gain == "binary" else one for item, one in relevant(truth).items()}
    ideal = sorted(worth.values(), reverse=True)
    total = cost = gained = 0.0
    for rank, item in enumerate(ranking, start=1):
        cost += max(1, ideal[rank - 1]) if rank <= len(ideal) else 1
        gained += worth.get(item, 0)
        total += worth.get(item, 0) / math.log2(2 + cost - gained)
    return total / sum(ideal)


DEFINED = (
    "n_ranked",
    "n_relevant",
    "n_hits",
    "n_nonrelevant",
    "judged",
    "unjudged",
    "utility",
    "yaap",
)
"""Measures that are defined without relevant items."""


def value(name, ranking, truth, k=None, **options):
    """One metric of one ranking without ties; NaN where it is undefined."""
    if not relevant(truth) and name not in DEFINED:
        return NAN
    return globals()[name](ranking, truth, k, **options)


def expected(name, scored, truth, k=None, **options):
    """The mean of a metric over every order of the ties."""
    values = [value(name, one, truth, k, **options) for one in reference.orders(scored)]
    return sum(values) / len(values)
