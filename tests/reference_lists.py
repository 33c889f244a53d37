"""Slow definitions of list metrics, which share no code with the fast ones.

A metric of one list takes the ranked items of a user, the `Side`, and the user; a metric of all
lists takes the ranked items of every user.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

NAN = math.nan


@dataclass(eq=False)
class Side:
    """What is known besides the lists."""

    train: dict = field(default_factory=dict)  # user to ratings of items
    categories: dict = field(default_factory=dict)  # item to set of names
    catalogue: set = field(default_factory=set)
    truth: dict = field(default_factory=dict)  # user to gains of the relevant items
    baseline: dict = field(default_factory=dict)  # user to items
    propensity: dict = field(default_factory=dict)  # item to number
    users: list = field(default_factory=list)  # of the rankings, in order

    def given(self):
        """The arguments that give it to the library."""
        items = {item: sorted(names) for item, names in self.categories.items()}
        return {"train": self.train, "items": items, "catalogue": self.catalogue,
                "baseline_lists": self.baseline, "propensity": self.propensity}  # fmt: skip

    def users_with(self, item):
        return self._users[item]

    @functools.cached_property
    def _users(self):
        return Counter(item for items in self.train.values() for item in set(items))

    @functools.cached_property
    def interactions(self):
        return Counter(item for items in self.train.values() for item in items)


def cut(ranking, k):
    return list(ranking) if k is None else list(ranking)[:k]


def mean(values):
    values = list(values)
    return sum(values) / len(values) if values else NAN


def over(values, k, denominator):
    values = list(values)
    return mean(values) if denominator == "ranked" or k is None else sum(values) / k


def vector(side, item):
    names = sorted({name for one in side.categories.values() for name in one})
    return [float(name in side.categories.get(item, ())) for name in names]


def distance_of(a, b, kind):
    if kind == "cosine":
        size = math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))
        return 1 - (sum(x * y for x, y in zip(a, b, strict=True)) / size if size else 0)
    if kind == "jaccard":
        both = sum(x > 0 and y > 0 for x, y in zip(a, b, strict=True))
        either = sum(x > 0 or y > 0 for x, y in zip(a, b, strict=True))
        return 1 - (both / either if either else 0)
    if kind == "euclidean":
        return math.dist(a, b)
    differ = sum(x != y for x, y in zip(a, b, strict=True))
    return differ / len(a) if kind == "hamming_share" else differ


@functools.cache
def apart(side, one, other, kind):
    if kind == "users":
        a, b = ({u for u, own in side.train.items() if item in own} for item in (one, other))
        return 1 - (len(a & b) / math.sqrt(len(a) * len(b)) if a and b else 0)
    return distance_of(vector(side, one), vector(side, other), kind)


def is_described(side, item, kind):
    return bool(side.users_with(item) if kind == "users" else side.categories.get(item))


def numbered(ranking, side, k, kind, unknown):
    """The items and their ranks."""
    found = list(enumerate(cut(ranking, k), 1))
    return [(r, i) for r, i in found if unknown == "zero" or is_described(side, i, kind)]


def ild(
    ranking,
    side,
    user,
    k,
    distance="cosine",
    over="pairs",
    unknown="skip",
    single="undefined",
    inverse=False,
):
    if inverse:
        return 1 - ild(ranking, side, user, k, distance, over, unknown, single)
    if not ranking:
        return NAN
    items = [item for _, item in numbered(ranking, side, k, distance, unknown)]
    if len(items) < 2:
        return NAN if single == "undefined" else 0.0
    found = [apart(side, a, b, distance) for a, b in itertools.combinations(items, 2)]
    return sum(found) / (len(found) if over == "pairs" else len(items))


def weight(rank, discount, p):
    if discount == "geometric":
        return p ** (rank - 1)
    return {"none": 1, "log2": 1 / math.log2(rank + 1), "reciprocal": 1 / rank}[discount]


def worth(side, user, item, relevance):
    gain = side.truth.get(user, {}).get(item, 0)
    return {"none": 1, "binary": float(gain > 0), "graded": gain, "exp2": 2**gain - 1}[relevance]


def eild(
    ranking,
    side,
    user,
    k,
    distance="cosine",
    discount="log2",
    p=0.85,
    relevance="none",
    unknown="skip",
    single="undefined",
):
    if not ranking:
        return NAN
    items = numbered(ranking, side, k, distance, unknown)
    if len(items) < 2:
        return NAN if single == "undefined" else 0.0
    total, whole = 0.0, 0.0
    for r, one in items:
        far, seen = 0.0, 0.0
        for s, other in items:
            if s != r:
                w = weight(s - r if s > r else 1, discount, p) * worth(side, user, other, relevance)
                far += w * apart(side, one, other, distance)
                seen += w
        mine = weight(r, discount, p)
        total += mine * worth(side, user, one, relevance) * (far / seen if seen else 0)
        whole += mine
    return total / whole


def vendi(ranking, side, user, k, similarity="cosine", unknown="skip"):
    items = [item for _, item in numbered(ranking, side, k, similarity, unknown)]
    if not items:
        return NAN
    alike = [[float(a == b) or 1 - apart(side, a, b, similarity) for a in items] for b in items]
    shares = [x for x in np.linalg.eigvalsh(alike) / len(items) if x > 1e-14]
    return math.exp(-sum(x * math.log(x) for x in shares))


def discounted(found, k, discount, p, denominator):
    """Values at ranks, weighted by the ranks."""
    whole = [r for r, _ in found] if denominator == "ranked" or k is None else range(1, k + 1)
    weights = [weight(r, discount, p) for r in whole]
    total = sum(weight(r, discount, p) * value for r, value in found)
    return total / sum(weights) if weights else NAN


def epc(
    ranking,
    side,
    user,
    k,
    discount="log2",
    p=0.85,
    relevance="binary",
    denominator="ranked",
    cold="zero",
):
    found = []
    for r, item in enumerate(cut(ranking, k), 1):
        n = side.users_with(item)
        if n or cold != "skip":
            share = (n or (cold == "one")) / len(side.train)
            found.append((r, (1 - share) * worth(side, user, item, relevance)))
    return discounted(found, k, discount, p, denominator) if ranking else NAN


def efd(
    ranking,
    side,
    user,
    k,
    discount="log2",
    p=0.85,
    relevance="binary",
    denominator="ranked",
    cold="rarest",
):
    n, found = side.interactions, []
    for r, item in enumerate(cut(ranking, k), 1):
        if item in n or cold != "skip":
            once = min(n.values()) if cold == "rarest" else 1
            bits = math.log2(sum(n.values()) / n.get(item, once))
            bits = 0 if cold == "zero" and item not in n else bits
            found.append((r, bits * worth(side, user, item, relevance)))
    return discounted(found, k, discount, p, denominator) if ranking else NAN


def epd(
    ranking,
    side,
    user,
    k,
    distance="cosine",
    discount="log2",
    p=0.85,
    relevance="binary",
    denominator="ranked",
    unknown="skip",
):
    profile = [item for item in side.train.get(user, ()) if is_described(side, item, distance)]
    found = [
        (
            r,
            mean(apart(side, item, other, distance) for other in profile)
            * worth(side, user, item, relevance),
        )
        for r, item in numbered(ranking, side, k, distance, unknown)
    ]
    return discounted(found, k, discount, p, denominator) if ranking else NAN


def novelty(ranking, side, user, k, of="users", base="2", cold="one", denominator="ranked"):
    whole = len(side.train) if of == "users" else sum(side.interactions.values())
    log = {"2": math.log(2), "e": 1.0, "users": math.log(len(side.train))}[base]
    found = []
    for item in cut(ranking, k):
        n = side.users_with(item) if of == "users" else side.interactions[item]
        if n == 0 and cold == "skip":
            continue
        found.append(0.0 if n == 0 and cold == "zero" else -math.log(max(n, 1) / whole) / log)
    return over(found, k, denominator) if ranking else NAN


def popularity(
    ranking, side, user, k, of="interactions", scale="count", cold="zero", denominator="ranked"
):
    def n(item):
        return side.users_with(item) if of == "users" else side.interactions[item]

    known = [n(item) for item in side.interactions]
    whole = len(side.train) if of == "users" else sum(side.interactions.values())
    found = []
    for item in cut(ranking, k):
        count = n(item)
        if count == 0 and cold == "skip":
            continue
        if count == 0 and cold == "one":
            count = 1
        if scale == "rank":
            below, same = sum(c < count for c in known), sum(c == count for c in known)
            inside = item in side.interactions
            found.append((below + (same + 1) / 2) / len(known) if inside else 0.0)
        else:
            found.append(count / {"count": 1, "share": whole, "most": max(known)}[scale])
    return over(found, k, denominator) if ranking else NAN


def categorical_diversity(ranking, side, user, k, denominator="k"):
    found = {name for item in cut(ranking, k) for name in side.categories.get(item, ())}
    whole = len(cut(ranking, k)) if denominator == "ranked" or k is None else k
    if denominator == "categories":
        whole = len({name for names in side.categories.values() for name in names})
    return len(found) / whole if ranking else NAN


def category_entropy(
    ranking,
    side,
    user,
    k,
    discount="none",
    p=0.85,
    smoothing=0.0,
    base="2",
):
    sums = Counter(dict.fromkeys((n for names in side.categories.values() for n in names), 0.0))
    for r, item in enumerate(cut(ranking, k), 1):
        for name in side.categories.get(item, ()):
            sums[name] += weight(r, discount, p) / len(side.categories[item])
    if not any(sums.values()):
        return NAN
    shares = [(s + smoothing) / sum(x + smoothing for x in sums.values()) for s in sums.values()]
    return -sum(s * math.log(s, {"2": 2, "e": math.e}[base]) for s in shares if s)


def topics(side, items):
    return {name for item in items for name in side.categories.get(item, ())}


def subtopic_recall(
    ranking,
    side,
    user,
    k,
    denominator="relevant",
    relevance="binary",
):
    truth = side.truth.get(user, {})
    found = topics(side, [i for i in cut(ranking, k) if relevance == "none" or i in truth])
    asked = topics(side, truth if denominator == "relevant" else side.categories)
    return len(found & asked) / len(asked) if asked and ranking else NAN


def gained(side, items, stay, discount):
    """Items, None for those that are not relevant, gain less for what was seen."""
    seen, total = Counter(), 0.0
    for r, item in enumerate(items, 1):
        for name in side.categories.get(item, ()):
            total += stay ** seen[name] * discount(r)
            seen[name] += 1
    return total


def greedy(side, items, stay, k, ideal):
    left, chosen = sorted(items), []
    while left and (k is None or len(chosen) < k):
        now = gained(side, chosen, stay, lambda _: 1)
        best = max(
            left,
            key=lambda i: (
                round(gained(side, [*chosen, i], stay, lambda _: 1) - now, 9),
                vector(side, i) if ideal == "greedy" else i,
            ),
        )
        left.remove(best)
        chosen.append(best)
    return chosen


def bounded(side, truth, ranking, k, stay, discount):
    depth = len(ranking) if k is None else k
    n = len(topics(side, truth))
    return n * sum(stay ** (r - 1) * discount(r) for r in range(1, depth + 1))


def by_ideal(ranking, side, user, k, stay, discount, ideal):
    truth = side.truth.get(user, {})
    if not ranking or not topics(side, truth):
        return NAN
    found = [i if i in truth else None for i in cut(ranking, k)]
    value = gained(side, found, stay, discount)
    if ideal.startswith("greedy"):
        return value / gained(side, greedy(side, truth, stay, k, ideal), stay, discount)
    if ideal == "none":
        return value / len(topics(side, truth))
    return value / bounded(side, truth, ranking, k, stay, discount)


WEIGHTS = {
    "log2": lambda r: 1 / math.log2(r + 1),
    "ln": lambda r: 1 / math.log(r + 1),
    "log10": lambda r: 1 / math.log10(r + 1),
    "jarvelin": lambda r: 1 / math.log2(max(r, 2)),
    "reciprocal": lambda r: 1 / r,
}


def alpha_ndcg(ranking, side, user, k, alpha=0.5, discount="log2", ideal="greedy"):
    return by_ideal(ranking, side, user, k, 1 - alpha, WEIGHTS[discount], ideal)


def err_ia(ranking, side, user, k, alpha=0.5, ideal="bound"):
    value = by_ideal(ranking, side, user, k, 1 - alpha, WEIGHTS["reciprocal"], ideal)
    return value * alpha if ideal == "none" else value


def nrbp(ranking, side, user, k, alpha=0.5, beta=0.5, ideal="bound"):
    def weight(r):
        return beta ** (r - 1)

    if ideal != "bound":
        return by_ideal(ranking, side, user, k, 1 - alpha, weight, ideal)
    value = by_ideal(ranking, side, user, k, 1 - alpha, weight, "none")
    return value * (1 - (1 - alpha) * beta)


def d_sharp_ndcg(ranking, side, user, k, recall_weight=0.5, discount="log2"):
    truth, weight = side.truth.get(user, {}), WEIGHTS[discount]
    if not ranking or not topics(side, truth):
        return NAN

    def gain(item):
        return truth.get(item, 0) * len(side.categories.get(item, ()))

    def total(items):
        return sum(gain(item) * weight(r) for r, item in enumerate(cut(items, k), 1))

    found = topics(side, [item for item in cut(ranking, k) if item in truth])
    recall = len(found) / len(topics(side, truth))
    ndcg = total(ranking) / total(sorted(truth, key=gain, reverse=True))
    return recall_weight * recall + (1 - recall_weight) * ndcg


def of_topics(ranking, side, user, k, function):
    """The mean over the topics of a function of the relevant items of the topic."""
    truth = side.truth.get(user, {})
    names = topics(side, truth)
    if not ranking or not names:
        return NAN
    good = [{i for i in truth if name in side.categories.get(i, ())} for name in names]
    return mean(function(cut(ranking, k), own) for own in good)


def precision_ia(ranking, side, user, k):
    n = len(ranking) if k is None else k
    return of_topics(ranking, side, user, k, lambda top, good: sum(i in good for i in top) / n)


def ap_ia(ranking, side, user, k):
    def ap(top, good):
        hits = [r for r, item in enumerate(top, 1) if item in good]
        return sum(n / r for n, r in enumerate(hits, 1)) / len(good)

    return of_topics(ranking, side, user, k, ap)


def binomial_diversity(ranking, side, user, k, alpha=0.5, part="both"):
    if not ranking:
        return NAN
    names = sorted(topics(side, side.categories))
    shown, own = cut(ranking, k), side.train.get(user, ())
    general = [item for items in side.train.values() for item in items]

    def share(name, items):
        return sum(name in side.categories.get(item, ()) for item in items) / len(items)

    def chance_of(low, name):
        p = share(name, general)
        p = (1 - alpha) * p + alpha * share(name, own) if own else p
        n = len(shown)
        return sum(math.comb(n, x) * p**x * (1 - p) ** (n - x) for x in range(low, n + 1))

    times = {name: sum(name in side.categories.get(i, ()) for i in shown) for name in names}
    missing = [1 - chance_of(1, name) for name in names if not times[name]]
    usual = [chance_of(times[name], name) / chance_of(1, name) for name in names if times[name]]
    coverage = math.prod(missing) ** (1 / len(names))
    redundancy = math.prod(usual) ** (1 / max(len(usual), 1))
    return {
        "both": coverage * redundancy,
        "coverage": coverage,
        "non_redundancy": redundancy,
    }[part]


@functools.cache
def tail(side, head, size, cold):
    n = side.interactions
    size = size or {"interactions": 0.8, "over": 0.8, "items": 0.2, "least": 0.1}[head]
    order = sorted(n, key=lambda item: (-n[item], item))
    if head == "count":
        found = {item for item in n if n[item] <= size}
    elif head == "items":
        found = set(order[max(math.floor(len(n) * size), 1) :])
    elif head == "least":
        found = set(sorted(n, key=lambda i: (n[i], i))[: max(math.floor(len(n) * size), 1)])
    else:
        reached, found = 0, set(n)
        for item in order:
            found.remove(item)
            reached += n[item]
            if reached > size * sum(n.values()):
                break
            if head == "interactions" and reached == size * sum(n.values()):
                break
    return lambda item: item in found or (item not in n and cold == "tail")


def tail_share(
    ranking,
    side,
    user,
    k,
    head="interactions",
    size=None,
    cold="tail",
    denominator="ranked",
):
    inside = tail(side, head, size, cold)
    return over(map(inside, cut(ranking, k)), k, denominator) if ranking else NAN


def tail_count(ranking, side, user, k, head="interactions", size=None, cold="tail"):
    inside = tail(side, head, size, cold)
    return sum(map(inside, cut(ranking, k))) if ranking else NAN


def popularity_lift(ranking, side, user, k, of="users", cold="zero"):
    def n(item):
        return side.users_with(item) if of == "users" else side.interactions[item]

    shown = mean(n(item) for item in cut(ranking, k) if n(item) or cold == "zero")
    usual = mean(n(item) for item in side.train.get(user, ()))
    return shown / usual - 1


def unseen(ranking, side, user, k, denominator="ranked"):
    found = [float(item not in side.train.get(user, ())) for item in cut(ranking, k)]
    return over(found, k, denominator) if ranking else NAN


def serendipity(
    ranking,
    side,
    user,
    k,
    form="unlike",
    distance="cosine",
    relevance="binary",
):
    items, profile = cut(ranking, k), side.train.get(user, {})
    if not items:
        return NAN
    own = [worth(side, user, item, relevance) for item in items]
    if form == "rank":
        n = len(side.catalogue)
        counts = sorted(set(side.interactions.values()), reverse=True)
        found = 0.0
        for r, (item, w) in enumerate(zip(items, own, strict=True), 1):
            usual = n - counts.index(side.interactions[item]) if item in side.interactions else 0
            found += max((n + 1 - r) / n - usual / n, 0) * w
        return found / len(items)
    known = [i for i in profile if is_described(side, i, distance)]
    if not known:
        return NAN
    far = [mean(apart(side, item, other, distance) for other in known) for item in items]
    if form == "unlike":
        return mean(d * w for d, w in zip(far, own, strict=True))
    return 1 - sum((1 - d) * w for d, w in zip(far, own, strict=True)) if sum(own) else NAN


def calibration(
    ranking,
    side,
    user,
    k,
    of="categories",
    divergence="kl",
    alpha=0.01,
    base="e",
    discount="none",
    p=0.85,
    weights="none",
):
    beyond = [tail(side, "interactions", size, "tail") for size in (0.2, 0.8)]

    def groups(item):
        if of == "popularity":
            return [sum(outside(item) for outside in beyond)]
        return side.categories.get(item, ())

    def distribution(weighted):
        sums = Counter()
        for item, w in weighted:
            for name in groups(item):
                sums[name] += w / len(groups(item))
        return {name: s / sum(sums.values()) for name, s in sums.items()}

    profile = side.train.get(user, {})
    had = distribution((i, r if weights == "rating" else 1) for i, r in profile.items())
    got = distribution((i, weight(r, discount, p)) for r, i in enumerate(cut(ranking, k), 1))
    if not had or not got:
        return NAN
    unit = {"e": math.e, "2": 2}[base]

    def kl(one, other):
        return sum(
            x * (math.log(x / other[name], unit) if other.get(name) else math.inf)
            for name, x in one.items()
        )

    names = had.keys() | got.keys()
    if divergence == "hellinger":
        roots = [(math.sqrt(had.get(n, 0)) - math.sqrt(got.get(n, 0))) ** 2 for n in names]
        return math.sqrt(sum(roots) / 2)
    if divergence == "js":
        middle = {n: (had.get(n, 0) + got.get(n, 0)) / 2 for n in names}
        return (kl(had, middle) + kl(got, middle)) / 2
    return kl(had, {n: (1 - alpha) * got.get(n, 0) + alpha * had.get(n, 0) for n in names})


def unexpectedness(
    ranking,
    side,
    user,
    k,
    overlap="share",
    baseline_k=None,
    denominator="ranked",
    p=0.85,
    absent="undefined",
    inverse=False,
):
    one = cut(ranking, k)
    other = cut(side.baseline.get(user, ()), k if baseline_k is None else baseline_k)
    if not one:
        return NAN
    if not other:
        alike = {"undefined": NAN, "unexpected": 0.0, "expected": 1.0}[absent]
    elif overlap == "share":
        whole = len(one) if denominator == "ranked" or k is None else k
        alike = len({*one} & {*other}) / whole
    elif overlap == "rbo":
        depths = range(1, (max(len(one), len(other)) if k is None else k) + 1)
        shares = [p**d * len({*one[:d]} & {*other[:d]}) / d for d in depths]
        alike = sum(shares) / sum(p**d for d in depths)
    else:
        s, n = sorted((len(one), len(other)))
        x = [len({*one[:d]} & {*other[:d]}) for d in range(n + 1)]
        alike = (1 - p) / p * sum(x[d] / d * p**d for d in range(1, n + 1))
        alike += (1 - p) / p * sum(x[s] * (d - s) / (s * d) * p**d for d in range(s + 1, n + 1))
        alike += ((x[n] - x[s]) / n + x[s] / s) * p**n
    return alike if inverse else 1 - alike


def least_item_promoted(ranking, side, user, k):
    other = list(side.baseline.get(user, ()))
    if not ranking or not other:
        return NAN
    n = len(ranking) if k is None else k
    return max([n, *(other.index(item) for item in cut(ranking, k) if item in other)]) - n


def list_length(ranking, side, user, k):
    return len(cut(ranking, k))


def sufficiency(ranking, side, user, k, partial=False):
    if k is None:
        return 1.0
    n = len(cut(ranking, k))
    return min(n / k, 1) if partial else float(n >= k)


def repetition(ranking, side, user, k, scale="share", inverse=False):
    items = cut(ranking, k)
    again = [item in items[:at] for at, item in enumerate(items)]
    found = NAN if not items else float(any(again)) if scale == "any" else mean(again)
    return 1 - found if inverse else found


def user_coverage(ranking, side, user, k, least=1):
    return float(len(cut(ranking, k)) >= least)


def shown(rankings, k):
    return Counter(item for ranking in rankings for item in cut(ranking, k))


def coverage(rankings, side, k, scale="share", outside="ignore", items="catalogue"):
    found = set(shown(rankings, k))
    whole = side.catalogue if items == "catalogue" else set(side.interactions)
    if outside == "ignore":
        found &= whole
    return len(found) / (len(whole) if scale == "share" else 1)


def gini(rankings, side, k, denominator="n", items="catalogue", inverse=False):
    counts = shown(rankings, k)
    inside = side.catalogue if items == "catalogue" else set(counts)
    c = sorted(counts[item] for item in inside)
    n = len(c)
    differences = sum(abs(a - b) for a in c for b in c) / 2
    found = differences / ((n if denominator == "n" else n - 1) * sum(c))
    return 1 - found if inverse else found


def exposure_gini(rankings, side, k, discount="geometric", p=0.85, denominator="n"):
    seen = dict.fromkeys(side.catalogue, 0.0)
    for ranking in rankings:
        for r, item in enumerate(cut(ranking, k), 1):
            if item in seen:
                seen[item] += weight(r, discount, p)
    n, far = len(seen), sum(abs(a - b) for a in seen.values() for b in seen.values()) / 2
    return far / ((n if denominator == "n" else n - 1) * sum(seen.values()))


def entropy(rankings, side, k, base="e", per="all", weights="items"):
    counts, lists = shown(rankings, k), [cut(ranking, k) for ranking in rankings]
    bits = {
        item: -math.log(c / sum(counts.values()), {"e": math.e, "2": 2}[base])
        for item, c in counts.items()
    }
    if weights == "lists":
        found = mean(mean(bits[item] for item in items) for items in lists if items)
    else:
        found = mean(bits[item] for items in lists for item in items)
    return found / (len(counts) if per == "item" else 1)


def effective_items(rankings, side, k):
    return math.exp(entropy(rankings, side, k))


def personalization(rankings, side, k, similarity="cosine"):
    lists = [set(cut(ranking, k)) for ranking in rankings]
    lists = [one for one in lists if one]
    longest = max(map(len, lists)) if k is None else k
    found = []
    for a, b in itertools.combinations(lists, 2):
        size = math.sqrt(len(a) * len(b)) if similarity == "cosine" else longest
        found.append(1 - len(a & b) / size)
    return mean(found)


def groups_of(side, groups):
    """The items of each group."""
    if groups == "popularity":
        head = fewest(side, 0.8)
        return [head, set(side.interactions) - head]
    names = sorted({name for one in side.categories.values() for name in one})
    return [{item for item, own in side.categories.items() if name in own} for name in names]


def of_users(side, rankings):
    """The users with their rankings."""
    return list(zip(side.users, rankings, strict=True))


def spread(shares):
    return float(np.std(shares) / np.mean(shares)) if any(shares) else NAN


def rsp(rankings, side, k, groups="categories"):
    shares = []
    for group in groups_of(side, groups):
        pairs = of_users(side, rankings)
        shown = sum(len(group & set(cut(own, k))) for _, own in pairs)
        could = sum(len(group - set(side.train.get(u, ()))) for u, _ in pairs)
        if could:
            shares.append(shown / could)
    return spread(shares)


def reo(rankings, side, k, groups="categories"):
    shares = []
    for group in groups_of(side, groups):
        shown, could = 0, 0
        for user, own in of_users(side, rankings):
            good = group & set(side.truth.get(user, ()))
            shown += len(good & set(cut(own, k)))
            could += len(good - set(side.train.get(user, ())))
        if could:
            shares.append(shown / could)
    return spread(shares)


def biases(rankings, side, k, groups):
    """How much the share of each group changes; NaN without training items."""
    every = [(u, own) for u, own in of_users(side, rankings) if own]
    found = []
    for group in groups_of(side, groups):
        shown = sum(len(group & set(cut(own, k))) for _, own in every)
        had = sum(len(group & set(side.train.get(u, ()))) for u, _ in every)
        found.append((shown, had))
    whole_shown, whole_had = (sum(column) for column in zip(*found, strict=True))
    return [s / whole_shown / (h / whole_had) - 1 if h else NAN for s, h in found]


def bias_disparity(rankings, side, k, groups="categories"):
    return mean(abs(one) for one in biases(rankings, side, k, groups) if not math.isnan(one))


def group_bias(rankings, side, k, groups="categories", group=1):
    return biases(rankings, side, k, groups)[group - 1]


def item_gap(rankings, side, k, groups="categories", relevance="binary"):
    found = {}
    for user, own in of_users(side, rankings):
        for item in dict.fromkeys(cut(own, k)):
            found.setdefault(item, []).append(worth(side, user, item, relevance))
    of_items = {item: mean(values) for item, values in found.items()}
    means = [
        mean([of_items[item] for item in group & of_items.keys()])
        for group in groups_of(side, groups)
        if group & of_items.keys()
    ]
    pairs = [abs(a - b) for i, a in enumerate(means) for b in means[:i]]
    return mean(pairs) if pairs else NAN


# -- relevant items, and how likely they were seen ----------------------------------------------


def seen(side, gamma):
    """The propensity of each item that has one."""
    if gamma is None:
        return side.propensity
    n = side.interactions
    return {item: (n[item] / max(n.values())) ** ((gamma + 1) / 2) for item in n}


def weights(side, user, gamma, clip, cold):
    """The weight of each relevant item that is not left out."""
    known, found = seen(side, gamma), {}
    for item in side.truth.get(user, {}):
        if item in known or cold == "rarest":
            found[item] = min(1 / known.get(item, min(known.values())), clip or math.inf)
    return found


def snips(
    ranking, side, user, k, gamma=None, clip=None, cold="skip", discount="none", p=0.85
):  # fmt: skip
    each = weights(side, user, gamma, clip, cold)
    found = ips(ranking, side, user, k, gamma, clip, cold, discount, p)
    return found / sum(each.values()) if each else NAN


def ips(
    ranking,
    side,
    user,
    k,
    gamma=None,
    clip=None,
    cold="skip",
    discount="none",
    p=0.85,
    denominator="one",
):
    each = weights(side, user, gamma, clip, cold)
    if not each:
        return NAN
    found = sum(
        weight(r, discount, p) * each.get(item, 0) for r, item in enumerate(cut(ranking, k), 1)
    )
    longest = (len(ranking) or 1) if k is None else k
    return found / {"one": 1, "k": longest, "relevant": len(each)}[denominator]


def fewest(side, share):
    """The most popular items that together have this share of all interactions."""
    n, found, reached = side.interactions, set(), 0
    for item in sorted(n, key=lambda item: (-n[item], item)):
        if reached >= share * sum(n.values()):
            break
        found.add(item)
        reached += n[item]
    return found


def stratum_recall(ranking, side, user, k, stratum, head=0.2, tail=0.8):
    first, above = fewest(side, head), fewest(side, tail)
    every = set(side.truth.get(user, {}))
    inside = {"head": every & first, "middle": every & above - first, "tail": every - above}
    wanted = inside[stratum]
    return len(wanted & set(cut(ranking, k))) / len(wanted) if wanted else NAN


def expected(function, scored, side, user, k, **options):
    """The mean of a metric over every order of the ties."""
    runs = [
        [item for item in scored if scored[item] == score]
        for score in sorted(set(scored.values()), reverse=True)
    ]
    every = itertools.product(*(itertools.permutations(run) for run in runs))
    orders = [[item for run in order for item in run] for order in every]
    return mean(function(order, side, user, k, **options) for order in orders)
