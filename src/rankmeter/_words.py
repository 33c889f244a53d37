"""What a reader's field calls the rows of an evaluation and what is ranked: the only place.

The house says user and item. Retrieval says query and document, link prediction triple and entity;
tables, notes, sentences, messages and the report follow the input. Names that a program reads
(columns of frames, keys of JSON, options) stay the same.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class Words:
    """The words of a field, in the singular and in the plural."""

    user: str = "user"
    users: str = "users"
    item: str = "item"
    items: str = "items"


USERS = Words()
QUERIES = Words("query", "queries")
RETRIEVAL = Words("query", "queries", "document", "documents")
LINKS = Words("triple", "triples", "entity", "entities")

_OWN = re.compile(r"\b[Uu]sers?\b|\b[Ii]tems?\b")
_spoken: ContextVar[Words] = ContextVar("_spoken", default=USERS)


@contextmanager
def use_words(words: Words) -> Iterator[None]:
    """Use the words of a field inside."""
    token = _spoken.set(words)
    try:
        yield
    finally:
        _spoken.reset(token)


def in_words(text: str) -> str:
    """A text of the house in the words that are spoken; names of systems must not be in it."""
    words = _spoken.get()
    return text if words == USERS else _OWN.sub(lambda match: _translate(match[0], words), text)


def _translate(word: str, words: Words) -> str:
    spoken: str = getattr(words, word.lower())
    return spoken.capitalize() if word[0].isupper() else spoken


def in_words_of_result(method: Callable[P, T]) -> Callable[P, T]:
    """Let a method of a result, which has `words`, use them."""

    @functools.wraps(method)
    def spoken(*args: P.args, **kwargs: P.kwargs) -> T:
        result: Any = args[0]
        with use_words(result.words):
            return method(*args, **kwargs)

    return spoken
