"""The entry point of the command line: ``rankmeter`` and ``python -m rankmeter``."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; Ctrl-C is quiet from the first import to the last."""
    try:
        from rankmeter._cli import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
