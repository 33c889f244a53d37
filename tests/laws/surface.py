"""Write the public surface: names of the package, and members of its classes.

    python tests/laws/surface.py

A member that is new is public: give it an underscore if it is for other modules of rankmeter. What
disappears from ``surface.toml`` needs a deprecation first (docs/guide/stability.md).
"""

from __future__ import annotations

import dataclasses
import inspect
import textwrap
from pathlib import Path

import rankmeter as rm
from rankmeter.metrics import METRICS

FILE = Path(__file__).with_name("surface.toml")
READY_MADE = {name for name in rm.__all__ if isinstance(getattr(rm, name), rm.Metric)}


def surface():
    """The names of the package by kind, and of each class its members."""
    others = [name for name in rm.__all__ if name not in READY_MADE]
    classes = [name for name in others if isinstance(getattr(rm, name), type)]
    return {
        "names": sorted({*others} - {*classes}),
        "metrics": sorted(METRICS),
        "ready_made_metrics": sorted(READY_MADE),
        **{name: members(getattr(rm, name)) for name in sorted(classes)},
    }


def members(cls):
    """Members without an underscore: methods, properties and fields."""
    found = (
        {*dir(cls), *(f.name for f in dataclasses.fields(cls))} if is_record(cls) else {*dir(cls)}
    )
    inherited = {name for base in cls.__mro__ for name in inspect.get_annotations(base)}
    return sorted(name for name in found | inherited if not name.startswith("_"))


def is_record(cls):
    """Whether a class is a dataclass."""
    return dataclasses.is_dataclass(cls)


def text(content):
    """The file: a list of names for each key."""
    lines = ["# Written by python tests/laws/surface.py: what docs/guide/stability.md promises."]
    for key, names in content.items():
        listed = ", ".join(f'"{name}"' for name in names)
        lines += [f"{key} = [", textwrap.indent(textwrap.fill(listed, 96), "  ") + ",", "]"]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(surface()), "utf-8")
