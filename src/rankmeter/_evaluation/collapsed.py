"""Rankings of parts, such as chunks of documents, as rankings of whole items."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rankmeter._engine.choose import Reading
from rankmeter._rankings.kind import RankingKind
from rankmeter._reading.collapse import Collapse, read_collapse
from rankmeter._reading.table import Frame, Table
from rankmeter._results.result import Result
from rankmeter.conventions._plan import Plan, resolve_plan
from rankmeter.errors import UsageError
from rankmeter.errors._calls import answers_calls


@dataclass(frozen=True, eq=False, repr=False)
class Collapsed(RankingKind):
    """Rankings whose items become whole items where they are read; `rankmeter.collapse` makes them.

    Attributes
    ----------
    rankings : object
        The rankings of parts, as they were passed.

    Examples
    --------
    >>> import rankmeter as rm
    >>> rm.collapse({"q": ["d7#2", "d7#1", "d1#4"]}, "#").frame["item"].to_list()
    ['d7', 'd1']
    """

    rankings: object
    _rule: Collapse

    def __repr__(self) -> str:
        return f"Collapsed of {type(self.rankings).__name__}: {self._rule.note}"

    @property
    def frame(self) -> Frame:
        """Whole items as rows in memory, in a frame of pandas if the rankings are one."""
        table = self._read(resolve_plan("rr"))
        return table.origin.kind.convert_frame(table.frame)

    def _open(self, reading: Any, columns: Mapping[str, str] | None, plan: Plan) -> Table:
        """Read the rankings with any engine, and collapse them."""
        return self._rule(reading.read_rankings(self.rankings, columns, plan))

    def _read(self, plan: Plan) -> Table:
        """Read the rankings into memory, and collapse them."""
        return self._open(Reading("memory"), None, plan)

    def _judged(self) -> Table | None:
        """Ground truth of the rankings, if they have one of their own."""
        return self.rankings._judged() if isinstance(self.rankings, RankingKind) else None

    def _check_plan(self, plan: Plan) -> None:
        """Raise an error if a metric needs a number that the rankings lack."""
        if isinstance(self.rankings, RankingKind):
            self.rankings._check_plan(plan)


@answers_calls
def collapse(rankings: object, rule: object) -> Collapsed:
    """Rank whole items, such as documents, by the best of their parts, such as chunks.

    Parameters
    ----------
    rankings : object
        Rankings of parts, in any form that `evaluate` takes. They are read when the result is
        evaluated, with its options, so files, queries and Spark DataFrames stay where they are.
    rule : str, mapping, frame or file
        What ranked items are parts of: ``"before:#"`` or ``"#"`` is the text before the first
        ``#``, ``"regex:PATTERN"`` its group; or a mapping, frame or file from part to whole.

    Returns
    -------
    Collapsed
        Rankings for all functions that take rankings. A whole item is at the place of its best
        part; the others are counted as ``collapsed_items``, and the notes name the rule.

    Raises
    ------
    UsageError
        If the rule is something else, or the rankings have no items; when they are read, if they
        are collapsed already.
    DataError
        If the rule cannot be read; when the rankings are read, if it lacks one of their items, or
        a part is repeated.

    Notes
    -----
    `collapse` of `evaluate` does the same for all of its rankings.

    Examples
    --------
    The best part of ``d1`` is third, behind two parts of ``d7``.

    >>> import rankmeter as rm
    >>> run = {"q": {"d7#2": 0.9, "d7#1": 0.8, "d1#4": 0.5}}
    >>> documents = rm.collapse(run, "#")
    >>> result = rm.evaluate(documents, {"q": {"d1"}}, "rr")
    >>> result["rr"].mean, result.counts["collapsed_items"]
    (0.5, 1)
    >>> documents.frame.rows()
    [('q', 'd7', 0.9), ('q', 'd1', 0.5)]
    """
    kind = type(rankings).__name__
    if isinstance(rankings, Result):
        raise UsageError(f"collapse takes rankings, and {kind} is a result: pass its rankings")
    if isinstance(rankings, RankingKind) and rankings.data != "rankings":
        raise UsageError(f"collapse cannot act on {kind}, which has no items: leave it out")
    return Collapsed(rankings, read_collapse(rule))
