"""``python benchmarks/phases.py [--rounds N]``: where the time of an evaluation goes.

Functions of rankmeter are wrapped with a clock that stops while another one runs, so each moment
belongs to one phase. Printed are nanoseconds for a row of the rankings, of the fastest of some
rounds; what runs in several threads adds up.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import re
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType

import rankmeter as rm
from by_hand import WORK

PHASES = {
    "reading": (
        r"_reading\.read\.read_(rankings|truth)",
        r"_formats\.parquet\.ParquetFiles\.(of|read)",
    ),
    "finding": (
        r"_rankings\.codes\.Codes\.(of_tables|encode|find|mask_users_in)",
        r"_rankings\.codes\.partition_users",
        r"_rankings\.pairs\.(_match_by_\w+|Groups\.of)",
        r"_rankings\.ground_truth\.prepare_truth",
        r"_rankings\.in_memory\.Rows\.(__init__|find)",
    ),
    "counting": (r"_rankings\.counts\.count_at_marks", r"_rankings\.rules\.count_\w+"),
    "placing": (r"_rankings\.align\.to_hits",),
    "metrics": (r"_engine\.block\.Block\.score", r"_engine\.scores\.UserValues\.(merge|averaged)"),
    "checks": (
        r"_reading\.ids\.to_ids",
        r"_reading\.numbers\.(to_numbers|check_ranks|check_gains)",
        r"_reading\.read\._resolve_missing_scores",
        r"_reading\.fillers\.refuse_fillers",
        r"_formats\.parquet\.ParquetFiles\.refuse_damaged_columns",
        r"_reading\.table\.unify_all_id_types",
        r"_reading\.doubts\.\w+_caution",
        r"_engine\.scores\.check_whole",
        r"_rankings\.pairs\.unique_judgments",
    ),
}
"""Functions of each phase. Repeated pairs are found by the table that finds the judged ones."""


class Clock:
    """Seconds by phase, of all threads."""

    def __init__(self) -> None:
        self.spent: Counter[str] = Counter()
        self._of_thread = threading.local()

    def wrap(self, function: Callable, phase: str) -> Callable:
        @functools.wraps(function)
        def clocked(*args, **options):
            stack = self._of_thread.__dict__.setdefault("stack", [])
            self._stop(stack)
            stack.append(phase)
            self._of_thread.since = time.perf_counter()
            try:
                return function(*args, **options)
            finally:
                self._stop(stack)
                stack.pop()
                self._of_thread.since = time.perf_counter()

        return clocked

    def _stop(self, stack: list[str]) -> None:
        if stack:
            self.spent[stack[-1]] += time.perf_counter() - self._of_thread.since


@contextlib.contextmanager
def clocked(clock: Clock) -> Iterator[None]:
    """Wrap the functions; a pattern that no function has is an error."""
    patterns = {pattern: phase for phase, these in PHASES.items() for pattern in these}
    changed, used = [], set()
    modules = [module for name, module in sys.modules.items() if name.startswith("rankmeter.")]
    places = [
        (module, name, value) for module in modules for name, value in [*vars(module).items()]
    ]
    classes = {one for _, _, one in places if isinstance(one, type)}
    places += [(one, name, value) for one in classes for name, value in [*vars(one).items()]]
    for place, name, value in places:
        function = getattr(value, "__func__", value)
        if not isinstance(function, FunctionType):
            continue
        known = f"{function.__module__}.{function.__qualname__}".removeprefix("rankmeter.")
        for pattern, phase in patterns.items():
            if re.fullmatch(pattern, known):
                wrapped = clock.wrap(function, phase)
                changed.append((place, name, value))
                setattr(place, name, value if value is function else type(value)(wrapped))
                if value is function:
                    setattr(place, name, wrapped)
                used.add(pattern)
    if missing := patterns.keys() - used:
        raise LookupError(f"no function: {', '.join(sorted(missing))}")
    try:
        yield
    finally:
        for place, name, value in changed:
            setattr(place, name, value)


def measure(folder: Path, rounds: int) -> dict[str, float]:
    """Seconds by phase and in all, of the fastest round; the first one is not counted."""
    from by_hand import METRICS

    files = folder / "rankings.parquet", folder / "truth.parquet"
    found = []
    for _ in range(rounds + 1):
        clock = Clock()
        with clocked(clock) if found or rounds else contextlib.nullcontext():
            start = time.perf_counter()
            rm.evaluate(*files, list(METRICS))
            whole = time.perf_counter() - start
        rest = whole - clock.spent.total()
        found.append({**clock.spent, "other": max(rest, 0.0), "all": whole})
    return min(found[1:], key=lambda one: one["all"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    columns = {}
    for name in ("integer", "text", "sorted"):
        with tempfile.TemporaryDirectory(prefix="phases-") as folder:
            WORK[name].write(Path(folder))
            rm.evaluate({"u": ["i"]}, {"u": ["i"]}, "mrr")
            rm.evaluate(Path(folder, "rankings.parquet"), Path(folder, "truth.parquet"), "mrr")
            columns[name] = measure(Path(folder), options.rounds)
    rows = {"integer": 5_000_000, "text": 3_000_000, "sorted": 2_000_000}
    print(f"| ns a row | {' | '.join(columns)} |")
    print("|---|--:|--:|--:|")
    for phase in [*PHASES, "other", "all"]:
        numbers = (f"{one.get(phase, 0) / rows[name] * 1e9:.1f}" for name, one in columns.items())
        print(f"| {phase} | {' | '.join(numbers)} |")


if __name__ == "__main__":
    main()
