"""The option ``--show``: how the values of a user come about, below the tables."""

from __future__ import annotations

from collections.abc import Iterable

from rankmeter._cli._command import Option
from rankmeter._cli._files import STDIN
from rankmeter._cli._terminal import print_walk
from rankmeter._results.walkthrough import Walkthrough
from rankmeter.errors import UsageError


def show_option(where: str = "") -> Option:
    """The option; `where` says more about the values."""
    return Option(
        "--show",
        f"Show how the values of a user come about{where}: rank, item, gain, discount, term, sum, "
        "ideal. May be repeated.",
        multiple=True,
        metavar="USER",
        group="Output",
    )


def check_show(show: Iterable[str], form: str, output: str | None) -> None:
    """Refuse other forms than tables."""
    if show and (form != "table" or output not in (None, STDIN)):
        raise UsageError("--show writes a table on standard output: leave out --format and -o")


def print_walks(walks: Iterable[Walkthrough]) -> None:
    """Write on standard output how the values of some users come about."""
    for walk in walks:
        print_walk(walk)
