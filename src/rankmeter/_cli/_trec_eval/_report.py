"""The output of trec_eval, byte for byte."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rankmeter._choices import GEOMETRIC_FLOOR
from rankmeter._cli._trec_eval._files import FORMS, read_judgments, read_results
from rankmeter._cli._trec_eval._measures import Measure, choose_measures
from rankmeter._cli._trec_eval._prefs import Preferences
from rankmeter._cli._trec_eval._topics import JudgedGroups, TopicChoices, Topics
from rankmeter._evidence.hits import FloatArray
from rankmeter.errors import DataError, DuplicateError, FileFormatError

References = dict[tuple[str, str], tuple[float, float]]
"""Mean and standard deviation of the reference runs, by topic and measure as it is printed."""

UNKNOWN = -1_000_000.0
"""What trec_eval prints without a reference, or if a reference without deviation is missed."""


def read_references(path: str) -> References:
    """Read lines of ``topic measure mean deviation``."""
    references: References = {}
    text = Path(path).read_bytes().decode("utf-8", "surrogateescape")
    for number, line in enumerate(text.split("\n"), start=1):
        fields = line.split()
        if not fields:
            continue
        try:
            topic, measure, mean, deviation = fields[:4]
            values = float(mean), float(deviation)
        except ValueError:
            raise FileFormatError(
                f"{path}, line {number}: expected topic, measure, mean and standard deviation, "
                f"got {line.strip()[:60]!r}"
            ) from None
        if (topic, measure) in references:
            raise DuplicateError(f"{path}, line {number}: {measure} of topic {topic} occurs twice")
        references[topic, measure] = values
    return references


def to_zscores(
    values: FloatArray, label: str, topics: Sequence[str], references: References
) -> FloatArray:
    """Convert the values of a measure, one for each topic, to z-scores."""
    by_topic = [references.get((topic, label), (np.nan, 0.0)) for topic in topics]
    mean, deviation = np.array(by_topic).reshape(-1, 2).T
    flat = np.where(values == mean, 0.0, UNKNOWN)
    spread = np.where(deviation == 0, 1.0, deviation)
    return np.where(deviation == 0, flat, (values - mean) / spread)


def report_lines(
    qrels: str,
    run: str,
    measures: Iterable[str] = ("official",),
    *,
    form: str = "qrels",
    per_topic: bool = False,
    summary: bool = True,
    zscores: str | None = None,
    **choices: Any,
) -> Iterator[str]:
    """Evaluate a run and yield what trec_eval prints, line by line.

    A measure may have parameters: ``P.5,10``. The options of trec_eval are ``-R`` (`form`: the
    format of the judgments, which have measures of their own), ``-q`` (`per_topic`),
    not ``-n`` (`summary`), ``-Z`` (`zscores`: a file of means and standard deviations of reference
    runs, by which values become z-scores), and those of `TopicChoices`. Unless complete, a judged
    topic without results is a DataError, raised after the lines of the topics before it.
    """
    topic_choices = TopicChoices(**choices)
    requested = choose_measures(measures, form)
    references = None if zscores is None else read_references(zscores)
    judged = read_judgments(qrels, form)
    results, run_id = read_results(run)
    topics: Topics | JudgedGroups | Preferences
    if "level" in FORMS[form].split():
        # Neither what is relevant nor unjudged documents make a difference to preferences.
        topics = Preferences(judged, results, topic_choices.depth)
    else:
        topics = (JudgedGroups if form == "qrels_jg" else Topics)(judged, results, topic_choices)
    complete = topic_choices.complete
    columns, totals = _output_lines(
        topics, requested, run_id, references, complete=complete, per_topic=per_topic
    )
    stop = len(topics.names) if complete or not topics.missing.any() else topics.missing.argmax()
    for i in range(stop):
        yield from (column[i] for column in columns)
    if stop < len(topics.names):
        raise DataError(
            f"topic {topics.names[stop]} is judged in {qrels} but has no results in {run}; "
            f"trec_eval 10 also stops here ({int(topics.missing.sum())} topics in all). Count them "
            f"as 0 with -c, or remove their judgments"
        )
    if summary:
        yield from totals


def _output_lines(
    topics: Topics | JudgedGroups | Preferences,
    requested: Mapping[str, tuple[Measure | None, str | None]],
    run_id: str,
    references: References | None,
    *,
    complete: bool,
    per_topic: bool,
) -> tuple[list[list[str]], list[str]]:
    """Output lines of each measure: for every topic, if wanted, and for all topics together."""
    columns: list[list[str]] = []
    totals: list[str] = []
    z = "" if references is None else "Z"
    for name, (measure, parameters) in requested.items():
        if measure is None:
            n = len(topics.names)
            number = _format_line(name, "all", _format_real(n) if z else str(n))
            totals.append(_format_line(name, "all", run_id) if name == "runid" else z + number)
            continue
        method = measure.aggregate_name(name)
        show = _FORMATS.get(method, _format_real) if not z or method == "none" else _format_real
        for label, values in measure.values_by_line(name, parameters, topics):
            if complete:
                _clear_missing_topics(label, values, topics)
            mark = ""
            if references is not None and isinstance(values, np.ndarray):
                mark, plain = z, _logarithms(values) if method == "geometric" else values
                values = to_zscores(plain, label, topics.names, references)  # noqa: PLW2901
            if per_topic and method != "geometric":
                pairs = zip(topics.names, map(show, values), strict=True)
                columns.append([mark + _format_line(label, topic, value) for topic, value in pairs])
            if isinstance(values, np.ndarray):
                # With -c it ignores the level of relevance where it adds up relevant documents.
                if label == "num_rel" and complete and isinstance(topics, Topics):
                    total: float = topics.n_above_zero
                else:
                    total = _aggregate_over_topics(values, method, logs=bool(z))
                totals.append(mark + _format_line(label, "all", show(total)))
    return columns, totals


def _format_line(name: str, topic: str, value: str) -> str:
    return f"{name:<22}\t{topic}\t{value}\n"


def _format_real(value: float) -> str:
    # 0/0 has a sign, which is printed.
    return "  -nan" if math.isnan(value) else f"{value:6.4f}"


_FORMATS: dict[str, Callable[[Any], str]] = {"none": "'{}'".format, "sum": "{:.0f}".format}
"""How values are printed, by how they are averaged; `_format_real` prints all others."""


def _clear_missing_topics(
    label: str, values: FloatArray | list[str], topics: Topics | JudgedGroups | Preferences
) -> None:
    """Clear the contribution of the made-up document of a topic without results, in place.

    As in trec_eval, by the printed name: ``utility_2,-1,0,0`` is not cleared.
    """
    if isinstance(values, list):
        if label == "relstring":
            for lost in np.flatnonzero(topics.missing):
                values[lost] = ""
    elif label in ("num_ret", "utility", "rbp_resid") or label.startswith("unj"):
        values[topics.missing] = 0.0


def _aggregate_over_topics(values: FloatArray, method: str, *, logs: bool = False) -> float:
    """Aggregate values over topics; values of a geometric mean may be logarithms already.

    Values are added one after the other, as trec_eval does: the last digit may depend on it.
    """
    if method == "geometric":
        return math.exp(_aggregate_over_topics(values if logs else _logarithms(values), "mean"))
    total = float(np.add.accumulate(values)[-1])
    return total if method == "sum" else total / values.size


def _logarithms(values: FloatArray) -> FloatArray:
    """Logarithms of values for a geometric mean, with small values raised to a floor."""
    logarithms: FloatArray = np.log(np.maximum(values, GEOMETRIC_FLOOR))
    return logarithms
