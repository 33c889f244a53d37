"""Signatures with many options show the common ones: all are in the list of parameters below.

Sphinx writes the parameters of a long signature as a list of descriptions without terms, which
screen readers announce as a broken list: they are lines.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from typing import Any

from sphinx.application import Sphinx

MOST = 14
"""Parameters of a signature that is shown as it is."""
COMMON = ("like", "relevant", "train", "segments", "baseline", "confidence")
"""Options that a longer signature shows, in this order."""


def shortened(thing: Any) -> str | None:
    """A signature with its positional and common parameters; None if it is short already."""
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):
        return None
    parameters = {name: p for name, p in signature.parameters.items() if name != "self"}
    if len(parameters) <= MOST:
        return None
    data = [p for p in parameters.values() if p.kind < p.KEYWORD_ONLY]
    shown = [p.name if p.default is p.empty else f"{p.name}=..." for p in data]
    options = [f"{name}={parameters[name].default!r}" for name in COMMON if name in parameters]
    return f"({', '.join([*shown, '*', *options, '**options'])})"


def _shorten(
    app: Sphinx, what: str, name: str, thing: Any, options: object, signature: str, returns: str
) -> tuple[str, str] | None:
    short = None if dataclasses.is_dataclass(thing) else shortened(thing)
    return None if short is None else (short, returns)


_LIST = re.compile(r"<dl>\s*((?:<dd><em class=\"sig-param\">.*?</dd>\s*)+)</dl>", re.DOTALL)


def as_lines(body: str) -> str:
    """Write the parameters of signatures as lines, not as lists without terms."""
    return _LIST.sub(
        lambda lines: re.sub(r"<(/?)dd>", lambda tag: f"<{tag[1]}span>", lines[1]).replace(
            "<span><em", '<span class="sig-line"><em'
        ),
        body,
    )


def _write_lines(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object
) -> None:
    if "body" in context:
        context["body"] = as_lines(context["body"])


def setup(app: Sphinx) -> dict[str, bool]:
    """Process every signature of the reference."""
    app.connect("autodoc-process-signature", _shorten)
    app.connect("html-page-context", _write_lines)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
