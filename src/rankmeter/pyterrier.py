"""Experiments with pipelines of PyTerrier, compared by rankmeter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rankmeter._evaluation.systems import compare
from rankmeter._results.comparison import Comparison
from rankmeter.errors._checks import refused

__all__ = ["experiment"]


QRELS = frozenset({"qid", "docno", "label"})


def experiment(
    systems: Mapping[str, Any],
    topics: Any,
    qrels: Any,
    metrics: Iterable[Any],
    *,
    like: str | None = "ir_measures",
    **options: Any,
) -> Comparison:
    r"""Run pipelines on the same topics and compare what they retrieve.

    As ``pt.Experiment``, only queries that are among the topics count.

    Parameters
    ----------
    systems : mapping of str to Transformer or DataFrame
        By name, a pipeline of PyTerrier or what one has retrieved.
    topics : pandas.DataFrame
        With the columns ``qid`` and ``query``, as ``dataset.get_topics()`` has them.
    qrels : pandas.DataFrame
        With the columns ``qid``, ``docno`` and ``label``, as ``dataset.get_qrels()`` has them.
    metrics : iterable of str, Metric or ir_measures.Measure
        As in `rankmeter.compare`; a measure of ir_measures is read as it is printed.
    like : str or None
        The convention; that of ir_measures has the values of ``pt.Experiment``.
    **options
        Those of `rankmeter.compare`, such as ``baseline="BM25"``.

    Returns
    -------
    Comparison

    Examples
    --------
    Two pipelines, of which the first is the baseline::

        systems = {"BM25": bm25, "BM25 + monoT5": bm25 >> mono_t5}
        found = rankmeter.pyterrier.experiment(
            systems, dataset.get_topics(), dataset.get_qrels(), ["nDCG@10", "RR"], baseline="BM25"
        )
        print(*found.sentences(), sep="\\n")
    """
    if not isinstance(systems, Mapping):
        raise refused("systems", "a mapping of names to pipelines", systems)
    for name, frame, needed in (("topics", topics, {"qid"}), ("qrels", qrels, QRELS)):
        if not hasattr(frame, "isin") or needed - {*frame.columns}:
            what = f"a pandas DataFrame with the columns {', '.join(sorted(needed))}"
            raise refused(name, what, frame)
    rankings = {
        name: system(topics) if callable(system) else system for name, system in systems.items()
    }
    judged = qrels[qrels["qid"].isin(topics["qid"])]
    return compare(rankings, judged, metrics, like=like, **options)
