"""How much of rankmeter's time are checks: the functions that check, wrapped with a clock.

Types are checked while ids and numbers are converted, and the table that shows repeated pairs shows
the hits, too. All of it counts, so the share is an upper bound. A pattern that no function has any
more is an error.
"""

from __future__ import annotations

import functools
import re
import sys
import time
from collections.abc import Callable
from importlib import import_module
from types import FunctionType

GROUPS = {
    "repeated pairs, with the hits": (
        r"_rankings\.pairs\._match_by_\w+",
        r"_rankings\.pairs\.unique_\w+",
    ),
    "types of ids and numbers": (
        r"_reading\.ids\.to_ids",
        r"_reading\.numbers\.to_numbers",
        r"_reading\.lists\._(read_containers|common_id_type)",
    ),
    "missing, infinite and odd numbers": (
        r"_reading\.read\._resolve_missing_scores",
        r"_reading\.numbers\.check_(ranks|gains)",
    ),
    "ids that cannot match": (
        r"_reading\.table\.unify_all_id_types",
        r"_engine\.scores\.check_whole",
    ),
    "data that look wrong": (
        r"_reading\.doubts\.\w+_caution",
        r"_reading\.\w+\.refuse_\w+",
        r"_reading\.memory\.check_memory",
    ),
}


def checking() -> dict[FunctionType, str]:
    """The loaded functions of rankmeter that check, with their groups."""
    patterns = {pattern: group for group, these in GROUPS.items() for pattern in these}
    found, used = {}, set()
    for module in _modules():
        for function in vars(module).values():
            if isinstance(function, FunctionType):
                name = f"{function.__module__}.{function.__name__}".removeprefix("rankmeter.")
                for pattern, group in patterns.items():
                    if re.fullmatch(pattern, name):
                        found[function] = group
                        used.add(pattern)
    if missing := patterns.keys() - used:
        raise LookupError(f"no function checks: {', '.join(sorted(missing))}")
    return found


def timed(run: Callable[[], object]) -> dict[str, float]:
    """Seconds of `run` as a whole (``"all"``) and of each group of checks in it."""
    spent = dict.fromkeys(GROUPS, 0.0)
    inside: list[object] = []
    clocks = {one: _clock(one, group, spent, inside) for one, group in checking().items()}
    places = [
        (module, name, value)
        for module in _modules()
        for name, value in vars(module).items()
        if isinstance(value, FunctionType) and value in clocks
    ]
    for module, name, function in places:
        setattr(module, name, clocks[function])
    try:
        start = time.perf_counter()
        run()
        return {"all": time.perf_counter() - start, **spent}
    finally:
        for module, name, function in places:
            setattr(module, name, function)


def _clock(function: FunctionType, group: str, spent: dict[str, float], inside: list) -> Callable:
    """`function` with a clock, which does not run inside another one."""

    @functools.wraps(function)
    def clocked(*args, **options):
        if inside:
            return function(*args, **options)
        inside.append(function)
        start = time.perf_counter()
        try:
            return function(*args, **options)
        finally:
            spent[group] += time.perf_counter() - start
            inside.pop()

    return clocked


def _modules() -> list:
    import_module("rankmeter._reading.lists")  # which is imported with the first list
    return [module for name, module in sys.modules.items() if name.startswith("rankmeter.")]
