"""The definition of every metric, as slow and simple as the formula on paper.

It shares no code with the library. A case is one ranking, a list of items in order, and one
truth, a dict from item to gain; an item is relevant if its gain is above 0. Metrics are written
rank by rank, with loops, from the sources cited in the library's docstrings.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

NAN = math.nan


def relevant(truth):
    return {item: gain for item, gain in truth.items() if gain > 0}


def hit_at(ranking, truth, rank):
    return truth.get(ranking[rank - 1], 0) > 0


def depth(ranking, k):
    return len(ranking) if k is None else min(k, len(ranking))


def hits(ranking, truth, k):
    return sum(hit_at(ranking, truth, r) for r in range(1, depth(ranking, k) + 1))


def precision(ranking, truth, k, denominator="k"):
    if denominator == "k":
        whole = len(ranking) if k is None else k
    elif denominator == "ranked":
        whole = depth(ranking, k)
    else:
        whole = min(len(ranking) if k is None else k, len(relevant(truth)))
    return hits(ranking, truth, k) / whole if whole else 0.0


def recall(ranking, truth, k, denominator="relevant"):
    n = len(relevant(truth))
    return hits(ranking, truth, k) / (n if denominator == "relevant" or k is None else min(n, k))


def hit_rate(ranking, truth, k):
    return 1.0 if hits(ranking, truth, k) else 0.0


def f_beta(ranking, truth, k, beta=1.0, denominator="k"):
    p, r = precision(ranking, truth, k, denominator), recall(ranking, truth, k)
    return (1 + beta**2) * p * r / (beta**2 * p + r) if p and r else 0.0


def r_precision(ranking, truth, k):
    n = len(relevant(truth))
    return hits(ranking, truth, n if k is None else min(n, k)) / n


def accuracy(ranking, truth, k, n_items, chosen="ranked"):
    recommended = set(ranking[: depth(ranking, k)])
    if chosen == "k" and k is not None:
        recommended |= {("nothing", place) for place in range(len(ranking), k)}
    true = set(relevant(truth))
    right = len(recommended & true) + n_items - len(recommended | true)
    return right / n_items


def cg(ranking, truth, k):
    return sum(relevant(truth).get(item, 0.0) for item in ranking[: depth(ranking, k)])


def ap(ranking, truth, k, denominator="min"):
    n, length = len(relevant(truth)), depth(ranking, k)
    if denominator == "all":
        last = len(ranking) if k is None else k
        return sum(hits(ranking, truth, r) / r for r in range(1, last + 1)) / last if last else 0.0
    total = 0.0
    for r in range(1, length + 1):
        if hit_at(ranking, truth, r):
            total += hits(ranking, truth, r) / r
    whole = {
        "min": n if k is None else min(n, k),
        "relevant": n,
        "k": len(ranking) if k is None else k,
        "hits": hits(ranking, truth, k),
        "ranked": min(n, len(ranking)) if k is None else min(n, len(ranking), k),
    }[denominator]
    return total / whole if whole else 0.0


def rr(ranking, truth, k):
    for r in range(1, depth(ranking, k) + 1):
        if hit_at(ranking, truth, r):
            return 1 / r
    return 0.0


def mean_rank(ranking, truth, k, of="first", absent="undefined"):
    last = depth(ranking, k)
    found = [r for r in range(1, last + 1) if hit_at(ranking, truth, r)]
    worst = {"undefined": None, "next": last + 1}.get(absent, absent)
    if of == "first":
        return float(found[0]) if found else NAN if worst is None else float(worst)
    if worst is not None:
        found += [worst] * (len(relevant(truth)) - len(found))
    return sum(found) / len(found) if found else NAN


def gain_of(g, gain):
    return {"linear": g, "exp2": 2**g - 1, "binary": 1.0}[gain]


def discount_of(rank, discount):
    return {
        "log2": math.log2(rank + 1),
        "ln": math.log(rank + 1),
        "log10": math.log10(rank + 1),
        "jarvelin": 1.0 if rank < 2 else math.log2(rank),
        "reciprocal": rank,
    }[discount]


def dcg(ranking, truth, k, gain="linear", discount="log2"):
    total = 0.0
    for r in range(1, depth(ranking, k) + 1):
        if hit_at(ranking, truth, r):
            total += gain_of(truth[ranking[r - 1]], gain) / discount_of(r, discount)
    return total


def ndcg(ranking, truth, k, gain="linear", discount="log2", ideal="truth"):
    value = dcg(ranking, truth, k, gain, discount)
    if ideal == "ones":
        last = len(ranking) if k is None else k
        best = sum(1 / discount_of(r, discount) for r in range(1, last + 1))
        return value / best if best else 0.0
    if ideal == "retrieved":
        pool = {item: truth[item] for item in ranking if item in relevant(truth)}
    else:
        pool = relevant(truth)
    order = sorted(pool, key=lambda item: -pool[item])
    last = {"uncut": None, "ranked": depth(ranking, k)}.get(ideal, k)
    best = dcg(order, pool, last, gain, discount)
    return value / best if best else 0.0 if ideal in ("ranked", "retrieved") else NAN


def rbp(ranking, truth, k, p=0.8, gain="binary", max_gain=None, normalize=False):
    total = 0.0
    for r in range(1, depth(ranking, k) + 1):
        if hit_at(ranking, truth, r):
            g = truth[ranking[r - 1]]
            worth = 1 if gain == "binary" and max_gain is None else g / (max_gain or 1)
            total += worth * p ** (r - 1)
    if normalize:
        most = sum(p**r for r in range(min(len(relevant(truth)), depth(ranking, k))))
        return total / most if most else 0.0
    return (1 - p) * total


def rbp_residual(ranking, truth, k, p=0.8, unjudged="nonrelevant"):
    last = depth(ranking, k)
    residual = p**last
    if unjudged == "unknown":
        for r in range(1, last + 1):
            if ranking[r - 1] not in truth:
                residual += (1 - p) * p ** (r - 1)
    return residual


def reader(ranking, truth, k, model, target, p, scale, max_gain, unknown=None):
    """The gain and the number of items of a reader; items at ranks that are unknown gain 1."""
    total = items = so_far = 0.0
    reach = 1.0
    for r in range(1, (1000 if k is None else min(k, 1000)) + 1):
        hit = r <= len(ranking) and hit_at(ranking, truth, r)
        g = (1.0 if max_gain is None else truth[ranking[r - 1]] / max_gain) if hit else 0.0
        g = 1.0 if unknown is not None and unknown(r) else g
        total, items, so_far = total + reach * g, items + reach, so_far + g
        insq = ((r + 2 * target - 1) / (r + 2 * target)) ** 2
        left = target - so_far
        if model == "inst":
            reach *= ((r + target + left - 1) / (r + target + left)) ** 2
        elif model == "insq":
            reach *= insq
        elif model == "bpm":
            reach *= 1 if so_far < target else 0
        elif model == "sdcg":
            reach *= math.log(r + 1) / math.log(r + 2)
        elif model == "nerr8":
            reach *= 1 - g
        elif model == "nerr9":
            reach *= r / (r + 1) * (1 - g)
        elif model == "nerr10":
            reach *= p * (1 - g)
        elif model == "nerr11":
            reach *= insq * (1 - g)
        elif model == "tbg":
            reach *= 2 ** (-1 / scale)
        elif model == "u":
            reach *= (scale - r) / (scale - r + 1) if r < scale else 0
        else:
            reach *= p
    return total, items


def utility_rate(ranking, truth, k, model="inst", target=1.0, p=0.9, scale=224.0, max_gain=None):
    total, items = reader(ranking, truth, k, model, target, p, scale, max_gain)
    return total / items


def expected_depth(ranking, truth, k, model="inst", target=1.0, p=0.9, scale=224.0, max_gain=None):
    return reader(ranking, truth, k, model, target, p, scale, max_gain)[1]


def utility_residual(
    ranking, truth, k, model="inst", target=1.0, p=0.9, scale=224.0, max_gain=None,
    unjudged="nonrelevant",
):  # fmt: skip
    def unknown(r):
        below = r > len(ranking)
        return below or (unjudged == "unknown" and ranking[r - 1] not in truth)

    facts = (ranking, truth, k, model, target, p, scale, max_gain)
    (low, read), (high, most_read) = reader(*facts), reader(*facts, unknown)
    return high / most_read - low / read


def n_queries(ranking, truth, k):
    return 1.0


def compatibility(ranking, truth, k, p=0.95, normalize=True):
    ideal = sorted(relevant(truth), key=lambda i: ranking.index(i) if i in ranking else 10**6)
    ideal.sort(key=lambda item: -truth[item])
    deepest = max(len(ranking), len(ideal))
    weights = [p ** (d - 1) for d in range(1, deepest + 1)]

    def overlap(one, other):
        shared = (len({*one[:d]} & {*other[:d]}) / d for d in range(1, deepest + 1))
        return sum(w * share for w, share in zip(weights, shared, strict=True))

    return overlap(ranking, ideal) / (overlap(ideal, ideal) if normalize else sum(weights))


def err(ranking, truth, k, max_gain, gain="linear", stop="exp2"):
    total, left = 0.0, 1.0
    for r in range(1, depth(ranking, k) + 1):
        g = relevant(truth).get(ranking[r - 1], 0.0)
        if gain == "binary":
            g = 1.0 if g else 0.0
        chance = (2**g - 1) / 2**max_gain if stop == "exp2" else g / max_gain
        total += left * chance / r
        left *= 1 - chance
    return total


def pfound(ranking, truth, k, max_gain, decay=0.85):
    total, looks = 0.0, 1.0
    for r in range(1, depth(ranking, k) + 1):
        found = relevant(truth).get(ranking[r - 1], 0.0) / max_gain
        total += looks * found
        looks *= (1 - found) * decay
    return total


def nerr(ranking, truth, k, max_gain, gain="linear", stop="exp2"):
    pool = relevant(truth)
    order = sorted(pool, key=lambda item: -pool[item])
    best = err(order, pool, k, max_gain, gain, stop)
    return err(ranking, truth, k, max_gain, gain, stop) / best


def value(name, ranking, truth, k=None, **options):
    """One metric of one ranking without ties; NaN where it is undefined."""
    if not relevant(truth) and name not in ("accuracy", "fallout", "n_queries"):
        return NAN
    return globals()[name](ranking, truth, k, **options)


def orders(scored):
    """Every possible order of a scored list: ties in all permutations."""
    groups = itertools.groupby(sorted(scored, key=lambda pair: -pair[1]), key=lambda pair: pair[1])
    groups = [[item for item, _ in members] for _, members in groups]
    for combination in itertools.product(*(itertools.permutations(group) for group in groups)):
        yield [item for group in combination for item in group]


def expected(name, scored, truth, k=None, **options):
    """The mean of a metric over every order of the ties."""
    values = [value(name, ranking, truth, k, **options) for ranking in orders(scored)]
    return sum(values) / len(values)


# -- ranks of the first hit, and what a random order of the same items gives --------------------


def first_hit(ranking, truth):
    return next((r for r in range(1, len(ranking) + 1) if hit_at(ranking, truth, r)), None)


def by_chance(ranking, truth, weight):
    """Mean and variance of the weight of the first hit's rank, over all orders of the list."""
    n, m = len(ranking), hits(ranking, truth, None)
    whole = math.comb(n, m)
    chance = {r: Fraction(math.comb(n - r, m - 1), whole) for r in range(1, n - m + 2)}
    mean = sum(p * weight(r) for r, p in chance.items())
    return mean, sum(p * weight(r) ** 2 for r, p in chance.items()) - mean**2


