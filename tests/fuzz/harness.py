"""Many inputs in processes of their own: what crashes, hangs or grows ends one of them, not all.

A fuzzer makes input number n from the seed and n alone, so that each failure is made again by both
numbers. A worker writes the number in work into a file; the parent reads there what a worker did
that ended or hangs, keeps it as a failure, and starts a worker after it.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HANG = 30.0  # seconds of work on one input
PAUSE = 300.0  # seconds from its start to its end, on a machine that has other work
MEMORY = 2 << 30  # bytes that a worker may use at most
TOO_MUCH = 3  # how a worker ends that used more
SMALLER = 300  # tries to make a failing input smaller
WORKER = "import sys; from fuzz.harness import work; sys.exit(work())"
TESTS = Path(__file__).resolve().parents[1]


class Failure(Exception):
    """What must not happen: its kind, and what was seen."""

    def __init__(self, kind: str, seen: str = "") -> None:
        super().__init__(f"{kind}: {seen}")
        self.kind = kind


@dataclass
class Report:
    """What became of the inputs: how many of each outcome, and the failures."""

    outcomes: Counter[str] = field(default_factory=Counter)
    failures: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0

    def __str__(self) -> str:
        n = sum(self.outcomes.values()) + len(self.failures)
        lines = [f"{n:,} inputs in {self.seconds:.0f} s, {len(self.failures)} failures"]
        lines += [f"  {count:9,}  {outcome}" for outcome, count in self.outcomes.most_common()]
        for kind, found in self.kinds().items():
            lines += [f"  FAILED {len(found)} times: {kind}", f"    {found[0]['seen']}"]
            lines += [f"    again: {found[0]['again']}; smallest: {found[0]['file']}"]
        return "\n".join(lines)

    def kinds(self) -> dict[str, list[dict[str, Any]]]:
        """The failures by kind."""
        found: dict[str, list[dict[str, Any]]] = {}
        for one in self.failures:
            found.setdefault(one["kind"], []).append(one)
        return found


def run(
    name: str, n: int, *, seed: int = 0, first: int = 0, jobs: int = 1, folder: Path | None = None
) -> Report:
    """Check inputs `first` to `first + n` of a fuzzer; what fails is written into a folder."""
    report, begun = Report(), time.monotonic()
    folder = folder or Path(tempfile.mkdtemp(prefix="rankmeter-fuzz-"))
    folder.mkdir(parents=True, exist_ok=True)
    cuts = [first + n * i // jobs for i in range(jobs + 1)]
    with ThreadPoolExecutor(jobs) as pool:
        parts = [
            pool.submit(_keep_working, name, seed, a, b, folder, report)
            for a, b in zip(cuts, cuts[1:], strict=False)
        ]
    for part in parts:
        part.result()  # or what went wrong here
    report.seconds = time.monotonic() - begun
    report.failures.sort(key=lambda one: one["number"])
    return report


# -- the parent of a worker -------------------------------------------------------------------


def _keep_working(name: str, seed: int, first: int, end: int, folder: Path, report: Report) -> None:
    with tempfile.TemporaryDirectory(prefix="rankmeter-fuzz-") as home:
        at = Path(home, "at")
        while first < end:
            at.write_text(f"{first} 0")
            part, code, last = _worker(name, seed, first, end, at)
            number, stage = map(int, at.read_text().split())
            checked = sum(part.outcomes.values()) + len(part.failures)
            if code and stage == 2:  # the judge itself, such as the reader of Parquet that it uses
                part.outcomes["the judge crashed"] += 1
            elif code and code != TOO_MUCH:
                kind = "hang" if code == -9 else f"the process ended with {code}"
                part.failures.append({"kind": kind, "number": number, "seen": last, "smallest": ""})
            if code:  # what it counted since its last report is lost
                part.outcomes["passed before another failed"] += number - first - checked
            first = number + 1 if code else end
            report.outcomes.update(+part.outcomes)
            report.failures += [_kept(one, name, seed, folder) for one in part.failures]


def _worker(name: str, seed: int, first: int, end: int, at: Path) -> tuple[Report, int, str]:
    """What a worker reports before it ends, its exit status, and its last words."""
    paths = [str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]
    more = {"PYTHONPATH": os.pathsep.join(paths), "POLARS_MAX_THREADS": "1"}
    words = [sys.executable, "-c", WORKER, name, str(seed), str(first), str(end), str(at)]
    part = Report()
    with (
        tempfile.TemporaryFile() as said,
        subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=said, env=os.environ | more
        ) as worker,
    ):
        watch = threading.Thread(target=_watch, args=(worker, at))
        watch.start()
        for line in worker.stdout or ():
            found = json.loads(line)
            part.outcomes.update(found.get("outcomes", {}))
            part.failures += filter(None, [found.get("failure")])
        code = worker.wait()
        watch.join()
        said.seek(0)
        return part, code, said.read().decode(errors="replace")[-300:].strip()


def _peak() -> int:
    """Bytes that this program used at most; `getrusage` counts the process that started it, too."""
    with contextlib.suppress(OSError):
        lines = Path("/proc/self/status").read_text("ascii").splitlines()
        sizes = [line.split()[1] for line in lines if line.startswith("VmHWM:")]
        return int(sizes[0]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _watch(worker: subprocess.Popen[bytes], at: Path) -> None:
    before, since, used = "", 0.0, 0.0
    while worker.poll() is None:
        now = at.read_text()
        if now != before:
            before, since, used = now, time.monotonic(), _seconds_of_work(worker.pid)
        elif _seconds_of_work(worker.pid) - used > HANG or time.monotonic() - since > PAUSE:
            worker.kill()
        time.sleep(0.1)


def _seconds_of_work(pid: int) -> float:
    """Seconds that a process has used of a processor; those of the clock where none are known."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return time.monotonic()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _kept(one: dict[str, Any], name: str, seed: int, folder: Path) -> dict[str, Any]:
    """A failure with the command that makes it again, and the smallest input in a file."""
    fuzzer = load(name)
    again = f"python -m fuzz {name} --seed {seed} --first {one['number']} --n 1"
    content = bytes.fromhex(one["smallest"]) or fuzzer.show(_made(fuzzer, seed, one["number"]))
    path = (
        folder / f"{name}-{seed}-{one['number']}{fuzzer.suffix(_made(fuzzer, seed, one['number']))}"
    )
    path.write_bytes(content)
    return one | {"again": again, "file": str(path)}


