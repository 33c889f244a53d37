"""Numpydoc docstrings as data: the help texts of the command line are those of the functions."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_HEADING = re.compile(r"^(?P<title>\S[^\n]*)\n-{3,}$", re.MULTILINE)
_ENTRY = re.compile(
    r"^(?P<names>\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: : (?P<type>[^\n]*))?$", re.MULTILINE
)


@dataclass(frozen=True)
class Docstring:
    """The parts of a docstring, in plain text."""

    text: str  # everything above the first section
    parameters: dict[str, str]  # each on one line; the items of lists are paragraphs
    sections: dict[str, str]  # the others, by title

    @property
    def summary(self) -> str:
        """The first paragraph, on one line."""
        return _one_line(self.text.partition("\n\n")[0])


@functools.cache
def read_docstring(thing: Callable[..., Any]) -> Docstring:
    """Parse the docstring of a function; a missing one (``python -OO``) is empty."""
    source = inspect.getdoc(thing) or ""
    text, *rest = _HEADING.split(source)
    sections = dict(zip(rest[::2], (part.strip("\n") for part in rest[1::2]), strict=True))
    parameters = {}
    _, *entries = _ENTRY.split(sections.pop("Parameters", ""))
    for names, body in zip(entries[::3], entries[2::3], strict=True):
        for name in names.split(", "):
            items = re.split(r"\n\s*(?=\* )", body)
            parameters[name.lstrip("*")] = "\n\n".join(map(_one_line, items))
    return Docstring(text.strip(), parameters, sections)


def parameter_text(function: Callable[..., Any], name: str) -> str:
    """The text of a docstring about a parameter, without markup.

    A docstring that does not repeat itself is followed: ``As in `leave_k_out`.`` or a text that
    names the function without listing the parameter leads there.
    """
    doc = read_docstring(function)
    text = doc.parameters.get(name, "")
    referred = re.fullmatch(r"As in `(\w+)`\.", text)
    if text and not referred:
        return plain(text)
    for other in [referred[1]] if referred else re.findall(r"`(\w+)`", doc.text):
        target = getattr(inspect.getmodule(function), other, None)
        if callable(target) and (inherited := parameter_text(target, name)):
            return inherited
    return plain(text)


def plain(text: str) -> str:
    """Text without the marks of reStructuredText."""
    return re.sub(r"``(.+?)``|`(.+?)`", lambda m: m[1] or m[2], text, flags=re.DOTALL)


def _one_line(text: str) -> str:
    return " ".join(text.split())
