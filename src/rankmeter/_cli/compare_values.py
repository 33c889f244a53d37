"""``rankmeter compare-values``: Compare values that were computed elsewhere."""

from __future__ import annotations

from typing import Any

import click

from rankmeter._cli._command import Command, CommandOption
from rankmeter._cli._files import standard_input_as_file
from rankmeter._cli._gates import collect_margins, fail_if_option, read_comparison_gate
from rankmeter._cli._options import build_options, given_options, side_files
from rankmeter._cli._shared import Outputs, segments_option
from rankmeter._cli._terminal import show_spinner
from rankmeter._cli.compare import CONDITIONS, FORMATS, WITHIN, all_files, runs_by_name
from rankmeter._evaluation.values import compare_values
from rankmeter.errors import UsageError


def _run_command(
    files: tuple[str, ...],
    segments: str | None,
    lower_is_better: tuple[str, ...],
    **choices: Any,
) -> None:
    outputs = Outputs.take_from_options(FORMATS, choices)
    runs = runs_by_name(files)
    if runs is None and len(files) > 1:
        raise UsageError("several files need names of the systems: A=a.csv B=b.csv")
    outputs.check_files([*all_files(runs or {"": files[0]}), segments, *side_files(choices)])
    if lower_is_better:
        choices["lower_is_better"] = lower_is_better
    gates = [read_comparison_gate(condition, None) for condition in outputs.conditions]
    choices["margin"] = collect_margins(gates, choices.get("margin"))
    with (
        standard_input_as_file(files[0] if runs is None else None) as (file,),
        show_spinner("comparing"),
    ):
        comparison = compare_values(runs or file, segments=segments, **given_options(choices))
    outputs.write_result(comparison, gates=gates)


command = Command(
    "compare-values",
    "Compare per-user values in FILE, of any tool and any kind of metric.\n\n"
    "FILE has the columns system, user and value, optionally metric, cluster and seed, or a "
    "column for each metric. Or each system is NAME=FILE: a file that --per-user of evaluate "
    "wrote, or NAME=FILE,FILE with one for each training run.",
    _run_command,
    [
        click.Argument(["files"], nargs=-1, required=True, metavar="FILE..."),
        segments_option(WITHIN, group="Options"),
        CommandOption(
            "--lower-is-better",
            "A metric of which lower values are better. May be repeated.",
            multiple=True,
            metavar="METRIC",
        ),
        *FORMATS.build_options("Format of the comparison; default: tables."),
        fail_if_option(CONDITIONS),
        *build_options(
            {"compare_values": compare_values},
            group="Comparison",
            without=("segments", "lower_is_better", "scale", "columns"),
        ),
    ],
    example="rankmeter compare-values values.csv --baseline old",
)
