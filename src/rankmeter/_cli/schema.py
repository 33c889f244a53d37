"""``rankmeter schema``: Print the JSON schema of all results."""

from __future__ import annotations

import json
from importlib import resources

import click

from rankmeter._cli._command import Command
from rankmeter._results.differences import difference_schema


def _run_command() -> None:
    file = resources.files("rankmeter._results").joinpath("schema.json")
    schema = json.loads(file.read_text("utf-8"))
    schema["$defs"]["difference"] |= difference_schema()
    click.echo(json.dumps(schema, indent=1, ensure_ascii=False))


command = Command(
    "schema",
    "Print the JSON schema of all results: of --json in a shell, and of to_dict() in Python.\n\n"
    "The number under the key schema is its version.",
    _run_command,
    [],
    example="rankmeter schema",
)
