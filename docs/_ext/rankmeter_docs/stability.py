"""Say on the page of each public name how stable it is, from the page "What will not change"."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from rankmeter_docs.public import objects

PAGE = Path(__file__).parents[2] / "guide" / "stability.md"
LEVELS = {
    True: "Not settled yet: it can change in a minor release (:doc:`/guide/stability`).",
    False: "Stable: it changes only with a major release (:doc:`/guide/stability`).",
}


@cache
def unsettled() -> frozenset[str]:
    """The names that the page calls not settled."""
    text = PAGE.read_text("utf-8").partition("Some parts are not settled yet")[2]
    return frozenset(re.findall(r"`~(rankmeter\.\w+)`", text.partition("\n\n")[0]))


def add_level(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Add the level below the first paragraph of a public function or class."""
    if name not in objects() or not lines:
        return
    end = lines.index("") if "" in lines else len(lines)
    lines[end:end] = ["", LEVELS[name in unsettled()], ""]


def setup(app: Any) -> dict[str, bool]:
    """Register the hook, before docstrings are converted."""
    app.connect("autodoc-process-docstring", add_level, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
