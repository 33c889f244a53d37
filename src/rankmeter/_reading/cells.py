"""Lists that a program wrote into one cell of a text."""

from __future__ import annotations

from typing import Any

import polars as pl

from rankmeter.errors._checks import brief

_BRACKETS = r"^\s*\[.*\]\s*$"
_CODE = r"[\w-]*\d[\w-]*"
_FEW = 100
_WITHOUT_BRACKETS = {
    r"^[^|]+(\|[^|]+)*$": r"[^|]+",
    rf"^\s*{_CODE}( +{_CODE})*\s*$": r"\S+",
    rf"^\s*{_CODE}( *, *{_CODE})*\s*$": r"[^\s,]+",
}
"""How all cells with lists look, and what their parts are."""


def describe_lists(name: str, column: Any, users: Any) -> str:
    """Describe cells that hold lists, and the line of Polars that splits them; "" if they do not.

    All cells are in brackets, or no user has two rows and most cells have several parts, between
    bars, or between spaces or commas if all have digits; the cells differ in the number of parts
    or have three or more: an id can have two.
    """
    if not isinstance(column, pl.Series) or column.dtype != pl.String or column.is_empty():
        return ""
    texts = column.drop_nulls() if column.null_count() else column
    if "[" in "".join(texts.head(1).to_list()) and texts.str.contains(_BRACKETS).all():
        return _remedy(name, texts[0], r"""[^\s,'\"\[\]]+""")
    if not isinstance(users, pl.Series) or users.dtype.is_nested():  # such users are refused later
        return ""
    # Most tables repeat a user soon, so that a few rows are enough.
    first = users.head(_FEW).to_list()
    if len({*first}) < len(first) or any(
        users.head(n).is_duplicated().any() for n in (_FEW**2, len(users))
    ):
        return ""
    for look, part in _WITHOUT_BRACKETS.items():
        n = texts.str.count_matches(part)
        if texts.str.contains(look).all() and (n > 1).mean() > 0.5:  # type: ignore[operator]
            several = int(n.arg_max() or 0)
            if n[several] > 2 or n.n_unique() > 1:
                return _remedy(name, texts[several], part)
    return ""


def _remedy(name: str, example: str, part: str) -> str:
    return (
        f"The cells of {brief(name)} hold lists, such as {brief(example)}. Pass a frame whose "
        f"cells are split: pl.read_csv(path).with_columns("
        f'pl.col({brief(name)}).str.extract_all(r"{part}"))'
    )
