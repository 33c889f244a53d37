"""``rankmeter report``: Read the result back from a report."""

from __future__ import annotations

from typing import Any

import click

from rankmeter._cli._command import Command, CommandOption
from rankmeter._cli._files import standard_input_as_file
from rankmeter._cli._output import encode_json, json_option
from rankmeter._cli._terminal import mean_with_interval, print_table
from rankmeter._files import is_stored_result
from rankmeter._report.page import read_page
from rankmeter._results.tables import TextTable
from rankmeter._stored.file import load_result
from rankmeter.errors import to_one_line


def _run_command(read: str, as_json: bool) -> None:
    with standard_input_as_file(read) as (path,):
        assert path is not None
        stored = is_stored_result(path)
        result = load_result(path).to_dict() if stored else read_page(path)
    if as_json:
        click.echo(encode_json(result))
        return
    if "systems" not in result:
        print_table(_evaluation_table(result))
        return
    headline = result.get("headline")
    title = str(headline.get("title", "")) if isinstance(headline, dict) else ""
    print_table(_comparison_table(result), to_one_line(title))
    click.echo()
    click.echo(
        "\n".join(to_one_line(difference["sentence"]) for difference in result["differences"])
    )


def _evaluation_table(result: dict[str, Any]) -> TextTable:
    """Table of each mean of one evaluation with its interval."""
    rows = [(name, _mean_cell(e), f"{e['n_users']:,}") for name, e in result["metrics"].items()]
    return TextTable(("metric", "mean", "users"), rows, result["notes"])


def _comparison_table(result: dict[str, Any]) -> TextTable:
    """Table of systems × metrics, each mean with its interval."""
    rows = [
        (name, *(_mean_cell(means[name]) for means in result["metrics"].values()))
        for name in result["systems"]
    ]
    notes = [f"baseline {result['baseline']}"] if result["baseline"] else []
    notes.append(f"convention {result['plan']['convention']}")
    return TextTable(("system", *result["metrics"]), rows, notes)


def _mean_cell(mean: dict[str, float | None]) -> str:
    return mean_with_interval(mean["mean"], mean["low"], mean["high"])


command = Command(
    "report",
    "Print the result that a report holds.\n\n"
    "A report is a page from rankmeter evaluate --report or compare --report; with --json the "
    "result is what the command printed with --json for the same data. Stored results are read, "
    "too.",
    _run_command,
    [
        CommandOption(
            "--read",
            "The report, or a stored result (-o prod.result), or - for standard input.",
            path="FILE.html",
            required=True,
        ),
        json_option(),
    ],
    example=(
        "rankmeter compare truth.csv old=old.csv new=new.csv --report report.html\n"
        "rankmeter report --read report.html --json"
    ),
)
