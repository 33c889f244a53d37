"""How systems are compared: the choices of a comparison that its tests depend on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rankmeter._checks import choice, fraction, integer
from rankmeter._choices import MOST_RESAMPLES
from rankmeter.errors import UsageError

__all__ = ["Common", "Correction", "Family", "Settings", "Test"]

Test = Literal[
    "auto", "t", "randomization", "bootstrap", "wilcoxon", "sign", "tukey", "randomized-tukey"
]
Correction = Literal["maxt", "holm", "bonferroni", "benjamini-hochberg", "none"]
Family = Literal["metric", "all"]
Common = Literal["all", "pair"]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The options of `rankmeter.compare` of these names, checked."""

    baseline: str | None
    test: Test
    correction: Correction
    family: Family
    common: Common
    alpha: float
    n_resamples: int

    def __post_init__(self) -> None:
        choice("test", self.test, Test)
        choice("correction", self.correction, Correction)
        choice("family", self.family, Family)
        choice("common", self.common, Common)
        # As plain numbers, which JSON can hold.
        object.__setattr__(self, "alpha", fraction("alpha", self.alpha))
        resamples = integer("n_resamples", self.n_resamples, least=1, most=MOST_RESAMPLES)
        object.__setattr__(self, "n_resamples", resamples)
        if "tukey" in self.test and self.baseline is not None:
            raise UsageError("Tukey's test is for all pairs: leave out the baseline")
