"""LensKit: ``RunAnalysis().add_metric(...)``, and the functions for one list, called user by user.

``entropy`` and ``rank_biased_entropy`` get a row of categories for each item of the list, divided
by their number; ``rank_biased_overlap`` and ``least_item_promoted`` get the list of the baseline as
reference, and are asked for users that have one.
"""

import warnings
from importlib.metadata import version

import numpy
import pandas
import shown as inputs
from lenskit.data import ItemList, ItemListCollection, from_interactions_df
from lenskit.metrics import (
    ExposureGini,
    ListGini,
    ListLength,
    MeanPopRank,
    RunAnalysis,
    least_item_promoted,
    rank_biased_overlap,
)
from lenskit.metrics.ranking._entropy import entropy, rank_biased_entropy

VERSION = version("lenskit")
PACKAGES = {name: version(name) for name in ("numpy", "pandas")}


def record(golden):
    for case in inputs.CASES:
        if case["name"] == "shown_repeated":
            continue
        ranked = {user: inputs.ranked_items(case, user) for user in case["rankings"]}
        rows = [(user, item) for user, own in case["train"].items() for item in own]
        train = from_interactions_df(pandas.DataFrame(rows, columns=["user_id", "item_id"]))
        n_items = len(case["catalogue"])
        golden.attempt(case, "ListLength", lambda: measured(ListLength(), case, ranked))
        for k in case["ks"]:
            for metric in [ListGini(k, items=n_items), ExposureGini(k, items=n_items),
                           MeanPopRank(train, n=k)]:  # fmt: skip
                name = f"{type(metric).__name__}@{k}"
                golden.attempt(case, name, lambda m=metric: measured(m, case, ranked))
            for metric in (entropy, rank_biased_entropy):
                golden.attempt(
                    case,
                    f"{metric.__name__}@{k}",
                    lambda m=metric, k=k: of_rows(m, k, case, ranked),
                )
            for metric in (rank_biased_overlap, least_item_promoted):
                golden.attempt(
                    case,
                    f"{metric.__name__}@{k}",
                    lambda m=metric, k=k: next_to(m, k, case, ranked),
                )


def measured(metric, case, ranked):
    lists, test = ItemListCollection(["user_id"]), ItemListCollection(["user_id"])
    for user, items in ranked.items():
        lists.add(ItemList(item_ids=items, ordered=True), user_id=user)
        test.add(ItemList(item_ids=list(case["truth"].get(user, ()))), user_id=user)
    analysis = RunAnalysis()
    analysis.add_metric(metric, label="value")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = analysis.measure(lists, test)
    if isinstance(metric, (ListGini, ExposureGini)):
        return float(result.global_metrics()["value"])
    values = result.list_metrics()["value"]
    mean = result.list_summary().loc["value", "mean"]
    return mean, {k[0] if isinstance(k, tuple) else k: v for k, v in values.items()}


def of_rows(metric, k, case, ranked):
    genres = sorted({genre for own in case["categories"].values() for genre in own})
    values = {}
    for user, items in ranked.items():
        own = [case["categories"].get(item, ()) for item in items]
        rows = [[(genre in mine) / max(len(mine), 1) for genre in genres] for mine in own]
        values[user] = metric(
            ItemList(item_ids=items), numpy.array(rows).reshape(-1, len(genres)), n=k
        )
    return None, values


def next_to(metric, k, case, ranked):
    values = {}
    for user, items in ranked.items():
        if items and user in case["baseline"]:
            reference, reranked = (ItemList(item_ids=one, ordered=True)
                                   for one in (case["baseline"][user], items))  # fmt: skip
            values[user] = metric(reference, reranked, n=k)
    return None, values