def rank_alone(ranking, truth, k):
    return first_hit(ranking, truth) or NAN


def median_rank(ranking, truth, k):
    return rank_alone(ranking, truth, k)


def gmr(ranking, truth, k):
    return rank_alone(ranking, truth, k)


def hmr(ranking, truth, k):
    return rank_alone(ranking, truth, k)


def compared_with_chance(ranking, truth, weight, scale):
    """How far the weight of the first hit is above that of all orders, in units of the scale."""
    rank = first_hit(ranking, truth)
    if rank is None:
        return NAN
    mean, variance = by_chance(ranking, truth, weight)
    whole = abs(weight(1) - mean) if scale == "best" else math.sqrt(variance)
    return float(weight(rank) - mean) / float(whole) if whole else 0.0


def amr(ranking, truth, k):
    rank = first_hit(ranking, truth)
    return float(rank / by_chance(ranking, truth, Fraction)[0]) if rank else NAN


def amri(ranking, truth, k):
    return compared_with_chance(ranking, truth, lambda r: -Fraction(r), "best")


def zmr(ranking, truth, k):
    return compared_with_chance(ranking, truth, lambda r: -Fraction(r), "spread")


def amrr(ranking, truth, k):
    return compared_with_chance(ranking, truth, lambda r: Fraction(1, r), "best")


