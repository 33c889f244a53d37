"""The options of a plan with their values and defaults, read from their declarations."""

from __future__ import annotations

import typing
from typing import Any

from rankmeter._choices import CHOICES, EVERY, Alignment, Averaging, Setting, format_value
from rankmeter_docs.rst import code, table


def alignment() -> str:
    """How hits are found."""
    return _table(Alignment)


def averaging() -> str:
    """Which users are averaged, and how users without a value count."""
    return _table(Averaging)


def setting() -> str:
    """Options that are the same for all metrics of a plan."""
    return _table(Setting)


def _table(part: type[Any]) -> str:
    rows = []
    for choice in CHOICES.values():
        if choice.part is part:
            shown = ", ".join(map(code, choice.words or _kind(choice.hint)))
            acts = "all" if choice.inputs == EVERY else ", ".join(choice.inputs)
            default = code(format_value(choice.default))
            rows.append((code(choice.name), default, shown, acts, choice.meaning))
    names = ["option", "default", "values", "acts on", "meaning"]
    return table(names, rows, widths=[15, 12, 23, 14, 36])


def _kind(hint: Any) -> list[str]:
    """Examples of the values of an option that takes no words."""
    if hint is bool:
        return ["True", "False"]
    parts = set(typing.get_args(hint)) or {hint}
    if int in parts:
        return ["none", "1", "2", "…"] if len(parts) > 1 else ["0", "1", "2", "…"]
    return ["0 … 1"] if parts == {float} else [">0", ">=4", "any", "…"]
