"""What users and items are called in words: texts of queries, titles of items."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import polars as pl

from rankmeter._reading.columns import names_for_role
from rankmeter._reading.forms import has_accepted_form, read_columns
from rankmeter._reading.keyed import find_column, read_keyed
from rankmeter.errors import DataError, UsageError
from rankmeter.errors._checks import brief

TextOption = Literal["queries", "items"]
_WORDS = {"queries": ("user", "text of a query"), "items": ("item", "title of an item")}
_TEXTS = ("text", "title", "query", "question", "name", "querytext")
"""Names of columns with words, the best first."""


@dataclass(frozen=True)
class Texts:
    """Texts by id, which is compared as text."""

    by_id: Mapping[str, str] = field(default_factory=dict)

    def of(self, ids: pl.Series) -> list[str]:
        """The text of each id, empty where it is unknown; an empty list if all are unknown."""
        texts = [self.by_id.get(str(one), "") for one in ids.to_list()] if self.by_id else []
        return texts if any(texts) else []


def read_texts(data: Any, option: TextOption, ids: pl.Series | None = None) -> Texts:
    """Read the text of each query, or the title of each item.

    Takes a mapping from id to text, or a frame or file with a column for the id and one of text.
    One of the `ids`, if they are given, must have a text.
    """
    if data is None:
        return Texts()
    keys, texts = _pairs(data, option)
    by_id = {
        str(key): str(text).strip()
        for key, text in zip(keys, texts, strict=True)
        if text is not None
    }
    texts_by_id = Texts(by_id)
    if ids is not None:
        refuse_other_ids(texts_by_id, option, ids)
    return texts_by_id


def refuse_other_ids(texts: Texts, option: TextOption, ids: pl.Series) -> None:
    """Refuse texts of which none is of one of the `ids`."""
    if texts.by_id and not any(str(one) in texts.by_id for one in ids.to_list()):
        role, words = _WORDS[option]
        raise DataError(
            f"{option}= has no {words} of the result: it has the ids "
            f"{', '.join(map(brief, [*texts.by_id][:3]))}, the result has {role}s such as "
            f"{', '.join(map(brief, ids.head(3).to_list()))}"
        )


def _pairs(data: Any, option: TextOption) -> tuple[list[Any], list[Any]]:
    """Ids and texts."""
    role, words = _WORDS[option]
    expected = f"{option}= must be a mapping from id to the {words}, or a frame or file with "
    expected += f"a column for the {role} and one of text"
    if isinstance(data, Mapping):
        if wrong := [text for text in data.values() if not isinstance(text, str | None)]:
            raise DataError(f"{expected}: {brief(wrong[0])} is not a text")
        return [*data], [*data.values()]
    if isinstance(data, list | tuple) or not has_accepted_form(data):
        raise UsageError(f"{expected}, got {brief(data)}")
    read = read_columns(data, "segments" if role == "user" else "items")
    names = [*read.names]
    found = names_for_role(role, names)
    others = [name for name in names if name not in found]
    text = others[0] if len(others) == 1 else find_column(read, option, _TEXTS, first=True)
    if len(found) != 1 or text not in others:
        raise DataError(f"{expected}. Its columns are {', '.join(map(repr, names))}")
    rows = read_keyed(read, {role: found[0], "text": text})
    column = rows.columns["text"]
    return rows.keys.to_list(), pl.Series(column).to_list()