def zmrr(ranking, truth, k):
    return compared_with_chance(ranking, truth, lambda r: Fraction(1, r), "spread")


def adjusted_hits(ranking, truth, k, top=10):
    return compared_with_chance(ranking, truth, lambda r: Fraction(r <= top), "best")


def zhits(ranking, truth, k, top=10):
    return compared_with_chance(ranking, truth, lambda r: Fraction(r <= top), "spread")


# -- pairs of candidates ------------------------------------------------------------------------


def positions(ranking, truth, n_items, absent="random", extra=0):
    """The places of the relevant candidates and of the others; equal ones are tied."""
    good = relevant(truth)
    place = {item: rank for rank, item in enumerate(ranking, start=1)}
    below = len(ranking) + 1
    missed = below if absent == "random" else below + 1
    known = set(ranking) | set(good)
    others = [place[item] for item in ranking if item not in good]
    others += [below] * ((0 if n_items is None else n_items - len(known)) + extra)
    return {item: place.get(item, missed) for item in good}, others


def order(a, b):
    return 1.0 if a < b else 0.5 if a == b else 0.0


def auc(ranking, truth, k, n_items=None, absent="random", smooth=False):
    good, others = positions(ranking, truth, n_items, absent, extra=int(smooth))
    pairs = [order(a, b) for a in good.values() for b in others]
    return sum(pairs) / len(pairs) if pairs else NAN


