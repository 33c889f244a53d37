"""Student's t without SciPy: digits of a 40-digit computation, SciPy, and the laws of the pair."""

import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from rankmeter._statistics.intervals import t_quantile, t_tail_probability
from rankmeter.errors import UsageError

pytestmark = pytest.mark.once

# p, degrees of freedom, quantile: incomplete beta function and numerical integration at 40 digits.
QUANTILES = [
    (0.5001, 7, 0.00025974603090254504),
    (0.6, 3, 0.27667066233268985),
    (0.75, 1, 1.0),
    (0.975, 1, 12.706204736174693),
    (0.975, 2, 4.3026527297494618),
    (0.975, 11, 2.2009851600916394),
    (0.995, 29, 2.7563859036706051),
    (0.975, 99, 1.9842169515864171),
    (0.9995, 1000, 3.3002826484239442),
    (1 - 1e-10, 5, 156.82559011328069),
    (1 - 1e-10, 100, 7.0833754641836894),
    (0.975, 10**4, 1.9602012398906259),
    (0.975, 10**6, 1.9599663568141067),
    (0.975, 10**9, 1.9599639869123251),
    (1 - 1e-10, 10**9, 6.3613409556433091),
]
TAILS = [
    (5.0, 99, 1.2406980065204739e-6),
    (30.0, 1000, 7.6873437220217411e-142),
    (100.0, 3, 1.1022609615924556e-6),
    (0.01, 1, 0.49681700723509174),
]
DEGREES = [1, 2, 3, 4, 7, 10, 29, 50, 99, 100, 101, 999, 10**4, 10**5, 10**6, 10**7, 10**8, 10**9]


@pytest.mark.parametrize(("p", "df", "quantile"), QUANTILES)
def test_quantiles_have_thirteen_digits(p, df, quantile):
    assert t_quantile(p, df) == pytest.approx(quantile, rel=2e-14)


@pytest.mark.parametrize(("t", "df", "tail"), TAILS)
def test_tails_have_thirteen_digits(t, df, tail):
    assert t_tail_probability(t, df) == pytest.approx(tail, rel=2e-14)
    assert t_tail_probability(-t, df) == pytest.approx(1 - tail, rel=1e-15)


def test_a_quarter_of_a_cauchy_distribution_lies_above_1():
    assert t_tail_probability(1.0, 1) == pytest.approx(0.25, rel=1e-14)


@pytest.mark.parametrize("df", DEGREES)
def test_tails_agree_with_scipy(df):
    values = [0.0, 0.1, 0.5, 0.9, 1.3, 1.96, 3.0, 6.0, 12.0]
    expected = special.stdtr(df, -np.array(values))
    assert [t_tail_probability(t, df) for t in values] == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("df", DEGREES)
def test_quantile_inverts_scipys_distribution(df):
    p = [0.6, 0.75, 0.9, 0.95, 0.975, 0.995, 0.9995, 1 - 1e-6, 1 - 1e-10]
    tails = special.stdtr(df, [-t_quantile(q, df) for q in p])
    assert tails == pytest.approx([1 - q for q in p], rel=1e-11)


@pytest.mark.parametrize("p", [0.5 + 1e-12, 0.51, 0.7, 0.749, 0.751, 0.9, 0.975, 1 - 1e-10])
def test_one_two_and_four_degrees_of_freedom_have_closed_forms(p):
    q = 1 - p
    cauchy = math.tan(math.pi * (p - 0.5)) if p < 0.75 else 1 / math.tan(math.pi * q)
    assert t_quantile(p, 1) == pytest.approx(cauchy, rel=1e-14)
    assert t_quantile(p, 2) == pytest.approx((p - q) / math.sqrt(2 * p * q), rel=1e-14)
    root = 2 * math.sqrt(p * q)
    four = 2 * math.sqrt(max(math.cos(math.acos(min(root, 1.0)) / 3) / root - 1, 0.0))
    assert t_quantile(p, 4) == pytest.approx(four, rel=1e-12, abs=1e-7)


@given(st.floats(1e-99, 0.5), st.sampled_from(DEGREES))
def test_quantile_and_tail_invert_each_other(tail, df):
    assert t_tail_probability(-t_quantile(tail, df), df) == pytest.approx(tail, rel=1e-12)


@given(st.integers(1, 2**40 - 1), st.sampled_from(DEGREES))
def test_quantiles_are_antisymmetric(numerator, df):
    p = numerator / 2**40  # 1 - p is then exact
    assert t_quantile(p, df) == -t_quantile(1 - p, df)


@given(st.floats(0.501, 0.9999), st.integers(1, 10**9))
def test_quantiles_fall_towards_the_normal_quantile(p, df):
    normal = special.ndtri(p)
    assert t_quantile(p, df) > normal * (1 - 1e-13)
    assert t_quantile(p, df) >= t_quantile(p, df + 1) * (1 - 1e-13)


@pytest.mark.parametrize(("p", "df"), [(0, 5), (1, 5), (-0.1, 5), (math.nan, 5), (0.5, 0.5)])
def test_out_of_range_is_refused(p, df):
    with pytest.raises(UsageError, match=r"`(p|df)` must be"):
        t_quantile(p, df)


def test_a_t_interval_does_not_import_scipy():
    program = (
        "import sys; import numpy as np\n"
        "from rankmeter._statistics import power, runs\n"
        "from rankmeter._statistics.intervals import spread_of_mean, student_interval\n"
        "from rankmeter._statistics.paired_tests import paired_t_test\n"
        "from rankmeter._statistics.step_down import adjust_p_values\n"
        "student_interval(spread_of_mean(np.array([1, 2, 3])), 0.95)\n"
        "paired_t_test([1, 2, 4], [0, 3, 2]); adjust_p_values([0.1])\n"
        "sys.exit(any(name.split('.')[0] == 'scipy' for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
