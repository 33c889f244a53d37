"""Write what type checkers read of metrics and conventions: ``src/rankmeter/_typed.pyi``.

    python tests/laws/typed.py

Each ready-made metric is a class whose call has the options of the metric, and the choices that it
can have in parentheses; ``Like`` are the names of the conventions, also with their versions.
"""

from __future__ import annotations

import typing
from pathlib import Path

import rankmeter as rm
from rankmeter._choices import CHOICES, IN_METRICS, SETTINGS, EveryChoice
from rankmeter.conventions import convention_names, load_convention

FILE = Path(rm.__file__).with_name("_typed.pyi")
HEAD = """# Written by python tests/laws/typed.py: what type checkers know of metrics and tools.
# fmt: off
# ruff: noqa: E501, I001, RUF022
from collections.abc import Mapping
from typing import Literal, TypeAlias, TypedDict, Unpack

from rankmeter.metrics import Metric

"""


def spelled(hint):
    """An annotation as it is written."""
    parts = typing.get_args(hint) if "|" in str(hint) or "Union" in str(hint) else ()
    parts = parts or (typing.get_args(hint) if "Optional" in str(hint) else (hint,))
    names = [one.__name__ if isinstance(one, type) else repr(one) for one in parts]
    text = " | ".join(names).replace("typing.", "").replace("collections.abc.", "")
    return text.replace("'", '"').replace("NoneType", "None")


def likes():
    """Names and other names of conventions, with and without their versions."""
    found = []
    for name in convention_names():
        profile = load_convention(name)
        versions = [profile.version, *profile.earlier] if profile.version else []
        pinned = [f"{tool_of(profile)}=={version}" for version in versions]
        found += [profile.name, profile.name.replace("_", "-"), *profile.aliases, *pinned]
    return dict.fromkeys(found)


def tool_of(profile):
    """The name before ``==``: that of the tool, also for a profile of an older version."""
    parts = profile.name.split("_")
    shorter = ("_".join(parts[:n]) for n in range(1, len(parts)))
    known = (name for name in shorter if name in convention_names())
    pinned = (n for n in known if load_convention(n).title == profile.title)
    return next(pinned, profile.name)


def option(one):
    """A parameter of a metric."""
    words = f"Literal[{', '.join(f'{word!r}' for word in one.choices)}]" if one.choices else ""
    plain = one.type.__name__ if one.type else ""
    kinds = [kind for kind in (words, plain) if kind] + (["None"] if one.optional else [])
    return f"{one.name}: {' | '.join(kinds)} = ...".replace("'", '"')


def choices():
    """Each choice that a metric can have in parentheses, by each of its names."""
    hints = typing.get_type_hints(EveryChoice)
    names = [name for name in CHOICES if name not in SETTINGS or name == "n_items"]
    names += [alias for alias, real in IN_METRICS.items() if real in names]
    return [f"    {name}: {spelled(hints[IN_METRICS.get(name, name)])}" for name in names]


def metric(name):
    """The class and the object of a ready-made metric."""
    spec = getattr(rm, name).spec
    options = [option(one) for one in spec.options.values() if one.name != "n_items"]
    listed = f" *, {', '.join(options)}," if options else ""
    call = f"self,{listed} **choices: Unpack[InParentheses]"
    return [
        f"class _{name}(Metric):",
        f"    def __call__({call}) -> Metric: ...  # type: ignore[override]",
        f"{name}: _{name}",
    ]


def content():
    """The file."""
    ready_made = sorted(n for n in rm.__all__ if isinstance(getattr(rm, n), rm.Metric))
    lines = [
        HEAD,
        "Like: TypeAlias = Literal[",
        *(f'    "{name}",' for name in likes()),
        "]",
        "",
        "class InParentheses(TypedDict, total=False):",
        *choices(),
        "    adjusted: bool",
        "",
        *(line for name in ready_made for line in metric(name)),
        "",
        "__all__ = [",
        *(f'    "{name}",' for name in ready_made),
        "]",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    FILE.write_text(content(), "utf-8")
