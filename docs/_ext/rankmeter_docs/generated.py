"""``.. generated:: NAME`` inserts text that is generated from the library into a page.

A generator is a function without arguments that returns reStructuredText. In a MyST page the
directive goes inside ``{eval-rst}``. The role ``live`` inserts one number: it evaluates an
expression in which ``value(ranking, truth, metric)`` is the value of a metric for one user.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective, SphinxRole

import rankmeter as rm
from rankmeter.metrics import METRICS
from rankmeter_docs import (
    choices,
    columns,
    command_line,
    conventions,
    glossary_index,
    korean_summaries,
    needs,
    numbers,
    recipes,
    shapes,
    ties,
)
from rankmeter_docs.example import picture
from rankmeter_docs.rst import raw_html

GENERATORS: dict[str, Callable[[], str]] = {
    "alignment-choices": choices.alignment,
    "averaging-choices": choices.averaging,
    "setting-choices": choices.setting,
    "tie-table": ties.table_of_expectations,
    "column-names": columns.names,
    "shapes": shapes.english,
    "korean-shapes": shapes.korean,
    "cookbook": recipes.english,
    "cookbook-data": recipes.data,
    "cookbook-shapes": recipes.english_shapes,
    "korean-cookbook": recipes.korean,
    "korean-cookbook-shapes": recipes.korean_shapes,
    "commands": command_line.sections,
    "exit-codes": command_line.exit_codes,
    "picture": lambda: raw_html(picture(METRICS["ndcg"])),
    "korean-terms": glossary_index.korean_terms,
    "korean-metrics": korean_summaries.overview,
    "needs": needs.overview,
    "conventions": conventions.overview,
    "agreement": conventions.agreement,
    "recorded-tools": conventions.recorded_tools,
    "numbers": numbers.numbers,
}


class Generated(SphinxDirective):
    """Calls a generator and parses its text in place."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Parse the generated text."""
        name = self.arguments[0]
        if name not in GENERATORS:
            raise self.error(f"unknown generator {name!r}; available: {', '.join(GENERATORS)}")
        self.env.note_reread()  # what it generates can change without the page
        return self.parse_text_to_nodes(GENERATORS[name](), allow_section_headings=True)


def value(ranking: Iterable[Any], truth: Any, metric: str, **choices: Any) -> float:
    """The value of one metric for one user."""
    return rm.evaluate({"u": list(ranking)}, {"u": truth}, metric, **choices)[metric].mean


class Live(SphinxRole):
    """A number that is computed when the page is built."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Evaluate the expression and insert the number with four decimals."""
        number = eval(self.text, {"value": value, "rm": rm, "math": math})
        text = f"{number:.4f}".rstrip("0").rstrip(".") if isinstance(number, float) else str(number)
        return [nodes.literal(self.rawtext, text, classes=["rm-live"])], []


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive and the role."""
    app.add_directive("generated", Generated)
    app.add_role("live", Live())
    return {"parallel_read_safe": True, "parallel_write_safe": True}
