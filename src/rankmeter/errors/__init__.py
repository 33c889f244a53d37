"""The errors and warnings that rankmeter raises.

::

    RankmeterError
    ├── UsageError (ValueError)             a wrong option, metric or combination
    │   └── UnknownMetricError (KeyError)   an unknown metric, or one that the result does not have
    ├── DataError (ValueError)              a mistake in the data
    │   ├── ColumnError                     a column is missing or several could be meant
    │   ├── IdTypeError                     ids that cannot be compared with each other
    │   ├── FileFormatError                 a file that cannot be read in its format
    │   ├── InvalidValueError               NaN or null where a value is needed, a rank below 1, …
    │   ├── DuplicateError                  an item twice in one ranking, contradicting judgments
    │   ├── NoOverlapError                  rankings and truth share no user, or no item
    │   └── NotEnoughMemoryError            data that need more memory than available
    └── MissingDependencyError (ImportError) an optional package is not installed

    RankmeterWarning (UserWarning)          a number that is right but easily misread

Every message says what was expected, what was given, where, and what to do.
"""

from __future__ import annotations

import re
from collections.abc import Callable

__all__ = [
    "ColumnError",
    "DataError",
    "DuplicateError",
    "FileFormatError",
    "IdTypeError",
    "InvalidValueError",
    "MissingDependencyError",
    "NoOverlapError",
    "NotEnoughMemoryError",
    "RankmeterError",
    "RankmeterWarning",
    "UnknownMetricError",
    "UsageError",
]


LONGEST_NAME, LONGEST_PATH, LONGEST_MESSAGE = 80, 400, 4_000
"""The most characters of a name, a path and a message; longer ones lose their middle."""


def shorten_middle(text: str, longest: int) -> str:
    """Cut the middle out of a text longer than `longest`: both ends help to tell names apart."""
    head = longest // 2
    return text if len(text) <= longest else f"{text[:head]}…{text[head + 1 - longest :]}"


def _shorten_word(match: re.Match[str]) -> str:
    word = match[0]
    return shorten_middle(word, LONGEST_PATH if "/" in word or "\\" in word else LONGEST_NAME)


# Control characters of a terminal, and characters that end a line or change its direction.
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]+")


def to_one_line(text: str) -> str:
    """Replace newlines and other control characters by spaces."""
    return CONTROL.sub(" ", text)


def replace_control_characters(text: str, escape: Callable[[str], str]) -> str:
    """Replace each control character of a text by the result of `escape`."""
    return CONTROL.sub(lambda characters: "".join(map(escape, characters[0])), text)


class ShownAsText:
    """What a notebook shows of an object without tables: its text."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(spell_out_hidden_characters(repr(self)))}</pre>"


def spell_out_hidden_characters(text: str) -> str:
    """Spell out control characters other than newlines and tabs, as ⟨U+202E⟩."""
    return replace_control_characters(text, lambda c: c if c in "\n\t" else f"⟨U+{ord(c):04X}⟩")


class RankmeterError(Exception):
    """The base of all errors of rankmeter.

    Long names are shortened in the message, and control characters are spelled out.
    """

    def __init__(self, message: str = "") -> None:
        brief = re.sub(rf"\S{{{LONGEST_NAME + 1},}}", _shorten_word, message)
        super().__init__(spell_out_hidden_characters(shorten_middle(brief, LONGEST_MESSAGE)))


class UsageError(RankmeterError, ValueError):
    """An option, a metric or a combination of them that is not valid.

    Parameters
    ----------
    message : str
        What was expected, what was given, and what to do.
    option : str, optional
        The wrong option, by its name in Python.
    allowed : tuple, optional
        The permitted values, if they can be listed.
    got : object, optional
        The value that was given.
    extent : float, optional
        How far the data go, if they contradict the option.
    """

    def __init__(
        self,
        message: str,
        *,
        option: str | None = None,
        allowed: tuple[object, ...] = (),
        got: object = None,
        extent: float | None = None,
    ) -> None:
        super().__init__(message)
        self.option = option
        self.allowed = allowed
        self.got = got
        self.extent = extent


class UnknownMetricError(UsageError, KeyError):
    """An unknown metric name, or a metric that a result does not have."""

    def __str__(self) -> str:
        return Exception.__str__(self)  # that of KeyError shows the repr


class DataError(RankmeterError, ValueError):
    """A mistake in the data that would make the numbers wrong."""


class ColumnError(DataError):
    """A column is missing or ambiguous."""


class IdTypeError(DataError):
    """Ids of the two sides cannot be compared with each other."""


class FileFormatError(DataError):
    """A file that cannot be read in its format."""


class InvalidValueError(DataError):
    """A value that is not valid in a ranking: NaN, null, a rank below 1."""


class DuplicateError(DataError):
    """An item occurs twice in one ranking, or has contradicting judgments."""


class NoOverlapError(DataError):
    """Rankings and ground truth share no user, or no item."""


class NotEnoughMemoryError(DataError, MemoryError):
    """The data need more memory than the process can use."""


class MissingDependencyError(RankmeterError, ImportError):
    """A required optional package is not installed."""


class RankmeterWarning(UserWarning):
    """A number that is right but easily misread."""