def gauc(ranking, truth, k, n_items=None, absent="random", smooth=False, weight="relevant"):
    return auc(ranking, truth, k, n_items, absent, smooth)


def lauc(
    ranking, truth, k, n_items, absent="random", denominator="relevant", chosen="ranked",
    smooth=False,
):  # fmt: skip
    top = ranking[: depth(ranking, k)]
    top = top + [("nothing", r) for r in range(len(top), k or 0) if chosen == "k"]
    if n_items is None:
        truth = {item: gain for item, gain in truth.items() if item in top}
    good, others = positions(top, truth, n_items, absent, extra=int(smooth))
    if n_items is not None and denominator == "min" and k is not None:
        found = {item for item in good if item in top}
        missed = sorted(set(good) - found)[: max(min(len(good), k) - len(found), 0)]
        good = {item: place for item, place in good.items() if item in found or item in missed}
    if not good:
        return 0.0
    if not others:
        return sum(item in top for item in good) / len(good)
    return sum(order(a, b) for a in good.values() for b in others) / (len(good) * len(others))


def pauc(ranking, truth, k, positives="all", insufficient="score"):
    others = [r for r in range(1, len(ranking) + 1) if not hit_at(ranking, truth, r)]
    found = [r for r in range(1, len(ranking) + 1) if hit_at(ranking, truth, r)]
    n, k = len(relevant(truth)), len(others) if k is None else k
    if insufficient == "undefined" and len(others) < k and len(found) < n:
        return NAN
    counted = min(n, k) if positives == "top" else n
    above = [sum(other < r for other in others[:k]) for r in found[:counted]]
    whole = counted * k
    return sum(k - number for number in above) / whole if whole else NAN


def opa(ranking, truth, k, n_items=None):
    good, others = positions(ranking, truth, n_items)
    candidates = [(place, truth[item]) for item, place in good.items()]
    candidates += [(place, 0.0) for place in others]
    pairs = [order(a, b) for a, g in candidates for b, h in candidates if g > h]
    return sum(pairs) / len(pairs) if pairs else NAN


def fallout(ranking, truth, k, n_items):
    others = [item for item in ranking if item not in relevant(truth)]
    whole = len(others) if n_items is None else n_items - len(relevant(truth))
    top = ranking[: depth(ranking, k)]
    return sum(item in others for item in top) / whole if whole else NAN


def mcc(ranking, truth, k, n_items, chosen="ranked"):
    good = set(relevant(truth))
    top = set(ranking[: depth(ranking, k)])
    if chosen == "k" and k is not None:
        top |= {("nothing", place) for place in range(len(ranking), k)}
    tp, fp, fn = len(top & good), len(top - good), len(good - top)
    tn = n_items - tp - fp - fn
    scale = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    if tn + fn < 0:
        return NAN
    return (tp * tn - fp * fn) / math.sqrt(scale) if scale else 0.0


# -- positions of all relevant items ------------------------------------------------------------


def mar(ranking, truth, k, over="ranks"):
    last = len(ranking) if k is None else k
    if over == "ranks":
        every = [recall(ranking, truth, r) for r in range(1, last + 1)]
        return sum(every) / last if last else 0.0
    at_hits = [
        recall(ranking, truth, r)
        for r in range(1, min(last, len(ranking)) + 1)
        if hit_at(ranking, truth, r)
    ]
    return sum(at_hits) / len(relevant(truth))


def percentile_rank(ranking, truth, k, n_items=None, gain="binary"):
    good = relevant(truth)
    size = len(set(ranking) | set(good)) if n_items is None else n_items
    left = range(len(ranking) + 1, size + 1)
    place = {item: rank for rank, item in enumerate(ranking, start=1)}
    total = weights = 0.0
    for item, g in good.items():
        rank = place[item] if item in place else sum(left) / len(left)
        weight = gain_of(g, gain)
        total += weight * 100 * (rank - 1) / size
        weights += weight
    return total / weights


def rr_all(ranking, truth, k):
    found = [1 / r for r in range(1, depth(ranking, k) + 1) if hit_at(ranking, truth, r)]
    return sum(found) / len(relevant(truth))


def relevance_position(ranking, truth, k, gain="linear"):
    found = [r for r in range(1, len(ranking) + 1) if hit_at(ranking, truth, r)]
    weights = [gain_of(truth[ranking[r - 1]], gain) for r in found]
    total = sum(w * r for w, r in zip(weights, found, strict=True))
    return total / sum(weights) if found else NAN


def last_rank(ranking, truth, k, absent="undefined"):
    found = [r for r in range(1, len(ranking) + 1) if hit_at(ranking, truth, r)]
    if len(found) == len(relevant(truth)):
        return float(max(found))
    return {"undefined": NAN, "next": len(ranking) + 1.0}.get(absent, absent)
