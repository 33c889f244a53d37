"""Check columns of numbers, and refuse unused columns of numbers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from rankmeter._reading.columns import (
    SYNONYMS,
    VALUE,
    Column,
    Columns,
    Side,
    holds_lists,
    likely_first,
    looks_like,
    names_list,
    normalize_name,
)
from rankmeter._reading.ids import is_null, to_floats, type_names
from rankmeter._reading.table import (
    format_few,
    format_row_numbers,
    integers_from_text,
    refuse_values,
)
from rankmeter.errors import ColumnError, InvalidValueError
from rankmeter.errors._checks import brief

_WORDS = {
    1.0: "true t yes y on positive pos relevant related like liked",
    0.0: "false f no n off negative neg irrelevant nonrelevant notrelevant unrelated dislike "
    "disliked notliked",
}
BINARY = {word: number for number, words in _WORDS.items() for word in words.split()}
"""Words that are gains of 1 and 0, as `normalize_words` leaves them."""


def normalize_words(words: pl.Series) -> pl.Series:
    """Normalize words to lower case, without spaces, hyphens and underscores."""
    return words.str.to_lowercase().str.replace_all(r"[\s_-]+", "")


def _gains_from_words(text: pl.Series) -> pl.Series | None:
    """Convert gains that are all yes or no words to 1 and 0; None for any other word or null."""
    if normalize_words(text.head(1)).to_list()[:1] not in [[word] for word in BINARY]:
        return None
    read = normalize_words(text).replace_strict(BINARY, default=None, return_dtype=pl.Float64)
    return None if read.null_count() else read


def to_numbers(
    column: Column,
    role: str,
    source: str,
    counts: Counter[str] | None = None,
    *,
    untyped: bool = False,
    textual: bool = False,
) -> pl.Series:
    """Convert a column to Float64, named after the role.

    NaN and missing values are both null. Gains and ratings may all be words, of `BINARY`. `untyped`
    text must mean numbers; a `textual` column with true and false must have no other values;
    `counts` gets ``rounded_scores`` (ranks, gains, ratings), as `count_rounded_values` counts them.
    """
    series = (
        _numbers_from_python(column, role, source, textual=textual)
        if isinstance(column, list)
        else column
    )
    dtype, is_gain = series.dtype, role in ("gain", "rating")
    if dtype in (pl.String, pl.Categorical, pl.Enum) and is_gain:
        series = series.cast(pl.String)
        if (words := _gains_from_words(series)) is not None:
            return words.alias(role)
    if untyped:
        values = _numbers_from_text(series, role, source)
    elif dtype.is_numeric() or dtype == pl.Null or (dtype == pl.Boolean and is_gain):
        values = series.cast(pl.Float64)
    else:
        first = next((value for value in series if value is not None), None)
        raise _not_a_number_error(role, source, first, series.is_not_null().arg_true())
    values = values.fill_nan(None).alias(role)
    if counts is not None:
        counts[f"rounded_{role}s"] += count_rounded_values(column, values)
    return values


def count_rounded_values(column: Column, values: pl.Series) -> int:
    """Number of values in a column that are integers without an exact float64.

    `values` are the floats that were read from them. Decimals are not counted unless they are
    whole: almost none has a float of exactly its value.
    """
    if isinstance(column, pl.Series) and column.dtype.is_float():
        return 0
    large = values.is_finite() & (values.abs() >= 2**53)
    if not large.any():
        return 0
    if isinstance(column, pl.Series) and column.dtype.is_integer():
        return int(values.cast(column.dtype, strict=False).ne_missing(column).sum())
    large_rows = large.arg_true().to_list()
    return sum(_is_rounded(column[row], values[row]) for row in large_rows)


def _is_rounded(written: Any, value: float) -> bool:
    """Whether a float differs from the integer as written; False if no integer was written."""
    if isinstance(written, str):
        written = written.strip()
        return bool(re.fullmatch("[-+]?[0-9]+", written)) and Decimal(written) != value
    if isinstance(written, Decimal):
        return written == written.to_integral_value() and written != value
    return isinstance(written, Integral) and int(written) != value


def check_ranks(values: pl.Series, source: str, *, rounded: int = 0) -> None:
    """Check that ranks are integers ≥ 1; `rounded` ranks were above 2^53 as written."""
    other = "columns={'score': ...}"
    bad = values.is_null() | values.is_infinite() | (values < 1)
    hint = "Ranks start at 1: add 1 to ranks that start at 0. " if values.min() == 0 else ""
    remedy = f"{hint}To order by the score instead, pass {other}."
    refuse_values(bad, "ranks", source, "not finite numbers ≥ 1", remedy, values=values)
    remedy = "If they mark items that were not ranked, drop these rows; if higher is better, it "
    remedy += f"is a score: {other}."
    large = values >= 2**53 if rounded else values > 2**53
    refuse_values(large, "ranks", source, "above 2^53", remedy, values=values)
    remedy = f"If higher is better, it is a score: {other}."
    refuse_values(
        values != values.floor(), "ranks", source, "not integers ≥ 1", remedy, values=values
    )


def missing_scores_error(
    n: int, n_all: int, source: str, pairs: Iterable[tuple[Any, ...]], location: str = ""
) -> InvalidValueError:
    """Build the error for missing or NaN scores, with the users and items of the first."""
    examples = ", ".join(f"user {brief(user)} item {brief(item)}" for user, item, *_ in pairs)
    return InvalidValueError(
        f"{n} of {n_all} scores of {source} are missing or NaN: {examples}{location}. Tools differ "
        f"in where they sort NaN, so it is refused; bad_scores='drop' leaves these rows out, "
        f"bad_scores='worst' ranks them last."
    )


def check_gains(values: npt.NDArray[np.float64], source: str) -> None:
    """Check that gains are finite; NaN counts as missing."""
    if not np.isfinite(values).all():
        gains = pl.Series(values, nan_to_null=True)
        remedy = "A gain is a finite number: fill or drop these judgments."
        bad = ~gains.is_finite().fill_null(value=False)
        refuse_values(bad, "gains", source, "missing or infinite", remedy, values=gains)


def to_typed_series(column: Column, name: str, *, untyped: bool = False) -> pl.Series:
    """Convert an extra column to a series; `untyped` text gets the type that fits all values.

    So `untyped` text becomes Int64, Float64 or, if its name is ``time`` and it holds ISO dates,
    Datetime, and is kept otherwise.
    """
    if isinstance(column, pl.Series):
        series = column
    else:
        series = pl.Series([None if is_null(value) else value for value in column], strict=False)
    if untyped and series.null_count() < len(series):
        read = integers_from_text(series)
        series = _parse_numbers_or_times(series, name) if read is None else read
    return series.alias(name)


def find_time(read: Columns, names: Sequence[str]) -> str | None:
    """Find the only column of dates or moments among the names; None if none or several are."""
    if read.roles is not None:
        return None
    if not (names := [name for name in names if not _names_fact(name)]):
        return None
    columns = read.fetch(names)
    found = [name for name, column in columns.items() if _holds_times(column, read)]
    return found[0] if len(found) == 1 else None


def _holds_times(column: Column, read: Columns) -> bool:
    if isinstance(column, pl.Series):
        if column.dtype.is_nested():
            return False
        start = column.drop_nulls().head(_ENOUGH)
    else:
        start = pl.Series([x for x in column if not is_null(x)][:_ENOUGH], strict=False)
    if read.untyped or start.dtype == pl.String:
        start = to_typed_series(start, "time", untyped=True)
    return len(start) > 0 and start.dtype in (pl.Date, pl.Datetime)


_ENOUGH = 100


def _parse_numbers_or_times(text: pl.Series, name: str) -> pl.Series:
    if text.str.contains(r"^[-+]?0\d").any():
        return text  # 007 is a name
    read = text.cast(pl.Float64, strict=False)
    if read.null_count() > text.null_count() and name == "time":
        try:
            read = text.str.to_datetime(strict=False)
        except pl.exceptions.ComputeError:
            return text
    return text if read.null_count() > text.null_count() else read


def _numbers_from_text(series: pl.Series, role: str, source: str) -> pl.Series:
    text = series.str.strip_chars()
    values = text.cast(pl.Float64, strict=False)
    bad = (values.is_null() & text.is_not_null() & (text != "")).arg_true()
    if len(bad):
        raise _not_a_number_error(role, source, series[int(bad[0])], bad)
    return values


def _numbers_from_python(values: list[Any], role: str, source: str, *, textual: bool) -> pl.Series:
    allowed = {"integer", "float", "null"}
    types = type_names(values)
    if role in ("gain", "rating") and not (textual and types & {"integer", "float"}):
        allowed.add("boolean")
        if types == {"string"} and all(normalize_name(value) in BINARY for value in values):
            return pl.Series([BINARY[normalize_name(value)] for value in values])
    if not types <= allowed:
        bad_rows = [row for row, value in enumerate(values) if not type_names([value]) <= allowed]
        raise _not_a_number_error(role, source, values[bad_rows[0]], bad_rows)
    return to_floats(values, types)


def _not_a_number_error(
    role: str, source: str, value: object, bad_rows: pl.Series | list[int]
) -> InvalidValueError:
    words = " (or all to words: yes, no)" if role == "gain" else ""
    if role == "gain" and isinstance(value, str):
        words += f", say which word is relevant: relevant={brief(value)}"
    return InvalidValueError(
        f"The {role} {brief(value)} of {source} is not a number ({type(value).__name__}), first at "
        f"{format_row_numbers(bad_rows)}. Convert the {role}s to numbers{words}, or choose another "
        f"column: columns={{{role!r}: ...}}."
    )


_INDEX = frozenset({"", "unnamed:0"})  # the row index in front of a frame that pandas wrote
# Digits without letters, unlike a date or a time: 1,000.5 and 10% and 3/5.
_NUMBER = r"^-?[^\pL:/-]*\d(?:[eE][+-]?\d+|/\d+)?[^\pL:/-]*$|^(?i:true|false|[+-]?inf(?:inity)?)$"
_FRACTION = r"[.,]\d"
_MISSING = ["", "-", "?", "n/a", "na", "nan", "null", "none"]
_NUMBERS = frozenset({"integer", "float", "boolean"})
_LARGEST_FRACTION = 1000  # a time in seconds since 1970 is larger
_GRADES = "high medium low good fair bad poor excellent perfect strong weak maybe neutral"
_DEGREES = "highly partially somewhat marginally very slightly"
_LABELS = [*BINARY, *_GRADES.split(), *(f"{degree}relevant" for degree in _DEGREES.split())]
_STARS = r"^\d*[★☆⭐]+$|^\d+stars?$"
_HAVE_ROLES = SYNONYMS["user"] | SYNONYMS["item"] | SYNONYMS["time"]
_ID_OR_TIME = re.compile(r"(_id|timestamp|datetime|_time|_date|_ts|_at)$")
_KNOWN = {
    "events": "view viewed pageview pv impression exposure click clicked clicks cart addtocart "
    "addcart removefromcart checkout buy bought purchase purchased order ordered transaction fav "
    "favorite favourite wishlist like dislike share save skip play watch listen read download "
    "install subscribe search train training test testing val valid validation dev eval holdout",
    "names of events": "event events eventtype eventname action actiontype activity behavior "
    "behaviortype interaction interactiontype feedback feedbacktype",
    "names of parts": "split splits splitindex splitid isplit fold foldid subset partition set",
    "facts": "title name description text url category categories subcategory genre genres tag "
    "tags brand author artist publisher maker color size style material department format "
    "language lang country city region state location market gender sex age occupation segment "
    "cohort device os platform browser channel source medium currency payment method version "
    "weekday day month season topic type birth birthday birthdate release released published "
    "publication registered registration joined signup expires expiry due delivered shipped",
}
_EVENTS, _EVENT_NAMES, _PART_NAMES, _FACTS = (frozenset(text.split()) for text in _KNOWN.values())
"""Kinds of events and of parts of a split; names of columns of these; words in the names of columns
about items or users, whose values do not say what is relevant."""
_AMOUNTS = (
    "quantity qty price unitprice amount cost revenue discount index dwell dwelltime duration"
)
"""Names of numbers that belong to an interaction and are gains only if `columns` says so."""
_FEW_WORDS = 6
_BEST = frozenset({"purchase", "purchased", "buy", "bought", "transaction", "order", "ordered"})
_OTHER_SIDE: dict[Side, Side] = {"rankings": "truth", "truth": "rankings"}
_OF_THE_OTHER = {"rankings": SYNONYMS["gain"], "truth": SYNONYMS["score"] | SYNONYMS["rank"]}


def refuse_unused_numbers(read: Columns, side: Side, used: Collection[str]) -> None:
    """Refuse data without a score, rank or gain if columns without a role hold numbers.

    Also refused are true and false, and in the truth words such as yes and no, kinds of events,
    and a few different words in the only column without facts about items or users. It is enough
    if most values are such; the others may be written differently.
    Text that a program made is asked about if most values are numbers with decimals. Columns with
    the name of an id or a time are allowed unless they hold fractions, and so is an index of the
    rows in front; `used` are the columns that have a role.
    """
    unused = [
        name
        for name in read.names
        if name not in used
        and normalize_name(name) not in _HAVE_ROLES
        and not (side == "truth" and normalize_name(name) in _AMOUNTS.split())
        and not (name in read.nested and names_list(name, _OTHER_SIDE[side]))
    ]
    if read.roles is not None or not unused:
        return
    if repeated := [name for name, n in Counter(unused).items() if n > 1]:
        raise ColumnError(
            f"{read.source} has two columns called {brief(repeated[0])}, and either may hold the "
            f"{VALUE[side]}s. Rename or drop them."
        )
    items = [name for name in used if name in read.nested]
    columns = read.fetch([*unused, *items])
    numeric = [
        name
        for name in unused
        if (
            _lists_hold_numbers(name, columns[name], columns[items[0]])
            if items and name in read.nested
            else _holds_numbers(name, columns[name], read, first=name == read.names[0])
        )
    ]
    if numeric:
        raise _unused_columns_error(read.source, side, numeric, "numbers")
    if side == "truth":
        words = {name: counts for name in unused if (counts := count_words(columns[name]))}
        several = [name for name in words if not _names_fact(name) and len(words[name]) > 1]
        few = [name for name in several if _are_few(words[name])]
        labels = [
            name
            for name in words
            if _are_mostly(words[name], _LABELS, _STARS)
            or (name in several and _say_events(name, words[name]))
            or [name] == few
        ]
        if labels:
            first = labels[0]
            numbers = first in read.nested or all(
                normalize_name(word) in BINARY for word in words[first]
            )
            shown = [] if numbers else [*words[first]]
            raise _unused_columns_error(read.source, side, labels, "labels", shown)


def refuse_parts_of_a_split(read: Columns, used: Collection[str]) -> None:
    """Refuse truth with the rows of several parts of a split, in a column without a role."""
    if read.roles is not None:
        return
    parts = [
        name for name in read.names if name not in used and normalize_name(name) in _PART_NAMES
    ]
    for name, column in (read.fetch(parts) if parts else {}).items():
        values = column if isinstance(column, pl.Series) else _texts_from_python(column)
        if values.dtype.is_nested() or (different := values.drop_nulls().unique()).len() < 2:
            continue
        if normalize_name(name) == "set" and not _are_mostly(count_words(values), _EVENTS):
            continue  # of LEGO, or of a game
        value = different.sort().to_list()
        part = next((x for x in value if str(x).lower() in ("test", "testing")), value[-1])
        raise ColumnError(
            f"{read.source} has several parts of a split: {format_few(value)} in {brief(name)}. "
            f"Keep the rows of one, for example frame.filter(pl.col({brief(name)}) == "
            f"{brief(part)}), or, if all rows count, say so by naming the gain: "
            f"columns={{'gain': ...}}, or columns={{'gain': None}} if every row is a relevant item."
        )


def _names_fact(name: str) -> bool:
    """Whether a name says that a column is about items or users themselves."""
    parts = re.findall(r"[^\W\d_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower())
    return any(map(_FACTS.__contains__, _spellings(*parts))) and not _names_events(name)


def _names_events(name: str) -> bool:
    return any(map(_EVENT_NAMES.__contains__, _spellings(normalize_name(name))))


def _spellings(*words: str) -> list[str]:
    """Words as they are and in American spelling."""
    return [*words, *(word.replace("our", "or") for word in words)]


def _are_few(words: Mapping[str, int]) -> bool:
    return len(words) <= _FEW_WORDS and sum(words.values()) > len(words)


def _say_events(name: str, words: Mapping[str, int]) -> bool:
    """Whether words are kinds of events, by the name of their column or by most of the words."""
    few = len(words) <= _FEW_WORDS
    return (few and _names_events(name)) or _are_mostly(words, _EVENTS)


def _are_mostly(words: Mapping[str, int], known: Collection[str], pattern: str = "^$") -> bool:
    """Whether most words, by how often they occur, are known or match a pattern."""
    normalized = normalize_words(pl.Series([*words], dtype=pl.String))
    fit = normalized.is_in([*known]) | normalized.str.contains(pattern)
    times = pl.Series([*words.values()], dtype=pl.Int64)
    return 2 * int(times.filter(fit).sum()) > int(times.sum())


def count_words(column: Column) -> dict[str, int]:
    """How often each text occurs in a column; empty if it is not of texts."""
    if isinstance(column, list):
        lists = [value for value in column if holds_lists([value])]
        values = [word for value in lists for word in value] or column
        column = _texts_from_python([x if isinstance(x, str) else None for x in values])
    elif column.dtype == pl.List:
        column = column.explode()
    if column.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return {}
    texts = column.drop_nulls().cast(pl.String).alias("text").value_counts(name="times")
    texts = texts.sort("times", "text", descending=[True, False])
    return dict(zip(*texts.get_columns(), strict=True))


def _lists_hold_numbers(name: str, column: Column, items: Column) -> bool:
    """Whether lists of numbers, not times, match the lists of items in length wherever present."""
    if normalize_name(name).removesuffix("s") in SYNONYMS["time"]:
        return False
    if any(
        n not in (m, None) for n, m in zip(_list_lengths(column), _list_lengths(items), strict=True)
    ):
        return False
    if isinstance(column, pl.Series):
        return bool(column.dtype.inner.is_numeric())  # type: ignore[attr-defined]
    return any(
        type_names([*value]) <= _NUMBERS for value in column if value is not None and len(value)
    )


def _list_lengths(lists: Column) -> list[int | None]:
    if isinstance(lists, pl.Series):
        return (lists.arr.to_list() if lists.dtype == pl.Array else lists).list.len().to_list()
    return [len(value) if hasattr(value, "__len__") else None for value in lists]


def _holds_numbers(name: str, column: Column, read: Columns, *, first: bool) -> bool:
    """Whether most values of a column are numbers, and not ids, times or row numbers."""
    mixed = read.untyped
    if isinstance(column, list):
        mixed = bool(type_names(column) & _NUMBERS)
        column = _texts_from_python(column)
    present = column.drop_nulls()
    if present.dtype in (pl.String, pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
        text = column.drop_nulls().str.strip_chars()
        are_numbers = text.str.contains(_NUMBER)
        if not mixed:  # integers are ids
            are_numbers &= text.str.contains(_FRACTION)
        filled = len(text) - int(text.str.to_lowercase().is_in(_MISSING).sum())
        numeric = 2 * int(are_numbers.sum()) > filled
    else:
        numeric = len(present) > 0 and (present.dtype.is_numeric() or present.dtype == pl.Boolean)
    if not numeric:
        return False
    values = column.cast(pl.Float64, strict=False)
    if first and normalize_name(name) in _INDEX:
        return not values.equals(pl.int_range(len(values), eager=True).cast(pl.Float64))
    fractions = (values % 1 != 0).any() and (values.abs() < _LARGEST_FRACTION).all()
    return bool(fractions) or not _ID_OR_TIME.search(name.lower())


def _texts_from_python(values: Sequence[Any]) -> pl.Series:
    """Convert values to text; half of a surrogate pair becomes a question mark."""
    texts = [None if is_null(x) else str(x).encode(errors="replace").decode() for x in values]
    return pl.Series(texts, dtype=pl.String)


def _unused_columns_error(
    source: str, side: Side, numeric: list[str], noun: str, words: Sequence[str] = ()
) -> ColumnError:
    role = "score" if side == "rankings" else "gain"
    column = brief(first := likely_first(numeric, role)[0])
    them = "it" if len(numeric) == 1 else "them"
    finding = f"but {noun} in {format_few(numeric, 9)}"
    shown = f" ({format_few(words)})" if words else ""
    swapped = [name for name in numeric if normalize_name(name) in _OF_THE_OTHER[side]]
    if side == "rankings":
        hint = " Or is this the truth, and the two arguments are swapped?" if swapped else ""
        if looks_like("gain", first) and not looks_like("score", first):
            return ColumnError(
                f"{source} has no score and no rank, {finding}, which "
                f"{'looks' if len(numeric) == 1 else 'look'} like the truth: labels do not order "
                f"the items. Name the column of the scores, columns={{'score': ...}}, or, if the "
                f"order of the rows is the ranking, drop {them}.{hint}"
            )
        label = next((name for name in numeric if name != first and looks_like("gain", name)), "")
        if label:
            hint += (
                f" If this frame is the truth, too, pass it twice: rm.evaluate(frame, frame, …, "
                f"columns={{'score': {column}, 'gain': {brief(label)}}})."
            )
        return ColumnError(
            f"{source} has no score and no rank, {finding}. If they order the items, write "
            f"columns={{'score': {column}}} (the highest comes first) or "
            f"columns={{'rank': {column}}} (1 comes first). If the order of the rows is the "
            f"ranking, drop {them}.{hint}"
        )
    choice = f"write columns={{'gain': {column}}}"
    if words:
        best = next((brief(word) for word in words if normalize_name(word) in _BEST), "…")
        choice = f"choose the word of the relevant ones, relevant={best}, or "
        choice += f"convert them to numbers and write columns={{'gain': {column}}}"
    if side == "truth" and looks_like("score", first) and not looks_like("gain", first):
        choice = "name the column that does, columns={'gain': ...}"
    look = "looks" if len(swapped) == 1 else "look"
    hint = f" {format_few(swapped)} {look} like rankings: are the two arguments swapped?"
    return ColumnError(
        f"{source} has no gain, {finding}{shown}.{hint if swapped else ''} If they say how "
        f"relevant an item is, {choice}. If every row is a relevant item, drop {them}, or write "
        f"columns={{'gain': None}}."
    )
