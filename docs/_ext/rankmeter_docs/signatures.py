"""Signatures with many options show the common ones: all are in the list of parameters below."""

from __future__ import annotations

import dataclasses
import inspect
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


def setup(app: Sphinx) -> dict[str, bool]:
    """Process every signature of the reference."""
    app.connect("autodoc-process-signature", _shorten)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
