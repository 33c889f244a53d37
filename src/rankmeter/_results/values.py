"""The result of a comparison of values that were computed elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rankmeter._checks import counted, unknown
from rankmeter._choices import Setting, show
from rankmeter._estimates.differences import Difference
from rankmeter._estimates.estimates import Estimate
from rankmeter._estimates.notes import cluster_notes, unused_labels
from rankmeter._estimates.paired import Heterogeneity, segment_notes
from rankmeter._ingest import POLARS, Frame, Kind
from rankmeter._results.compared import Compared

__all__ = ["ValueComparison"]


@dataclass(frozen=True, eq=False, repr=False)
class ValueComparison(Compared):
    """Several systems on the same users, by values of any origin.

    Attributes
    ----------
    systems, baseline, estimates, differences, heterogeneity
        As in `Comparison`.
    plan : Setting
        Confidence, kind and seed of the intervals.
    increasing : mapping of str to bool
        By metric, whether larger is better.
    dropped : mapping of str to int
        By metric: users with a value for some systems but not for all.
    settings : mapping
        Test, correction and everything else that the differences depend on.
    per_user : polars.DataFrame or pandas.DataFrame
        The values: columns system, user, metric, seed, value.
    kind : Kind
        That of the frames that are handed out, as that of the values that came in.
    """

    systems: tuple[str, ...]
    baseline: str
    plan: Setting  # type: ignore[assignment]
    increasing: Mapping[str, bool]
    estimates: Mapping[tuple[str, str], Estimate]
    differences: tuple[Difference, ...]
    heterogeneity: tuple[Heterogeneity, ...]
    dropped: Mapping[str, int]
    settings: Mapping[str, Any]
    per_user: Frame
    kind: Kind = POLARS

    @property
    def _labels(self) -> list[str]:
        return list(self.increasing)

    def _label(self, metric: str) -> str:
        if metric not in self.increasing:
            raise unknown("metric", metric, self.increasing)
        return metric

    def _increasing(self, label: str) -> bool:
        return self.increasing[label]

    def _notes(self) -> tuple[str, ...]:
        s = self.settings
        notes = [self._tested()]
        notes += [
            f"{metric}: {counted(n, 'user')} not common to all systems"
            for metric, n in self.dropped.items()
            if n
        ]
        notes += [f"{name}: lower is better" for name, up in self.increasing.items() if not up]
        notes += [f"missing values: {s['missing_values']:,}"] if s.get("missing_values") else []
        notes += [*unused_labels(s), *cluster_notes(s, "tests and intervals"), *self._drawn()]
        notes += segment_notes(self.heterogeneity, s["alpha"])
        notes += sorted({d.note for d in self.differences if d.note})
        return tuple(notes)

    def _content(self) -> dict[str, Any]:
        return {
            "systems": list(self.systems),
            "baseline": self.baseline or None,
            "metrics": {
                label: {name: self._plain_mean(e) for name, e in self._means(label).items()}
                for label in self._labels
            },
            "differences": [vars(d) | {"sentence": d.sentence()} for d in self.differences],
            "heterogeneity": [vars(one) for one in self.heterogeneity],
            "dropped_users": self.dropped,
            "notes": list(self._notes()),
            "settings": self.settings,
        }

    def _plan_text(self) -> str:
        return "\n".join(f"{name:<11} {show(value)}" for name, value in self.settings.items())
