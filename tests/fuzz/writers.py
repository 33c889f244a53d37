"""Commands that are ended at random moments, or whose disk is full: each output is old or new.

Each run has old outputs in its folder. Afterwards each of them must have all its old bytes, or all
its new ones, and there must be no other file, neither there nor in the folder for temporary ones.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

COMMAND = [sys.executable, "-m", "rankmeter"]
ENDINGS = [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP]
OLD = b"old"

EVALUATE = "evaluate {ratings} {truth} -m ndcg@10 --per-user"
COMPARE = "compare {truth} a={ratings} b={other} -m ndcg@5"
JOBS = [
    (f"{EVALUATE} per-user.csv", ["per-user.csv"]),
    (f"{EVALUATE} per-user.csv.gz -o table.txt", ["per-user.csv.gz", "table.txt"]),
    (f"{EVALUATE} per-user.parquet --json -o all.json", ["per-user.parquet", "all.json"]),
    ("evaluate - {truth} -o means.tex --format latex", ["means.tex"]),
    ("baseline {ratings} --method popularity -o top.run", ["top.run"]),
    ("split {ratings} --method holdout --train a.jsonl --test b.jsonl", ["a.jsonl", "b.jsonl"]),
    (
        "split {ratings} --method k-fold --n 2 -o . --format csv",
        [f"fold-{i}/{part}.csv" for i in (1, 2) for part in ("train", "test")],
    ),
    (f"{COMPARE} --report page.html", ["page.html"]),
    (f"{COMPARE} --format md -o table.md", ["table.md"]),
]
"""Command lines of all kinds, and what they write."""


@dataclass(frozen=True)
class Job:
    """A command line, what it writes, and how long it takes."""

    words: Sequence[str]
    outputs: dict[str, bytes]
    seconds: float


@dataclass(frozen=True)
class Ended:
    """A run: how it ended, what it said, and how many of its outputs are new."""

    code: int
    said: str
    new: int


class Writers:
    """Jobs in a folder of their own; `check` runs one in a fresh folder and looks at the outcome.

    What is wrong is an `AssertionError`.
    """

    def __init__(self, home: Path, chosen: Sequence[int] = range(len(JOBS))) -> None:
        self.home = home
        self.stdin = home / "ratings.csv"
        inputs = {name: str(home / f"{name}.csv") for name in ("ratings", "other", "truth")}
        lines = [[] for _ in inputs]
        for user in range(400):
            for item in range(20):
                lines[0].append(f"{user},{(user * 7 + item * 13) % 500},{item % 5 + 1}")
                lines[1].append(f"{user},{(user * 3 + item * 11) % 500},{item % 7 + 1}")
                lines[2].append(f"{user},{(user * 5 + item * 17) % 500}")
        heads = ("user,item,rating", "user,item,rating", "user,item")
        for path, head, rows in zip(inputs.values(), heads, lines, strict=True):
            Path(path).write_text("\n".join([head, *rows]))
        self.jobs = []
        for number in chosen:
            line, outputs = JOBS[number]
            words = [word.format(**inputs) for word in line.split()]
            whole = dict.fromkeys(outputs, OLD)
            begun = time.monotonic()
            with self._run(Job(words, whole, 0.0)) as (process, folder):
                _, said = process.communicate()
                assert process.returncode == 0, said.decode()
                whole = {name: (folder / name).read_bytes() for name in outputs}
                assert OLD not in whole.values()
            self.jobs.append(Job(words, whole, time.monotonic() - begun))

    def _run(self, job: Job, limit: int | None = None) -> _Run:
        return _Run(self, job, limit)

    def check(self, job: Job, limit: int | None = None, **killing: float) -> Ended:
        """Run a job, with a limit of size or a signal after some seconds: ``number``, ``after``."""
        with self._run(job, limit) as (process, folder):
            if killing:
                try:
                    process.wait(killing["after"])
                except subprocess.TimeoutExpired:
                    process.send_signal(int(killing["number"]))
            _, said = process.communicate(timeout=120)
            found = {str(path.relative_to(folder)): path for path in files(folder)}
            where = f"{job.words}, limit {limit}, {killing}: exit {process.returncode}, {said!r}"
            assert sorted(found) == sorted(["tmp", *job.outputs]) or sorted(found) == sorted(
                job.outputs
            ), f"left {sorted(set(found) - set(job.outputs))} by {where}"
            new = 0
            for name, content in job.outputs.items():
                there = found[name].read_bytes()
                assert there in (OLD, content), f"{name} is torn by {where}"
                new += there == content
            return Ended(process.returncode, said.decode(), new)


class _Run:
    """A process in a fresh folder with old outputs."""

    def __init__(self, writers: Writers, job: Job, limit: int | None) -> None:
        self.writers, self.job, self.limit = writers, job, limit

    def __enter__(self) -> tuple[subprocess.Popen[bytes], Path]:
        self._folder = tempfile.TemporaryDirectory(dir=self.writers.home)
        folder = Path(self._folder.name)
        (folder / "tmp").mkdir()
        for name in self.job.outputs:
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(OLD)
        # A shell sets the limit, since the files of Python itself must not be cut.
        begin = f"import resource as r, signal; r.setrlimit(r.RLIMIT_FSIZE, ({self.limit},) * 2)"
        if self.limit is None:
            begin = ""
        code = f"{begin}\nfrom rankmeter.__main__ import main\nmain()"
        with self.writers.stdin.open("rb") as stdin:
            self.process = subprocess.Popen(
                [sys.executable, "-B", "-c", code, *self.job.words],
                cwd=folder,
                env={"TMPDIR": str(folder / "tmp"), "PATH": "/usr/bin:/bin"},
                stdin=stdin,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
            )
        return self.process, folder

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()
        self._folder.cleanup()


def files(folder: Path) -> Iterator[Path]:
    """All files below a folder."""
    return (path for path in folder.rglob("*") if path.is_file())


def kill(writers: Writers, n: int, seed: int) -> list[Ended]:
    """End `n` runs by signals, at moments of which half are near the end, where they write."""
    draw = random.Random(seed)

    def once(number: int) -> Ended:
        own = random.Random(f"{seed} {number}")
        job = own.choice(writers.jobs)
        ending = ENDINGS[number % len(ENDINGS)]
        after = job.seconds * own.uniform(0.1 if number % 8 < 4 else 0.7, 1.1)
        done = writers.check(job, number=ending, after=after)
        expected = {0, -ending, 128 + ending}
        assert done.code in expected, f"exit {done.code} after {ending!r}: {done.said}"
        return done

    return in_parallel(once, n)


def cut(writers: Writers, n: int, seed: int) -> list[Ended]:
    """Limit the size of files in `n` runs: either all outputs are new, or all are old."""

    def once(number: int) -> Ended:
        own = random.Random(f"{seed} {number}")
        job = own.choice(writers.jobs)
        largest = max(map(len, job.outputs.values()))
        limit = int(largest ** own.uniform(0.0, 1.0) * own.uniform(0.5, 1.0))
        done = writers.check(job, limit)
        fits = limit >= largest
        assert (done.code, done.new) == ((0, len(job.outputs)) if fits else (3, 0)), (
            f"exit {done.code} with {done.new} of {len(job.outputs)} new, limit {limit}: {done.said}"
        )
        names = [*job.outputs, "standard input"]
        assert fits or any(name in done.said for name in names), done.said
        return done

    return in_parallel(once, n)


def in_parallel(once, n: int) -> list[Ended]:
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(once, range(n)))
