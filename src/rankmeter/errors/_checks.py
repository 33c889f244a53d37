"""Validation of option values, with one sentence per kind of mistake, in the words of the field."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from numbers import Real
from typing import Any, ParamSpec, TypeVar, get_args

from rankmeter.errors import DataError, UsageError, spell_out_hidden_characters, to_one_line

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class Words:
    """Words of a field for users and items, in the singular and in the plural."""

    user: str = "user"
    users: str = "users"
    item: str = "item"
    items: str = "items"


USERS = Words()
QUERIES = Words("query", "queries")
RETRIEVAL = Words("query", "queries", "document", "documents")
LINKS = Words("triple", "triples", "entity", "entities")

_spoken: ContextVar[Words] = ContextVar("_spoken", default=USERS)


@contextmanager
def use_words(words: Words) -> Iterator[None]:
    """Use the words of a field inside the block."""
    token = _spoken.set(words)
    try:
        yield
    finally:
        _spoken.reset(token)


def words_in_use() -> Words:
    """Words of the field in which a result is described: a sentence is made with them, once."""
    return _spoken.get()


def use_words_of_result(method: Callable[P, T]) -> Callable[P, T]:
    """Decorate a method of a result to use its `words`, and no control characters of names."""

    @functools.wraps(method)
    def spoken(*args: P.args, **kwargs: P.kwargs) -> T:
        result: Any = args[0]
        with use_words(result._words):
            made: T = _make_printable(method(*args, **kwargs))
            return made

    return spoken


def _make_printable(made: Any) -> Any:
    """Texts on one line each; of a text that is printed whole, line breaks and tabs are kept."""
    if isinstance(made, str):
        return spell_out_hidden_characters(made)
    if type(made) is tuple and all(isinstance(text, str) for text in made):
        return tuple(type(text)(to_one_line(text)) for text in made)
    return made


def no_rows_error(source: str, state: str = "has no rows") -> DataError:
    """The error of input without anything in it."""
    return DataError(f"{source} {state}: there is nothing to evaluate.")


Bounds = dict[str, float | int | None]
_BOOLEANS = frozenset({"bool", "bool_"})  # those of Python and NumPy are integers to some versions
_HOLDS = {">": operator.gt, "≥": operator.ge, "<": operator.lt, "≤": operator.le}


LONGEST = 200
"""A longer word is not checked for a misspelling."""
LARGEST = 2**62
"""The largest integer that an option may be, so that its sum with any count does not overflow."""


def check_integer(name: str, value: Any, *, least: int | None = None, most: int = LARGEST) -> int:
    """Convert ``value`` to an integer from ``least`` to ``most``, both included."""
    bounds: Bounds = {"≥": least, "≤": most}
    try:
        integral = None if type(value).__name__ in _BOOLEANS else operator.index(value)
    except Exception:  # noqa: BLE001 - whatever a foreign class raises
        integral = None
    if integral is not None and _is_within_bounds(integral, bounds):
        return integral
    if most in (LARGEST, 2**128 - 1) and (integral is None or integral < most):
        del bounds["≤"]
    raise option_error(name, "an integer" + _range_in_words(bounds), value)


def check_number(
    name: str,
    value: Any,
    *,
    above: float | None = None,
    least: float | None = None,
    below: float | None = None,
    most: float | None = None,
) -> float:
    """Convert ``value`` to a finite number: > ``above``, ≥ ``least``, < ``below``, ≤ ``most``."""
    bounds: Bounds = {">": above, "≥": least, "<": below, "≤": most}
    finite = _to_float(value)
    if finite is not None and math.isfinite(finite) and _is_within_bounds(finite, bounds):
        return finite
    kind = "a number" if finite is None or math.isfinite(finite) else "a finite number"
    raise option_error(name, kind + _range_in_words(bounds), value)


def _to_float(value: Any) -> float | None:
    """Convert a real number to a float, infinite if too large; None for all other values."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf
    except Exception:  # noqa: BLE001 - a NumPy time span is an integer without a float
        return None


def check_seed(value: Any, *, least: int | None = 0) -> int:
    """Check a seed: an integer from `least` to 2**128 - 1."""
    return check_integer("seed", value, least=least, most=2**128 - 1)


def check_fraction(name: str, value: Any) -> float:
    """Convert ``value`` to a number strictly between 0 and 1."""
    return check_number(name, value, above=0, below=1)


def check_choice(name: str, value: Any, allowed: Any) -> str:
    """Return ``value`` if it is one of the words ``allowed``: an iterable, or a `Literal` type."""
    words = tuple(get_args(allowed) or allowed)
    if isinstance(value, str) and value in words:
        return str(value)
    from rankmeter.errors._synonyms import word_hint

    hint = word_hint(name, value)
    hint = hint or (suggest_words(value, words) if isinstance(value, str) else "")
    raise option_error(name, f"one of {', '.join(map(repr, words))}", value, words, hint)


