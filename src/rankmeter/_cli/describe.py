"""``rankmeter describe``: Summarize an interaction dataset."""

from __future__ import annotations

from typing import Any

import click

from rankmeter._cli._command import Command
from rankmeter._cli._files import standard_input_as_file
from rankmeter._cli._options import build_options, given_options
from rankmeter._cli._output import json_option, print_result
from rankmeter._cli._terminal import show_spinner
from rankmeter.splits._describe import describe


def _run_command(data: str, as_json: bool, **choices: Any) -> None:
    with standard_input_as_file(data) as (path,), show_spinner("reading"):
        description = describe(path, **given_options(choices))
    print_result(description.to_dict(), repr(description), as_json=as_json)


command = Command(
    "describe",
    "Describe the interactions in DATA.\n\n"
    "How many users, items and interactions there are, how unevenly they are spread, ratings, "
    "times and repeats. DATA is a file with columns for user, item and optionally rating and "
    "time, or - for standard input.",
    _run_command,
    [
        click.Argument(["data"], type=click.Path()),
        json_option(),
        *build_options({"describe": describe}, group="Choices"),
    ],
    example="rankmeter describe ratings.csv",
)
