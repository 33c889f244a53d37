"""The commands, generated from their help."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable

import click

from rankmeter._cli import _exits, main
from rankmeter_docs.rst import code, heading, paragraphs, plain, table


def exit_codes() -> str:
    """The exit codes, from the docstring of the module that decides them."""
    rows = re.findall(r"^ *(\d+) +(.+)$", inspect.getdoc(_exits) or "", re.MULTILINE)
    return table(["code", "meaning"], [(code(n), said) for n, said in rows], widths=[10, 90])


def sections() -> str:
    """A section for each command."""
    context = click.Context(main, info_name="rankmeter")
    return paragraphs(*(_section(context, name) for name in main.list_commands(context)))


def _section(parent: click.Context, name: str) -> str:
    command = main.get_command(parent, name)
    context = click.Context(command, info_name=name, parent=parent)
    usage = " ".join(["rankmeter", name, *command.collect_usage_pieces(context)])
    parts = [f".. _command-{name}:", heading(f"rankmeter {name}", "-"), code(usage)]
    parts += [plain(paragraph) for paragraph in (command.help or "").split("\n\n")]
    for group, entries in _groups(command, context).items():
        parts += [f".. rubric:: {group}", _list(entries)]
    for topic, entries in getattr(command, "topics", {}).items():
        parts += [f".. rubric:: {topic}", _list(entries.items())]
    if example := getattr(command, "example", ""):
        lines = "\n".join(f"$ {line}" for line in example.splitlines())
        parts += [".. rubric:: Example", f".. code-block:: console\n\n{_indent(lines)}"]
    return paragraphs(*parts)


def _groups(command: click.Command, context: click.Context) -> dict[str, list[tuple[str, str]]]:
    groups: dict[str, list[tuple[str, str]]] = {}
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if (
            isinstance(parameter, click.Option)
            and record
            and not {"--help", "--help-all"} & {*parameter.opts}
        ):
            groups.setdefault(getattr(parameter, "group", "Options"), []).append(record)
    return groups


def _list(entries: Iterable[tuple[str, str]]) -> str:
    """Terms with their meanings; an entry without a term is a paragraph."""
    said = [f"{code(term)}\n    {plain(text)}" if term else plain(text) for term, text in entries]
    return f".. container:: rm-options\n\n{_indent(paragraphs(*said))}"


def _indent(text: str) -> str:
    return "\n".join(f"   {line}".rstrip() for line in text.splitlines())
