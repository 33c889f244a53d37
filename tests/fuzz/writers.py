"""Commands that are ended at random moments, or whose disk is full: each output is old or new.

Each run has old outputs in its folder. Afterwards each of them must have all its old bytes, or all
its new ones, and there must be no other file, neither there nor in the folder for temporary ones.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

ENDINGS = [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP]
OLD = b"old"

START = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # also where this runs in the background
signal.signal(signal.SIGHUP, signal.SIG_DFL)
from rankmeter.__main__ import main
main()
"""
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
        "split {ratings} --method k-fold --k 2 -o . --format csv",
        [f"fold-{i}/{part}.csv" for i in (1, 2) for part in ("train", "test")],
    ),
    (f"{COMPARE} --report page.html", ["page.html"]),
    (f"{COMPARE} --format md -o table.md", ["table.md"]),
]
"""Command lines of all kinds, and what they write."""


@dataclass(frozen=True)
class Job:
    """A command line, the whole files that it writes, and how long it takes."""

    words: Sequence[str]
    outputs: dict[str, bytes]
    seconds: float


@dataclass(frozen=True)
class Ended:
    """How a run ended, what it said, and all files that it left, by name."""

    code: int
    said: str
    files: dict[str, bytes]


def prepare(home: Path, chosen: Sequence[int] = range(len(JOBS))) -> list[Job]:
    """Write the inputs into a folder, and run some of the jobs without any trouble."""
    rows = [(user, item) for user in range(400) for item in range(20)]
    inputs = {
        "ratings": [f"{u},{(u * 7 + i * 13) % 500},{i % 5 + 1}" for u, i in rows],
        "other": [f"{u},{(u * 3 + i * 11) % 500},{i % 7 + 1}" for u, i in rows],
        "truth": [f"{u},{(u * 5 + i * 17) % 500}" for u, i in rows],
    }
    paths = {name: home / f"{name}.csv" for name in inputs}
    for name, lines in inputs.items():
        head = "user,item" if name == "truth" else "user,item,rating"
        paths[name].write_text("\n".join([head, *lines]))
    jobs = []
    for line, outputs in (JOBS[number] for number in chosen):
        words = [word.format(**paths) for word in line.split()]
        begun = time.monotonic()
        done = attempt(home, words, outputs)
        seconds = time.monotonic() - begun
        assert done.code == 0, done.said
        assert sorted(done.files) == sorted(outputs)
        assert OLD not in done.files.values()
        jobs.append(Job(words, done.files, seconds))
    return jobs


def attempt(
    home: Path,
    words: Sequence[str],
    outputs: Iterable[str],
    *,
    limit: int | None = None,
    ending: tuple[int, float] | None = None,
) -> Ended:
    """Run a command over old outputs, with a limit of size or a signal after some seconds."""
    with tempfile.TemporaryDirectory(dir=home) as name:
        folder = Path(name, "folder")
        temporary = Path(name, "temporary")
        temporary.mkdir()
        for output in outputs:
            (folder / output).parent.mkdir(parents=True, exist_ok=True)
            (folder / output).write_bytes(OLD)
        code = START
        if limit is not None:
            code = f"import resource as r; r.setrlimit(r.RLIMIT_FSIZE, ({limit},) * 2); {code}"
        with (home / "ratings.csv").open("rb") as stdin:
            process = subprocess.Popen(
                [sys.executable, "-B", "-c", code, *words],
                cwd=folder,
                env=os.environ | {"TMPDIR": str(temporary)},
                stdin=stdin,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
            )
        if ending:
            with suppress(subprocess.TimeoutExpired):
                process.wait(ending[1])
            process.send_signal(ending[0])
        _, said = process.communicate(timeout=120)
        found = [path for path in Path(name).rglob("*") if path.is_file()]
        files = {os.path.relpath(path, folder): path.read_bytes() for path in found}
    return Ended(process.returncode, said.decode(), files)


def judge(job: Job, done: Ended, what: str) -> int:
    """How many outputs of a run are new; an `AssertionError` if one is torn, or more is there."""
    what = f"{' '.join(job.words)}\n{what}: exit {done.code}, {done.said!r}"
    assert sorted(done.files) == sorted(job.outputs), f"left {sorted(done.files)}\n{what}"
    for name, content in done.files.items():
        assert content in (OLD, job.outputs[name]), f"{name} is torn\n{what}"
    return sum(content != OLD for content in done.files.values())


def kill(home: Path, jobs: Sequence[Job], n: int, seed: int) -> Counter[int]:
    """End `n` runs by signals; half of them near the end, where they write. Gives exit codes."""

    def once(number: int) -> int:
        draw = random.Random(f"{seed} {number}")
        job, ending = draw.choice(jobs), ENDINGS[number % len(ENDINGS)]
        after = job.seconds * draw.uniform(0.1 if number % 8 < 4 else 0.7, 1.1)
        done = attempt(home, job.words, job.outputs, ending=(ending, after))
        what = f"seed {seed}, run {number}, signal {ending} after {after:.3f} s"
        judge(job, done, what)
        # In its first moments Python itself decides, and so it does in its last ones.
        assert done.code in (0, -ending, 128 + ending), f"exit {done.code}, {what}: {done.said}"
        return done.code

    return Counter(in_parallel(once, n))


def cut(home: Path, jobs: Sequence[Job], n: int, seed: int) -> Counter[int]:
    """Limit the size of files in `n` runs: all outputs are old afterwards. Gives exit codes."""

    def once(number: int) -> int:
        draw = random.Random(f"{seed} {number}")
        job = draw.choice(jobs)
        largest = max(map(len, job.outputs.values()))
        limit = min(int(largest * draw.choice([0, 0.001, 0.1, 0.5, 0.9, 1])), largest - 1)
        done = attempt(home, job.words, job.outputs, limit=limit)
        what = f"seed {seed}, run {number}, files up to {limit} of {largest} bytes"
        new = judge(job, done, what)
        assert (done.code, new) == (3, 0), f"exit {done.code}, {new} new, {what}: {done.said}"
        assert any(
            name in done.said for name in (*job.outputs, "standard input", "temporary directory")
        ), done.said
        return done.code

    return Counter(in_parallel(once, n))


def in_parallel(once: Callable[[int], int], n: int) -> list[int]:
    """Run something for every number below `n`, two at a time."""
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(once, range(n)))
