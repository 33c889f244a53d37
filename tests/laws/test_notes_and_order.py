"""Cautions, notes, counts and refusals depend on the data, not on row order, blocks or engine."""

from __future__ import annotations

import re
import warnings

import numpy as np
import polars as pl
import pytest

import rankmeter as rm
from rankmeter._engine.memory import Memory
from rankmeter.errors import RankmeterError

pytestmark = pytest.mark.once

N = 400


def frame(columns, rows):
    return pl.DataFrame(rows, schema=columns, orient="row")


def lists(score, users=N):
    """Ten items of each user, in the order of their ranks."""
    rows = [(f"u{n:04d}", f"i{item}", item + 1, score(n, item)) for n in range(users)
            for item in range(10)]  # fmt: skip
    return frame(["user", "item", "rank", "score"], rows)


def judged(gain, users=N, items=3):
    rows = [(f"u{n:04d}", f"i{item}", gain(n, item)) for n in range(users) for item in range(items)]
    return frame(["user", "item", "gain"], rows)


PLAIN, ALL = lists(lambda _, item: 10.0 - item).drop("rank"), judged(lambda *_: 1)
CASES = {
    "plain": (PLAIN, ALL),
    "ranks against scores of the later users": (
        lists(lambda n, item: float(item if n > N // 2 else 10 - item)), ALL,
    ),
    "ranks against scores of one user": (
        lists(lambda n, item: float(item if n == 3 else 10 - item)), ALL,
    ),
    "ties of some users": (lists(lambda n, item: float(n % 7 > 0) * item).drop("rank"), ALL),
    "grades that start late": (PLAIN, judged(lambda n, item: 5 if n > 300 else item % 2)),
    "no relevant item of some": (PLAIN, judged(lambda n, _: int(n < 200))),
    "users without a ranking": (PLAIN.filter(pl.col("user") > "u0150"), ALL),
    "ratings as truth": (PLAIN, judged(lambda n, item: 1 + (n + item) % 5)),
    "scores as truth": (
        PLAIN, judged(lambda n, item: 0.137 * item + n / 1000, items=6),
    ),
    "words for relevance": (
        PLAIN,
        judged(lambda n, item: "relevant" if n > 150 else f"text {n} {item}").rename(
            {"gain": "remark"}
        ),
    ),
    "chunks without a document": (
        PLAIN.with_columns(
            item=pl.when(pl.col("user") > "u0200").then(pl.format("{}#1", "item")).otherwise(
                pl.format("x{}y", "item")
            )
        ),
        ALL,
    ),
    "repeated items": (pl.concat([PLAIN, PLAIN.filter(pl.col("user") == "u0399")]), ALL),
}  # fmt: skip


def said(rankings, truth, **options):
    """All that a reader is shown, or the error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = rm.evaluate(rankings, truth, "ndcg@5 rr", **options)
            found = {
                "cautions": result.cautions,
                "notes": result.notes,
                "counts": {n: c for n, c in result.counts.items() if c},
                "means": [result[label].mean for label in result],
            }
        except RankmeterError as error:
            found = {"error": re.sub(r"[Rr]ows? [\d, ]+", "row …", str(error))}
    return {**found, "warnings": sorted({str(warning.message) for warning in caught})}


@pytest.mark.parametrize("case", CASES)
def test_what_is_said_depends_on_the_data_alone(case, tmp_path, monkeypatch):
    rankings, truth = CASES[case]
    expected = said(rankings, truth)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        shuffled = rankings[rng.permutation(len(rankings))], truth[rng.permutation(len(truth))]
        assert said(*shuffled) == expected
        if seed == 0:
            shuffled[0].write_parquet(tmp_path / "r.parquet", row_group_size=500)
            on_disk = said(tmp_path / "r.parquet", shuffled[1], engine="disk", memory="68MB")
            names = (str(tmp_path / "r.parquet"), "r.parquet")
            texts = repr(on_disk)
            for name in names:
                texts = texts.replace(name, "DataFrame")
            if "error" not in expected:
                assert on_disk.get("means") == expected["means"], on_disk
                assert set(on_disk["cautions"]) == set(expected["cautions"]), "disk"
                assert on_disk["counts"] == expected["counts"], "disk"
            else:
                assert "error" in on_disk
    blocks = Memory.open
    monkeypatch.setattr(Memory, "open", lambda _, *a, **b: blocks(Memory(5), *a, **b))
    assert said(rankings, truth) == expected
