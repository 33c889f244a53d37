"""What can be taken out of the package, and the one door by which the core calls it.

The core evaluates and compares; an annex makes or shows something more of its results. No module of
the core imports an annex: it asks for one here, when it is first used. `tests/annexes.py` takes an
annex out of a copy of the repository, with all that this table names, and runs the other tests.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from rankmeter.errors import MissingDependencyError

ANNEXES: dict[str, dict[str, list[str]]] = {
    "show": {
        "folders": ["_show"],
        "tests": [
            "tests/results/test_show.py",
            "tests/laws/forked.py",
            "tests/laws/test_forks.py",
            "tests/laws/test_hostile_options.py",
            "rankmeter._results.summary.Summary.show",
        ],
        "needs": [],
    },
    "report": {
        "folders": ["_report", "_cli/report.py"],
        "tests": [
            "tests/results/report_data.py",
            "tests/laws/forked.py",
            "tests/laws/test_forks.py",
            "tests/laws/test_hostile_options.py",
            "tests/results/conftest.py",
            "tests/results/test_chart_parts.py",
            "tests/results/test_charts.py",
            "tests/results/test_notes_on_page.py",
            "tests/results/test_page_parts.py",
            "tests/results/test_places.py",
            "tests/results/test_report.py",
            "tests/results/test_report_page.py",
            "tests/results/test_worst.py",
            "rankmeter._results.summary.Summary.report",
        ],
        "needs": ["show"],
    },
    "explain": {
        "folders": ["_explain", "_cli/explain.py"],
        "tests": [
            "tests/evaluation/test_explain.py",
            "tests/laws/test_inputs.py",
            "tests/laws/forked.py",
            "tests/laws/test_forks.py",
            "tests/laws/test_hostile_options.py",
            "rankmeter._evaluation.evaluator.Evaluator.explain",
        ],
        "needs": [],
    },
    "training": {
        "folders": ["_training", "keras.py", "torch.py"],
        "tests": [
            "tests/evaluation/test_accumulator.py",
            "tests/laws/test_inputs.py",
            "tests/laws/forked.py",
            "tests/laws/test_forks.py",
            "tests/laws/test_hostile_options.py",
            "tests/statistics/test_sums.py",
            "tests/evaluation/test_trainers.py",
            "rankmeter._evaluation.evaluator.Evaluator.accumulator",
        ],
        "needs": [],
    },
    "trec_eval": {
        "folders": ["_cli/_trec_eval", "_cli/trec_eval.py"],
        "tests": [
            "tests/cli/test_pytrec_eval.py",
            "tests/cli/test_reference_trec.py",
            "tests/cli/test_trec_eval.py",
            "tests/cli/test_trec_eval_report.py",
        ],
        "needs": [],
    },
    "adapters": {
        "folders": ["ir_measures.py", "pyterrier.py"],
        "tests": ["tests/evaluation/test_retrieval_tools.py"],
        "needs": [],
    },
}
"""Each annex: its folders and files in the package; its tests, files or the names of docstrings
whose examples use it (single tests in other files have the mark ``annex``); the annexes that it
imports."""


def annex(module: str) -> Any:
    """Import a module of an annex, ``_report.plots``.

    Raises
    ------
    MissingDependencyError
        If the annex was taken out of this installation.
    """
    path = f"rankmeter.{module}"
    try:
        return import_module(path)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{path}.".startswith(f"{error.name}."):
            raise  # a package that the annex needs
        raise MissingDependencyError(
            f"this needs {error.name}, which was taken out of this installation: install "
            "rankmeter again"
        ) from None
