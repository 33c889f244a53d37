"""Statistics of per-user values: pure functions of NumPy arrays, no frames and no metrics.

The first line of each module is the question that it answers. Values are vectors of shape
(n_users,), paired ones in the same order of users, and finite: other shapes and options are a
UsageError, other values an InvalidValueError. SciPy is imported by the functions that need it, when
they are called.
"""

from rankmeter._statistics.all_pairs import heterogeneity as heterogeneity
from rankmeter._statistics.all_pairs import randomized_tukey_hsd as randomized_tukey_hsd
from rankmeter._statistics.all_pairs import tukey_hsd as tukey_hsd
from rankmeter._statistics.intervals import Interval as Interval
from rankmeter._statistics.intervals import Spread as Spread
from rankmeter._statistics.intervals import TestResult as TestResult
from rankmeter._statistics.intervals import bootstrap_interval as bootstrap_interval
from rankmeter._statistics.intervals import cluster_sums as cluster_sums
from rankmeter._statistics.intervals import covariance as covariance
from rankmeter._statistics.intervals import effective_clusters as effective_clusters
from rankmeter._statistics.intervals import median_interval as median_interval
from rankmeter._statistics.intervals import pseudo_change as pseudo_change
from rankmeter._statistics.intervals import score_interval as score_interval
from rankmeter._statistics.intervals import share_of_ties as share_of_ties
from rankmeter._statistics.intervals import skewed as skewed
from rankmeter._statistics.intervals import spread as spread
from rankmeter._statistics.intervals import stratified as stratified
from rankmeter._statistics.intervals import t_interval as t_interval
from rankmeter._statistics.intervals import t_interval_of as t_interval_of
from rankmeter._statistics.intervals import t_quantile as t_quantile
from rankmeter._statistics.intervals import t_tail as t_tail
from rankmeter._statistics.intervals import wilson_interval as wilson_interval
from rankmeter._statistics.paired_tests import AUTO_LIMIT as AUTO_LIMIT
from rankmeter._statistics.paired_tests import CAUTIONS as CAUTIONS
from rankmeter._statistics.paired_tests import EXACT_LIMIT as EXACT_LIMIT
from rankmeter._statistics.paired_tests import RelativeGain as RelativeGain
from rankmeter._statistics.paired_tests import WinsTiesLosses as WinsTiesLosses
from rankmeter._statistics.paired_tests import bootstrap_test as bootstrap_test
from rankmeter._statistics.paired_tests import cohens_dz as cohens_dz
from rankmeter._statistics.paired_tests import exact_p as exact_p
from rankmeter._statistics.paired_tests import hedges_g as hedges_g
from rankmeter._statistics.paired_tests import paired_t_test as paired_t_test
from rankmeter._statistics.paired_tests import paired_test as paired_test
from rankmeter._statistics.paired_tests import (
    probability_of_superiority as probability_of_superiority,
)
from rankmeter._statistics.paired_tests import randomization_test as randomization_test
from rankmeter._statistics.paired_tests import randomization_tests as randomization_tests
from rankmeter._statistics.paired_tests import relative_gain as relative_gain
from rankmeter._statistics.paired_tests import sign_test as sign_test
from rankmeter._statistics.paired_tests import wilcoxon_test as wilcoxon_test
from rankmeter._statistics.paired_tests import wins_ties_losses as wins_ties_losses
from rankmeter._statistics.power import detectable_share as detectable_share
from rankmeter._statistics.power import minimum_detectable_effect as minimum_detectable_effect
from rankmeter._statistics.power import minimum_detectable_share as minimum_detectable_share
from rankmeter._statistics.runs import Crossed as Crossed
from rankmeter._statistics.runs import Margins as Margins
from rankmeter._statistics.runs import crossed_interval as crossed_interval
from rankmeter._statistics.runs import crossed_margin_tests as crossed_margin_tests
from rankmeter._statistics.runs import crossed_test as crossed_test
from rankmeter._statistics.runs import crossed_variance as crossed_variance
from rankmeter._statistics.runs import margin_tests as margin_tests
from rankmeter._statistics.step_down import MOST_FLIPPED as MOST_FLIPPED
from rankmeter._statistics.step_down import Hypotheses as Hypotheses
from rankmeter._statistics.step_down import StepDown as StepDown
from rankmeter._statistics.step_down import adjust as adjust
from rankmeter._statistics.step_down import step_down as step_down
from rankmeter._statistics.vectors import ExactSums as ExactSums
from rankmeter._statistics.vectors import Moments as Moments
from rankmeter._statistics.vectors import moments as moments
from rankmeter._statistics.vectors import paired_moments as paired_moments
