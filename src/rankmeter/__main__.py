"""Run the command line: ``python -m rankmeter``."""

from __future__ import annotations

from rankmeter._cli import main

if __name__ == "__main__":
    main()
