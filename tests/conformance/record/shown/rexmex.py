"""rexmex: list metrics, from lists cut at k.

Only novelty has a cutoff of its own; it wants every list to be so long, and a popularity for every
item: the number of its training users. Coverage is asked of the users of the ground truth.
"""

from importlib.metadata import version

import numpy
import shown as inputs
from rexmex.metrics import coverage, ranking

VERSION = version("rexmex")
PACKAGES = {name: version(name) for name in ("numpy", "scipy", "scikit-learn")}


def record(golden):
    for case in inputs.CASES:
        if case["name"] == "shown_repeated":
            continue
        number = {item: at for at, item in enumerate(case["catalogue"])}
        train = [item for own in case["train"].values() for item in own]
        popularity = {item: train.count(item) for item in case["catalogue"]}
        genres = sorted({genre for own in case["categories"].values() for genre in own})
        vectors = numpy.array(
            [[genre in case["categories"].get(item, ()) for genre in genres] for item in number],
            dtype=float,
        )
        possible = [sorted(case["truth"]), case["catalogue"]]
        for k in case["ks"]:
            lists = {user: inputs.ranked_items(case, user)[:k] for user in case["rankings"]}
            shown = [items for items in lists.values() if items]
            numbers = [[number[item] for item in items] for items in shown]
            pairs = [(user, item) for user, items in lists.items() for item in items]
            n = len(case["train"])
            for name, metric, *fed in [
                ("novelty", ranking.novelty, shown, popularity, n, k),
                ("intra_list_similarity", ranking.intra_list_similarity, numbers, vectors),
                ("personalization", ranking.personalization, shown),
                ("user_coverage", coverage.user_coverage, possible, pairs),
                ("item_coverage", coverage.item_coverage, possible, pairs),
            ]:
                golden.attempt(case, f"{name}@{k}", lambda m=metric, f=fed: m(*f))
