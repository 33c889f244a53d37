"""Check data that can be read but are probably a mistake.

Labels in place of ids are refused. Swapped sides, or ratings without a threshold, are doubts: each
check gives a sentence, or nothing. Slow checks run only where the first rows, or the number of
rows, suggest them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from math import lgamma
from numbers import Integral, Real

import numpy as np
import polars as pl

from rankmeter._evidence.hits import FloatArray, IntArray
from rankmeter._reading.by_user import ByUser
from rankmeter._reading.columns import Side
from rankmeter._reading.orders import compare_with_sizes
from rankmeter._reading.table import Table, format_few
from rankmeter.errors import DataError
from rankmeter.errors._checks import brief, counted, exact_text

_LOWEST, _HIGHEST = (0.5, 1), (5, 10)  # grades of the usual scales of ratings
_MANY_GRADES = 20  # 0.5, 1, …, 10
_LONG_LIST = 10
_PLAIN = re.compile(r"(?:True|False|[\d., \[\](){}])+")
"""Numbers of Python, as they are written, whole."""
_OF_ONE_USER = (
    "For the items of one user, pass {item: score} as rankings and {item: gain} as ground truth."
)
_GRADES = range(-10, 11)
"""Integers that may be grades of items where they are repeated."""
_GAINS = frozenset(grade / 2 for grade in range(2 * _GRADES[-1] + 1))
"""Numbers that may be gains of items."""
_GAINS_IN_ORDER = (
    "If these are the gains of the ranked items in their order, pass rm.Grades({}), and no truth"
)


def hints_without_ids(data: object) -> list[str]:
    """Sentences on the classes for gains in order and for positions, if the data could be these.

    Rows of small numbers that repeat, or are 0 and 1, could be gains, and integers from 1 that are
    sorted, or a set, could be positions of relevant items.
    """
    rows = _rows_of_numbers(data)
    if not rows or not any(rows):
        return []
    form = brief(data) if isinstance(data, list | set) else ""
    form = form if _PLAIN.fullmatch(form) else "rankings"
    values = {value for row in rows for value in row}
    hints = []
    ordered = not any(isinstance(row, AbstractSet) for row in rows)
    if ordered and values <= _GAINS:
        hints.append(_GAINS_IN_ORDER.format(form))
    if all(value >= 1 and value % 1 == 0 for value in values) and all(
        [*row] == sorted({*row}) or isinstance(row, AbstractSet) for row in rows
    ):
        hints.append(f"If these are the ranks of the relevant items, pass rm.Positions({form})")
    return hints


def are_gains(data: object) -> bool:
    """Whether lists can only be gains in order: integers 0 and 1, or booleans, that repeat.

    Ids do not repeat, and ranks are not 0. Grades that repeat in every one of several lists are
    gains, too. What has labels, such as a Series, could be scores, and so could fractions.
    """
    if isinstance(data, Mapping):
        return (
            bool(data)
            and all(isinstance(row, list | tuple) for row in data.values())
            and (are_gains([*data.values()]))
        )
    rows = [] if hasattr(data, "to_list") else _rows_of_numbers(data)
    values = {value for row in rows for value in row}
    booleans = all(isinstance(value, bool) for value in values)
    repeated = len(rows) > 1 and all(len({*row}) < len(row) for row in rows)
    return (
        (values == {0, 1} or (booleans and bool(values)) or (repeated and values <= _GAINS))
        and all(isinstance(value, Integral) for row in rows for value in row)
        and not any(isinstance(row, AbstractSet) for row in rows)
        and any(len({*row}) < len(row) for row in rows)
    )


def _rows_of_numbers(data: object) -> list[list[float] | AbstractSet[float]]:
    """The numbers of each list, also of a flat one, an array or the lists of users; or nothing."""
    as_list = getattr(data, "tolist", None) or getattr(data, "to_list", None)
    rows = as_list() if callable(as_list) else data
    rows = [*rows.values()] if isinstance(rows, Mapping) else rows
    if not isinstance(rows, list | tuple | AbstractSet):
        return []
    if rows and all(isinstance(value, Real) for value in rows):
        rows = [rows]
    found = [row.tolist() if isinstance(row, np.ndarray) else row for row in rows]
    if all(
        isinstance(row, list | tuple | AbstractSet)
        and all(isinstance(value, Real) for value in row)
        for row in found
    ):
        return [row if isinstance(row, AbstractSet) else [*row] for row in found]
    return []


def hint_to_pass_ids(side: Side) -> str:
    """Build a hint on what to pass instead of scores or labels of all items."""
    return f"{_hint_to_pass_ids(side)} {_GAINS_IN_ORDER.format(side)}."


def _hint_to_pass_ids(side: Side) -> str:
    if side == "rankings":
        return (
            "If these are scores of all items (users × items), pass the ids of the top k, "
            "np.argsort(-scores, axis=1)[:, :k], or a SciPy sparse matrix, which is read as "
            f"scores. {_OF_ONE_USER}"
        )
    return (
        "If these are labels or gains of all items (users × items), pass the ids of the relevant "
        "ones, [np.flatnonzero(row) for row in labels], or a SciPy sparse matrix, which is read "
        f"as gains. {_OF_ONE_USER}"
    )


def refuse_labels(users: pl.Series, items: pl.Series, side: Side, source: str) -> None:
    """Refuse lists of integers, one per user, that repeat values, unlike lists of ids.

    All lists have one length k and repeat a value, and there are fewer than k values, or one that
    every list repeats (the label 0, or padding). The list of one user is refused only if it holds
    small integers; rankings, whose repeated ids are refused or resolved later, only if they hold
    only 0 and 1.
    """
    first = int((users == users[0]).sum()) if len(users) else 0
    if items.dtype == pl.String or items.head(first).n_unique() == first:
        return
    pairs = pl.DataFrame([users, items]).group_by("user", "item").len("times")
    repeated = pairs.filter(pl.col("times") > 1)
    n, n_values = users.n_unique(), items.n_unique()
    same_length = pairs.group_by("user").agg(pl.col("times").sum())["times"].n_unique() == 1
    if not same_length or repeated["user"].n_unique() < n:
        return
    if side == "rankings":
        labels = n > 1 and bool(items.is_in([0, 1]).all())
    elif n == 1:
        labels = all(item in _GRADES for item in items.unique())
    else:
        labels = n_values < first or repeated["item"].value_counts()["count"].max() == n
    if labels:
        raise DataError(
            f"{'Every' if n > 1 else 'The'} list of {first} values of {source} repeats some of "
            f"them: {format_few(items, 6)}; ids of items would not. "
            f"{_hint_to_pass_ids(side) if n > 1 else _OF_ONE_USER} {_GAINS_IN_ORDER.format(side)}. "
            "If a value fills empty places, mask it: np.ma.masked_equal(ids, filler)."
        )


def refuse_two_readings(rankings: Table, truth: Table) -> None:
    """Refuse mappings of mappings that may be tables, unless the other side is certainly none."""
    alone = not truth.height and not len(truth.empty_users)
    columns = rankings.origin.may_be_table
    if len(columns if alone else columns & truth.origin.may_be_table) > 1:
        raise DataError(
            f"The rankings ({rankings.source}) can be read in two ways: as {{user: {{item: "
            f"score}}}}, or as rows or columns of a table, such as those of to_dict() of pandas, "
            f"with the columns {format_few(sorted(columns))}. For a table, pass columns={{'user': "
            f"…, 'item': …}}. For scores, pass {{user: [*scores.items()] for user, scores in "
            f"data.items()}} if items are text, or else rm.Scores with names of users and items."
        )


def threshold_caution(truth: Table) -> str:
    """Warn of ratings that are all relevant because all are above 0, and suggest a threshold."""
    gains = truth.rows.each_number("gain")
    if "assumed_gains" in truth.counts or (gains <= 0).any():
        return ""
    grades = _distinct_gains(gains)
    if not 4 <= len(grades) <= _MANY_GRADES or any(2 * grade % 1 for grade in grades):
        return ""
    low, *_, high = sorted(grades)
    if low not in _LOWEST or high not in _HIGHEST:
        return ""
    good = min(grade for grade in grades if grade >= low + 0.7 * (high - low))
    return (
        f"all {truth.height:,} judgments count as relevant, the lowest grade {low:g} included; for "
        f'ratings from {low:g} to {high:g} try relevant=">={good:g}"'
    )


def label_caution(truth: Table) -> str:
    """Warn of items that may be labels or grades of items, in matrices of few columns.

    All items are 0 or 1 and every user has two or more; or all users have the same number of items,
    and one user has an integer twice. (`refuse_labels` refuses what is certain.)
    """
    if "assumed_gains" not in truth.counts or len(truth.empty_users) or not truth.rows.in_memory:
        return ""
    if not truth.id_dtype("item").is_integer():
        return ""
    items = truth.rows.items().to_integers()
    if not _are_small_integers(items):
        return ""
    sizes = truth.rows.rows_per_user()
    if sizes.size < 2 or sizes.min() == 1:
        return ""
    are_labels = (items == 0) | (items == 1)
    if not (are_labels.all() or (sizes.min() == sizes.max() and truth.rows.has_repeated_pairs())):
        return ""
    return (
        f"the items of the ground truth ({truth.source}) are small integers, such as "
        f"{_format_first_values(items)}; if these are labels or gains of all items, pass the ids "
        f"of the relevant items instead, or {{item: gain}} for each user"
    )


def swap_caution(rankings: Table, truth: Table) -> str:
    """Warn of sides that were probably not meant as read: above all, if they look swapped.

    Suspicious are scores that are few grades with many ties, with gains that are fractional or
    negative and many or mostly different for a user, or with lists of one length without gains. Or
    ground truth with the same number of items, 10 or more, for each user, with lists that differ in
    length and are all shorter. Or, what is not a swap, one item for each user that reads as items
    with numbers.
    """
    look = "rankings and ground truth look swapped:"
    no_gains = "assumed_gains" in truth.counts
    if rankings.order == "score" and _are_grades(rankings.scores):
        gains = ""
        if _gains_look_like_scores(truth):
            gains = (
                f"the gains of the ground truth ({truth.source}) differ for most items of a user, "
                f"such as {_format_first_values(truth.gains)}"
            )
        elif no_gains and (n := _common_list_length(truth)):
            gains = f"the ground truth ({truth.source}) has {n} items for each user"
        if gains and _has_many_ties(rankings, rankings.scores):
            return (
                f"{look} the scores of the rankings ({rankings.source}) are grades with many ties, "
                f"such as {_format_first_values(rankings.scores)}, and {gains}"
            )
    if rankings.origin.shape == truth.origin.shape == "pairs" and _look_like_user_item_pairs(
        truth, rankings
    ):
        return (
            f"rankings ({rankings.source}) and ground truth ({truth.source}) are read as the items "
            f"of one user with numbers; if they are one item for each user, write lists: "
            f"{{{truth.frame['item'][0]}: [{exact_text(truth.frame['gain'][0])}]}}"
        )
    n = _list_length_above_rankings(rankings, truth)
    if n and (no_gains or _gains_look_like_scores(truth)):
        return (
            f"{look} the ground truth ({truth.source}) has {n} items for each user, and the "
            f"rankings ({rankings.source}) differ in length and are all shorter"
        )
    return ""


def index_caution(rankings: Table, truth: Table) -> str:
    """Warn of documents of several indexes of a search engine, where an id may occur in each."""
    both = sorted(rankings.origin.index | truth.origin.index)
    if not rankings.origin.index or not truth.origin.index or len(both) < 2:
        return ""
    return (
        f"the documents are in several indexes, {format_few(both)}, and are compared by their _id "
        f"alone: if an _id means another document in each, name them by both, such as "
        f"{brief(both[0] + '/…')}"
    )


def row_caution(rankings: Table, truth: Table) -> str:
    """Warn of rows or columns that read as items with numbers: the same "items" for all users.

    All numbers of both sides are integers, many and above all grades, as ids are.
    """
    if rankings.order != "score" or "assumed_gains" in truth.counts:
        return ""
    if "String" not in (rankings.id_type("user"), rankings.id_type("item")):
        return ""
    for table, numbers in ((rankings, "score"), (truth, "gain")):
        values = table.rows.column_numbers(numbers)
        if values.size < 4 or _has_fractions(values[:100]) or values.max() <= _GRADES[-1]:
            return ""
        sizes = table.rows.rows_per_user()
        if _has_fractions(values) or sizes.size < 2 or (sizes != sizes[0]).any():
            return ""
        if len(set(table.rows.items().to_list())) != sizes[0] or not _look_like_ids(values, sizes):
            return ""
    return (
        f"every user has the same items with integers like ids on both sides ({rankings.source}, "
        f"{truth.source}): if these are rows or columns of a table, such as those of to_dict() of "
        f"pandas, name the columns: columns={{'user': …, 'item': …}}"
    )


def _has_fractions(values: FloatArray) -> bool:
    return bool((values != np.floor(values)).any()) or not np.isfinite(values).all()


def _look_like_ids(values: FloatArray, sizes: IntArray) -> bool:
    """Whether some item or some user has another number in nearly every row."""
    table = values.reshape(-1, sizes[0])
    return any(
        len(set(line)) >= 0.9 * len(line) and max(line) > _GRADES[-1]
        for line in (*table.T.tolist(), *table.tolist())
        if len(line) > 1
    )


def order_caution(rankings: Table, truth: Table) -> str:
    """Warn of scores that rise from the first item to the last, and of ranks with gaps.

    In the order of a list the first is the best, so rising scores are distances or, if they are 1,
    2, 3 …, ranks. It takes so many items that no other order of them would do.
    """
    rows = rankings.rows
    if rankings.order == "rank":
        return _gap_caution(rankings)
    if rankings.order != "score" or not rankings.origin.is_ordered or len(rows) < _SURE:
        return ""
    scores, starts = rankings.scores, _list_starts(rankings)
    first = scores[: starts[1] if starts.size > 1 else scores.size]
    rises = first[0] <= first[-1] and (np.diff(first) > 0).all()
    if not rises and not _are_ranks(first, starts[:1], np.array([first.size])):
        return ""
    sizes = np.diff(np.append(starts, scores.size))
    inner = np.delete(np.diff(scores), starts[1:] - 1)  # steps within a list
    if not inner.size or sum(lgamma(n + 1) for n in sizes[:_MANY].tolist()) < _LOG_CHANCE:
        return ""
    if not (inner < 0).all() and _are_ranks(scores, starts, sizes):
        return (
            f"the scores of the rankings ({rankings.source}) are 1, 2, 3 … in every list, as ranks "
            f"are, and the highest score counts as the best: if they are ranks, call the column "
            f"'rank', or pass the items as a list"
        )
    if not (inner > 0).all():
        return ""
    return (
        f"the scores of the rankings ({rankings.source}) rise from the first to the last item of "
        f"every list, and the highest score counts as the best: if they are distances, pass the "
        f"items alone, best first, or the negative distances"
    )


_SURE, _MANY = 4, 100
_LOG_CHANCE = 7.0
"""Logarithm of the number of orders of which only one rises: below one in 1,000."""


def _are_ranks(scores: FloatArray, starts: IntArray, sizes: IntArray) -> bool:
    """Whether the scores of each list are 1, 2, 3 … in some order."""
    if scores.min() != 1 or scores.max() != sizes.max() or (scores != np.floor(scores)).any():
        return False
    keys = np.repeat(starts, sizes) + scores.astype(np.int64) - 1
    return bool((scores <= np.repeat(sizes, sizes)).all()) and np.unique(keys).size == keys.size


def _list_starts(table: Table) -> IntArray:
    """Where the list of each user begins, in rows by user."""
    if isinstance(table.rows, ByUser):
        return table.rows.offsets[:-1]
    users = table.frame["user"]
    return (users != users.shift()).fill_null(value=True).arg_true().to_numpy().astype(np.int64)


def _gap_caution(rankings: Table) -> str:
    """Warn of ranks that are not those of the rows: they have gaps, or run over all users."""
    if not rankings.rows.has_lists:
        return ""
    frame = rankings.frame
    if rankings.origin.whole_ranks or not compare_with_sizes(rankings.users, frame["rank"])[1]:
        return ""
    of_user = frame.lazy().group_by("user").agg(pl.col("rank").max(), n=pl.len())
    sizes = of_user.collect(engine="in-memory")
    wrong = sizes.filter(pl.col("rank") > pl.col("n"))
    if (sizes["n"] == 1).all():  # as link prediction writes them
        return ""
    user = wrong.sort("user").row(0)
    return (
        f"the ranks of {counted(wrong.height, 'user')} ({rankings.source}) have gaps: user "
        f"{brief(user[0])} has {counted(user[2], 'item')} and the rank {user[1]:g}. They are used "
        f"as they are; if items between them are missing or the ranks run over the whole table, "
        f"leave the column out, and the order of the rows counts"
    )


def _format_first_values(values: pl.Series | FloatArray) -> str:
    return ", ".join(f"{value:g}" for value in values[:3])


def _are_small_integers(items: IntArray) -> bool:
    low, high = 0 if items.dtype.kind == "u" else _GRADES[0], _GRADES[-1]
    return all(((part >= low) & (part <= high)).all() for part in (items[:100], items))


def _distinct_gains(gains: FloatArray) -> list[float]:
    """Distinct values; only some of the distinct values if too many for grades."""
    first = {*gains[:1000].tolist()}
    if gains.size <= 1000 or len(first) > _MANY_GRADES or np.isin(gains, [*first]).all():
        return [*first]
    return np.unique(gains).tolist()  # type: ignore[no-any-return]


def _are_grades(values: FloatArray) -> bool:
    """Whether all numbers are multiples of ½ from −2 to 10."""
    return all(
        ((part >= -2) & (part <= 10)).all() and not ((2 * part) % 1).any()
        for part in (values[:100], values)
    )


def _has_many_ties(table: Table, numbers: FloatArray) -> bool:
    """Whether at least half of three or more numbers repeat a number of their user."""
    return numbers.size >= 3 and 2 * table.rows.count_tied_rows(numbers) >= numbers.size


def _gains_look_like_scores(truth: Table) -> bool:
    """Whether gains are not counts or grades, and have many or mostly distinct values per user."""
    gains = truth.gains
    if "assumed_gains" in truth.counts or len(gains) < 3 or _are_grades(gains):
        return False
    are_counts = (gains % 1 == 0).all() and (gains >= 0).all()
    several = len(gains) >= 2 * truth.rows.rows_per_user().size
    if are_counts or not several:
        return False
    return len(_distinct_gains(gains)) > _MANY_GRADES or not _has_many_ties(truth, gains)


def _look_like_user_item_pairs(truth: Table, rankings: Table) -> bool:
    """Whether both sides have the same integer items, and the gains are integers, some above 10."""
    gains, items = truth.gains, truth.frame["item"]
    if not items.dtype.is_integer() or set(items) != set(rankings.frame["item"]):
        return False
    return bool((gains % 1 == 0).all() and (gains > 10).any())


def _common_list_length(truth: Table) -> int:
    """Number of judgments of each user if constant and at least 10, else 0."""
    if truth.height < 2 * _LONG_LIST:
        return 0
    judged = truth.rows.rows_per_user()
    n = int(judged[0])
    return n if n >= _LONG_LIST and judged.size > 1 and (judged == n).all() else 0


def _list_length_above_rankings(rankings: Table, truth: Table) -> int:
    """Return `_common_list_length` if all rankings are shorter and differ in length, else 0."""
    if rankings.order != "list" or truth.height <= rankings.rows.n_rows:
        return 0
    n, lengths = _common_list_length(truth), rankings.rows.rows_per_user()
    return n if n and lengths.size and lengths.min() < lengths.max() < n else 0