def check_text(name: str, value: Any) -> str:
    """Return ``value`` if it is text that UTF-8 can encode, without half of a surrogate pair."""
    if isinstance(value, str) and value == value.encode(errors="replace").decode():
        return str(value)
    raise option_error(name, "a text of UTF-8", value)


def list_values(name: str, expected: str, value: Any) -> list[Any]:
    """List the values of an iterable, or a single text; `expected` is for the error message."""
    try:
        return [value] if isinstance(value, str) else [*value]
    except Exception:  # noqa: BLE001 - not an iterable, or whatever a foreign class raises
        raise option_error(name, expected, value) from None


def check_flag(name: str, value: Any) -> bool:
    """Convert ``value`` to a bool; only True and False are valid."""
    if type(value).__name__ in ("bool", "bool_"):  # Python's, and NumPy's before and since 2.0
        return bool(value)
    raise option_error(name, "True or False", value, (True, False))


def unknown_word_error(kind: str, word: object, names: Iterable[str]) -> UsageError:
    """Build the error for an unknown ``kind``, with the nearest names, or else with all names."""
    words = tuple(names)
    hint = suggest_words(word, words) if isinstance(word, str) else ""
    hint = hint or f"; known: {', '.join(map(repr, words))}"
    return UsageError(f"unknown {kind} {brief(word)}{hint}", allowed=words, got=word)


def suggest_words(word: str, names: Iterable[str], *, likeness: float = 0.6) -> str:
    """Suggest the words most like ``word``: ``; did you mean 'ties'?``, or "" without any.

    `likeness` is the share of letters that have to be the same, from 0 to 1.
    """
    if len(word) > LONGEST:  # too long for a misspelling, and slow to compare
        return ""
    from difflib import get_close_matches

    lower = {name.lower(): name for name in names}
    nearest = get_close_matches(word.lower(), lower, n=3, cutoff=likeness)
    return f"; did you mean {' or '.join(brief(lower[key]) for key in nearest)}?" if nearest else ""


def brief(value: object) -> str:
    """Format the repr of a value on one line of at most 60 characters; the type without a repr."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - an int of 5,000 digits, or whatever a foreign class raises
        text = f"<{type(value).__name__}>"
    if "\n" in text:  # a table, not a name with two spaces
        text = " ".join(text.split())
    return text if len(text) <= 60 else f"{text[:59]}…"


def exact_text(value: float) -> str:
    """Format a number in the fewest digits that read back as an equal number: ``4``, ``0.1``."""
    return repr(float(value) + 0.0).removesuffix(".0")  # -0.0 is 0


def counted(n: int, singular: str, plural: str = "") -> str:
    """Format a number with its noun: ``1 user``, ``1,234 users``; `plural` if not with an s."""
    return f"{n:,} {singular if n == 1 else plural or singular + 's'}"


def count_users(n: int, kind: str = "") -> str:
    """Format a number of users in the words in use: ``2 differing queries`` of a `kind`."""
    words = words_in_use()
    return counted(n, f"{kind} {words.user}".lstrip(), f"{kind} {words.users}".lstrip())


def count_items(n: int, kind: str = "") -> str:
    """Format a number of items in the words in use: ``3 relevant documents`` of a `kind`."""
    words = words_in_use()
    return counted(n, f"{kind} {words.item}".lstrip(), f"{kind} {words.items}".lstrip())


def option_error(
    name: str,
    expected: str,
    value: Any,
    allowed: tuple[Any, ...] = (),
    hint: str = "",
    extent: float | None = None,
) -> UsageError:
    """Build the error for an option, ``"ties"``, or for an option of a metric, ``"k of ndcg"``.

    `extent` is how far the data go: of several blocks of data the largest extent is reported.
    """
    option, separator, metric = name.partition(" of ")
    message = f"`{option}`{separator}{metric} must be {expected}, got {brief(value)}{hint}"
    return UsageError(message, option=option, allowed=allowed, got=value, extent=extent)


def _is_within_bounds(value: Any, bounds: Bounds) -> bool:
    return all(bound is None or _HOLDS[sign](value, bound) for sign, bound in bounds.items())


def _range_in_words(bounds: Bounds) -> str:
    """Format a range of numbers in words, after a space."""
    limits = {sign: bound for sign, bound in bounds.items() if bound is not None}
    if limits.keys() == {">", "<"}:
        return f" between {limits['>']} and {limits['<']}, both excluded"
    if limits.keys() == {"≥", "≤"}:
        return f" between {limits['≥']} and {limits['≤']}"
    return " and".join(f" {sign} {bound}" for sign, bound in limits.items())
