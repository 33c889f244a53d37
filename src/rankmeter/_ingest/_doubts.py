"""Data that can be read but are probably a mistake: swapped sides, ratings without a threshold.

Each check gives a sentence, or nothing. Slow checks run only where the first rows, or the number of
rows, suggest them.
"""

from __future__ import annotations

import polars as pl

from rankmeter._ingest._table import Table
from rankmeter.errors import DataError

__all__ = ["all_relevant", "look_swapped"]

_MANY_GRADES = 21  # 0, 0.5, 1, …, 10; ratings are multiples of ½
_LONG_LIST = 10
_SURE = 10  # tied rows


def all_relevant(truth: Table) -> str:
    """Warn of ratings that are all relevant because all are above 0, and suggest a threshold."""
    gains = truth.frame["gain"]
    if "assumed_gains" in truth.counts or (gains <= 0).any():
        return ""
    grades = _values(gains)
    if not 4 <= len(grades) <= _MANY_GRADES or any(2 * grade % 1 for grade in grades):
        return ""
    low, *_, high = sorted(grades)
    good = min(grade for grade in grades if grade >= low + 0.7 * (high - low))
    return (
        f"all {len(gains):,} judgments count as relevant, the lowest grade {low:g} included; for "
        f'ratings from {low:g} to {high:g} try relevant=">={good:g}"'
    )


def look_swapped(rankings: Table, truth: Table) -> str:
    """Why rankings look like ground truth, and the ground truth like rankings.

    Scores that are few grades with many ties, with gains that are fractional or negative and all
    different for each user; `DataError` if, beyond that, the gains of each user are in descending
    order and more than the scores. Or ground truth with the same number of items, 10 or more, for
    each user, with lists that differ in length and are all shorter.
    """
    graded = rankings.order == "score" and _are_grades(rankings.frame["score"])
    if graded and _many_ties(rankings.frame) and _are_scores(truth):
        said = (
            f"rankings and ground truth look swapped: the scores of the rankings "
            f"({rankings.source}) are grades with many ties, such as "
            f"{_shown(rankings.frame['score'])}, and the gains of the ground truth "
            f"({truth.source}) are different for every item of a user, such as "
            f"{_shown(truth.frame['gain'])}"
        )
        if _is_sorted(truth.frame) and len(truth.frame) > len(rankings.frame) >= _SURE:
            raise DataError(f"{said}, in descending order. Pass the rankings first.")
        return said
    n = _same_length(rankings, truth)
    if n and ("assumed_gains" in truth.counts or _are_scores(truth)):
        return (
            f"rankings and ground truth look swapped: the ground truth ({truth.source}) has {n} "
            f"items for each user, and the rankings ({rankings.source}) differ in length and are "
            f"all shorter"
        )
    return ""


def _shown(values: pl.Series) -> str:
    return ", ".join(f"{value:g}" for value in values.head(3))


def _values(gains: pl.Series) -> list[float]:
    """The different values, or some of them if there are too many for grades."""
    first = gains.head(1000).unique()
    if len(first) > _MANY_GRADES or gains.is_in(first.implode()).all():
        return first.to_list()
    return gains.unique().to_list()


def _are_grades(values: pl.Series) -> bool:
    """Whether all numbers are multiples of ½ from −2 to 10."""
    for part in (values.head(100), values):
        if not (part.is_between(-2, 10) & ((2 * part) % 1 == 0)).all():
            return False
    return True


def _many_ties(frame: pl.DataFrame) -> bool:
    """Whether at least half of the scores, of three or more, occur twice for their user."""
    tied = int(frame.select("user", "score").is_duplicated().sum())
    return len(frame) >= 3 and 2 * tied >= len(frame)


def _are_scores(truth: Table) -> bool:
    """Whether gains are not grades and all different for each user, of several items each."""
    frame = truth.frame.select("user", "gain")
    if "assumed_gains" in truth.counts or len(frame) < 3 or _are_grades(frame["gain"]):
        return False
    whole = (frame["gain"] % 1 == 0).all() and (frame["gain"] >= 0).all()
    several = len(frame) >= 2 * frame["user"].n_unique()
    return not whole and several and not frame.is_duplicated().any()


def _is_sorted(frame: pl.DataFrame) -> bool:
    falls = frame.select((pl.col("gain").diff() < 0).over("user"))["gain"]
    return bool(falls.all())


def _same_length(rankings: Table, truth: Table) -> int:
    """How many judgments each user has, if all have as many and their rankings are shorter."""
    if rankings.order != "list" or len(truth.frame) <= max(len(rankings.frame), _LONG_LIST):
        return 0
    judged = truth.frame["user"].value_counts()["count"]
    ranked = rankings.frame["user"].value_counts()["count"]
    n = int(judged[0])
    alike = n >= _LONG_LIST and len(judged) > 1 and judged.n_unique() == 1
    return n if alike and ranked.n_unique() > 1 and (ranked < n).all() else 0
