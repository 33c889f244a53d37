"""RecTools: list metrics, ``metric.calc(...)`` and ``calc_per_user``.

``reco`` holds user, item and the place in the list; train is ``prev_interactions``, the categories
are columns of 0 and 1, and an item without any has no row. Catalogue coverage has no values per
user.
"""

from importlib.metadata import version

import pandas
import shown as inputs
from rectools import Columns
from rectools.metrics import (
    AvgRecPopularity,
    CatalogCoverage,
    CoveredUsers,
    Intersection,
    IntraListDiversity,
    MeanInvUserFreq,
    PairwiseHammingDistanceCalculator,
    Serendipity,
    SufficientReco,
    UnrepeatedReco,
)

VERSION = version("rectools")
PACKAGES = {name: version(name) for name in ("numpy", "pandas", "scipy")}


def record(golden):
    for case in inputs.CASES:
        ranked = {user: inputs.ranked_items(case, user) for user in case["rankings"]}
        reco, baseline = frame(ranked), frame(case["baseline"])
        train, truth = (frame(case[key]).drop(columns=Columns.Rank) for key in ("train", "truth"))
        catalogue = case["catalogue"]
        far = PairwiseHammingDistanceCalculator(features(case["categories"]))
        for k in case["ks"]:
            asked = {
                "MeanInvUserFreq": (MeanInvUserFreq(k), reco, train),
                "AvgRecPopularity": (AvgRecPopularity(k), reco, train),
                "AvgRecPopularity[normalize]": (AvgRecPopularity(k, normalize=True), reco, train),
                "IntraListDiversity": (IntraListDiversity(k, far), reco),
                "Serendipity": (Serendipity(k), reco, truth, train, catalogue),
                "CatalogCoverage": (CatalogCoverage(k), reco, catalogue),
                "CatalogCoverage[normalize]": (CatalogCoverage(k, normalize=True), reco, catalogue),
                "Intersection": (Intersection(k), reco, baseline),
                "Intersection[ref_k=5]": (Intersection(k, ref_k=5), reco, baseline),
                "SufficientReco": (SufficientReco(k), reco),
                "SufficientReco[deep]": (SufficientReco(k, deep=True), reco),
                "UnrepeatedReco": (UnrepeatedReco(k), reco),
                "UnrepeatedReco[deep]": (UnrepeatedReco(k, deep=True), reco),
                "CoveredUsers": (CoveredUsers(k), reco, truth),
            }
            for name, (metric, *fed) in asked.items():
                golden.attempt(case, f"{name}@{k}", lambda m=metric, f=fed: answer(m, f))


def frame(lists):
    rows = [(user, item, r) for user, own in lists.items() for r, item in enumerate(own, start=1)]
    return pandas.DataFrame(rows, columns=[Columns.User, Columns.Item, Columns.Rank])


def features(categories):
    genres = sorted({genre for own in categories.values() for genre in own})
    rows = [[item, *(float(genre in own) for genre in genres)] for item, own in categories.items()]
    return pandas.DataFrame(rows, columns=[Columns.Item, *genres]).set_index(Columns.Item)


def answer(metric, fed):
    whole = isinstance(metric, CatalogCoverage)
    return metric.calc(*fed), None if whole else metric.calc_per_user(*fed).to_dict()
