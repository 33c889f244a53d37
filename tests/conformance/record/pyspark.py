"""Spark MLlib: ``pyspark.mllib.evaluation.RankingMetrics`` on rows of (list, labels[, relevances]).

The rows are the users of the truth, which is the caller's choice; one without a list has an empty
list. Items are given as their numbers. ``[rel]`` passes every judged item with its gain in the order
of the truth, ``[rel, sorted]`` the same by falling gain: the ideal follows that order. Means only.
"""

from importlib.metadata import version

import inputs
from pyspark.mllib.evaluation import RankingMetrics
from pyspark.sql import SparkSession

VERSION = version("pyspark")
PACKAGES = {}


def record(golden):
    session = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "1")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    for case in inputs.CASES:
        items = inputs.item_numbers(case)
        users = sorted(case["truth"], key=lambda user: not case["rankings"].get(user))
        binary, given, falling = [], [], []
        for user in users:
            listed = [items[item] for item in inputs.ranked_items(case, user)]
            relevant = [items[item] for item in inputs.relevant_items(case, user)]
            judged = [(items[item], float(gain)) for item, gain in case["truth"][user].items()]
            binary.append((listed, relevant))
            given.append((listed, *columns(judged)))
            falling.append((listed, *columns(sorted(judged, key=lambda pair: -pair[1]))))
        keep_binary(golden, case, metrics(session, binary))
        if "gains" in " ".join(case["features"]) or case["name"] in (
            "short_list_graded",
            "judged_and_unjudged",
        ):
            keep_graded(golden, case, "ndcgAt[rel]", metrics(session, given))
            keep_graded(golden, case, "ndcgAt[rel, sorted]", metrics(session, falling))
    session.stop()


def columns(judged):
    return [item for item, _ in judged], [gain for _, gain in judged]


def metrics(session, rows):
    return RankingMetrics(session.sparkContext.parallelize(rows, 1).cache())


def keep_binary(golden, case, spark):
    golden.attempt(case, "meanAveragePrecision", lambda: spark.meanAveragePrecision)
    for k in case["ks"]:
        for name in ("precisionAt", "recallAt", "meanAveragePrecisionAt", "ndcgAt"):
            golden.attempt(case, "%s@%d" % (name, k), lambda n=name, k=k: getattr(spark, n)(k))


def keep_graded(golden, case, name, spark):
    for k in case["ks"]:
        golden.attempt(case, "%s@%d" % (name, k), lambda k=k: spark.ndcgAt(k))
