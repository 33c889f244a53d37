"""Experiments with pipelines of PyTerrier, compared by rankmeter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rankmeter._evaluation.compare import compare
from rankmeter._results.comparison import Comparison
from rankmeter._typed import Like
from rankmeter.errors._checks import option_error

__all__ = ["experiment"]


_QRELS_COLUMNS = frozenset({"qid", "docno", "label"})


def experiment(
    systems: Mapping[str, Any],
    topics: Any,
    qrels: Any,
    metrics: Any,
    *,
    like: Like | None = "ir_measures",
    **options: Any,
) -> Comparison:
    """Run pipelines on the same topics and compare what they retrieve.

    As in ``pt.Experiment``, only the judged queries that are among the topics count.

    Parameters
    ----------
    systems : mapping of str to Transformer or DataFrame
        By name, a pipeline of PyTerrier, such as ``bm25 >> mono_t5``, or what it has retrieved.
    topics : pandas.DataFrame
        With the column ``qid``, as ``dataset.get_topics()`` has it.
    qrels : pandas.DataFrame
        With the columns ``qid``, ``docno`` and ``label``, as ``dataset.get_qrels()`` has them.
    metrics : str, Metric, ir_measures.Measure or iterable of them
        As in `rankmeter.compare`.
    like : str or None
        The convention; that of ir_measures has the values of ``pt.Experiment``.
    **options
        Those of `rankmeter.compare`, such as ``baseline="BM25"``.

    Returns
    -------
    Comparison

    Raises
    ------
    UsageError
        If `systems` is not a mapping, or a frame lacks one of these columns.
    RankmeterError
        As in `rankmeter.compare`.

    Examples
    --------
    The relevant documents have the ranks 1 and 2 in the first run, and 2 and 2 in the second:

    >>> import pandas as pd
    >>> import rankmeter as rm
    >>> topics = pd.DataFrame({"qid": ["q1", "q2"], "query": ["red wine", "oak"]})
    >>> qrels = pd.DataFrame({"qid": ["q1", "q2"], "docno": ["d1", "d2"], "label": [1, 1]})
    >>> run = {"qid": ["q1", "q1", "q2", "q2"], "docno": ["d1", "d2", "d1", "d2"]}
    >>> first = pd.DataFrame({**run, "score": [2.0, 1.0, 2.0, 1.0]})
    >>> second = pd.DataFrame({**run, "score": [1.0, 2.0, 2.0, 1.0]})
    >>> found = rm.pyterrier.experiment({"one": first, "two": second}, topics, qrels, ["RR"])
    >>> found["RR"][0].mean_a, found["RR"][0].mean_b
    (0.75, 0.5)
    """
    if not isinstance(systems, Mapping):
        raise option_error("systems", "a mapping of names to pipelines", systems)
    for name, frame, needed in (("topics", topics, {"qid"}), ("qrels", qrels, _QRELS_COLUMNS)):
        if not hasattr(frame, "isin") or needed - {*frame.columns}:
            expected = f"a pandas DataFrame with the columns {', '.join(sorted(needed))}"
            raise option_error(name, expected, frame)
    rankings = {
        name: system(topics) if callable(system) else system for name, system in systems.items()
    }
    judged = qrels[qrels["qid"].isin(topics["qid"])]
    return compare(rankings, judged, metrics, like=like, **options)
