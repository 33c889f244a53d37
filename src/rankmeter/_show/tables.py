"""How a number is computed, as tables and lines of text."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from rankmeter._results.tables import TextTable
from rankmeter._results.walkthrough import Grid, Heading, Line, Place, Walk, Walkthrough
from rankmeter._results.wording import number_text
from rankmeter.errors import shorten_middle, to_one_line
from rankmeter.errors._checks import exact_text, words_in_use

FIRST = 10
"""Ranks that are always shown; of the others only items that count."""
_MOST = 25
_MOST_IN_VAIN = 3
"""Relevant items that are shown although they add nothing: further down, or not in the list."""
_LONGEST_ITEM = 40
_SIGNS = [
    ("**2", "²"), ("**", "^"), (" * ", " · "), ("<=", "≤"), (">=", "≥"), ("infinity", "∞"),
    ("sqrt(", "√("), (" - ", " − "), ("_", " "),
]  # fmt: skip


def item_with_title(position: Place) -> str:
    """Item id, followed by the title if known."""
    if position.item is None:
        return ""
    return shorten_middle(f"{position.item} {position.title}".rstrip(), _LONGEST_ITEM)


def lay_out(walkthrough: Walkthrough) -> list[str | TextTable]:
    """Headings, tables and lines of a walkthrough, in reading order."""
    whose = f"{words_in_use().user} {to_one_line(str(walkthrough.user))}"
    blocks = [
        part
        for system, walk in walkthrough.walks
        for part in _parts_of_walk(walk, f"{system}, {whose}" if system else whose)
    ]
    explained = any(map(_has_parentheses, blocks))
    notes = [*walkthrough.notes, *["in parentheses: judged, not relevant"] * explained]
    return [part for part in (*blocks, *notes) if part]


def _parts_of_walk(walk: Walk, whose: str) -> Iterator[str | TextTable]:
    """Headings, tables and lines, in reading order."""
    yield Heading(f"{walk.label} of {whose} = {_plain_number(walk.value)}")
    yield ", ".join(walk.facts)
    yield _position_table(walk.ranking, walk.k)
    if math.isnan(walk.value):
        user = words_in_use().user
        yield f"{walk.label} is undefined for this {user}: {_counted_value_text(walk)}"
        return
    if walk.ideal.places:
        yield "the perfect ranking:"
        yield _position_table(walk.ideal, walk.k, end=_n_positions_with_terms(walk.ideal, walk.k))
    if walk.categories.places:
        yield _position_table(walk.categories, None, kind="category")
    yield from (_equation(line, walk.label) for line in walk.lines if line.name or line.text)
    if not walk.whole and not math.isclose(walk.value, walk.counted, rel_tol=1e-12):
        yield _counted_value_text(walk)


def _counted_value_text(walk: Walk) -> str:
    left_out = math.isnan(walk.counted)
    counts = "left out of the mean" if left_out else f"counts as {_plain_number(walk.counted)}"
    return f"{counts} ({walk.rule})"


def _n_positions_with_terms(perfect: Grid, k: int | None) -> int:
    """Number of positions of an ideal ranking up to the last with a term, at least k."""
    adds = [i for i, position in enumerate(perfect.places) if position.numbers.get("term", 1.0)]
    return max(k or 0, 1 + max(adds, default=-1))


def _position_table(
    grid: Grid, k: int | None, *, kind: str = "item", end: int | None = None
) -> TextTable:
    """Table of the positions that matter, up to `end`, with a row for positions left out."""
    named_items = any(position.item is not None for position in grid.places)
    first = ["rank", *[words_in_use().item] * named_items, "gain"] if kind == "item" else [kind]
    rows: list[list[str]] = []
    hidden: list[list[str]] = []
    relevant = in_vain = 0
    for i, position in enumerate(grid.places):
        item = item_with_title(position)
        cells = [item]
        if kind == "item":
            cells = [position.rank or "–", *[item] * named_items, _gain_text(position)]
        row = [*cells, *(_plain_number(position.numbers.get(c)) for c in grid.columns)]
        is_first, adds = i < min(k or FIRST, FIRST), _adds_to_value(position)
        counts = adds or (position.relevant and in_vain < _MOST_IN_VAIN)
        in_vain += position.relevant and not (is_first or adds)
        if (end is None or i < end) and (is_first or (counts and len(rows) < _MOST)):
            rows += [*_merge_hidden_rows(hidden, relevant), row]
            hidden, relevant = [], 0
        else:
            hidden.append(row)
            relevant += position.relevant and kind == "item" and end is None
    last = _merge_hidden_rows(hidden, relevant)
    return TextTable([*first, *grid.columns], [*rows, *last], left=min(2, len(first)))


def _merge_hidden_rows(hidden: Sequence[list[str]], relevant: int) -> Sequence[list[str]]:
    """Replace two or more hidden rows by a single row that counts all and relevant rows."""
    if len(hidden) < 2:
        return hidden
    count = f"{len(hidden):,} more" + (f", {relevant:,} relevant" if relevant else "")
    return [["…", count, *[""] * (len(hidden[0]) - 2)][: len(hidden[0])]]


def _adds_to_value(position: Place) -> bool:
    """Whether a position adds to the value: by a term or hit, or by any number without terms."""
    terms = [position.numbers[name] for name in ("term", "hit") if name in position.numbers]
    return any(terms or position.numbers.values())


def _gain_text(position: Place) -> str:
    """Format the gain, in parentheses for an item judged not relevant; empty for NaN."""
    if math.isnan(position.gain):
        return ""
    return exact_text(position.gain) if position.relevant else f"({exact_text(position.gain)})"


def _has_parentheses(part: str | TextTable) -> bool:
    """Whether a part has an item judged not relevant."""
    if not isinstance(part, TextTable) or "gain" not in part.columns:
        return False
    gain = part.columns.index("gain")
    return any(row[gain].startswith("(") for row in part.rows)


def _equation(line: Line, label: str) -> str:
    """Write a line as an equation: ``ndcg@10 = dcg / ideal = 1.0178 / 2.1309 = 0.4776``."""
    numbers = re.sub(r"[a-z_]\w*", lambda word: _number_or_word(line, word[0]), line.text)
    name = label if line.name == label else _replace_signs(line.name)
    texts = [name, _replace_signs(line.text), _replace_signs(numbers), _plain_number(line.value)]
    return " = ".join(dict.fromkeys(filter(None, texts)))


def _number_or_word(line: Line, word: str) -> str:
    return _plain_number(line.parts[word]) if word in line.parts else word


def _replace_signs(text: str) -> str:
    for sign, better in _SIGNS:
        text = text.replace(sign, better)
    return text


def _plain_number(value: float | None) -> str:
    """Format a number with four decimals, or without decimals if integer; empty for None."""
    if value is None:
        return ""
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return f"{value:,.0f}" if value.is_integer() else number_text(value)
