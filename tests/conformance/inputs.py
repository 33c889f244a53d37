"""The inputs that every tool under comparison is fed: small, deterministic, frozen.

A case is a plain dict::

    {"name": str,
     "features": [str, ...],                       what the case is there to show
     "ks": [int, ...],                             the cutoffs recorded for it
     "rankings": {user: [[item, score], ...]},     in list order
     "truth": {user: {item: gain}},
     "relevant": {"at_least": x} or {"above": x}}  which gains make an item relevant

Items and users are strings. List order is descending score in every case but ``unsorted``; among
equal scores it is arbitrary on purpose, so that "list order", "item ascending" and "item
descending" are three different answers. Scores are exact in float32 in every case but
``float32_ties``. Changing anything here invalidates every golden: `digest` guards it.

Standard library only, Python 3.8 or later: recording scripts import this from inside the tools' own
environments.
"""

import hashlib
import json
import random

ALL_K = [1, 3, 5, 10, 20]
SOME_K = [3, 10]


class Draw:
    """Random choices that are the same on every Python: built on ``random()`` alone."""

    def __init__(self, name):
        self._random = random.Random("rankmeter conformance " + name).random

    def below(self, n):
        return int(self._random() * n)

    def between(self, low, high):
        return low + self.below(high - low + 1)

    def chance(self, p):
        return self._random() < p

    def some(self, items, n):
        """`n` different items in random order."""
        left = list(items)
        return [left.pop(self.below(len(left))) for _ in range(n)]

    def biased(self, items, n, favoured, p):
        """`n` different items in random order; each pick prefers `favoured` with chance `p`."""
        picked = []
        good = self.some(favoured, len(favoured))
        bad = self.some([i for i in items if i not in favoured], len(items) - len(favoured))
        while len(picked) < n and (good or bad):
            source = good if good and (not bad or self.chance(p)) else bad
            picked.append(source.pop())
        return picked


def names(letter, n):
    return [f"{letter}{i:02d}" for i in range(1, n + 1)]


def with_scores(items, scores):
    return [[item, score] for item, score in zip(items, scores)]


def falling(draw, n):
    """`n` strictly falling positive scores, multiples of 1/64: exact in float32."""
    score = 0
    scores = []
    for _ in range(n):
        score += draw.between(1, 9)
        scores.append(score / 64)
    return scores[::-1]


def case(name, features, rankings, truth, ks=None, relevant=None):
    return {
        "name": name,
        "features": features,
        "ks": ks or SOME_K,
        "rankings": rankings,
        "truth": truth,
        "relevant": relevant or {"above": 0},
    }


def generate(
    name,
    users=20,
    catalogue=50,
    length=(20, 20),
    n_truth=(1, 12),
    gains=(1,),
    hit_chance=0.35,
    scores=falling,
):
    """Rankings and truth of `users`: per user a truth of random size, a list that prefers it."""
    draw = Draw(name)
    items = names("d", catalogue)
    rankings, truth = {}, {}
    for user in names("u", users):
        judged = draw.some(items, draw.between(*n_truth))
        # The first judgment takes the largest gain: every user has something relevant.
        truth[user] = {
            item: max(gains) if at == 0 else gains[draw.below(len(gains))]
            for at, item in enumerate(judged)
        }
        n = draw.between(*length)
        listed = draw.biased(items, n, judged, hit_chance)
        rankings[user] = with_scores(listed, scores(draw, n))
    return rankings, truth


def plain():
    rankings, truth = generate("plain", users=30, n_truth=(1, 25))
    return case("plain", ["no ties", "binary", "lists of 20"], rankings, truth, ALL_K)


def graded():
    rankings, truth = generate("graded", n_truth=(4, 20), gains=(0, 0, 1, 2, 3, 4), hit_chance=0.5)
    features = ["no ties", "gains 0 to 4", "judged items without gain"]
    return case("graded", features, rankings, truth, ALL_K)


def coarse(draw, n):
    """Falling scores with few levels: long runs of equal scores."""
    return sorted((1 + draw.below(5) for _ in range(n)), reverse=True)


