"""A client of rankmeter as type checkers see it.

`make types` checks it: where a checker has to object, ``type: ignore`` takes the objection, and one
that takes nothing is an error. Nothing runs it.
"""

from collections.abc import Mapping

import polars as pl

import rankmeter as rm

rankings, truth = {"u": ["a", "b"]}, {"u": {"b"}}
result = rm.evaluate(rankings, truth, [rm.NDCG(gain="exp2") @ 10, "mrr"], like="rectools")
mean: float = result["mrr"].mean
frame: pl.DataFrame = result.per_user
recalled: rm.Metric = rm.Recall(denominator="min", relevant=">=4", truth="new") @ 5
found = rm.compare({"A": rankings, "B": rankings}, truth, like="rectools==0.19.0", ties="expected")
differs: float = found.differences[0].mean_a
counts: Mapping[str, int] = result.counts
summary: rm.Summary = rm.evaluate_ranks([1, 2], "mrr", like="pykeen")
accumulated: rm.Accumulator = rm.accumulator("ndcg@10", like="torchmetrics")
split: rm.Split = rm.splits.leave_one_out(pl.DataFrame())
train: pl.DataFrame = split.train

rm.NDCG(kk=3)  # type: ignore[call-arg]
rm.NDCG(gain="foo")  # type: ignore[arg-type]
rm.Recall(denominator="all")  # type: ignore[arg-type]
rm.RBP(p="high")  # type: ignore[arg-type]
rm.evaluate(rankings, truth, like="rectoolz")  # type: ignore[arg-type]
rm.evaluate(rankings, truth, like="rectools==0.18.0")  # type: ignore[arg-type]
rm.evaluate(rankings, truth, missing="zeroo")  # type: ignore[arg-type]
rm.evaluate(rankings, truth, lik="ranx")  # type: ignore[call-arg]
rm.accumulator("ndcg@10", like="torchmetric")  # type: ignore[arg-type]
text: str = result["mrr"].mean  # type: ignore[assignment]
rows: list[int] = result.per_user  # type: ignore[assignment]
