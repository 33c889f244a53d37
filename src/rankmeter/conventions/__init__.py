"""What each known tool means by its metrics: one TOML file per tool, checked against the registry.

A file states, with its sources, only what differs from the convention ``rankmeter``:

.. code-block:: toml

    name = "trec_eval"
    title = "trec_eval 10"
    sources = ["…"]

    [all]                       # choices that hold for every metric
    ties = "item-descending"

    [metrics.ap]                # options and choices of one metric
    denominator = "relevant"
"""

from __future__ import annotations

import difflib
import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from rankmeter.errors import UsageError

__all__ = ["Convention", "convention_names", "load_convention"]


@dataclass(frozen=True)
class Convention:
    """The choices of one tool.

    Attributes
    ----------
    name, title, version : str
    sources : tuple of str
        Where the facts come from.
    notes : tuple of str
        What a reader of the tool's numbers should know.
    switches : mapping
        Choices of alignment and averaging for every metric.
    metrics : mapping of str to mapping
        Options and choices by canonical metric name.
    """

    name: str
    title: str
    version: str = ""
    sources: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    switches: Mapping[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def convention_names() -> tuple[str, ...]:
    """Names of all conventions, sorted."""
    folder = resources.files(__package__)
    return tuple(
        sorted(
            file.name.removesuffix(".toml")
            for file in folder.iterdir()
            if file.name.endswith(".toml")
        )
    )


@functools.cache
def load_convention(name: str) -> Convention:
    """Read one convention.

    Parameters
    ----------
    name : str
        As in `convention_names`; case, ``-`` and ``_`` do not matter.

    Raises
    ------
    UsageError
        If there is none of that name; the message offers the nearest ones.
    """
    names = convention_names()
    wanted = name.strip().lower().replace("-", "_")
    if wanted not in names:
        near = difflib.get_close_matches(wanted, names, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(names)}"
        raise UsageError(f"unknown convention {name!r}: {hint}")
    text = resources.files(__package__).joinpath(f"{wanted}.toml").read_text("utf-8")
    data = tomllib.loads(text)
    return Convention(
        name=data["name"],
        title=data["title"],
        version=data.get("version", ""),
        sources=tuple(data.get("sources", ())),
        notes=tuple(data.get("notes", ())),
        switches=data.get("all", {}),
        metrics=data.get("metrics", {}),
    )
