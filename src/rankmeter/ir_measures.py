"""A provider for ir_measures, which computes its measures with rankmeter."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator
from typing import Any

import polars as pl

from rankmeter._evaluation.evaluator import Evaluator
from rankmeter.conventions import translate_name
from rankmeter.conventions._plan import resolve_plan
from rankmeter.errors import MissingDependencyError, RankmeterError

__all__ = ["provider"]


def provider() -> Any:
    """The provider ``rankmeter`` of ir_measures, registered under this name.

    It supports the measures of ir_measures that ``like="ir_measures"`` reads, with the values that
    ir_measures has for them.

    Returns
    -------
    ir_measures.Provider
        Its ``calc_aggregate(measures, qrels, run)``, ``iter_calc`` and ``evaluator`` take what
        those of ir_measures take.

    Raises
    ------
    MissingDependencyError
        If ir_measures is not installed.

    Examples
    --------
    The only relevant document is second::

        qrels, run = {"q1": {"d2": 1}}, {"q1": {"d1": 0.9, "d2": 0.8}}
        rankmeter.ir_measures.provider().calc_aggregate([nDCG @ 10, RR], qrels, run)
        # {nDCG@10: 0.6309..., RR: 0.5}
    """
    try:
        from ir_measures.providers import register
    except ImportError:
        raise MissingDependencyError(
            "provider() needs ir_measures: pip install ir_measures"
        ) from None
    return register(_provider_class()())


@functools.cache
def _provider_class() -> type[Any]:
    """Create the class of the provider; this needs ir_measures."""
    from ir_measures.providers import Provider

    return type("RankmeterProvider", (_Provided, Provider), {})


class _Provided:
    """The methods of the provider, without the base class of ir_measures."""

    NAME = "rankmeter"

    def supports(self, measure: Any) -> bool:
        """Whether rankmeter reads the measure as ir_measures prints it."""
        measure.validate_params()
        try:
            metrics = translate_name(str(measure), "ir_measures", ours=False)
            resolve_plan(metrics, like="ir_measures")
        except RankmeterError:
            return False
        return True

    def _evaluator(self, measures: Iterable[Any], qrels: Any) -> Any:
        from ir_measures.providers import Evaluator as Base
        from ir_measures.util import QrelsConverter, RunConverter

        rows = [*QrelsConverter(qrels).as_namedtuple_iter()]
        truth: dict[str, dict[str, int]] = {}
        for row in rows:
            truth.setdefault(row.query_id, {})[row.doc_id] = row.relevance
        by_intent: dict[bool, dict[str, Any]] = {}
        for measure in measures:
            (metric,) = translate_name(str(measure), "ir_measures")
            by_intent.setdefault(metric.spec.intent_aware, {})[str(measure)] = measure
        questions = []
        for intent, part in by_intent.items():
            judgments = _subtopic_judgments(rows) if intent else truth
            questions.append((Evaluator(judgments, [*part], like="ir_measures"), part))

        class Bound(Base):  # type: ignore[misc]
            """Evaluator of measures for fixed judgments."""

            def _iter_calc(self, run: Any) -> Iterator[Any]:
                rankings = RunConverter(run).as_dict_of_dict()
                for question, part in questions:
                    yield from _defined_values(question, part, rankings)

        in_order = [m for intent in sorted(by_intent) for m in by_intent[intent].values()]
        return Bound(in_order, set(truth))


def _subtopic_judgments(rows: Iterable[Any]) -> pl.DataFrame:
    """Table of judgments by subtopic, with the last of repeated judgments."""
    last = {
        (row.query_id, row.doc_id, getattr(row, "iteration", None) or "0"): row.relevance
        for row in rows
    }
    columns = [[key[i] for key in last] for i in range(3)]
    names = ("user", "item", "subtopic")
    return pl.DataFrame([*map(pl.Series, names, columns), pl.Series("gain", last.values())])


def _defined_values(
    question: Evaluator, measures: dict[str, Any], run: dict[str, Any]
) -> Iterator[Any]:
    """Yield the defined values of retrieved queries and measures; ir_measures adds all others."""
    from ir_measures import Metric

    result = question.evaluate(run)
    frame = result.per_user
    for name, measure in measures.items():
        for query, value in zip(frame["user"], frame[result[name].label], strict=True):
            if query in run and value is not None and not math.isnan(value):
                yield Metric(query_id=query, measure=measure, value=value)
