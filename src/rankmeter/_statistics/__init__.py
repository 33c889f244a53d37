"""Statistics of per-user values: pure functions of NumPy arrays, no frames and no metrics.

The first line of each module is the question that it answers. Values are vectors of shape
(n_users,), paired ones in the same order of users, and finite: other shapes and options are a
UsageError, other values an InvalidValueError. SciPy is imported by the functions that need it, when
they are called.
"""

from rankmeter._statistics.crossed import (
    Crossed,
    crossed_interval,
    crossed_margin_tests,
    crossed_test,
    crossed_variance,
)
from rankmeter._statistics.effects import (
    RelativeGain,
    WinsTiesLosses,
    cohens_dz,
    hedges_g,
    probability_of_superiority,
    relative_gain,
    wins_ties_losses,
)
from rankmeter._statistics.intervals import (
    Interval,
    bootstrap_interval,
    median_interval,
    score_interval,
    skewed,
    t_interval,
    t_interval_of,
    wilson_interval,
)
from rankmeter._statistics.margins import Margins, margin_tests
from rankmeter._statistics.ordinal import CAUTIONS, sign_test, wilcoxon_test
from rankmeter._statistics.paired import AUTO_LIMIT, bootstrap_test, paired_t_test, paired_test
from rankmeter._statistics.power import (
    detectable_share,
    minimum_detectable_effect,
    minimum_detectable_share,
)
from rankmeter._statistics.randomization import (
    EXACT_LIMIT,
    exact_p,
    randomization_test,
    randomization_tests,
)
from rankmeter._statistics.results import TestResult
from rankmeter._statistics.several import heterogeneity, randomized_tukey_hsd, tukey_hsd
from rankmeter._statistics.spread import (
    Spread,
    cluster_sums,
    covariance,
    effective_clusters,
    pseudo_change,
    share_of_ties,
    spread,
    stratified,
)
from rankmeter._statistics.stepdown import MOST_FLIPPED, Hypotheses, StepDown, adjust, step_down
from rankmeter._statistics.student import t_quantile, t_tail
from rankmeter._statistics.sums import ExactSums
from rankmeter._statistics.vectors import Moments, moments, paired_moments

__all__ = [
    "AUTO_LIMIT",
    "CAUTIONS",
    "EXACT_LIMIT",
    "MOST_FLIPPED",
    "Crossed",
    "ExactSums",
    "Hypotheses",
    "Interval",
    "Margins",
    "Moments",
    "RelativeGain",
    "Spread",
    "StepDown",
    "TestResult",
    "WinsTiesLosses",
    "adjust",
    "bootstrap_interval",
    "bootstrap_test",
    "cluster_sums",
    "cohens_dz",
    "covariance",
    "crossed_interval",
    "crossed_margin_tests",
    "crossed_test",
    "crossed_variance",
    "detectable_share",
    "effective_clusters",
    "exact_p",
    "hedges_g",
    "heterogeneity",
    "margin_tests",
    "median_interval",
    "minimum_detectable_effect",
    "minimum_detectable_share",
    "moments",
    "paired_moments",
    "paired_t_test",
    "paired_test",
    "probability_of_superiority",
    "pseudo_change",
    "randomization_test",
    "randomization_tests",
    "randomized_tukey_hsd",
    "relative_gain",
    "score_interval",
    "share_of_ties",
    "sign_test",
    "skewed",
    "spread",
    "step_down",
    "stratified",
    "t_interval",
    "t_interval_of",
    "t_quantile",
    "t_tail",
    "tukey_hsd",
    "wilcoxon_test",
    "wilson_interval",
    "wins_ties_losses",
]
