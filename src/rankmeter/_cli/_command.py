"""What all commands share: the layout of their help, and errors that name command-line options."""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from rankmeter._cli._lazily import keep_freed_memory
from rankmeter.errors import RankmeterError
from rankmeter.errors._removed import REMOVED_OPTIONS, removed_option_message
from rankmeter.errors._synonyms import word_hint

USUAL = (
    *("metrics", "baseline", "relevant", "like", "form", "output"),
    *("help", "_click_default_help", "help_all"),
)
"""The options that most need, which the help of a command that measures shows first."""
SIDE, LARGE, RARE = "Side data", "Large data", "Rarely needed options"
LAST = (SIDE, LARGE, RARE)
"""The headings at the end of the help."""
SHORT = ("Most used", "Options", "Output")
"""The headings whose options the help of a command with many options explains."""
MANY = 20
ARGUMENTS = "rankmeter.arguments"
"""Where the context of a command has its arguments as typed."""


class _NonEmptyPath(click.Path):
    """Parameter type for the name of a file or folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Refuse an empty name, which would mean the working directory."""
        if value == "":
            self.fail("expected a name, got ''", param, ctx)
        return super().convert(value, param, ctx)


Choice: Any = click.Choice
"""Generic in recent versions of click alone."""


class WordChoice(Choice):  # type: ignore[misc]
    """Parameter type for one of some words; a word that is known otherwise gets a hint."""

    def __init__(self, words: Iterable[str]) -> None:
        super().__init__([*words], case_sensitive=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Refuse other words, with what replaces those that are known."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            hint = word_hint(str(param and param.name), value)
            hint = spell_options_as_typed(hint, ctx.command.params if ctx else ())
            self.fail(f"{error.message.removesuffix('.')}{hint}.", param, ctx)


class CommandOption(click.Option):
    """Option under a heading of the help; `path` is the metavar of a file or folder."""

    def __init__(
        self, names: str, text: str = "", *, group: str = "Options", path: str = "", **settings: Any
    ) -> None:
        if path:
            settings |= {"metavar": path, "type": _NonEmptyPath()}
        super().__init__(names.split(), help=text, **settings)
        self.group = group


class Command(click.Command):
    """A command whose help shows its options under headings and ends with an example.

    `example` has command lines that work, one per line; `topics` are further lists of terms for the
    help, by heading.
    """

    def __init__(
        self,
        name: str,
        text: str,
        run: Callable[..., None],
        params: list[click.Parameter],
        *,
        example: str,
        topics: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        if len(params) > MANY:
            params = [*params, _help_all_option()]
        super().__init__(name, help=text, callback=run, params=params)
        self.is_long = len(params) > MANY
        self.example = example
        self.topics = topics or {}

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; error messages show options as typed on the command line."""
        if not ctx.params.get("memory") and ctx.params.get("engine") not in ("disk", "spark"):
            keep_freed_memory()  # else there is a limit, or another process works
        try:
            return super().invoke(ctx)
        except RankmeterError as error:
            message = spell_options_as_typed(str(error), self.params)
            raise copy_with_message(error, message + _other_order(ctx, message)) from error

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; a cutoff as an option raises an error with a hint."""
        ctx.meta[ARGUMENTS] = [*args]
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            name = error.option_name.removeprefix("--").removeprefix("no-")
            if name in REMOVED_OPTIONS:
                message = spell_options_as_typed(removed_option_message(name), self.params)
                message = message.replace(f"`{name}`", error.option_name)
                raise click.NoSuchOption(error.option_name, message, ctx=ctx) from None
            if error.option_name not in ("-k", "--k", "--cutoff"):
                raise
            hint = f"{error.message} A cutoff is part of the metric string: -m ndcg@10."
            raise click.NoSuchOption(error.option_name, hint, ctx=ctx) from None

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options group by group, and then the topics."""
        options = {p.name: p for p in self.get_params(ctx) if isinstance(p, click.Option)}
        first = USUAL if options.keys() >= {"metrics", "relevant"} else ()
        order = [*(name for name in first if name in options), *options]
        groups: dict[str, list[tuple[str, str]]] = {}
        for name in dict.fromkeys(order):
            group = "Most used" if name in first else getattr(options[name], "group", "Options")
            if (record := options[name].get_help_record(ctx)) is not None:
                groups.setdefault(group, []).append(record)
        groups |= {last: groups.pop(last) for last in LAST if last in groups}
        collapsed: dict[str, list[tuple[str, str]]] = {}
        if self.is_long and not ctx.meta.get(_ALL):
            collapsed = {group: groups.pop(group) for group in [*groups] if group not in SHORT}
        groups |= {topic: list(entries.items()) for topic, entries in self.topics.items()}
        for group, records in groups.items():
            with formatter.section(group):
                formatter.write_dl(records)
        if collapsed:
            with formatter.section("More options, which --help-all explains"):
                for group, records in collapsed.items():
                    names = " ".join(re.findall(r"--[\w-]+", record)[0] for record, _ in records)
                    formatter.write(_wrap_with_hanging_indent(f"{group}: {names}", formatter))

    def format_epilog(self, _: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the example as command lines."""
        write_example_lines(formatter, self.example)


_ALL = "rankmeter.help_all"


def _help_all_option() -> CommandOption:
    def show_help(ctx: click.Context, _: click.Parameter, value: object) -> None:
        if value:
            ctx.meta[_ALL] = True
            click.echo(ctx.get_help())
            ctx.exit()

    return CommandOption(
        "--help-all",
        "Show all options and exit.",
        callback=show_help,
        is_flag=True,
        is_eager=True,
        expose_value=False,
    )


def _wrap_with_hanging_indent(text: str, formatter: click.HelpFormatter) -> str:
    """Wrap a paragraph with a hanging indent, without breaking options at hyphens."""
    indent = " " * formatter.current_indent
    return textwrap.fill(
        text, formatter.width, initial_indent=indent, subsequent_indent=indent + "  ",
        break_on_hyphens=False,
    ) + "\n"  # fmt: skip


def spell_flag(name: str) -> str:
    """Spell the name of an option as typed: ``--no-overlap`` for ``no_overlap``."""
    return "--" + name.replace("_", "-")


def write_example_lines(formatter: click.HelpFormatter, example: str) -> None:
    """Write command lines without breaking them."""
    with formatter.section("Example"):
        for line in example.splitlines():
            formatter.write(f"{'':{formatter.current_indent}}{line}\n")


def copy_with_message(error: RankmeterError, message: str) -> RankmeterError:
    """Copy an error with another message."""
    other = type(error)(message)
    vars(other).update(vars(error))
    return other


def _other_order(ctx: click.Context, message: str) -> str:
    """The command in the other order, if the message asks whether rankings and truth are swapped.

    Of several systems, the one whose file the message names is taken for the truth.
    """
    truth, others = ctx.params.get("truth"), ctx.params.get("systems")
    if others is None:
        others = (ctx.params.get("rankings"),)
    else:
        others = [one for one in others if Path(one.partition("=")[2] or one).name in message]
    typed = ctx.meta.get(ARGUMENTS, [])
    if "swapped?" not in message or len(others) != 1 or not {truth, others[0]} <= {*typed}:
        return ""
    exchanged = {truth: others[0], others[0]: truth}
    words = [*ctx.command_path.split()[1:], *(str(exchanged.get(x, x)) for x in typed)]
    line = shlex.join(["rankmeter", *words])
    return f" In the other order: {line}"


def spell_options_as_typed(message: str, parameters: Iterable[click.Parameter]) -> str:
    """Rewrite `` `ties` `` and ``ties='item'`` in a message as ``--ties`` and ``--ties item``.

    Function calls and text that only looks like an option, such as a file name, stay.
    """
    typed = {
        option.name: next((text for text in option.opts if text.startswith("--")), option.opts[0])
        for option in parameters
        if isinstance(option, click.Option) and option.name
    }
    names = "|".join(map(re.escape, typed))
    value = r"'(?P<text>[^']*)'|\{(?P<columns>[^{}]*)\}|(?=[\s,;:)]|$)"
    call = r"\w\([^()]*\)"
    option = rf"{call}|`(?P<bare>{names})`|(?<![\w/.-])(?P<name>{names})=(?:{value})"

    def spell(match: re.Match[str]) -> str:
        if not (name := match["bare"] or match["name"]):
            return match[0]
        roles = re.findall(r"'([\w.]+)': (?:'([^']*)'|\.\.\.|…|(None))", match["columns"] or "")
        columns = ",".join(f"{role}={name or ('' if no else 'NAME')}" for role, name, no in roles)
        return f"{typed[name]} {match['text'] or columns}".rstrip()

    return re.sub(option, spell, message)
