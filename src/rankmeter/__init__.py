"""rankmeter measures rankings: recommendations, retrieval runs, link predictions.

>>> import rankmeter as rm
>>> result = rm.evaluate({"ann": ["b", "a", "c"]}, {"ann": {"a"}}, "ndcg@10")
>>> round(result["ndcg@10"].mean, 4)
0.6309
"""

from __future__ import annotations

import os
import sys
from importlib import import_module

from rankmeter._version import __version__ as __version__

TYPE_CHECKING = False  # as in typing, which takes longer to import than all the rest

# Nothing heavy is imported before it is used: `import rankmeter` takes a few milliseconds.
_HOMES = {
    "DEFAULT_METRICS": "_evaluation.question",
    "Grades": "_scores.kinds",
    "Positions": "_scores.kinds",
    "Ranks": "_scores.kinds",
    "Sampled": "_scores.kinds",
    "Scores": "_scores.kinds",
    "Across": "_across.across",
    "across": "_across.across",
    "MeanCheck": "_published.check",
    "check_mean": "_published.check",
    "Audit": "_audit.audit",
    "audit": "_audit.audit",
    "Collapsed": "_evaluation.collapsed",
    "collapse": "_evaluation.collapsed",
    "Comparison": "_results.comparison",
    "Curve": "_results.curves",
    "LinkQueries": "_scores.link_prediction",
    "Accumulator": "_training.accumulator",
    "accumulator": "_training.accumulator",
    "adjust": "_scores.link_prediction",
    "by_activity": "_results.segments",
    "by_popularity": "_results.segments",
    "ValueComparison": "_results.comparison",
    "compare": "_evaluation.compare",
    "compare_values": "_evaluation.values",
    "compute_metrics": "_training.callbacks",
    "scorer": "_training.callbacks",
    "curve": "_evaluation.curve",
    "Description": "splits._describe",
    "Estimate": "_results.estimates",
    "Metric": "metrics",
    "Plan": "conventions._plan",
    "Split": "splits",
    "Summary": "_results.summary",
    "Walkthrough": "_results.walkthrough",
    "describe": "splits._describe",
    "Diff": "_diff.diff",
    "diff": "_diff.diff",
    "Explanation": "_results.explanation",
    "Evaluator": "_evaluation.evaluator",
    "evaluate": "_evaluation.evaluate",
    "evaluate_ranks": "_scores.scored",
    "evaluate_scores": "_scores.scored",
    "explain": "_explain.explain",
    "group_metric": "_training.callbacks",
    "grouped": "_training.callbacks",
    "link_queries": "_scores.link_prediction",
    "load_result": "_stored.file",
    "neighbours": "_scores.neighbours",
    "SampleSize": "_evaluation.planning",
    "metric": "metrics",
    "sample_size": "_evaluation.planning",
}
_MODULES = (
    "baselines", "beir", "datasets", "errors", "ir_measures", "keras", "metrics", "mteb",
    "pyterrier", "sentence_transformers", "splits", "testing", "torch",
)  # fmt: skip
if TYPE_CHECKING:
    from typing import Any

    from rankmeter import baselines as baselines
    from rankmeter import beir as beir
    from rankmeter import datasets as datasets
    from rankmeter import errors as errors
    from rankmeter import ir_measures as ir_measures
    from rankmeter import keras as keras
    from rankmeter import metrics as metrics
    from rankmeter import mteb as mteb
    from rankmeter import pyterrier as pyterrier
    from rankmeter import sentence_transformers as sentence_transformers
    from rankmeter import splits as splits
    from rankmeter import testing as testing
    from rankmeter import torch as torch
    from rankmeter._across.across import Across as Across
    from rankmeter._across.across import across as across
    from rankmeter._audit.audit import Audit as Audit
    from rankmeter._audit.audit import audit as audit
    from rankmeter._diff.diff import Diff as Diff
    from rankmeter._diff.diff import diff as diff
    from rankmeter._evaluation.collapsed import Collapsed as Collapsed
    from rankmeter._evaluation.collapsed import collapse as collapse
    from rankmeter._evaluation.compare import compare as compare
    from rankmeter._evaluation.curve import curve as curve
    from rankmeter._evaluation.evaluate import evaluate as evaluate
    from rankmeter._evaluation.evaluator import Evaluator as Evaluator
    from rankmeter._evaluation.planning import SampleSize as SampleSize
    from rankmeter._evaluation.planning import sample_size as sample_size
    from rankmeter._evaluation.question import DEFAULT_METRICS as DEFAULT_METRICS
    from rankmeter._evaluation.values import compare_values as compare_values
    from rankmeter._explain.explain import explain as explain
    from rankmeter._published.check import MeanCheck as MeanCheck
    from rankmeter._published.check import check_mean as check_mean
    from rankmeter._results.comparison import Comparison as Comparison
    from rankmeter._results.comparison import ValueComparison as ValueComparison
    from rankmeter._results.curves import Curve as Curve
    from rankmeter._results.estimates import Estimate as Estimate
    from rankmeter._results.explanation import Explanation as Explanation
    from rankmeter._results.segments import by_activity as by_activity
    from rankmeter._results.segments import by_popularity as by_popularity
    from rankmeter._results.summary import Summary as Summary
    from rankmeter._results.walkthrough import Walkthrough as Walkthrough
    from rankmeter._scores.kinds import Grades as Grades
    from rankmeter._scores.kinds import Positions as Positions
    from rankmeter._scores.kinds import Ranks as Ranks
    from rankmeter._scores.kinds import Sampled as Sampled
    from rankmeter._scores.kinds import Scores as Scores
    from rankmeter._scores.link_prediction import LinkQueries as LinkQueries
    from rankmeter._scores.link_prediction import adjust as adjust
    from rankmeter._scores.link_prediction import link_queries as link_queries
    from rankmeter._scores.neighbours import neighbours as neighbours
    from rankmeter._scores.scored import evaluate_ranks as evaluate_ranks
    from rankmeter._scores.scored import evaluate_scores as evaluate_scores
    from rankmeter._stored.file import load_result as load_result
    from rankmeter._training.accumulator import Accumulator as Accumulator
    from rankmeter._training.accumulator import accumulator as accumulator
    from rankmeter._training.callbacks import compute_metrics as compute_metrics
    from rankmeter._training.callbacks import group_metric as group_metric
    from rankmeter._training.callbacks import grouped as grouped
    from rankmeter._training.callbacks import scorer as scorer
    from rankmeter._typed import *  # noqa: F403 - one class for each metric
    from rankmeter.conventions._plan import Plan as Plan
    from rankmeter.metrics import Metric as Metric
    from rankmeter.metrics import metric as metric
    from rankmeter.splits import Split as Split
    from rankmeter.splits._describe import Description as Description
    from rankmeter.splits._describe import describe as describe


