"""Stored results next to other systems: rankings that are measured as they were; old labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from rankmeter._evaluation.compare import list_runs, split_runs
from rankmeter._evaluation.evaluate import evaluate_question
from rankmeter._evaluation.question import DEFAULT_METRICS, Question, results_by_name
from rankmeter._results.summary import Summary
from rankmeter._stored.file import with_fingerprints
from rankmeter.errors._caution import warn


def evaluate_others(question: Question, systems: Mapping[str, object]) -> dict[str, object] | None:
    """Evaluate the rankings next to results; None if all systems are results."""
    results = results_by_name(systems)
    if all(isinstance(run, Summary) for one in systems.values() for run in list_runs(one)):
        return None
    first = next(iter(results.values()))
    if question.metrics is DEFAULT_METRICS:
        question = replace(question, metrics=[entry.label for entry in first.plan.metrics])
    known = any(result.fingerprints is not None for result in results.values())

    def evaluated(rankings: object) -> Summary:
        result = evaluate_question(question, rankings)
        return with_fingerprints(result) if known else result

    answers: dict[str, object] = {}
    for name, system in systems.items():
        runs = list_runs(system)
        if all(isinstance(run, Summary) for run in runs):
            answers[name] = system
            continue
        several = [evaluated(run) for run in split_runs(system, question.columns)]
        answers[name] = several if len(several) > 1 else several[0]
    return answers


def warn_of_old_labels(summaries: dict[str, Summary], baseline: str | None) -> None:
    """Caution where a system shows less than half of the judged items of the baseline."""
    for name, caution in _label_cautions(summaries, baseline).items():
        warn(caution)
        cautions = (*summaries[name].cautions, caution)
        summaries[name] = replace(summaries[name], cautions=cautions)


def _label_cautions(summaries: Mapping[str, Summary], baseline: str | None) -> dict[str, str]:
    """By system, the caution that it shows less than half of the judged items of the baseline."""
    shown: dict[str, int] = {}
    for name, summary in summaries.items():
        known = summary.fingerprints
        if known is not None and known.shown_items is not None:
            shown[name] = known.shown_items
    if baseline is None or baseline not in shown:
        return {}
    return {
        name: f"the labels no longer describe the corpus: {shown[baseline]:,} judged items are in "
        f"rankings of {baseline}, and {n:,} in those of {name}. If the ids of items changed, such "
        "as those of chunks, label anew or map them with collapse="
        for name, n in shown.items()
        if 2 * n < shown[baseline]
    }
