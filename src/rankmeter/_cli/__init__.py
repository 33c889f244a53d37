"""The command line: argv → the public functions → tables, files and exit codes.

A command is one file in this folder, named like the command (with _ for -), ``command`` in it; its
first line is the help. Only the command that runs is imported, so `rankmeter --help` is quick.
Commands compute nothing and have no defaults of their own: their options come from the signatures
of the functions that they call (`_options`), and they raise or return; `_exits` makes an exit code
of that.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any, NoReturn

import click

from rankmeter._annexes import annex, annex_of
from rankmeter._cli._command import write_example_lines
from rankmeter._cli._exits import run_for_exit_code
from rankmeter._cli._lazily import import_later
from rankmeter._version import __version__

__all__ = ["COMPLETE", "CommandLine", "command_summaries", "main"]

_FIRST = (
    "evaluate",
    "evaluate-scores",
    "evaluate-ranks",
    "compare",
    "compare-values",
    "sample-size",
    "report",
    "diff",
    "explain",
    "audit",
    "check",
    "split",
    "baseline",
    "describe",
    "metrics",
)
"""The commands that the help lists first, in this order."""
RENAMED = {"plan": "sample-size"}
"""The new name of a command by its old one, which still works."""


@functools.cache
def command_summaries() -> dict[str, str]:
    """Every command with its help in one line, in the order of the help.

    Its help is the first line of its file, so all files are read, but only where they are listed.
    """
    from importlib import resources

    helps = {}
    for file in resources.files(__name__).iterdir():
        name = file.name.removesuffix(".py")
        if file.name != name and not name.startswith("_"):
            first = file.read_text("utf-8").partition("\n")[0]
            command, _, text = first.partition("``: ")
            helps[command.partition("rankmeter ")[2]] = text.removesuffix('"""')
    order = {name: position for position, name in enumerate(_FIRST)}
    return dict(sorted(helps.items(), key=lambda line: (order.get(line[0], len(order)), line[0])))


COMPLETE = "_RANKMETER_COMPLETE"
"""The environment variable with which a shell asks for completions."""


class CommandLine(click.Group):
    """Group of all commands, each imported when needed."""

    def list_commands(self, _: click.Context) -> list[str]:
        """Names of all commands."""
        return list(command_summaries())

    def get_command(self, _: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; None for an unknown name."""
        module = f"_cli.{cmd_name.replace('-', '_')}"
        if cmd_name.startswith("_") or "." in cmd_name:
            return None
        if find_spec(f"rankmeter.{module}") is None and annex_of(module) == "command_line":
            return None  # else it is the command of an annex that was taken out
        import_later("polars")  # TREC files, for example, do not need it
        command: click.Command = annex(module).command
        return command if command.name == cmd_name else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; an unknown name raises an error with the nearest names."""
        name = RENAMED.get(args[0], args[0])
        if name != args[0]:
            click.echo(f"warning: rankmeter {args[0]} is now called rankmeter {name}", err=True)
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            from rankmeter.errors._checks import unknown_word_error

            raise click.UsageError(
                str(unknown_word_error("command", name, command_summaries())), ctx
            )
        return super().resolve_command(ctx, [name, *args[1:]])

    def format_commands(self, _: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table of commands without importing their modules."""
        with formatter.section("Commands"):
            formatter.write_dl(list(command_summaries().items()))

    def format_epilog(self, _: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the example as a command line."""
        write_example_lines(formatter, "rankmeter demo")

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """Complete the name of a command without importing its module."""
        from click.shell_completion import CompletionItem

        matching = [
            CompletionItem(name, help=text)
            for name, text in command_summaries().items()
            if name.startswith(incomplete)
        ]
        return matching + click.Command.shell_complete(self, ctx, incomplete)

    def main(self, args: Sequence[str] | None = None, *_: Any, **__: Any) -> NoReturn:
        """Run a command line (default: the arguments of the process), and exit."""
        if instruction := os.environ.get(COMPLETE):
            from click.shell_completion import shell_complete

            sys.exit(shell_complete(self, {}, "rankmeter", COMPLETE, instruction))

        words = list(sys.argv[1:] if args is None else args)

        def run() -> None:
            with self.make_context("rankmeter", words) as ctx:
                self.invoke(ctx)

        sys.exit(run_for_exit_code(run))


@click.group(
    "rankmeter",
    cls=CommandLine,
    help="Measure rankings: recommendations, retrieval runs, link predictions. Any metric, any "
    "convention, with uncertainty.",
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, message="%(prog)s %(version)s")
@click.pass_context
def main(ctx: click.Context) -> None:
    """Show the help if no command is named."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
