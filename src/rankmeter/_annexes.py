"""What can be taken out of the package, and the one door by which the core calls it.

The core evaluates and compares; an annex makes or shows something more of its results. No module of
the core imports an annex: it asks for one here, when it is first used. `tests/annexes.py` takes an
annex out of a copy of the repository, with all that this table names, and runs the other tests.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from rankmeter.errors import MissingDependencyError

ANNEXES: dict[str, dict[str, list[str]]] = {
    "formats": {"folders": ["_formats"], "needs": []},
    "large": {"folders": ["_large"], "needs": ["formats"]},
    "scores": {
        "folders": ["_scores", "_cli/evaluate_scores.py", "_cli/evaluate_ranks.py"],
        "needs": ["formats"],
    },
    "training": {"folders": ["_training", "keras.py", "torch.py"], "needs": ["scores"]},
    "show": {"folders": ["_show"], "needs": []},
    "judge": {"folders": ["_judge"], "needs": []},
    "across": {"folders": ["_across"], "needs": []},
    "stored": {"folders": ["_stored"], "needs": []},
    "diff": {"folders": ["_diff", "_cli/diff.py"], "needs": []},
    "report": {
        "folders": ["_report", "_cli/report.py", "_cli/cite.py"],
        "needs": ["show", "stored"],
    },
    "explain": {"folders": ["_explain", "_cli/explain.py"], "needs": []},
    "splits": {
        "folders": [
            *("splits", "baselines", "datasets.py"),
            *("_cli/split.py", "_cli/describe.py", "_cli/baseline.py", "_cli/demo.py"),
        ],
        "needs": [],
    },
    "audit": {"folders": ["_audit", "_cli/audit.py"], "needs": ["scores", "splits"]},
    "published": {"folders": ["_published", "_cli/check.py"], "needs": []},
    "testing": {"folders": ["testing"], "needs": []},
    "adapters": {
        "folders": [
            *("ir_measures.py", "pyterrier.py"),
            *("beir.py", "mteb.py", "sentence_transformers.py"),
        ],
        "needs": [],
    },
    "trec_eval": {
        "folders": ["_cli/_trec_eval", "_cli/trec_eval.py"],
        "needs": ["formats"],
    },
    "command_line": {"folders": ["_cli", "__main__.py"], "needs": ["formats"]},
}
"""Each annex: its folders and files in the package, and the annexes that it imports.

A file belongs to the first annex that names it. The entry stays where an annex is taken out: errors
and skipped tests name the annex.
"""


def annex_of(module: str) -> str | None:
    """The annex that a module belongs to, ``_report.plots``; None for all others."""
    for name, entry in ANNEXES.items():
        for folder in entry["folders"]:
            if f"{module}.".startswith(folder.removesuffix(".py").replace("/", ".") + "."):
                return name
    return None


@cache
def missing_annexes() -> set[str]:
    """The annexes that were taken out of this installation."""
    here = Path(__file__).parent
    return {name for name, annex in ANNEXES.items() if not (here / annex["folders"][0]).exists()}


def is_missing(module: str) -> bool:
    """Whether a module belongs to an annex that was taken out."""
    return annex_of(module) in missing_annexes()


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
            f"this installation lacks the annex {annex_of(module)}, which was taken out of it, and "
            f"this needs {error.name}: install rankmeter again"
        ) from None
