"""``rankmeter compare``: Compare systems over one ground truth."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from inspect import signature
from pathlib import Path
from typing import Any

import click

from rankmeter._cli._command import Command, CommandOption
from rankmeter._cli._files import standard_input_as_file
from rankmeter._cli._gates import (
    collect_margins,
    fail_if_option,
    read_comparison_gate,
    stored_systems,
)
from rankmeter._cli._options import build_options, given_options, metrics_option, side_files
from rankmeter._cli._output import AnswerFormats, report_options
from rankmeter._cli._shared import (
    Outputs,
    master_option,
    per_user_option,
    segments_option,
    show_option,
    start_spark,
)
from rankmeter._cli._terminal import show_spinner
from rankmeter._evaluation.compare import compare
from rankmeter._evaluation.evaluate import evaluate
from rankmeter._files import is_existing_path, is_stored_result
from rankmeter._results.comparison import Comparison
from rankmeter.errors import UsageError

WITHIN = "also compare within each segment."
RunFiles = dict[str, str | list[Path]]
"""By system, its file, or those of its training runs."""


FORMATS: AnswerFormats[Comparison] = AnswerFormats(
    csv=Comparison.to_csv, latex=Comparison.to_latex, json=Comparison.to_json
)


def _run_command(
    truth: str | None,
    systems: tuple[str, ...],
    segments: str | None,
    master: str | None,
    **choices: Any,
) -> None:
    outputs = Outputs.take_from_options(FORMATS, choices)
    if is_stored_result(truth) or is_stored_result(str(truth).partition("=")[2]):
        systems, truth = (str(truth), *systems), None
    runs = _read_system_arguments(truth or "", systems)
    remembered = stored_systems(outputs.conditions, runs)
    if len(runs) == len(remembered) == 1 and choices.get("baseline") is None:
        choices["baseline"] = remembered[0]
    runs |= {name: name for name in remembered}
    gates = [read_comparison_gate(condition, list(runs)) for condition in outputs.conditions]
    choices["margin"] = collect_margins(gates, choices.get("margin"))
    shares = {gate.b for gate in gates if "%" in (gate.margin or "")}
    if len(runs) == 2 and len(shares) == 1 and choices.get("baseline") is None:
        choices["baseline"] = shares.pop()  # a share of its mean; the pair is the same
    outputs.check_files([truth, *all_files(runs), segments, *side_files(choices)])
    start_spark(master, choices.get("engine"))
    with standard_input_as_file(truth) as (judged,), show_spinner("comparing"):
        comparison = compare(runs, judged, segments=segments, **given_options(choices))
        walks = outputs.write_page_and_trace_users(comparison)
    worst = {} if outputs.worst is None else {outputs.worst: comparison._moved_users()}
    outputs.write_result(comparison, walks, gates, worst)


def _read_system_arguments(truth: str, systems: tuple[str, ...]) -> RunFiles:
    """Parse ``name=FILE`` into a dictionary; several files without names get their file names.

    The truth shows if the files are in the wrong order.
    """
    if len(systems) > 1 and not _split_name_and_file(truth):
        systems = tuple(
            f"{_file_stem(Path(text))}={text}" if Path(text).is_file() else text for text in systems
        )
    if bare := [text for text in systems if not _split_name_and_file(text)]:
        if len(bare) == 1 and _split_name_and_file(truth) and not is_existing_path(truth):
            arguments = [truth, *(text for text in systems if text != bare[0])]
            line = shlex.join(["rankmeter", "compare", bare[0], *arguments])
            raise UsageError(f"the ground truth comes first: {line}")
        raise UsageError(
            f"{bare[0]!r} is not of the form NAME=FILE: the ground truth comes first, and every "
            "system has a name, as in rankmeter compare truth.csv BPR=bpr.csv ALS=als.csv. To "
            "measure one system: rankmeter evaluate RANKINGS TRUTH"
        )
    return runs_by_name(systems) or {}


def _file_stem(file: Path) -> str:
    """The name of a file without its extension: ``bm25`` of ``runs/bm25.run.gz``."""
    return Path(file.stem).stem if file.suffix in (".gz", ".zst") else file.stem


def runs_by_name(texts: Sequence[str]) -> RunFiles | None:
    """Parse ``name=FILE`` into a dictionary; None unless all texts are of this form.

    Several training runs are files with commas in between.
    """
    pairs = [_split_name_and_file(text) for text in texts]
    paths: dict[str, str] = {}
    for name, path in filter(None, pairs):
        if paths.setdefault(name, path) != path:
            raise UsageError(
                f"the name {name!r} is given to two files: {paths[name]} and {path}; for two "
                f"training runs of one system, write {name}={paths[name]},{path}"
            )
    return {name: _split_files(path) for name, path in paths.items()} if all(pairs) else None


def _split_files(text: str) -> str | list[Path]:
    """Split comma-separated files; a single file, whose name may have commas, stays a text."""
    runs = [Path(part) for part in text.split(",") if part]
    return text if len(runs) < 2 or is_existing_path(text) else runs


def all_files(runs_by_system: RunFiles) -> list[str]:
    """All files of all systems, as a flat list."""
    several = (runs if isinstance(runs, list) else [runs] for runs in runs_by_system.values())
    return [str(path) for runs in several for path in runs]


def _split_name_and_file(text: str) -> tuple[str, str] | tuple[()]:
    """Split ``name=FILE`` into name and file; an empty tuple for other texts."""
    name, _, path = text.partition("=")
    return (name, path) if name and path else ()


CONDITIONS = (
    "'new shown worse than prod on ndcg@10', 'new not shown within 1% of prod on ndcg@10' (a loss "
    "of 1% cannot be ruled out; or 'within 0.005'), 'new not shown better than prod on ndcg@10'."
)


command = Command(
    "compare",
    "Compare systems over one TRUTH: each SYSTEM is NAME=FILE, or NAME=FILE,FILE with several "
    "training runs of it; files alone, such as *.run, are named by their file names.\n\n"
    "All are measured on the same users. Stored results, x.result, need no TRUTH.",
    _run_command,
    [
        click.Argument(["truth"], type=click.Path()),
        click.Argument(["systems"], nargs=-1, required=True, metavar="SYSTEM..."),
        metrics_option("What to measure: ndcg@10, map@5,10. May be repeated."),
        segments_option(WITHIN),
        *report_options(),
        per_user_option("system, user"),
        CommandOption(
            "--worst",
            "Write users and their differences in the headline, the worst first, to such a file.",
            path="FILE",
            group="Output",
        ),
        *FORMATS.build_options("Format of the comparison; default: tables."),
        fail_if_option(CONDITIONS),
        show_option(" in each system"),
        *build_options(
            {"compare": compare},
            group="Comparison",
            without=("segments", *signature(evaluate).parameters),
        ),
        *build_options({"evaluate": evaluate}, group="Conventions"),
        master_option(),
    ],
    example="rankmeter compare truth.csv old=old.csv new=new.csv -m ndcg@10 --baseline old",
)
