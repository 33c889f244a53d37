"""One vocabulary of checks: what an option may be, with one sentence per kind of mistake.

Every check returns the value as a plain Python type, so that NumPy scalars are welcome, and raises
`UsageError` with the name of the option, what it may be and what was found.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any, get_args

from rankmeter.errors import UsageError

__all__ = ["choice", "flag", "fraction", "integer", "near", "number", "refused", "shown", "unknown"]


Bounds = dict[str, float | None]
_HOLDS = {">": operator.gt, "≥": operator.ge, "<": operator.lt, "≤": operator.le}


def integer(name: str, value: Any, *, least: int | None = None, most: int | None = None) -> int:
    """``value`` as an integer from ``least`` to ``most``, both included."""
    bounds: Bounds = {"≥": least, "≤": most}
    fits = isinstance(value, Integral) and not isinstance(value, bool)
    if fits and _within(value, bounds):
        return int(value)
    raise refused(name, "an integer" + _range(bounds), value)


def number(
    name: str,
    value: Any,
    *,
    above: float | None = None,
    least: float | None = None,
    below: float | None = None,
    most: float | None = None,
) -> float:
    """``value`` as a finite number: > ``above``, ≥ ``least``, < ``below``, ≤ ``most``."""
    bounds: Bounds = {">": above, "≥": least, "<": below, "≤": most}
    fits = isinstance(value, Real) and not isinstance(value, bool)
    if fits and math.isfinite(value) and _within(value, bounds):
        return float(value)
    kind = "a number" if not fits or math.isfinite(value) else "a finite number"
    raise refused(name, kind + _range(bounds), value)


def fraction(name: str, value: Any) -> float:
    """``value`` as a number strictly between 0 and 1."""
    return number(name, value, above=0, below=1)


def choice(name: str, value: Any, allowed: Any) -> str:
    """``value`` if it is one of the words ``allowed``: an iterable, or a `Literal` type."""
    words = tuple(get_args(allowed) or allowed)
    if isinstance(value, str) and value in words:
        return str(value)
    hint = near(value, words) if isinstance(value, str) else ""
    raise refused(name, f"one of {', '.join(map(repr, words))}", value, words, hint)


def flag(name: str, value: Any) -> bool:
    """``value`` as True or False."""
    if type(value).__name__ in ("bool", "bool_"):  # Python's, and NumPy's before and since 2.0
        return bool(value)
    raise refused(name, "True or False", value, (True, False))


def unknown(kind: str, word: object, known: Iterable[str]) -> UsageError:
    """Build the error for a word that names no ``kind``: the nearest names, or else all of them."""
    words = tuple(known)
    hint = near(str(word), words) or f"; known: {', '.join(map(repr, words))}"
    return UsageError(f"unknown {kind} {shown(word)}{hint}", allowed=words, got=word)


def near(word: str, known: Iterable[str], *, likeness: float = 0.6) -> str:
    """The words most like ``word``, as the end of a sentence: ``; did you mean 'ties'?``, or "".

    `likeness` is the share of letters that have to be the same, from 0 to 1.
    """
    lower = {name.lower(): name for name in known}
    found = get_close_matches(word.lower(), lower, n=3, cutoff=likeness)
    return f"; did you mean {' or '.join(shown(lower[key]) for key in found)}?" if found else ""


def shown(value: object) -> str:
    """The repr of a value on one line, of at most 60 characters."""
    text = repr(value)
    if "\n" in text:  # a table, not a name with two spaces
        text = " ".join(text.split())
    return text if len(text) <= 60 else f"{text[:59]}…"


def refused(
    name: str,
    wanted: str,
    value: Any,
    allowed: tuple[Any, ...] = (),
    hint: str = "",
    extent: float | None = None,
) -> UsageError:
    """Build the error for an option, ``"ties"``, or for one of a metric, ``"k of ndcg"``.

    With `extent`, how far the data go: of several blocks of data the largest one is reported.
    """
    option, of, metric = name.partition(" of ")
    message = f"`{option}`{of}{metric} must be {wanted}, got {shown(value)}{hint}"
    return UsageError(message, option=option, allowed=allowed, got=value, extent=extent)


def _within(value: Any, bounds: Bounds) -> bool:
    return all(bound is None or _HOLDS[sign](value, bound) for sign, bound in bounds.items())


def _range(bounds: Bounds) -> str:
    """How a range of numbers is spelled, with a space before it."""
    said = {sign: bound for sign, bound in bounds.items() if bound is not None}
    if said.keys() == {">", "<"}:
        return f" between {said['>']} and {said['<']}, both excluded"
    if said.keys() == {"≥", "≤"}:
        return f" between {said['≥']} and {said['≤']}"
    return " and".join(f" {sign} {bound}" for sign, bound in said.items())
