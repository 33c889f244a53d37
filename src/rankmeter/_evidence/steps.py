"""How a number is computed: what metrics note on the way while someone wants to see it.

A metric says what it adds up, item by item (`note_column`, `note_sum`), and how parts make a number
(`note_formula`). Values pass through unchanged, and nothing is kept unless `note_steps` is open.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Column:
    """A number for each item of some evidence, or for each rank in `ranks`."""

    name: str
    values: Any  # (n,)
    evidence: Any  # the Hits, Lists or Features whose items these are
    ranks: Any = None  # (n,) ranks, if the values are not those of all items


@dataclass(frozen=True, eq=False)
class Sum:
    """The terms of a sum over the items of some evidence, or over the ranks in `ranks`."""

    values: Any  # (n,)
    evidence: Any
    total: float
    ranks: Any = None
    name: str = "term"


@dataclass(frozen=True)
class Formula:
    """A number computed from named parts: an expression of Python, and the parts."""

    text: str
    parts: dict[str, float]
    value: float
    name: str = ""


@dataclass(frozen=True, eq=False)
class Value:
    """The value of a metric, for some evidence."""

    name: str
    value: float
    evidence: Any


NotedStep = Column | Sum | Formula | Value

_steps: ContextVar[list[NotedStep] | None] = ContextVar("_steps", default=None)


@contextmanager
def note_steps(steps: list[NotedStep] | None) -> Iterator[None]:
    """Collect the steps noted by metrics in a list; metrics need the evidence of one user."""
    token = _steps.set(steps)
    try:
        yield
    finally:
        _steps.reset(token)


def without_notes() -> Any:
    """Discard the steps noted by metrics inside the context."""
    return note_steps(None)


def is_noting() -> bool:
    """Whether steps are collected, so that details are worth their time."""
    return _steps.get() is not None


def note_column(values: T, name: str, evidence: Any, ranks: Any = None) -> T:
    """Note a number for each item, and return the numbers."""
    steps = _steps.get()
    if steps is not None:
        steps.append(Column(name, values, evidence, ranks))
    return values


def note_sum(total: T, values: Any, evidence: Any, ranks: Any = None, name: str = "term") -> T:
    """Note the terms of a sum, each called `name`, and return the sum."""
    steps = _steps.get()
    if steps is not None and _is_single_number(total):
        terms = np.asarray(values, dtype=np.float64)
        steps.append(Sum(terms, evidence, _to_float(total), ranks, name))
    return total


def note_formula(value: T, text: str, name: str = "", /, **terms: Any) -> T:
    """Note how a number is computed from its parts, and return the number.

    Parameters
    ----------
    value : array of shape (1,) or float
    text : str
        An expression of Python with the names of the parts, such as ``"hits / relevant"``.
    name : str
        What the number is called where it is a part of another one.
    **parts : array of shape (1,) or float
        None is infinite: a cutoff that does not cut.
    """
    steps = _steps.get()
    if steps is not None and _is_single_number(value):
        numbers = {name: _to_float(part) for name, part in terms.items()}
        steps.append(Formula(text, numbers, _to_float(value), name))
    return value


def note_expectation(value: T, chances: Any, values: Any) -> T:
    """Note an expectation over cases, and return it."""
    names = [f"{name}{i}" for i in range(1, len(values) + 1) for name in ("chance", "value")]
    interleaved = np.column_stack([chances, values]).ravel()
    terms = map(" * ".join, zip(names[::2], names[1::2], strict=True))
    return note_formula(value, " + ".join(terms), **dict(zip(names, interleaved, strict=True)))


def note_value(value: T, name: str, evidence: Any) -> T:
    """Note the value of a metric, and return it."""
    steps = _steps.get()
    if steps is not None and _is_single_number(value):
        steps.append(Value(name, _to_float(value), evidence))
    return value


def _to_float(value: Any) -> float:
    return np.inf if value is None else float(np.asarray(value).reshape(-1)[0])


def _is_single_number(value: Any) -> bool:
    return np.size(value) == 1
