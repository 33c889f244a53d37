"""A small process that runs commands, each a JSON line, and says how long they took.

The memory of a command includes what the process that starts it holds, for a moment: so a process
with data of its own starts no command.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time

__all__ = ["Launcher"]


class Launcher:
    """The process, seen from the one that measures."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-S", __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, argv: list[str]) -> dict:
        """Seconds and output of a command, and the peak of memory of all commands so far."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(argv), file=self._process.stdin, flush=True)
        return json.loads(self._process.stdout.readline())


def main() -> None:
    """Run commands until the input ends."""
    unit = 1 if sys.platform == "darwin" else 1024
    for line in sys.stdin:
        start = time.perf_counter()
        done = subprocess.run(json.loads(line), check=False, capture_output=True, text=True)
        answer = {
            "seconds": time.perf_counter() - start,
            "exit": done.returncode,
            "output": done.stdout,
            "errors": done.stderr[-300:].strip(),
            "peak": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * unit,
        }
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