def ties():
    rankings, truth = generate(
        "ties", length=(6, 30), n_truth=(2, 15), gains=(0, 1, 1), scores=coarse
    )
    return case("ties", ["many score ties", "binary"], rankings, truth, ALL_K)


def ties_graded():
    rankings, truth = generate(
        "ties_graded", length=(6, 30), n_truth=(4, 15), gains=(0, 1, 2, 3), scores=coarse
    )
    return case("ties_graded", ["many score ties", "gains 0 to 3"], rankings, truth)


def three_way_tie():
    features = ["three equal scores", "worked by hand"]
    listed = {
        "u01": ["d1", "d2", "d3"],
        "u02": ["d1", "d2", "d3"],
        "u03": ["d3", "d2", "d1"],
        "u04": ["d3", "d2", "d1"],
        "u05": ["d2", "d3", "d1"],
    }
    truth = {
        "u01": {"d1": 1},
        "u02": {"d3": 1},
        "u03": {"d1": 1},
        "u04": {"d3": 1},
        "u05": {"d2": 1},
    }
    rankings = {user: with_scores(items, [1.0] * 3) for user, items in listed.items()}
    return case("three_way_tie", features, rankings, truth, [1, 3])


def float32_ties():
    def close(draw, n):
        # Groups of up to four: apart by 1e-9 around 0.5 and 0.9, equal once rounded to float32.
        scores = []
        level = 0.95
        while len(scores) < n:
            scores += [level - 1e-9 * i for i in range(min(draw.between(1, 4), n - len(scores)))]
            level -= 0.03
        return scores

    rankings, truth = generate("float32_ties", length=(15, 15), scores=close)
    return case("float32_ties", ["scores closer than 1e-7"], rankings, truth)


def short_lists():
    rankings, truth = generate("short_lists", length=(1, 6), n_truth=(1, 8), hit_chance=0.5)
    return case("short_lists", ["lists of 1 to 6", "k above the length"], rankings, truth, ALL_K)


def empty_lists():
    rankings, truth = generate("empty_lists", length=(4, 12))
    for user in ["u03", "u08", "u20"]:
        rankings[user] = []
    return case("empty_lists", ["three users with an empty list"], rankings, truth)


def missing_users():
    rankings, truth = generate("missing_users", length=(10, 10))
    for user in ["u01", "u06", "u07", "u13", "u20"]:
        del rankings[user]
    return case("missing_users", ["five users of the truth without a list"], rankings, truth)


def extra_users():
    rankings, truth = generate("extra_users", length=(10, 10))
    for user in ["u01", "u06", "u07", "u13", "u20"]:
        del truth[user]
    return case("extra_users", ["five users with a list but without truth"], rankings, truth)


def zero_truth():
    rankings, truth = generate("zero_truth", length=(10, 10))
    for user in ["u02", "u05", "u11", "u19"]:
        truth[user] = dict.fromkeys(truth[user], 0)
    return case("zero_truth", ["four users whose judgments are all zero"], rankings, truth)


def empty_truth():
    rankings, truth = generate("empty_truth", length=(10, 10))
    for user in ["u02", "u05", "u11", "u19"]:
        truth[user] = {}
    return case("empty_truth", ["four users with an empty truth"], rankings, truth)


def no_hits():
    rankings, truth = generate("no_hits", length=(12, 12))
    for user in names("u", 20)[::2]:
        listed = rankings[user]
        rankings[user] = [pair for pair in listed if pair[0] not in truth[user]]
    return case("no_hits", ["ten users without a hit"], rankings, truth)


def rated(name, relevant):
    # Both threshold cases are the same ratings: only the rule differs.
    rankings, truth = generate("rated", n_truth=(5, 20), gains=(1, 2, 3, 4, 5), hit_chance=0.5)
    return case(name, ["ratings 1 to 5"], rankings, truth, relevant=relevant)


def rated_at_least_4():
    return rated("rated_at_least_4", {"at_least": 4})


def rated_above_4():
    return rated("rated_above_4", {"above": 4})


def negative_gains():
    rankings, truth = generate(
        "negative_gains", n_truth=(4, 15), gains=(-2, -1, 0, 1, 2, 3), hit_chance=0.5
    )
    return case("negative_gains", ["gains -2 to 3"], rankings, truth)


