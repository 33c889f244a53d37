"""Frames of Spark, in one session: the number of the other containers, or an error."""

from __future__ import annotations

import importlib.util
import os
import random
import shutil
import sys

import pytest

import rankmeter as rm
from door.judge import ask, naive, right
from door.shapes import HOLD, MODES, SHAPES, Cell, judge

pytestmark = [
    pytest.mark.skipif(
        not (shutil.which("java") and importlib.util.find_spec("pyspark")),
        reason="no Java or no PySpark",
    ),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


@pytest.fixture(scope="module")
def spark():
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "1").config("spark.log.level", "ERROR")
    session = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    yield session
    session.stop()


NAMED = [name for name, shape in SHAPES.items() if shape.named]


@pytest.mark.parametrize("names", MODES)
@pytest.mark.parametrize("name", NAMED)
def test_a_frame_of_spark_is_read_right_or_refused(name, names, spark, tmp_path, monkeypatch):
    def hold(rows, _):
        return spark.createDataFrame([tuple(row.values()) for row in rows], list(rows[0]))

    monkeypatch.setitem(HOLD, "spark", hold)
    judge(Cell(name, "evaluate", "spark", names), tmp_path)


def test_recommendations_of_als_are_read(spark):
    rng = random.Random(1)
    lists = {u: rng.sample(range(40), 5) for u in range(1, 11)}
    rows = [(u, [(i, 9.5 - n) for n, i in enumerate(items)]) for u, items in lists.items()]
    kinds = "user_id int, recommendations array<struct<movie_id: int, rating: float>>"
    truth = {u: [items[u % 5]] for u, items in lists.items()}
    frame = spark.createDataFrame(rows, kinds)
    right(ask(rm.evaluate, frame, truth, "rr"), naive(lists, truth))
    judged = spark.createDataFrame([(u, items[0]) for u, items in truth.items()], ["user_id", "i"])
    columns = {"truth": {"item": "i"}}
    right(ask(rm.evaluate, frame, judged, "rr", columns=columns), naive(lists, truth))
