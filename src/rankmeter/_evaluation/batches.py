"""What an accumulator is to those who use it: batches go in, a result comes out."""

from __future__ import annotations

from typing import Any, Literal, Protocol

from rankmeter._results.summary import Summary
from rankmeter.conventions._plan import Plan

Keep = Literal["values", "moments"]
"""What is kept of the users: a value of each, or sums."""


class Batches(Protocol):
    """An evaluation that gets its data batch by batch; `rankmeter.Accumulator` is one."""

    @property
    def plan(self) -> Plan:
        """The metrics with the value of every choice."""

    def update(self, *batch: Any, **data: Any) -> None:
        """Count a batch."""

    def compute(self) -> Summary:
        """The result of all batches so far."""

    def merge(self, other: Any) -> Any:
        """Add what another one of the same settings has counted."""

    def reset(self) -> None:
        """Forget everything that was counted."""
