"""How systems are compared: the choices of a comparison that its tests depend on."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rankmeter._checks import (
    choice,
    exact,
    flag,
    integer,
    number,
    refused,
    significance,
    text,
    unknown,
)
from rankmeter._choices import MOST_RESAMPLES
from rankmeter.errors import UsageError

Test = Literal[
    "auto",
    "t",
    "randomization",
    "mid-p",
    "bootstrap",
    "wilcoxon",
    "sign",
    "tukey",
    "randomized-tukey",
]
Correction = Literal["maxt", "holm", "bonferroni", "benjamini-hochberg", "none"]
Family = Literal["metric", "all"]
Common = Literal["all", "pair"]

MOST_SYSTEMS = 100


@dataclass(frozen=True, eq=False, kw_only=True)
class Settings:
    """The options of `rankmeter.compare` of these names, checked; data are as they were given."""

    baseline: str | None
    test: Test
    correction: Correction
    family: Family
    common: Common
    alpha: float
    n_resamples: int
    margin: Any = None
    gatekeeping: bool = False
    segments: object = None
    clusters: object = None

    def __post_init__(self) -> None:
        choice("test", self.test, Test)
        choice("correction", self.correction, Correction)
        choice("family", self.family, Family)
        choice("common", self.common, Common)
        # As plain numbers, which JSON can hold.
        object.__setattr__(self, "alpha", significance("alpha", self.alpha))
        resamples = integer("n_resamples", self.n_resamples, least=1, most=MOST_RESAMPLES)
        object.__setattr__(self, "n_resamples", resamples)
        _ = self.margins
        flag("gatekeeping", self.gatekeeping)
        if "tukey" in self.test and self.baseline is not None:
            raise UsageError("Tukey's test is for all pairs: leave out the baseline")

    def check(self, names: Sequence[str], *, runs: bool) -> None:
        """Refuse systems that cannot be compared like this; `runs`: some have several."""
        clustered = self.clusters is not None
        if runs and (clustered or self.test not in ("auto", "t")):
            what = "clusters=" if clustered else f"test={self.test!r}"
            raise UsageError(
                "systems of several training runs are compared by t over users × runs, without "
                f"{what}"
            )
        if not 2 <= len(names) <= MOST_SYSTEMS:
            raise UsageError(f"compare 2 to {MOST_SYSTEMS} systems, got {len(names)}")
        for name in names:
            text("systems", str(name))
        if self.baseline is not None:
            choice("baseline", self.baseline, names)

    def check_margins(self, labels: Iterable[str]) -> None:
        """Refuse a margin of a metric that is not compared."""
        if isinstance(self.margins, dict):
            for label in self.margins.keys() - set(labels):
                raise unknown("metric in `margin`", label, labels)

    def margin_of(self, label: str) -> tuple[float, bool] | None:
        """The margin of a metric, and whether it is a share of the other mean."""
        return self.margins.get(label) if isinstance(self.margins, dict) else self.margins

    @functools.cached_property
    def margins(self) -> dict[str, tuple[float, bool]] | tuple[float, bool] | None:
        """The margin of each metric, or that of all."""
        if isinstance(self.margin, Mapping):
            return {label: _margin(value) for label, value in self.margin.items()}
        return None if self.margin is None else _margin(self.margin)

    @property
    def margin_text(self) -> str | dict[str, str] | None:
        """The margin as it is written, ``0.005`` or ``1%``, or that of each metric."""
        if isinstance(self.margins, dict):
            return {label: _margin_text(*margin) for label, margin in self.margins.items()}
        return None if self.margins is None else _margin_text(*self.margins)


def _margin_text(size: float, relative: bool) -> str:
    return f"{100 * size:g}%" if relative else exact(size)


def _margin(value: Any) -> tuple[float, bool]:
    """A margin, and whether it is a share of the other mean: ``0.005``, ``"1%"``."""
    if not isinstance(value, str):
        return number("margin", value, above=0), False
    text = value.strip()
    try:
        size = float(text.removesuffix("%"))
    except ValueError:
        size = 0.0
    size = size / 100 if text.endswith("%") else size
    if not 0 < size < float("inf"):
        raise refused("margin", "a number > 0 or a share such as '1%'", value)
    return size, text.endswith("%")
