"""``rankmeter sample-size``: Say how many users a comparison needs."""

from __future__ import annotations

from typing import Any

import click

from rankmeter._cli._command import Command, CommandOption
from rankmeter._cli._files import standard_input_as_file
from rankmeter._cli._options import build_options, given_options
from rankmeter._cli._output import json_option, print_result
from rankmeter._evaluation.planning import sample_size


def _run_command(pilot: str | None, difference: float, as_json: bool, **choices: Any) -> None:
    with standard_input_as_file(pilot) as (file,):
        size = sample_size(file, difference=difference, **given_options(choices))
    print_result(size.to_dict(), str(size), as_json=as_json)


command = Command(
    "sample-size",
    "Say how many users a comparison needs to find a difference.\n\n"
    "PILOT is a file of per-user values of two systems, as compare --per-user writes for one "
    "metric. Without a pilot, --sd is the standard deviation of the differences over users.",
    _run_command,
    [
        click.Argument(["pilot"], type=click.Path(), required=False),
        CommandOption(
            "--difference",
            "The smallest true difference of the means that the study should find.",
            type=click.FLOAT,
            required=True,
        ),
        json_option(),
        *build_options({"sample_size": sample_size}, group="Options", without=("difference",)),
    ],
    example="rankmeter sample-size --sd 0.15 --difference 0.01 --systems 4",
)
