"""A metric against k as a result: its table, its chart and its formats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from rankmeter._estimates.curves import CurveNumbers
from rankmeter._estimates.wording import number
from rankmeter._report import charts
from rankmeter._report.table import Table
from rankmeter._results.result import Result
from rankmeter.errors import UsageError


@dataclass(frozen=True, eq=False, repr=False)
class Curve(CurveNumbers, Result):
    __doc__ = CurveNumbers.__doc__

    def __repr__(self) -> str:
        return f"{self._title()}\n{self.frame}"

    def _repr_html_(self) -> str:
        import html

        return f"<p>{html.escape(self._title())}</p>{self.frame._repr_html_()}"

    def _title(self) -> str:
        return f"Curve of {self.metric}, k from 1 to {max(self.frame['k'], default=0)}"

    def to_polars(self) -> pl.DataFrame:
        """One row per system and k: system, k, mean, low, high, se."""
        return self.frame

    def table(self) -> Table:
        """The mean of each system at each k, with its interval."""
        rows = [
            (system, f"{k}", number(mean), f"[{number(low)}, {number(high)}]")
            for system, k, mean, low, high, _ in self.frame.rows()
        ]
        return Table(("system", "k", self.metric, "interval"), rows, self.notes)

    def plot(self) -> Any:
        """An Altair chart, which saves itself as PNG, SVG, PDF or HTML.

        Raises
        ------
        MissingDependencyError
            If Altair is not installed.
        UsageError
            If no system has a mean.
        """
        systems = self.frame["system"].unique(maintain_order=True).to_list()
        panes = charts.curve(self.metric, self.frame, systems)
        if not panes:
            raise UsageError("nothing to draw: no system has a mean")
        return charts.side_by_side(panes)

    def _content(self) -> dict[str, Any]:
        return {
            "metric": self.metric,
            "increasing": self.increasing,
            "confidence": self.confidence,
            "points": self.frame.to_dicts(),
            "best_k": self.best_k(),
            "smallest_good_k": self.smallest_good_k(),
            "notes": list(self.notes),
        }
