"""The order of ids: the same for every input form, whatever the other ids are."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from rankmeter._ingest._id_columns import Ids

_WHOLE = r"^(0|-?[1-9][0-9]*)$"
_FEW_TO_ORDER = 10_000  # ids that are ordered in less time than it takes to import Polars
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


def places_of(columns: Sequence[Ids], *, text: bool = False) -> npt.NDArray[np.int64]:
    """The same for ids of one type in any form, one part after the other."""
    if columns[0].type != "String" and not text:
        return np.concatenate([text_of.integers() for text_of in columns])
    if sum(map(len, columns)) > _FEW_TO_ORDER:
        together = pl.concat([text_of.series() for text_of in columns])
        return places(together, text=text).to_numpy().astype(np.int64)
    written = [str(text_of) for part in columns for text_of in part]
    ordered = sorted({*written}, key=None if text else _key)
    place = {text_of: n for n, text_of in enumerate(ordered)}
    return np.array([place[text_of] for text_of in written], dtype=np.int64)


def _key(text: str) -> tuple[int, str]:
    """The sort key that `_digits` and `_reading` make of one id."""
    if not re.fullmatch(_WHOLE, text):
        return _NAME, text
    return (-len(text), text.translate(_TURNED)) if text[0] == "-" else (len(text), text)


_TURNED = str.maketrans("0123456789", "9876543210")


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
