"""``rankmeter check``: Say what a published mean can mean."""

from __future__ import annotations

from typing import Any

import click

from rankmeter._cli._command import Command, CommandOption
from rankmeter._cli._options import build_options, given_options
from rankmeter._cli._output import json_option, print_result
from rankmeter._published.check import check_mean


def _run_command(mean: str, n: int, against: str | None, as_json: bool, **choices: Any) -> None:
    found = check_mean(mean, n=n, against=against, **given_options(choices))
    print_result(found.to_dict(), str(found), as_json=as_json)


command = Command(
    "check",
    "Say what a published mean can mean, from the number of users alone.\n\n"
    "Whether the values of so many users can have this mean at all, which interval covers the true "
    "one whatever the values are, and the least p-value that two means could have.",
    _run_command,
    [
        CommandOption(
            "--mean",
            "The mean as it was printed: 0.350 has three decimals, 35.0% is the same.",
            required=True,
            metavar="NUMBER",
        ),
        CommandOption("--n", "Users.", type=click.INT, required=True),
        CommandOption(
            "--against",
            "The mean of another system for the same users.",
            metavar="NUMBER",
        ),
        json_option(),
        *build_options({"check": check_mean}, group="Options", without=("n", "against")),
    ],
    example="rankmeter check --n 300 --mean 0.35 --against 0.34 --metric hr@10",
)
