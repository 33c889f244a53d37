"""The reference: a table of every public name, each with a page of its own."""

from __future__ import annotations

import inspect
from typing import Any

from sphinx.pycode import ModuleAnalyzer

import rankmeter
from rankmeter_docs.public import modules, objects, ready_made
from rankmeter_docs.rst import heading, paragraphs, table

LEAD = """
Everything that can be imported from ``rankmeter``. Positional arguments are data, keyword-only
arguments are options. Nothing that is passed in is ever changed.
"""


def pages() -> dict[str, str]:
    """The page that lists them; autosummary makes the others."""
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
    """What a module says of itself, but not twice what the index page says."""
    if module == "rankmeter":
        return ""
    return inspect.getdoc(modules()[module]).split("\n\n")[0]


def _tables(names: list[str]) -> list[str]:
    things = {name: objects()[name] for name in sorted(names, key=str.lower)}
    kinds = {
        "Functions": [name for name, thing in things.items() if inspect.isroutine(thing)],
        "Classes": [name for name, thing in things.items() if inspect.isclass(thing)],
    }
    parts = []
    for found in kinds.values():
        if found:
            body = "\n".join(f"   {name.rpartition('.')[2]}" for name in found)
            parts.append(f".. autosummary::\n   :toctree:\n   :nosignatures:\n\n{body}")
    values = [name for name in things if not any(name in found for found in kinds.values())]
    return [*parts, *(_value(name, things[name]) for name in values)]


def _value(name: str, thing: Any) -> str:
    """A constant, with the text that stands below it in the source."""
    shown = f"\n   :value: {thing!r}" if len(repr(thing)) < 200 else ""
    return f".. py:data:: {name}{shown}\n\n   {_comment(name)}\n"


def _comment(name: str) -> str:
    module, _, attribute = name.rpartition(".")
    homes = [module, *(f"{module}.{home}" for home in _submodules(module))]
    for home in homes:
        docs = ModuleAnalyzer.for_module(home).find_attr_docs()
        if ("", attribute) in docs:
            return " ".join(docs["", attribute]).strip()
    raise LookupError(f"{name} is public and has no text below it in the source")


def _submodules(module: str) -> list[str]:
    homes = getattr(rankmeter, "_HOMES", {}) if module == "rankmeter" else {}
    return sorted({*homes.values(), *(["_registry"] if module.endswith(".metrics") else [])})


def _metrics() -> str:
    rows = [
        (f"``rm.{name}``", f":doc:`{metric.name} </metrics/{metric.name}>`", metric.spec.title)
        for name, metric in ready_made().items()
    ]
    said = "Values to write metrics with: ``rm.NDCG(gain='exp2') @ 10``. Each is a `Metric`."
    return said + "\n\n" + table(["value", "metric", ""], rows, widths=[25, 25, 50])


__all__ = ["pages"]
