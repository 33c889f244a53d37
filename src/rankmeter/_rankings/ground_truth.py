"""Prepare the ground truth of some users once for any number of rankings."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from rankmeter._choices import Alignment, round_grade
from rankmeter._evidence.hits import FloatArray, Hits, IntArray
from rankmeter._rankings.codes import Codes
from rankmeter._rankings.pairs import Pairs, Refused, unique_judgments, user_offsets
from rankmeter._reading.by_user import AnyRows, ByUser, Ids, InFrame, to_series
from rankmeter._reading.table import Table


@dataclass(frozen=True, eq=False)
class Judged:
    """Ground truth of a block in one alignment, prepared once for any number of rankings."""

    choices: Alignment
    codes: Codes  # the users of the block
    rows: AnyRows  # one judgment per user and item
    code: IntArray  # (n_judged,) the user of each
    gain: FloatArray  # (n_judged,) and what it counts, which may differ from that of the rows
    relevant: Hits  # the perfect rankings of the relevant items
    others: Hits  # and of the other judged ones
    counts: dict[str, int]
    contradictions: Refused
    item: IntArray | None = None  # (n_judged,) the code of each item, if hits have their items
    _sought: dict[type[ByUser], Any] = field(default_factory=dict)

    @cached_property
    def frame(self) -> pl.DataFrame:
        """Frame of the judgments with the columns ``item``, ``gain`` and ``code`` of the user."""
        columns = {
            "item": self.items.to_series(),
            "gain": to_series(self.gain),
            "code": to_series(self.code),
        }
        return pl.DataFrame(columns)

    @cached_property
    def items(self) -> Ids:
        """Item of each judgment."""
        return self.rows.items()

    def items_for_lookup(self, lists: ByUser) -> Any:
        """Convert the items to the form that lookups take, once for each type of lists."""
        kind = type(lists)
        if kind not in self._sought:
            self._sought[kind] = lists.to_lookup_keys(self.items)
        return self._sought[kind]


def prepare_truth(
    truth: Table, codes: Codes, choices: Alignment, names: Codes | None = None
) -> Judged:
    """Prepare the ground truth of a block for `align`; `names` are the codes of items for hits."""
    counts: dict[str, int] = {}
    if choices.history != "all":
        from rankmeter._rankings.history import judgments_of_history

        truth = judgments_of_history(truth, choices.history)
    code, rows, contradictions = codes.encode(truth.users), truth.rows, Refused()
    code, gain = rows.expand_to_rows(code), truth.gains
    # An index has no item twice for a user.
    if not rows.is_index and Pairs.of(code, truth.frame["item"], codes.n).repeated:
        frame, contradictions = unique_judgments(truth, choices, counts)
        rows, code, gain = InFrame(frame), codes.encode(frame["user"]), frame["gain"].to_numpy()
    counts |= count_grades_without_gain(gain, choices)
    gain = gains_by_choice(code, gain, codes.n, choices)
    item = None if names is None else names.encode(rows.items())
    ideals = perfect_hits(code, gain, codes.n, choices, item)
    return Judged(choices, codes, rows, code, gain, *ideals, counts, contradictions, item)


def gains_by_choice(
    user: IntArray, gain: FloatArray, n_users: int, choices: Alignment
) -> FloatArray:
    """Gains of judged items: as given, from a table of grades, or changed by ``gains="reached"``.

    Items that are not relevant count at most 0 then.
    """
    table = choices.gain_table
    if choices.gains != "reached" and not table:
        return gain
    counts = choices.is_relevant_grade(gain)
    if table:
        grades, index = np.unique(gain, return_inverse=True)
        gains = [table.get(round_grade(grade), grade) for grade in grades.tolist()]
        return np.where(counts, np.array(gains, dtype=np.float64)[index], np.minimum(gain, 0.0))
    has_relevant = np.zeros(n_users, dtype=bool)
    has_relevant[user[counts]] = True
    return np.where(has_relevant[user], gain, np.minimum(gain, 0.0))


def count_grades_without_gain(judged: FloatArray, choices: Alignment) -> dict[str, int]:
    """Count the relevant judgments whose grade ``gains={grade: gain}`` does not name, if any.

    They gain their own grade; `judged` are the grades of all judgments.
    """
    table = choices.gain_table
    if not table:
        return {}
    grades, counts = np.unique(judged[choices.is_relevant_grade(judged)], return_counts=True)
    pairs = zip(grades.tolist(), counts.tolist(), strict=True)
    n = sum(count for grade, count in pairs if round_grade(grade) not in table)
    return {"relevant_judgments_with_a_grade_not_in_gains": n} if n else {}


def perfect_hits(
    user: IntArray,
    gain: FloatArray,
    n_users: int,
    choices: Alignment,
    item: IntArray | None = None,
) -> tuple[Hits, Hits]:
    """Perfect rankings of the relevant judged items, and of the other judged items."""
    is_relevant = choices.is_relevant(gain)
    relevant, other = (slice(None), slice(0)) if is_relevant.all() else (is_relevant, ~is_relevant)

    def hits_of_rows(rows: Any, gains: FloatArray) -> Hits:
        codes = None if item is None else item[rows]
        return _ideal_hits(user[rows], gains, n_users, codes)

    return hits_of_rows(relevant, contributed_gains(gain[relevant], choices)), hits_of_rows(
        other, gain[other]
    )


def contributed_gains(gain: FloatArray, choices: Alignment) -> FloatArray:
    """Gains that relevant items contribute; for ``gains="above"`` relative to the threshold."""
    if choices.gains != "above":
        return gain
    operator, threshold = choices.threshold
    return gain - threshold + (operator == ">=")


def _ideal_hits(
    user: IntArray, gain: FloatArray, n_users: int, item: IntArray | None = None
) -> Hits:
    offsets = user_offsets(user, n_users)
    if item is not None:
        order = np.lexsort((item, -gain, user))
        return replace(Hits.perfect(offsets, gain[order]), item=item[order])
    if np.any(user[1:] < user[:-1]):
        gain = gain[np.lexsort((-gain, user))]
    return Hits.perfect(offsets, gain)
