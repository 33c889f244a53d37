"""``rankmeter diff``: Say what changed between two rankings, without ground truth."""

from __future__ import annotations

from typing import Any

import click

from rankmeter._cli._command import Command
from rankmeter._cli._files import standard_input_as_file
from rankmeter._cli._options import build_options, given_options
from rankmeter._cli._output import AnswerFormats
from rankmeter._cli._shared import Outputs
from rankmeter._cli._terminal import show_spinner
from rankmeter._diff.diff import Diff, diff

FORMATS: AnswerFormats[Diff] = AnswerFormats(
    csv=Diff.to_csv, latex=Diff.to_latex, json=Diff.to_json
)


def _run_command(old: str, new: str, **choices: Any) -> None:
    outputs = Outputs.take_from_options(FORMATS, choices)
    outputs.check_files([old, new])
    with standard_input_as_file(old, new) as (before, after), show_spinner("comparing"):
        found = diff(before, after, **given_options(choices))
    outputs.write_result(found)


command = Command(
    "diff",
    "Say what changed between two rankings, without ground truth.\n\n"
    "OLD and NEW are files of rankings. Shows how many lists are equal, how similar the others "
    "are, the ten users whose lists changed most, and the items that entered or left most lists.",
    _run_command,
    [
        click.Argument(["old"], type=click.Path()),
        click.Argument(["new"], type=click.Path()),
        *FORMATS.build_options("Format of the answer; default: tables."),
        *build_options({"diff": diff}, group="Options"),
    ],
    example="rankmeter diff old.csv new.csv --k 10",
)
