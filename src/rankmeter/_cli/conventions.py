"""``rankmeter conventions``: List the conventions of known tools, or show one."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import click

from rankmeter._cli._command import Command
from rankmeter._cli._options import complete_conventions
from rankmeter._cli._output import json_option, print_result
from rankmeter._cli._terminal import terminal_help_formatter
from rankmeter.conventions import Convention, convention_names, load_convention


def _run_command(name: str | None, as_json: bool) -> None:
    if name is not None:
        convention = load_convention(name)
        print_result(
            dataclasses.asdict(convention), _explain_convention(convention), as_json=as_json
        )
        return
    conventions = [load_convention(tool) for tool in convention_names()]
    formatter = terminal_help_formatter()
    formatter.write_dl([(convention.name, _title(convention)) for convention in conventions])
    result = {"conventions": [*map(dataclasses.asdict, conventions)]}
    print_result(result, formatter.getvalue().rstrip(), as_json=as_json)


def _explain_convention(convention: Convention) -> str:
    formatter = terminal_help_formatter()
    formatter.write_text(f"{convention.name} · {_title(convention)}")
    tables = {
        "Options for every metric": {name: str(v) for name, v in convention.switches.items()},
        "Options by metric": {name: _spell_choices(v) for name, v in convention.metrics.items()},
        "Its names for the metrics": convention.names,
        "Its options": {name: _spell_choices(v) for name, v in convention.options.items()},
    }
    texts = {
        "Bugs, followed only with --bugs": [bug["why"] for bug in convention.bugs],
        "Not followed": [deviation["why"] for deviation in convention.deviations],
        "Notes": convention.notes,
    }
    if not (convention.switches or convention.metrics):
        formatter.write_text("All its options are the defaults of rankmeter.")
    for title, rows in tables.items():
        if rows:
            with formatter.section(title):
                formatter.write_dl(list(rows.items()))
    for title, paragraphs in texts.items():
        if paragraphs:
            with formatter.section(title):
                for paragraph in paragraphs:
                    formatter.write_text(paragraph)
    if convention.sources:
        with formatter.section("Sources"):
            for source in convention.sources:  # an address is not broken into lines
                formatter.write(f"  {source}\n")
    return formatter.getvalue().rstrip()


def _title(convention: Convention) -> str:
    return " ".join(filter(None, [convention.title, convention.version]))


def _spell_choices(choices: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in choices.items())


command = Command(
    "conventions",
    "List the conventions for --like, or show the options of the one called NAME.",
    _run_command,
    [click.Argument(["name"], required=False, shell_complete=complete_conventions), json_option()],
    example="rankmeter conventions\nrankmeter conventions rankmeter",
)
