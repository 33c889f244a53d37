"""Let the tools take turns with rankmeter on the same data, in one run.

Each tool is a process of its own. It first evaluates once, which is not counted, and must agree
with rankmeter; then rankmeter and the tool take turns, so that both see the same machine. At most
two tools hold their data at a time.
"""

from __future__ import annotations

import json
import os
import platform
import selectors
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Self

from speed.data import Data, Shape
from speed.environments import Missing, python_of
from speed.peers import PEERS

FOUR = ("ndcg@10", "precision@10", "recall@100", "map@100")
LIMIT = 300  # seconds for one step of a tool
PATIENCE = 40  # seconds for all rounds of a tool; a slow one has fewer rounds


def grid(families: Sequence[str], cutoffs: Iterable[int]) -> tuple[str, ...]:
    """Every family at every cutoff."""
    return tuple(f"{family}@{k}" for k in cutoffs for family in families)


SIX = ("ndcg", "precision", "recall", "map", "hr", "rr")
EIGHT = (*SIX, "f1", "dcg")


@dataclass(frozen=True)
class Workload:
    """What is evaluated, and by which peers."""

    name: str
    title: str
    kind: str  # frames, dicts or files
    shape: Shape
    metrics: tuple[str, ...] = FOUR
    peers: tuple[str, ...] | None = None  # None: all that take this kind

    def opponents(self) -> list[str]:
        """The peers of rankmeter."""
        names = self.peers if self.peers is not None else tuple(PEERS)
        return [name for name in names if self.kind in PEERS[name].calls and name != "rankmeter"]


def _frames(users: int, *, text: bool, shuffled: bool, hits: int) -> Workload:
    """A workload of frames; all tools see four of them, the floor sees all."""
    shape = Shape(users, 100, hits, text, shuffled)
    words = ("text ids" if text else "integer ids", "shuffled" if shuffled else "sorted")
    found = "1 hit" if hits == 1 else f"{hits} hits"
    every = shuffled and hits == 20
    fast = ("floor", "replay", "rectools", "rectools ranking", "pytrec_eval", "ranx")
    peers = ("floor",) if not every else None if users == 20_000 else fast[: 4 if text else 6]
    return Workload(
        f"frames-{users}-{'text' if text else 'integer'}-{words[1]}-{hits}",
        f"{users:,} users × 100 rows, {words[0]}, {words[1]}, {found} per user",
        "frames",
        shape,
        peers=peers,
    )


def _dicts(name: str, shape: Shape) -> Workload:
    """A workload of dictionaries; objects that were made one after the other are near in memory."""
    order = "row by row in random order" if shape.shuffled else "user by user"
    title = f"Dictionaries, {shape.users:,} users × {shape.length:,}, made {order}"
    return Workload(f"dicts-{name}", title, "dicts", shape)


_TINY = Shape(3, 4, 2)
_MANY = ("ranx", "pytrec_eval", "replay")
WORKLOADS = [
    *(
        _frames(users, text=text, shuffled=shuffled, hits=hits)
        for users in (20_000, 200_000)
        for text in (False, True)
        for shuffled in (True, False)
        for hits in (20, 1)
    ),
    _dicts("long", Shape(7_000, 1_000, 20, shuffled=False)),
    _dicts("long-shuffled", Shape(7_000, 1_000, 20)),
    _dicts("short", Shape(200_000, 10, 3, shuffled=False)),
    Workload("files", "TREC files, 7,000 × 1,000, whole process", "files", Shape(7_000, 1_000, 20)),
    Workload("start", "Tiny TREC files, whole process", "files", _TINY, ("ndcg@10",)),
    Workload(
        "many-metrics",
        "138,000 users × 100 rows, integer ids, 6 metrics at 4 cutoffs",
        "frames",
        Shape(138_000, 100, 5),
        grid(SIX, (5, 10, 20, 100)),
        ("floor", "ranx", "pytrec_eval", "replay", "rectools", "rectools ranking"),
    ),
    *(
        Workload(
            f"metrics-{n}",
            f"20,000 users × 100 rows, integer ids, {n} metric{'s' if n > 1 else ''}",
            "frames",
            Shape(20_000, 100, 5),
            metrics,
            _MANY,
        )
        for n, metrics in (
            (1, ("ndcg@10",)),
            (5, grid(("ndcg", "precision", "recall", "map", "hr"), (10,))),
            (40, grid(EIGHT, (1, 5, 10, 20, 100))),
            (200, grid(EIGHT, range(4, 101, 4))),
        )
    ),
]
QUICK = [
    Workload(
        "quick-frames-integer",
        "5,000 users × 100 rows, integer ids, shuffled, 20 hits per user",
        "frames",
        Shape(5_000, 100, 20),
        peers=("floor", "pytrec_eval", "replay", "rectools"),
    ),
    Workload(
        "quick-frames-text",
        "5,000 users × 100 rows, text ids, shuffled, 20 hits per user",
        "frames",
        Shape(5_000, 100, 20, text=True),
        peers=("floor",),
    ),
    Workload(
        "quick-dicts",
        "Dictionaries, 500 users × 1,000",
        "dicts",
        Shape(500, 1_000, 20),
        peers=("pytrec_eval", "ir_measures"),
    ),
    Workload(
        "quick-start",
        "Tiny TREC files, whole process",
        "files",
        _TINY,
        ("ndcg@10",),
        ("pytrec_eval", "ir_measures", "trec_eval", "rankmeter trec_eval"),
    ),
]