def _guard_forked_child() -> None:
    """Let Polars raise an error where it would wait forever for threads that a fork ended."""
    if "polars" in sys.modules:
        import_module("rankmeter.errors._forked").guard_polars()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_guard_forked_child)
    _processes = sys.modules.get("multiprocessing.process")
    if _processes is not None and _processes.parent_process() is not None:
        _guard_forked_child()  # a worker may import rankmeter for the first time


def _class_name(metric: str) -> str:
    """``ndcg`` → NDCG, ``hit_rate`` → HitRate: a part without a vowel is an acronym."""
    acronyms = {"amr", "amri", "amrr", "ap", "err", "map", "nerr"}
    return "".join(
        part.upper() if part in acronyms or not set(part) & set("aeiou") else part.capitalize()
        for part in metric.split("_")
    )


def _metric_names() -> dict[str, str]:
    metrics = import_module("rankmeter.metrics").METRICS
    return {_class_name(name): name for name in (*metrics, "map", "mrr")}


def __getattr__(name: str) -> Any:
    """Import what is public when it is first used; every metric has a name: NDCG, HitRate."""
    if name == "__all__":
        is_missing = import_module("rankmeter._annexes").is_missing
        homes = _HOMES | {module: module for module in _MODULES}
        public = [public for public, home in homes.items() if not is_missing(home)]
        public += _metric_names()
        return sorted(public, key=lambda n: (not n.isupper(), not n[0].isupper(), n))
    if name[0].isupper() and name not in _HOMES and name in (names := _metric_names()):
        return import_module("rankmeter.metrics").metric(names[name])
    if name not in _HOMES and name not in _MODULES:
        raise AttributeError(f"module 'rankmeter' has no attribute {name!r}")
    load = import_module("rankmeter._annexes").annex
    value = getattr(load(_HOMES[name]), name) if name in _HOMES else load(name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__getattr__("__all__"), "__version__"]
