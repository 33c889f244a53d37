"""Spark MLlib: ``RankingMetrics`` on rows of (list, labels[, relevances]).

The rows are the users of the truth, which is the caller's choice; one without a list has an empty
list. Items are given as their numbers. Means only.

``pyspark.mllib.evaluation.RankingMetrics`` takes a third column but never passes it on: ``[rel]``
shows that on one case. The graded NDCG is that of the Scala class, called through the gateway:
``[Scala, rel]`` gives it every judged item with its gain in the order of the truth, ``[Scala, rel,
sorted]`` the same by falling gain, because the ideal follows the order given.
"""

from importlib.metadata import version

import inputs
from pyspark.mllib.evaluation import RankingMetrics
from pyspark.sql import SparkSession

VERSION = version("pyspark")
PACKAGES = {}

GRADED = [
    "graded", "ties_graded", "negative_gains", "fractional_gains", "short_list_graded",
    "judged_and_unjudged",
]  # fmt: skip


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
        # The types are read from the first row: it must not be an empty list.
        users = sorted(case["truth"], key=lambda user: not case["rankings"].get(user))
        binary, given, falling = [], [], []
        for user in users:
            listed = [items[item] for item in inputs.ranked_items(case, user)]
            relevant = [items[item] for item in inputs.relevant_items(case, user)]
            judged = [(items[item], float(gain)) for item, gain in case["truth"][user].items()]
            binary.append((listed, relevant))
            given.append((listed, *columns(judged)))
            falling.append((listed, *columns(sorted(judged, key=lambda pair: -pair[1]))))
        spark = RankingMetrics(session.sparkContext.parallelize(binary, 1).cache())
        golden.attempt(case, "meanAveragePrecision", lambda m=spark: m.meanAveragePrecision)
        for name in ("precisionAt", "recallAt", "meanAveragePrecisionAt", "ndcgAt"):
            keep(golden, case, name, getattr(spark, name))
        if case["name"] in GRADED:
            keep(golden, case, "ndcgAt[Scala, rel]", scala(session, given).ndcgAt)
            keep(golden, case, "ndcgAt[Scala, rel, sorted]", scala(session, falling).ndcgAt)
        if case["name"] == "short_list_graded":
            ignored = RankingMetrics(session.sparkContext.parallelize(given, 1))
            keep(golden, case, "ndcgAt[rel]", ignored.ndcgAt)
    session.stop()


def columns(judged):
    return [item for item, _ in judged], [gain for _, gain in judged]


def scala(session, rows):
    """MLlib's own class on rows with relevances."""
    context = session.sparkContext
    jvm, gateway = context._jvm, context._gateway

    def array(kind, values):
        filled = gateway.new_array(kind, len(values))
        for at, value in enumerate(values):
            filled[at] = value
        return filled

    given = jvm.java.util.ArrayList()
    for listed, labels, gains in rows:
        anything = jvm.java.lang.Object
        row = array(anything, listed), array(anything, labels), array(jvm.double, gains)
        given.add(jvm.scala.Tuple3(*row))
    any_class = getattr(getattr(jvm.scala.reflect, "ClassTag$"), "MODULE$").Any()
    rdd = context._jsc.parallelize(given, 1).rdd()
    return jvm.org.apache.spark.mllib.evaluation.RankingMetrics(rdd, any_class)


def keep(golden, case, name, metric):
    for k in case["ks"]:
        golden.attempt(case, f"{name}@{k}", lambda k=k: metric(k))
