"""One tool at work, in its own environment: it answers JSON lines until its input ends.

``{"open": {"kind": ..., "shape": ...}}`` makes the data and prepares them, ``{"run": metrics}``
evaluates them once, ``{"like": convention, "run": metrics}`` and ``{"checks": metrics}`` are for
rankmeter: the values under another tool's convention, and how long its checks take.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

from speed.launcher import Launcher
from speed.peers import PEERS, given, rankmeter_means, spelled


class Memory:
    """The peak of resident memory above what was resident at the start."""

    def __init__(self) -> None:
        if hasattr(libc := ctypes.CDLL(None), "malloc_trim"):
            libc.malloc_trim(0)  # what the preparation left over is not held by the data
        if self._resident() is not None:
            Path("/proc/self/clear_refs").write_text("5")  # the peak starts again
        self.before = self._resident() or 0

    def peak(self) -> int | None:
        """In bytes, or None where the system cannot say."""
        peak = self._resident("VmHWM")
        return None if peak is None else peak - self.before

    @staticmethod
    def _resident(name: str = "VmRSS") -> int | None:
        try:
            lines = Path("/proc/self/status").read_text().splitlines()
        except OSError:
            return None
        return next(int(line.split()[1]) for line in lines if line.startswith(name)) * 1024


class Worker:
    """One peer with the data of one workload."""

    def __init__(self, name: str) -> None:
        self.peer = PEERS[name]
        self.launcher: Launcher | None = None  # of whole processes

    def open(self, asked: dict) -> dict:
        """Make the data and prepare them; the preparation is timed."""
        if "files" in asked:
            prepare, self.launcher = given(*asked["files"]), Launcher()
        else:
            from speed.data import Data, Shape

            data = Data(Shape(**asked["shape"]))
            prepare, self.run = self.peer.calls[asked["kind"]](data)
        gc.collect()
        start = time.perf_counter()
        self.prepared = prepare()
        seconds = time.perf_counter() - start
        gc.collect()
        self.memory = Memory()
        found = version(self.peer.package) if self.peer.package else self._printed_version()
        return {"seconds": seconds, "version": found}

    def evaluate(self, metrics: list[str]) -> dict:
        """Evaluate once; the peak of memory is that of all evaluations so far."""
        if self.launcher is not None:
            return self._command(self.launcher, metrics)
        gc.collect()
        gc.disable()
        start = time.perf_counter()
        means = self.run(self.prepared, metrics)
        seconds = time.perf_counter() - start
        gc.enable()
        return {"seconds": seconds, "means": means, "peak": self.memory.peak()}

    def expected(self, convention: str, metrics: list[str]) -> dict:
        """The means by the convention of another tool."""
        names = spelled(convention, metrics)
        found = rankmeter_means(*self.prepared, names, like=convention)
        return {"means": dict(zip(metrics, found.values(), strict=True))}

    def checks(self, metrics: list[str]) -> dict:
        """The time of an evaluation and of the checks in it."""
        from speed.checks import timed

        return timed(lambda: self.run(self.prepared, metrics))

    def _command(self, launcher: Launcher, metrics: list[str]) -> dict:
        """Run the command of the tool once."""
        done = launcher.run(self.peer.calls["files"](*self.prepared, metrics))
        if done["exit"]:
            raise RuntimeError(f"exit {done['exit']}: {done['errors']}")
        means = self.peer.read(done["output"])
        return {"seconds": done["seconds"], "means": means, "peak": done["peak"]}

    @staticmethod
    def _printed_version() -> str:
        binary = [os.environ["TREC_EVAL"], "--version"]
        done = subprocess.run(binary, check=False, capture_output=True, text=True)
        return (done.stdout + done.stderr).split()[-1]

    def answer(self, asked: dict) -> dict:
        """Do what a line asks."""
        if "open" in asked:
            return self.open(asked["open"])
        if "checks" in asked:
            return self.checks(asked["checks"])
        if "like" in asked:
            return self.expected(asked["like"], asked["run"])
        return self.evaluate(asked["run"])


def main(name: str) -> None:
    # What a tool prints must not mix with the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    worker = Worker(name)
    for line in sys.stdin:
        try:
            answer = worker.answer(json.loads(line))
        except Exception as error:  # noqa: BLE001 - whatever a tool raises is reported
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
