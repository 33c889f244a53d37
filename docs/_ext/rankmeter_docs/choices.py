"""The choices of a plan with their values and defaults, read from the plan's own dataclasses."""

from __future__ import annotations

import dataclasses
import inspect
import typing
from typing import Any

from numpydoc.docscrape import NumpyDocString

from rankmeter._plan import Alignment, Averaging, Plan
from rankmeter_docs.rst import code, table

READING = ("bad_scores", "no_overlap", "confidence")


def alignment() -> str:
    """How hits are found."""
    return _table(Alignment)


def averaging() -> str:
    """Which users are averaged, and what counts for those without a value."""
    return _table(Averaging)


def reading() -> str:
    """What is the same for all metrics of a plan."""
    return _table(Plan, only=READING)


def _table(kind: type[Any], only: tuple[str, ...] | None = None) -> str:
    said = {entry.name: " ".join(entry.desc) for entry in
            NumpyDocString(inspect.getdoc(kind))["Attributes"]}  # fmt: skip
    hints = typing.get_type_hints(kind)
    rows = []
    for field in dataclasses.fields(kind):
        if only is None or field.name in only:
            if field.name not in said:
                raise LookupError(f"the docstring of {kind.__name__} lacks {field.name}")
            words = _words(hints[field.name])
            shown = ", ".join(map(code, words)) or "see right"
            default = "none" if field.default is None else str(field.default)
            rows.append((code(field.name), code(default), shown, said[field.name]))
    return table(["choice", "default", "values", "meaning"], rows, widths=[16, 14, 28, 42])


def _words(hint: Any) -> list[str]:
    """The permitted words of a literal type; of another one a word for its kind."""
    if typing.get_origin(hint) is typing.Literal:
        return list(typing.get_args(hint))
    parts = set(typing.get_args(hint)) or {hint}
    if parts <= {int, type(None)}:
        return ["none", "1", "2", "…"]
    return ["0 … 1"] if parts == {float} else [">0", ">=4", "any", "…"]
