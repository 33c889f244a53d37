"""Links a name in single backticks to the page of a metric or to a public object.

Docstrings write both parameters and objects in single backticks. A public name becomes a link;
any other name, such as a parameter, is set as code.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

from rankmeter.metrics import METRICS
from rankmeter_docs.public import objects


def resolve(name: str) -> tuple[str, str, str] | None:
    """Domain, type and target of the link, or None for a name that is not public."""
    if name in METRICS:
        return "std", "doc", f"/metrics/{name}"
    for full in (name, f"rankmeter.{name}", *(f"rankmeter.{m}.{name}" for m in _MODULES)):
        if full in _OBJECTS:
            return "py", "obj", full
    return None


_OBJECTS = objects()
_MODULES = sorted({full.split(".")[1] for full in _OBJECTS if full.count(".") == 2})


def _name(
    role: str, rawtext: str, text: str, lineno: int, inliner: Any, *_: Any, **__: Any
) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    shown = nodes.literal(rawtext, text)
    found = resolve(text.removesuffix("()"))
    if found is None:
        return [shown], []
    domain, kind, target = found
    link = addnodes.pending_xref(
        rawtext,
        shown,
        refdomain=domain,
        reftype=kind,
        reftarget=target,
        refexplicit=True,
        refwarn=True,
        refdoc=inliner.document.settings.env.docname,
    )
    return [link], []


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the role."""
    app.add_role("name", _name)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