# -- a worker ---------------------------------------------------------------------------------


def load(name: str) -> Any:
    """The fuzzer of a name: ``readers.csv`` is the one for csv in `fuzz.readers`."""
    module, _, rest = name.partition(".")
    return importlib.import_module(f"fuzz.{module}").fuzzer(rest)


def _made(fuzzer: Any, seed: int, number: int) -> Any:
    return fuzzer.make(random.Random(f"{seed} {number}"))


def outcome(fuzzer: Any, case: Any, stage: Any = lambda _: None) -> str:
    """The outcome of an input; raises `Failure` if it is not permitted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return str(fuzzer.check(case, stage))


def work() -> int:
    """Check inputs, as the arguments of the process say."""
    name, (seed, first, end), at = sys.argv[1], map(int, sys.argv[2:5]), sys.argv[5]
    # Not of addresses: the library that draws charts reserves more of them than there is memory.
    resource.setrlimit(resource.RLIMIT_DATA, (4 * MEMORY, 4 * MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    fuzzer, outcomes, seen = load(name), Counter[str](), Counter[str]()
    where = os.open(at, os.O_WRONLY)
    for number in range(first, end):
        os.pwrite(where, f"{number:<20} 0".encode(), 0)
        case = _made(fuzzer, seed, number)

        def stage(now: int, number: int = number) -> None:
            os.pwrite(where, f"{number:<20} {now}".encode(), 0)

        try:
            outcomes[outcome(fuzzer, case, stage)] += 1
        except Exception as wrong:
            error = as_failure(wrong)
            seen[error.kind] += 1
            if seen[error.kind] <= 3:
                case = smaller(fuzzer, case, error.kind)
            one = {"kind": error.kind, "number": number, "seen": str(error)[:600]}
            _say(failure=one | {"smallest": fuzzer.show(case).hex()})
        used = _peak()
        if used > MEMORY:
            one = {"kind": "memory", "number": number, "seen": f"{used / 2**30:.1f} GiB"}
            _say(failure=one | {"smallest": fuzzer.show(case).hex()}, outcomes=outcomes)
            return TOO_MUCH
        if number % 1000 == 999:  # what follows may end the worker
            _say(outcomes=outcomes)
            outcomes.clear()
    _say(outcomes=outcomes)
    return 0


def as_failure(error: Exception) -> Failure:
    """A failure as it is; another error is one of the fuzzer itself, or of its judge."""
    if isinstance(error, Failure):
        return error
    return Failure(f"the fuzzer fails: {type(error).__name__}", traceback.format_exc(limit=-3))


def _say(**found: Any) -> None:
    print(json.dumps(found), flush=True)


def smaller(fuzzer: Any, case: Any, kind: str) -> Any:
    """A case as small as possible that fails in the same way."""
    tries = SMALLER
    going = True
    while going and tries:
        going = False
        for other in fuzzer.smaller(case):
            if not tries:
                break
            tries -= 1
            try:
                outcome(fuzzer, other)
            except Exception as error:
                if as_failure(error).kind == kind:
                    case, going = other, True
                    break
    return case
