"""What all commands share: how their help looks, and errors that speak the shell's language."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import click

from rankmeter.errors import RankmeterError

__all__ = ["Command", "Option", "flag", "write_example"]


class Option(click.Option):
    """An option that stands under a heading in the help."""

    def __init__(self, *args: Any, group: str = "Options", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.group = group


class Command(click.Command):
    """A command whose help shows its options under headings and ends with an example.

    Parameters
    ----------
    example : str
        Command lines that work, one per line.
    topics : mapping of str to mapping of str to str, optional
        Further lists of terms for the help, by heading.
    """

    def __init__(
        self,
        *args: Any,
        example: str,
        topics: Mapping[str, Mapping[str, str]] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.example = example
        self.topics = topics or {}

    def invoke(self, ctx: click.Context) -> Any:
        """Run, and spell the options in what goes wrong as they are typed."""
        try:
            return super().invoke(ctx)
        except RankmeterError as error:
            error.args = (_as_typed(str(error), self.params),)
            raise

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, group by group, and what else there is to choose from."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if isinstance(parameter, click.Option) and record is not None:
                groups.setdefault(getattr(parameter, "group", "Options"), []).append(record)
        groups |= {topic: list(entries.items()) for topic, entries in self.topics.items()}
        for group, records in groups.items():
            with formatter.section(group):
                formatter.write_dl(records)

    def format_epilog(
        self,
        ctx: click.Context,  # noqa: ARG002 - click calls it so
        formatter: click.HelpFormatter,
    ) -> None:
        """Write the example as it is typed."""
        write_example(formatter, self.example)


def flag(name: str) -> str:
    """How an option is written on the command line."""
    return "--" + name.replace("_", "-")


def write_example(formatter: click.HelpFormatter, example: str) -> None:
    """Write command lines without breaking them."""
    with formatter.section("Example"):
        for line in example.splitlines():
            formatter.write(f"{'':{formatter.current_indent}}{line}\n")


_CALL = r"\b\w+\([^()]*=[^()]*\)"
_COLUMNS = r"\bcolumns=\{(?P<columns>[^{}]*)\}"
_WORD = r"True|False|[a-z]+|-?\d+(?:\.\d+)?(?:e-?\d+)?"
_END = r"(?=[\s,;:)]|\.(?:\s|$)|$)"


def _as_typed(message: str, parameters: Iterable[click.Parameter]) -> str:
    """A message in which ``ties='item'`` is ``--ties item``, for the options of a command.

    Calls of functions and what only looks like an option, such as the name of a file, stay.
    """
    typed = {
        one.name: next((text for text in one.opts if text.startswith("--")), one.opts[0])
        for one in parameters
        if isinstance(one, click.Option) and one.name
    }
    name = "|".join(map(re.escape, typed))
    value = rf"'(?P<text>[^']*)'|\((?P<several>[^()=]*)\)|(?P<word>{_WORD}){_END}|{_END}"
    options = rf"(?<![\w/.-])(?P<name>{name})=(?:{value})|`(?P<bare>{name})`"

    def option(found: re.Match[str]) -> str:
        if found["columns"]:
            return f"--columns {_typed_columns(found['columns'])}"
        if not (found["name"] or found["bare"]):
            return found[0]
        text = typed[found["name"] or found["bare"]]
        if found["word"] in ("True", "False"):
            return text if found["word"] == "True" else text.replace("--", "--no-", 1)
        value = found["text"] or found["word"] or (found["several"] or "").replace(", ", " ")
        return f"{text} {value}".rstrip()

    return re.sub(f"{_CALL}|{_COLUMNS}|{options}", option, message)


def _typed_columns(roles: str) -> str:
    """``'user': 'member', 'item': ...`` as ``user=member,item=NAME``."""
    pairs = re.findall(r"'([\w.]+)': (?:'([^']*)'|\.\.\.|…)", roles)
    return ",".join(f"{role}={name or 'NAME'}" for role, name in pairs)
