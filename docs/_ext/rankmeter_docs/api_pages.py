"""The reference: a table of all public names, with a page for each."""

from __future__ import annotations

import inspect
import sys
from typing import Any

from sphinx.pycode import ModuleAnalyzer

from rankmeter_docs.public import modules, objects, ready_made
from rankmeter_docs.rst import heading, paragraphs, table

LEAD = """
All public functions and classes of ``rankmeter``. Positional arguments are data, keyword-only
arguments are options. Arguments are never modified.
"""


def pages() -> dict[str, str]:
    """The overview page; autosummary makes the others."""
    groups = {"rankmeter": [], **{name: [] for name in modules()}}
    for full in objects():
        groups[full.rpartition(".")[0]].append(full)
    parts = [heading("Reference", "="), LEAD.strip()]
    for module, names in groups.items():
        if names:
            parts += [f".. module:: {module}", heading(module, "-"), _about(module)]
            parts += _tables(names)
        if module == "rankmeter":
            parts += [heading("Ready-made metrics", "~"), _metrics()]
    return {"index": paragraphs(*parts)}


def _about(module: str) -> str:
    """The docstring of a module, without what the index page already says."""
    if module == "rankmeter":
        return ""
    return inspect.getdoc(modules()[module]).split("\n\n")[0]


def _tables(names: list[str]) -> list[str]:
    things = {name: objects()[name] for name in sorted(names, key=str.lower)}
    functions = [name for name, thing in things.items() if inspect.isroutine(thing)]
    classes = [name for name, thing in things.items() if inspect.isclass(thing)]
    values = [name for name in things if name not in {*functions, *classes}]
    return [
        *(_summaries(found) for found in (functions, classes) if found),
        *(_value(name, things[name]) for name in values),
    ]


def _summaries(names: list[str]) -> str:
    body = "\n".join(f"   {name.rpartition('.')[2]}" for name in names)
    return f".. autosummary::\n   :toctree:\n   :nosignatures:\n\n{body}"


def _value(name: str, thing: Any) -> str:
    """A constant, with the docstring below it in the source."""
    shown = f"\n   :value: {thing!r}" if len(repr(thing)) < 200 else ""
    short = name.rpartition(".")[2]
    for home, module in sorted(sys.modules.items()):
        if home.startswith("rankmeter.") and vars(module).get(short) is thing:
            docs = ModuleAnalyzer.for_module(home).find_attr_docs()
            if ("", short) in docs:
                return f".. py:data:: {short}{shown}\n\n   {' '.join(docs['', short]).strip()}\n"
    raise LookupError(f"{name} is public but has no docstring below it in the source")


def _metrics() -> str:
    rows = [
        (f"``rm.{name}``", f":doc:`{metric.name} </metrics/{metric.name}>`", metric.spec.title)
        for name, metric in ready_made().items()
    ]
    said = "Values for building metrics: ``rm.NDCG(gain='exp2') @ 10``. Each is a `Metric`."
    return said + "\n\n" + table(["value", "metric", ""], rows, widths=[25, 25, 50])