class Failed(Exception):  # noqa: N818
    """What a tool answered instead of a value."""


class Process:
    """A worker: `speed.worker` in the environment of a peer."""

    def __init__(self, peer: str, *, install: bool) -> None:
        python = python_of(PEERS[peer].environment, install=install)
        variables = {
            **os.environ,
            "PYTHONPATH": str(Path(__file__).parents[1]),
            "PYTHONWARNINGS": "ignore",
            "PYTHONDONTWRITEBYTECODE": "",  # else this checkout is compiled at each start
        }
        self.process = subprocess.Popen(
            [python, "-m", "speed.worker", peer],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=variables,
            text=True,
            start_new_session=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)  # and the command that it runs
        self.process.communicate()

    def ask(self, **asked: object) -> dict:
        """The worker's answer; `Failed` if it has none."""
        try:
            print(json.dumps(asked), file=self.process.stdin, flush=True)
        except BrokenPipeError:
            raise Failed(self._ended()) from None
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            if not selector.select(LIMIT):
                raise Failed(f"stopped after {LIMIT} s")
        line = self.process.stdout.readline()
        answer = json.loads(line) if line else {"error": self._ended()}
        if "error" in answer:
            raise Failed(" ".join(answer["error"].split())[:200])
        return answer

    def _ended(self) -> str:
        return f"the process ended with {self.process.wait()}"


def measure(workload: Workload, *, rounds: int, install: bool) -> dict:
    """All figures of one workload."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        asked = {"kind": workload.kind, "shape": asdict(workload.shape)}
        if workload.kind == "files":
            asked["files"] = [str(path) for path in Data(workload.shape).write_trec(Path(folder))]
        with Process("rankmeter", install=install) as ours:
            opened = ours.ask(open=asked)
            first = ours.ask(run=workload.metrics)
            peers = {
                name: _peer(name, workload, asked, ours, rounds=rounds, install=install)
                for name in workload.opponents()
            }
            whole = [peer["pairs"] for peer in peers.values() if not peer["lacks"]]
            seconds = [mine for pairs in whole for mine, _ in pairs]
            own = [ours.ask(run=workload.metrics) for _ in range(rounds if not seconds else 1)]
            again = 0 if workload.kind == "files" else rounds
            checks = [ours.ask(checks=workload.metrics) for _ in range(again)]
    return {
        "name": workload.name,
        "title": workload.title,
        "kind": workload.kind,
        "rows": workload.shape.users * workload.shape.length,
        "metrics": len(workload.metrics),
        "rankmeter": {
            "version": opened["version"],
            "first": first["seconds"],
            "seconds": seconds + [one["seconds"] for one in own],
            "peak": own[-1]["peak"],
            "checks": {
                group: statistics.median(one[group] / one["all"] for one in checks)
                for group in (checks[0] if checks else {})
                if group != "all"
            },
        },
        "peers": peers,
    }


def _peer(
    name: str, workload: Workload, asked: dict, ours: Process, *, rounds: int, install: bool
) -> dict:
    """What one peer measured in turn with rankmeter: seconds of both, as pairs."""
    peer = PEERS[name]
    lacks = [metric for metric in workload.metrics if not peer.knows(metric)]
    metrics = [metric for metric in workload.metrics if metric not in lacks]
    found: dict = {"title": peer.title, "note": peer.note, "lacks": lacks, "pairs": []}
    try:
        with Process(name, install=install) as theirs:
            opened = theirs.ask(open=asked)
            found |= {"version": opened["version"], "prepare": opened["seconds"]}
            first = theirs.ask(run=metrics)
            found |= {"first": first["seconds"], "peak": first["peak"]}
            _agree(peer, metrics, first["means"], ours)
            for _ in range(max(1, min(rounds, int(PATIENCE / first["seconds"])))):
                mine, other = ours.ask(run=metrics), theirs.ask(run=metrics)
                found["pairs"].append((mine["seconds"], other["seconds"]))
                found["peak"] = other["peak"]
    except (Missing, Failed) as error:
        found["error"] = str(error)
    return found


def _agree(peer, metrics: list[str], means: dict[str, float], ours: Process) -> None:
    """A call that computes something else must not look fast."""
    if not peer.convention:
        return
    expected = ours.ask(like=peer.convention, run=metrics)["means"]
    for metric in metrics:
        if not abs(means[metric] - expected[metric]) <= peer.tolerance:
            raise SystemExit(
                f"{peer.title}: {metric} is {means[metric]!r}, but {expected[metric]!r} by "
                f"rankmeter with like={peer.convention!r}: the call is wrong"
            )


def machine() -> list[str]:
    """The machine in general words."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return [
        f"{os.cpu_count()} cores",
        f"{memory:.0f} GiB of memory",
        f"{platform.system()} on {platform.machine()}",
        f"Python {platform.python_version()}",
        *(f"{name} {version(name.lower())}" for name in ("Polars", "NumPy")),
    ]


def measure_all(
    workloads: Iterable[Workload], *, rounds: int, install: bool, command: str
) -> Iterator[dict]:
    """The figures of the workloads so far, after each of them."""
    figures = {"command": command, "rounds": rounds, "machine": machine(), "workloads": []}
    for workload in workloads:
        print(f"{workload.title} …", file=sys.stderr, flush=True)
        figures["workloads"].append(measure(workload, rounds=rounds, install=install))
        yield figures
