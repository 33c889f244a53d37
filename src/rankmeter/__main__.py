"""The entry point of the command line: ``rankmeter`` and ``python -m rankmeter``."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; Ctrl-C is quiet from the first import to the last."""
    try:
        import gc
        import os
        import signal

        gc.set_threshold(100_000)  # imports make many objects and hardly any garbage

        # An exception in the middle of an import may be caught, or become another one.
        usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if usual:
            signal.signal(signal.SIGINT, lambda *_: os._exit(130))
        from rankmeter._cli import main as run

        if usual:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        run()
    except KeyboardInterrupt:
        _leave(130)
    except SystemExit as end:
        _leave(end.code)


# Python keeps the frames of a thread in blocks, of 16 KiB unless a frame is larger, and returns an
# empty one at once. Imports are deep: calls that cross the end of a block, thousands of times, took
# a tenth of a small run. The block of a frame with so much room has room for all others.
main.__code__ = main.__code__.replace(co_stacksize=2**16)


def _leave(code: object) -> None:
    """End the process without taking all modules apart, which takes longer than a small run."""
    import atexit
    import os

    if isinstance(code, int) and not (sys.gettrace() or sys.getprofile()):
        atexit._run_exitfuncs()  # noqa: SLF001
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except (OSError, ValueError):
            sys.exit(code)  # which reports it
        os._exit(code)
    sys.exit(code)  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
