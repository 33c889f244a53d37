"""``rankmeter describe``: what interactions look like."""

from __future__ import annotations

import json
from typing import Any

import click

from rankmeter._cli._command import Command, Option
from rankmeter._cli._files import standard_input
from rankmeter._cli._options import options_of, own_options
from rankmeter._cli._terminal import working
from rankmeter._interactions.describe import describe

__all__ = ["command"]

_FUNCTIONS = {"describe": describe}


def _run(data: str, as_json: bool, **choices: Any) -> None:
    with standard_input(data) as (path,), working("reading"):
        found = describe(path, **own_options(_FUNCTIONS, "describe", choices))
    if as_json:
        whole = {"schema": 1, **found.to_dict()}
        click.echo(json.dumps(whole, indent=2, ensure_ascii=False, allow_nan=False))
    else:
        click.echo(repr(found))


command = Command(
    "describe",
    help=(
        "Tell what the interactions in DATA look like.\n\n"
        "How many users, items and interactions there are, how unevenly they are spread, ratings, "
        "times and repeats. DATA is a file with columns for user, item and perhaps rating and "
        "time, or - for standard input."
    ),
    callback=_run,
    params=[
        click.Argument(["data"], type=click.Path()),
        Option(["as_json", "--json"], is_flag=True, help="Write one JSON object.", group="Output"),
        *options_of(_FUNCTIONS, group="Choices"),
    ],
    example="rankmeter describe ratings.csv",
)
