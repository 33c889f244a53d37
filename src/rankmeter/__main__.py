"""The entry point of the command line: ``rankmeter`` and ``python -m rankmeter``."""

from __future__ import annotations

# Not signal, whose imports take longer than the rest, and Ctrl-C during them is not quiet.
import _signal as signal  # type: ignore[import-not-found]
import sys


def main() -> None:
    """Run the command line; Ctrl-C is quiet from the first import to the last."""
    interruptions: list[int] = []
    # An exception in the middle of an import may be caught, or become another one.
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if usual:
        signal.signal(signal.SIGINT, lambda number, _: interruptions.append(number))
    from rankmeter._cli import main as run

    if usual:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if interruptions:
        sys.exit(130)
    try:
        run()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
