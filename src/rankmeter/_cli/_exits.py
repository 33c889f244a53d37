"""How a run ends: its exit code, and one clear message if it failed.

0    fine
1    a gate (``--fail-if``) tripped
2    wrong usage
3    something in the data, or a file that cannot be read or written
4    a package that is needed is not installed
70   an error in rankmeter itself
130  interrupted
141  the reader of the output has gone (as if ended by the signal SIGPIPE)
"""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from typing import Any

import click

from rankmeter.errors import (
    DataError,
    MissingDependencyError,
    RankmeterError,
    RankmeterWarning,
    UsageError,
)

__all__ = ["CODES", "code_of", "complain", "exit_code"]

CODES = {UsageError: 2, DataError: 3, MissingDependencyError: 4}
"""The exit code of each kind of error."""

TRACEBACK = "RANKMETER_TRACEBACK"
"""The variable that asks for the traceback of an internal error."""


def exit_code(run: Callable[[], object]) -> int:
    """Run something and return its exit code; a traceback is shown only on request."""
    _never_lack_characters()
    with _own_warnings():
        try:
            return _run(run)
        except click.ClickException as error:
            complain(error.format_message())
            if context := getattr(error, "ctx", None):
                click.echo(f"try '{context.command_path} --help'", err=True)
            return 2
        except RankmeterError as error:
            complain(str(error))
            return code_of(error)
        except (KeyboardInterrupt, click.Abort):
            click.echo(err=True)
            return 130
        except BrokenPipeError:
            _drop_stdout()
            return 141
        except OSError as error:
            _drop_stdout()
            names = " → ".join(str(one) for one in (error.filename, error.filename2) if one)
            complain(": ".join(filter(None, [names, error.strerror or str(error)])))
            return 3
        except MemoryError:
            complain("there is not enough memory for these data: evaluate fewer users at a time")
            return 3
        except ModuleNotFoundError as error:
            complain(f"the package {error.name} is not installed: see rankmeter doctor")
            return 4
        except SystemExit:
            raise
        except BaseException as error:  # noqa: BLE001 - a panic in Rust is not an Exception
            return _report_bug(error)


def code_of(error: RankmeterError) -> int:
    """The exit code of an error."""
    return next((code for kind, code in CODES.items() if isinstance(error, kind)), 1)


def _run(run: Callable[[], object]) -> int:
    try:
        run()
        code = 0
    except click.exceptions.Exit as done:
        code = done.exit_code
    # Here, where it may fail with a message, and not when the interpreter ends.
    sys.stdout.flush()
    return code


def complain(message: str, *more: str) -> None:
    """Write an error and further lines on stderr, without control characters of the terminal."""
    from rankmeter._report.table import one_line

    color = False if os.environ.get("NO_COLOR") else None
    click.secho("error: ", fg="red", bold=True, err=True, nl=False, color=color)
    click.echo("\n".join(map(one_line, (message, *more))), err=True)


def _report_bug(error: BaseException) -> int:
    if os.environ.get(TRACEBACK):
        traceback.print_exception(error)
    said = str(error).strip().partition("\n")[0]
    complain(
        f"internal error, {type(error).__name__}: {said}",
        f"run with {TRACEBACK}=1 for the details, and please report them",
    )
    return 70


def _never_lack_characters() -> None:
    """Show a question mark for a character that the terminal lacks, and keep the rest."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


@contextmanager
def _own_warnings() -> Iterator[None]:
    """Always write rankmeter's warnings on stderr, each in one line; leave other warnings."""
    with warnings.catch_warnings():
        others = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any) -> None:
            if issubclass(category, RankmeterWarning):
                from rankmeter._report.table import one_line

                click.echo(f"warning: {one_line(str(message))}", err=True)
            else:
                others(message, category, *where)

        warnings.showwarning = show  # type: ignore[assignment]
        warnings.simplefilter("always", RankmeterWarning)
        yield


def _drop_stdout() -> None:
    """Let the interpreter discard the rest of stdout without an error."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
