"""How a run ends: its exit code, and one clear message if it failed.

0    fine
1    a gate (``--fail-if``) tripped
2    wrong usage
3    something in the data, or a file that cannot be read or written
4    a package that is needed is not installed
70   an error in rankmeter itself
129  the terminal has gone (SIGHUP)
130  interrupted (SIGINT)
141  the reader of the output has gone (as if ended by SIGPIPE)
143  terminated (SIGTERM)
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from typing import Any, NoReturn

import click

from rankmeter.errors import (
    DataError,
    MissingDependencyError,
    RankmeterError,
    RankmeterWarning,
    UsageError,
)

CODES = {UsageError: 2, DataError: 3, MissingDependencyError: 4}
"""The exit code of each kind of error."""

TRACEBACK = "RANKMETER_TRACEBACK"
"""The variable that asks for the traceback of an internal error."""


def run_for_exit_code(run: Callable[[], object]) -> int:
    """Call `run` and return the exit code; a traceback is shown only on request."""
    _fill_closed_streams()
    _replace_unprintable_characters()
    with _print_warnings():
        try:
            return _run_with_signals(run)
        except click.ClickException as error:
            print_error(error.format_message())
            if context := getattr(error, "ctx", None):
                click.echo(f"try '{context.command_path} --help'", err=True)
            return 2
        except RankmeterError as error:
            print_error(str(error))
            return exit_code_of_error(error)
        except (KeyboardInterrupt, click.Abort) as error:
            # One that Polars raises has no number.
            number = next((arg for arg in error.args if isinstance(arg, int)), signal.SIGINT)
            if number == signal.SIGINT:
                click.echo(err=True)
            return 128 + number
        except BrokenPipeError:
            _discard_stdout()
            return 141
        except OSError as error:
            _discard_stdout()
            names = " → ".join(str(name) for name in (error.filename, error.filename2) if name)
            if error.errno == errno.ENOSPC:
                names = names or "standard output"
            reason = error.strerror or str(error)
            if error.errno == errno.EBADF and not names:
                reason = "standard output is closed: use --output, or > /dev/null"
            print_error(": ".join(filter(None, [names, reason])))
            return 3
        except MemoryError as error:
            reason = f" ({error})" if str(error) else ""
            print_error(
                f"there is not enough memory{reason}: evaluate fewer users at a time, or use a "
                "machine with more"
            )
            return 3
        except ModuleNotFoundError as error:
            print_error(f"the package {error.name} is not installed: see rankmeter doctor")
            return 4
        except SystemExit:
            raise
        except BaseException as error:  # noqa: BLE001 - a panic in Rust is not an Exception
            return _report_bug(error)


def exit_code_of_error(error: RankmeterError) -> int:
    """The exit code of an error."""
    return next((code for kind, code in CODES.items() if isinstance(error, kind)), 1)


def _run_with_signals(run: Callable[[], object]) -> int:
    try:
        with _raise_on_signals():
            run()
        code = 0
    except click.exceptions.Exit as done:
        code = done.exit_code
    # Here, where it may fail with a message, and not when the interpreter ends.
    sys.stdout.flush()
    return code


def print_error(message: str, *details: str) -> None:
    """Write an error and further lines on stderr, without control characters of the terminal."""
    from rankmeter.errors import to_one_line

    color = False if os.environ.get("NO_COLOR") else None
    click.secho("error: ", fg="red", bold=True, err=True, nl=False, color=color)
    click.echo("\n".join(map(to_one_line, (message, *details))), err=True)


def _report_bug(error: BaseException) -> int:
    if os.environ.get(TRACEBACK):
        traceback.print_exception(error)
    reason = str(error).strip().partition("\n")[0]
    print_error(
        f"internal error, {type(error).__name__}: {reason}",
        f"run with {TRACEBACK}=1 for the details, and please report them",
    )
    return 70


@contextmanager
def _raise_on_signals() -> Iterator[None]:
    """Turn termination signals into KeyboardInterrupt, so that the code inside cleans up."""
    received: list[int] = []

    def raise_interrupt(number: int, _: object) -> NoReturn:
        received.append(number)
        for handled in before:
            signal.signal(handled, signal.SIG_IGN)  # the rest takes a moment
        raise KeyboardInterrupt(number)

    before = {}
    if threading.current_thread() is threading.main_thread():  # only this thread may change them
        for name in ("SIGHUP", "SIGINT", "SIGTERM"):
            handler = signal.getsignal(getattr(signal, name, signal.SIGINT))
            # A signal that is ignored (nohup) or handled elsewhere stays as it is.
            if handler in (signal.SIG_DFL, signal.default_int_handler):
                before[getattr(signal, name, signal.SIGINT)] = handler
    for number in before:
        signal.signal(number, raise_interrupt)
    try:
        yield
    except BaseException as error:
        if received:  # whatever an import, or Polars, made of the exception
            raise KeyboardInterrupt(received[0]) from error
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _fill_closed_streams() -> None:
    """Open the null device for streams that were closed from the start (``>&-``).

    Else the next file that is opened would be standard output. What cannot be lost goes nowhere;
    writing a result to standard output, or reading from standard input, is an error.
    """
    nowhere = {0: os.O_WRONLY, 1: os.O_RDONLY, 2: os.O_WRONLY}
    for number, flags in nowhere.items():
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, flags)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


def _replace_unprintable_characters() -> None:
    """Print a question mark in place of each character that the output encoding lacks."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


@contextmanager
def _print_warnings() -> Iterator[None]:
    """Always write rankmeter's warnings on stderr, a line each; keep other warnings unchanged."""
    with warnings.catch_warnings():
        original = warnings.showwarning

        def show_warning(message: Warning | str, category: type[Warning], *location: Any) -> None:
            if issubclass(category, RankmeterWarning):
                from rankmeter.errors import to_one_line

                click.echo(f"warning: {to_one_line(str(message))}", err=True)
            else:
                original(message, category, *location)

        warnings.showwarning = show_warning  # type: ignore[assignment]
        warnings.simplefilter("always", RankmeterWarning)
        yield


def _discard_stdout() -> None:
    """Let the interpreter discard the rest of stdout without an error."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
