"""``rankmeter schema``: Print the JSON schema of all results."""

from __future__ import annotations

from importlib import resources

import click

from rankmeter._cli._command import Command


def _run_command() -> None:
    file = resources.files("rankmeter._results").joinpath("schema.json")
    click.echo(file.read_text("utf-8").rstrip())


command = Command(
    "schema",
    "Print the JSON schema of all results: of --json in a shell, and of to_dict() in Python.\n\n"
    "The number under the key schema is its version.",
    _run_command,
    [],
    example="rankmeter schema",
)
