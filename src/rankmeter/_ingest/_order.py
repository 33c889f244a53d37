"""The order of ids: the same for every input form, whatever the other ids are."""

from __future__ import annotations

import polars as pl

__all__ = ["places"]

_WHOLE = r"^(0|-?[1-9][0-9]*)$"
_NAME = 2**40  # longer than any text


def places(ids: pl.Series, *, text: bool = False) -> pl.Series:
    """Integers that are ordered as the ids are, and are equal where the ids are.

    Integers in their shortest form come first and are ordered by value, whether they are numbers
    or text: 7 and ``"7"`` have the same place. All other ids follow, ordered by the bytes
    of their UTF-8 text; ``"007"``, ``"+7"`` and ``"-0"`` are among them. With `text` every id is
    ordered by the bytes of its text.
    """
    if ids.dtype.is_integer() and not text:
        return ids
    written = ids.cast(pl.String).alias("id")
    distinct = written.unique().to_frame()
    keys = [pl.col("id")] if text else [_digits(), _reading()]
    ordered = distinct.sort(keys).with_row_index("place")
    return written.to_frame().join(ordered, on="id", how="left", maintain_order="left")["place"]


def _digits() -> pl.Expr:
    """The length of an integer, below 0 if it is negative; beyond every length for a name."""
    length = pl.col("id").str.len_bytes().cast(pl.Int64)
    signed = pl.when(pl.col("id").str.starts_with("-")).then(-length).otherwise(length)
    return pl.when(pl.col("id").str.contains(_WHOLE)).then(signed).otherwise(_NAME)


def _reading() -> pl.Expr:
    """The text, with the digits of a negative number complemented, because -15 is less than -12."""
    negative = pl.col("id").str.contains(_WHOLE) & pl.col("id").str.starts_with("-")
    digits = [str(digit) for digit in range(10)]
    turned = pl.col("id").str.replace_many(digits, digits[::-1])
    return pl.when(negative).then(turned).otherwise(pl.col("id"))