def fractional_gains():
    rankings, truth = generate(
        "fractional_gains", n_truth=(4, 15), gains=(0.25, 0.5, 0.75, 1.5, 2.5), hit_chance=0.5
    )
    return case("fractional_gains", ["gains that are not whole"], rankings, truth)


def negative_scores():
    rankings, truth = generate("negative_scores")
    for listed in rankings.values():
        middle = listed[len(listed) // 2][1]
        listed[:] = [[item, score - middle] for item, score in listed]
    return case("negative_scores", ["half of the scores at or below zero"], rankings, truth)


def unsorted():
    rankings, truth = generate("unsorted")
    draw = Draw("unsorted order")
    rankings = {user: draw.some(listed, len(listed)) for user, listed in rankings.items()}
    return case("unsorted", ["list order is not score order"], rankings, truth)


def duplicates():
    rankings, truth = generate("duplicates", length=(12, 12), hit_chance=0.5)
    draw = Draw("duplicates again")
    for listed in rankings.values():
        # The second copy of an item is lower in the list, in place of another item.
        first, again = sorted(draw.some(range(len(listed)), 2))
        listed[again][0] = listed[first][0]
    return case("duplicates", ["one item twice in every list"], rankings, truth)


def one_item():
    rankings, truth = generate("one_item", users=30, n_truth=(1, 1), hit_chance=0.08)
    return case("one_item", ["truths of one item"], rankings, truth, ALL_K)


def k_beyond_catalogue():
    rankings, truth = generate(
        "k_beyond_catalogue", catalogue=6, length=(4, 4), n_truth=(1, 5), hit_chance=0.5
    )
    return case("k_beyond_catalogue", ["lists of 4", "catalogue of 6"], rankings, truth, ALL_K)


def absent_items():
    rankings, truth = generate("absent_items", length=(12, 12))
    for at, judged in enumerate(truth.values()):
        # Items that no list contains; for every fourth user nothing else is relevant.
        if at % 4 == 0:
            judged.clear()
        judged.update({f"x{n}": 1 for n in range(at % 3 + 1)})
    return case("absent_items", ["true items that no list contains"], rankings, truth)


def number_ids(name, features):
    """Items "1" to "50" with ties: "10" comes before "9" as text, after it as a number."""
    rankings, truth = generate(
        "number_ids", length=(6, 20), n_truth=(2, 12), gains=(0, 1, 1), scores=coarse
    )

    def plain_number(item):
        return str(int(item[1:]))

    rankings = {
        user: [[plain_number(item), score] for item, score in listed]
        for user, listed in rankings.items()
    }
    truth = {
        user: {plain_number(item): gain for item, gain in judged.items()}
        for user, judged in truth.items()
    }
    return case(name, features, rankings, truth)


def string_ids():
    return number_ids("string_ids", ["numbers as text", "many score ties"])


def integer_ids():
    return number_ids("integer_ids", ["numbers as numbers", "many score ties"])


def full_catalogue():
    rankings, truth = generate(
        "full_catalogue", catalogue=30, length=(30, 30), n_truth=(1, 6), hit_chance=0.3
    )
    return case("full_catalogue", ["every item ranked", "no ties"], rankings, truth)


def full_catalogue_ties():
    rankings, truth = generate(
        "full_catalogue_ties",
        catalogue=30,
        length=(30, 30),
        n_truth=(1, 6),
        hit_chance=0.3,
        scores=lambda draw, n: sorted((1 + draw.below(12) for _ in range(n)), reverse=True),
    )
    return case("full_catalogue_ties", ["every item ranked", "score ties"], rankings, truth)


def worked(name, truth, listed="axb", scores=(0.75, 0.5, 0.25)):
    rankings = {"u01": with_scores(listed, scores)}
    return case(name, ["worked by hand"], rankings, {"u01": truth}, [1, 2, 3, 5])


def short_list_many_relevant():
    """The list [a, x, b] of three where six items are relevant."""
    return worked("short_list_many_relevant", dict.fromkeys("abcdef", 1))


def short_list_two_relevant():
    """The list [a, x, b] of three where just a and b are relevant."""
    return worked("short_list_two_relevant", {"a": 1, "b": 1})


def short_list_graded():
    """The list [a, x, b] of three where a has gain 1 and b gain 3."""
    return worked("short_list_graded", {"a": 1, "b": 3})


def judged_and_unjudged():
    """Four items ranked b x a d: x is unjudged, d judged without gain, c and e never ranked."""
    truth = {"a": 3, "b": 2, "c": 1, "d": 0, "e": 1}
    return worked("judged_and_unjudged", truth, "bxad", (0.875, 0.75, 0.625, 0.5))


CASES = [
    plain(),
    graded(),
    ties(),
    ties_graded(),
    three_way_tie(),
    float32_ties(),
    short_lists(),
    empty_lists(),
    missing_users(),
    extra_users(),
    zero_truth(),
    empty_truth(),
    no_hits(),
    rated_at_least_4(),
    rated_above_4(),
    negative_gains(),
    fractional_gains(),
    negative_scores(),
    unsorted(),
    duplicates(),
    one_item(),
    k_beyond_catalogue(),
    absent_items(),
    string_ids(),
    integer_ids(),
    full_catalogue(),
    full_catalogue_ties(),
    short_list_many_relevant(),
    short_list_two_relevant(),
    short_list_graded(),
    judged_and_unjudged(),
]


def is_relevant(case, gain):
    """Whether `gain` makes an item relevant by the rule of `case`."""
    rule = case["relevant"]
    return gain > rule["above"] if "above" in rule else gain >= rule["at_least"]


def relevant_items(case, user):
    """The relevant items of `user` in the order of the truth: for tools without gains."""
    judged = case["truth"].get(user, {})
    return [item for item, gain in judged.items() if is_relevant(case, gain)]


def ranked_items(case, user):
    """The items of `user` in list order: for tools that take lists."""
    return [item for item, _ in case["rankings"].get(user, [])]


def in_score_order(case):
    """`case` with every list sorted by falling score; equal scores keep their list order."""
    rankings = {
        user: sorted(listed, key=lambda pair: -pair[1]) for user, listed in case["rankings"].items()
    }
    return dict(case, rankings=rankings)


def with_typed_items(case):
    """`case` with integers as items if it is ``integer_ids``: for tools that take both."""
    if case["name"] != "integer_ids":
        return case
    rankings = {
        user: [[int(item), score] for item, score in listed]
        for user, listed in case["rankings"].items()
    }
    truth = {
        user: {int(item): gain for item, gain in judged.items()}
        for user, judged in case["truth"].items()
    }
    return dict(case, rankings=rankings, truth=truth)


def item_numbers(case):
    """Item to 1, 2, 3 ...: the items' order kept, for tools that take only integers.

    The order is that of the text, except in ``integer_ids``, where an item is its own number.
    """
    items = {item for judged in case["truth"].values() for item in judged}
    items |= {item for listed in case["rankings"].values() for item, _ in listed}
    if case["name"] == "integer_ids":
        return {item: int(item) for item in sorted(items, key=int)}
    return {item: at for at, item in enumerate(sorted(items), start=1)}


def user_numbers(case):
    """User to 1, 2, 3 ... in the order of the text."""
    users = set(case["truth"]) | set(case["rankings"])
    return {user: at for at, user in enumerate(sorted(users), start=1)}


def candidates(case, scope):
    """Labels and scores of each user with a candidate, in list order."""
    rows = {}
    for user in sorted(set(case["rankings"]) & set(case["truth"])):
        judged, listed = case["truth"][user], list(case["rankings"][user])
        if scope == "list+truth":
            ranked = set(ranked_items(case, user))
            low = min((score for _, score in listed), default=0.0) - 1.0
            listed += [[item, low] for item in judged if item not in ranked]
        if listed:
            rows[user] = [judged.get(i, 0) for i, _ in listed], [score for _, score in listed]
    return rows


def digest():
    """A fingerprint of all cases, stored in every golden."""
    text = json.dumps(CASES, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:16]
