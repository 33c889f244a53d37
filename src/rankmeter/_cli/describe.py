"""``rankmeter describe``: Summarize an interaction dataset."""

from __future__ import annotations

from typing import Any

import click

from rankmeter._cli._command import Command, CommandOption
from rankmeter._cli._files import refuse_overwriting, standard_input_as_file
from rankmeter._cli._options import build_options, given_options
from rankmeter._cli._output import check_page_name, json_option, print_result
from rankmeter._cli._terminal import show_spinner
from rankmeter.splits._describe import describe


def _run_command(data: str, as_json: bool, report: str | None, **choices: Any) -> None:
    check_page_name(report)
    refuse_overwriting([report], [data])
    with standard_input_as_file(data) as (path,), show_spinner("reading"):
        description = describe(path, **given_options(choices))
    if report is not None:
        description.report(report)
    print_result(description.to_dict(), repr(description), as_json=as_json)


command = Command(
    "describe",
    "Describe the interactions in DATA.\n\n"
    "How many users, items and interactions there are, how unevenly they are spread, ratings, "
    "times, repeats, and what is new at the end. DATA is a file with columns for user, item and "
    "optionally rating and time, or - for standard input.",
    _run_command,
    [
        click.Argument(["data"], type=click.Path()),
        json_option(),
        CommandOption(
            "--report",
            "Write a page with charts: activity, popularity, top items, ratings or events, time, "
            "what is new.",
            path="FILE.html",
        ),
        *build_options({"describe": describe}, group="Choices"),
    ],
    example="rankmeter describe ratings.csv --report data.html",
)
