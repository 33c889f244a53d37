"""recommenders: diversity, novelty, serendipity and coverage of ``python_evaluation``.

Lists are cut at k before, as these functions have no cutoff. ``[relevance]`` gives the truth as
relevance; ``[item_feature_vector]`` takes the cosine of the categories instead of that of the users
in the training data.
"""

from importlib.metadata import version

import numpy
import pandas
import shown as inputs
from recommenders.evaluation import python_evaluation as evaluation

VERSION = version("recommenders")
PACKAGES = {name: version(name) for name in ("numpy", "pandas")}


def record(golden):
    for case in inputs.CASES:
        if case["name"] == "shown_repeated":
            continue
        train = frame((user, item) for user, own in case["train"].items() for item in own)
        genres = sorted({genre for own in case["categories"].values() for genre in own})
        vectors = [
            (item, numpy.array([float(genre in own) for genre in genres]))
            for item, own in case["categories"].items()
        ]
        features = pandas.DataFrame(vectors, columns=["itemID", "features"])
        for k in case["ks"]:
            shown = frame(
                (user, item)
                for user in case["rankings"]
                for item in inputs.ranked_items(case, user)[:k]
            )
            judged = shown.assign(
                relevance=[
                    float(item in case["truth"].get(user, ()))
                    for user, item in zip(shown["userID"], shown["itemID"])
                ]
            )
            vector = {"item_feature_df": features, "item_sim_measure": "item_feature_vector"}
            for name, reco, per_user, options in [
                ("novelty", shown, None, {}),
                ("catalog_coverage", shown, None, {}),
                ("distributional_coverage", shown, None, {}),
                ("diversity", shown, "user_diversity", {}),
                ("serendipity", shown, "user_serendipity", {}),
                ("serendipity[relevance]", judged, "user_serendipity", {}),
                ("diversity[item_feature_vector]", shown, "user_diversity", vector),
                ("serendipity[item_feature_vector]", shown, "user_serendipity", vector),
                ("serendipity[relevance, item_feature_vector]", judged, "user_serendipity", vector),
            ]:
                more = {"col_relevance": "relevance"} if "relevance" in name else {}
                golden.attempt(
                    case,
                    f"{name}@{k}",
                    lambda n=name, r=reco, p=per_user, o=dict(options, **more): answer(
                        n, train, r, p, o
                    ),
                )


def frame(rows):
    return pandas.DataFrame(list(rows), columns=["userID", "itemID"])


def answer(name, train, reco, per_user, options):
    mean = getattr(evaluation, name.partition("[")[0])(train.copy(), reco.copy(), **options)
    if per_user is None:
        return mean
    values = getattr(evaluation, per_user)(train.copy(), reco.copy(), **options)
    return mean, dict(zip(values["userID"], values[per_user]))
