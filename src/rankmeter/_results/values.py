"""The result of a comparison of values that were computed elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from rankmeter._choices import show
from rankmeter._ingest import Frame
from rankmeter._results.comparison import Comparison
from rankmeter._results.result import Lacking

NEEDS = (
    "it needs the rankings: pass these, or results of evaluations, to rm.compare. Values of users "
    "have plot(), worst(), to_markdown() and to_latex()"
)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ValueComparison(Comparison):
    """Several systems on the same users, by values of any origin.

    Attributes
    ----------
    plan : Setting
        Confidence, kind and seed of the intervals.
    values : polars.DataFrame
        Columns system, user, metric, seed, value.
    """

    values: pl.DataFrame

    @property
    def increasing(self) -> dict[str, bool]:
        """By metric, whether larger is better."""
        return {label: values.increasing for label, values in self.by_metric.items()}

    @property
    def per_user(self) -> Frame:
        """Columns system, user, metric, seed, value; a frame as those of the values."""
        return self.kind.frame(self.values)

    curve, report, show = Lacking(NEEDS), Lacking(NEEDS), Lacking(NEEDS)

    def _more_notes(self) -> tuple[list[str], list[str]]:
        lower = [f"{name}: lower is better" for name, up in self.increasing.items() if not up]
        missing = self.settings.get("missing_values")
        return [], [*lower, *([f"missing values: {missing:,}"] if missing else [])]

    def _plan_text(self) -> str:
        return "\n".join(f"{name:<11} {show(value)}" for name, value in self.settings.items())
