"""``rankmeter completion``: Print the script that completes commands in a shell."""

from __future__ import annotations

import click
from click.shell_completion import ShellComplete, get_completion_class

from rankmeter._cli import COMPLETE, main
from rankmeter._cli._command import Command

ENABLE = {
    "bash": 'to enable it, put into ~/.bashrc:  eval "$(rankmeter completion bash)"',
    "zsh": 'to enable it, put into ~/.zshrc:  eval "$(rankmeter completion zsh)"',
    "fish": (
        "to enable it:  rankmeter completion fish > ~/.config/fish/completions/rankmeter.fish"
    ),
}


def _run_command(shell: str) -> None:
    kind = get_completion_class(shell)
    assert kind is not None
    # Not the method of the class itself: that of bash would start a shell to find its version.
    script = ShellComplete.source(kind(main, {}, "rankmeter", COMPLETE))
    # At the end, where it is visible, and because zsh needs its own first line.
    click.echo(f"{script.strip()}\n# {ENABLE[shell]}")


command = Command(
    "completion",
    "Print the script that makes SHELL complete commands, options and their values.",
    _run_command,
    [click.Argument(["shell"], type=click.Choice(list(ENABLE)))],
    example="rankmeter completion bash",
)
