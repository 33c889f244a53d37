"""Data that can be read but are probably a mistake: swapped sides, ratings without a threshold.

Each check gives a sentence, or nothing. Slow checks run only where the first rows, or the number of
rows, suggest them.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from rankmeter._checks import exact
from rankmeter._hits import FloatArray
from rankmeter._ingest._no_ids import GRADES
from rankmeter._ingest._table import Table

_LOWEST, _HIGHEST = (0.5, 1), (5, 10)  # grades of the usual scales of ratings
_MANY_GRADES = 20  # 0.5, 1, …, 10
_LONG_LIST = 10


def all_relevant(truth: Table) -> str:
    """Warn of ratings that are all relevant because all are above 0, and suggest a threshold."""
    gains = truth.gains
    if "assumed_gains" in truth.counts or (gains <= 0).any():
        return ""
    grades = _values(gains)
    if not 4 <= len(grades) <= _MANY_GRADES or any(2 * grade % 1 for grade in grades):
        return ""
    low, *_, high = sorted(grades)
    if low not in _LOWEST or high not in _HIGHEST:
        return ""
    good = min(grade for grade in grades if grade >= low + 0.7 * (high - low))
    return (
        f"all {len(gains):,} judgments count as relevant, the lowest grade {low:g} included; for "
        f'ratings from {low:g} to {high:g} try relevant=">={good:g}"'
    )


def look_like_labels(truth: Table) -> str:
    """Warn of items that may be labels or grades of items, in matrices of few columns.

    All are 0 or 1 and every user has two or more; or all users have as many small integers, and
    one user has an integer twice. (`refuse_labels` refuses what is certain.)
    """
    if "assumed_gains" not in truth.counts or len(truth.empty_users):
        return ""
    if not truth.dtype("item").is_integer() or not _small(items := truth.frame["item"]):
        return ""
    each = truth.frame["user"].value_counts()["count"]
    least, most = each.min(), each.max()
    repeated = truth.frame.select("user", "item").is_duplicated().any()
    if len(each) < 2 or least == 1 or not (_binary(items) or (least == most and repeated)):
        return ""
    return (
        f"the items of the ground truth ({truth.source}) are small integers, such as "
        f"{_shown(items)}; if these are labels or gains of all items, pass the ids of the relevant "
        f"items instead, or {{item: gain}} for each user"
    )


def look_misread(rankings: Table, truth: Table) -> str:
    """Why the two sides are probably not meant as they were read: above all, if they look swapped.

    Scores that are few grades with many ties, with gains that are fractional or negative and many
    or mostly different for a user, or with lists of one length without gains. Or ground truth with
    the same number of items, 10 or more, for each user, with lists that differ in length and are
    all shorter. Or, what is not a swap, one item for each user that reads as items with numbers.
    """
    look = "rankings and ground truth look swapped:"
    if rankings.order == "score" and _are_grades(rankings.scores):
        gains = ""
        if _are_scores(truth):
            gains = (
                f"the gains of the ground truth ({truth.source}) differ for most items of a user, "
                f"such as {_shown(truth.gains)}"
            )
        elif n := _length_of_lists(truth):
            gains = f"the ground truth ({truth.source}) has {n} items for each user"
        if gains and _many_ties(rankings, rankings.scores):
            return (
                f"{look} the scores of the rankings ({rankings.source}) are grades with many ties, "
                f"such as {_shown(rankings.scores)}, and {gains}"
            )
    if rankings.origin.shape == truth.origin.shape == "pairs" and _are_pairs(truth, rankings):
        return (
            f"rankings ({rankings.source}) and ground truth ({truth.source}) are read as the items "
            f"of one user with numbers; if they are one item for each user, write lists: "
            f"{{{truth.frame['item'][0]}: [{exact(truth.frame['gain'][0])}]}}"
        )
    n = _same_length(rankings, truth)
    if n and ("assumed_gains" in truth.counts or _are_scores(truth)):
        return (
            f"{look} the ground truth ({truth.source}) has {n} items for each user, and the "
            f"rankings ({rankings.source}) differ in length and are all shorter"
        )
    return ""


def _shown(values: pl.Series | FloatArray) -> str:
    return ", ".join(f"{value:g}" for value in values[:3])


def _small(items: pl.Series) -> bool:
    low, high = 0 if items.dtype.is_unsigned_integer() else GRADES[0], GRADES[-1]
    return all(part.is_between(low, high).all() for part in (items.head(100), items))


def _binary(items: pl.Series) -> bool:
    return bool(items.is_in([0, 1]).all())


def _values(gains: FloatArray) -> list[float]:
    """The different values, or some of them if there are too many for grades."""
    first = {*gains[:1000].tolist()}
    if gains.size <= 1000 or len(first) > _MANY_GRADES or np.isin(gains, [*first]).all():
        return [*first]
    found: list[float] = np.unique(gains).tolist()
    return found


def _are_grades(values: FloatArray) -> bool:
    """Whether all numbers are multiples of ½ from −2 to 10."""
    for part in (values[:100], values):
        if not ((part >= -2) & (part <= 10)).all() or ((2 * part) % 1).any():
            return False
    return True


def _many_ties(table: Table, numbers: FloatArray) -> bool:
    """Whether at least half of the numbers, of three or more, occur twice for their user."""
    return numbers.size >= 3 and 2 * table.rows.tied(numbers) >= numbers.size


def _are_scores(truth: Table) -> bool:
    """Whether gains are not grades, and are many or mostly different for a user."""
    gains = truth.gains
    if "assumed_gains" in truth.counts or len(gains) < 3 or _are_grades(gains):
        return False
    whole = (gains % 1 == 0).all() and (gains >= 0).all()
    several = len(gains) >= 2 * truth.frame["user"].n_unique()
    if whole or not several:
        return False
    return len(_values(gains)) > _MANY_GRADES or not _many_ties(truth, gains)


def _are_pairs(truth: Table, rankings: Table) -> bool:
    """Whether the same integers have integers beyond grades on both sides."""
    gains, items = truth.gains, truth.frame["item"]
    if not items.dtype.is_integer() or set(items) != set(rankings.frame["item"]):
        return False
    return bool((gains % 1 == 0).all() and (gains > 10).any())


def _length_of_lists(truth: Table) -> int:
    """The number of judgments of each user, if all have as many, 10 or more, and no gains."""
    if "assumed_gains" not in truth.counts or truth.height < 2 * _LONG_LIST:
        return 0
    judged = truth.frame["user"].value_counts()["count"]
    n = int(judged[0])
    return n if n >= _LONG_LIST and len(judged) > 1 and judged.n_unique() == 1 else 0


def _same_length(rankings: Table, truth: Table) -> int:
    """How many judgments each user has, if all have as many and their rankings are shorter."""
    if rankings.order != "list" or truth.height <= max(rankings.rows.n_rows, _LONG_LIST):
        return 0
    ranked, judged = rankings.rows.sizes(), truth.frame["user"].value_counts()["count"]
    n = int(judged[0])
    alike = n >= _LONG_LIST and len(judged) > 1 and judged.n_unique() == 1
    return n if alike and ranked.n_unique() > 1 and (ranked < n).all() else 0
