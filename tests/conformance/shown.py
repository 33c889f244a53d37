"""The inputs of the recordings about what was shown: lists with side data, frozen as `inputs`.

A case is one of `inputs` with more keys::

    "train": {user: [item, ...]},       what each user had before; every item once
    "categories": {item: [name, ...]},
    "catalogue": [item, ...],
    "baseline": {user: [item, ...]},    the lists of another system

Scripts of ``record/shown`` import it as `inputs`. A module of its own, so that its changes leave
the goldens of ``record`` alone.

Standard library only, Python 3.8 or later.
"""

import hashlib
import json

from inputs import (
    Draw,
    case,
    falling,
    item_numbers,
    names,
    ranked_items,
    relevant_items,
    user_numbers,
    with_scores,
)

__all__ = ["CASES", "digest", "item_numbers", "ranked_items", "relevant_items", "user_numbers"]

GENRES = ["action", "comedy", "drama", "noir", "war"]
KS = [3, 10]


def generate(
    name, features, length=(10, 10), n_genres=(1, 3), pool="fresh", cold_users=0, lacking=0
):
    """20 users and 40 items, of which the training data has some of the first 30, unevenly.

    The first users have no training data. Lists hold items that are ``fresh`` to the user, cold
    ones included, or ``warm``: fresh, but known to others; or ``any``. Truths hold fresh items,
    with gains of 1 to 3.
    """
    draw, users, items = Draw(name), names("u", 20), names("d", 40)
    train = {}
    for user in users[cold_users:]:
        n = draw.between(3, 9)
        train[user] = sorted(set(draw.some(items[:8], 3) + draw.some(items[:30], n - 2)))
    rankings, truth, baseline = {}, {}, {}
    for user in users:
        fresh = [item for item in items if item not in train.get(user, ())]
        if pool == "warm":
            fresh = [item for item in fresh if any(item in own for own in train.values())]
        truth[user] = {i: draw.between(1, 3) for i in draw.some(fresh, draw.between(1, 6))}
        shown = items if pool == "any" else fresh
        listed = draw.biased(shown, draw.between(*length), list(truth[user]), 0.4)
        rankings[user] = with_scores(listed, falling(draw, len(listed)))
        baseline[user] = draw.some(items, draw.between(*length))
    genres = {item: draw.some(GENRES, draw.between(*n_genres)) for item in items}
    for item in draw.some(items, lacking):
        del genres[item]
    side = {"train": train, "categories": genres, "catalogue": items, "baseline": baseline}
    return dict(case(name, ["side data", *features], rankings, truth, KS), **side)


def shown():
    return generate("shown", ["lists of 10", "cold items"])


def shown_warm():
    return generate("shown_warm", ["lists of 4 to 12", "no cold items"], (4, 12), pool="warm")


def shown_short():
    features = ["lists of 1 to 8", "cold items", "four users without training data"]
    return generate("shown_short", features, length=(1, 8), cold_users=4)


def shown_empty():
    made = generate("shown_empty", ["three users with an empty list"], length=(4, 12))
    for user in ["u02", "u09", "u15"]:
        made["rankings"][user] = []
    return made


def shown_gaps():
    made = generate("shown_gaps", ["users without a list, truth or baseline"], length=(4, 12))
    for user in ["u02", "u09", "u15"]:
        del made["rankings"][user]
    for user in ["u05", "u09", "u11"]:
        del made["truth"][user]
    for user in ["u03", "u15"]:
        del made["baseline"][user]
    return made


def shown_seen():
    return generate("shown_seen", ["seen items"], length=(10, 12), pool="any")


def shown_lacking():
    return generate("shown_lacking", ["items without categories"], lacking=8)


def shown_one_category():
    return generate("shown_one_category", ["one category each"], length=(10, 12), n_genres=(1, 1))


def shown_repeated():
    made = generate("shown_repeated", ["an item twice in every other list"])
    draw = Draw("shown_repeated again")
    for user in names("u", 20)[::2]:
        first, again = sorted(draw.some(range(10), 2))
        made["rankings"][user][again][0] = made["rankings"][user][first][0]
    return made


CASES = [
    shown(),
    shown_warm(),
    shown_short(),
    shown_empty(),
    shown_gaps(),
    shown_seen(),
    shown_lacking(),
    shown_one_category(),
    shown_repeated(),
]


def digest():
    """A fingerprint of all cases, stored in every golden."""
    text = json.dumps(CASES, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:16]
