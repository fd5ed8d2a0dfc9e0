"""The closed forms of Lemmas 4.2 and 4.4 equal Algorithm 3, also where L is not a whole number."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.sampling.schemes import Everything, Ppswor, Scheme
from tamis.weighted.keys import histogram_reporting, ppswor_reporting

epsilons = st.floats(0.01, 5)
deltas = st.floats(-12, -0.5).map(lambda x: 10.0**x)
taus = st.floats(-7, 1).map(lambda x: 10.0**x)


def algorithm_3(epsilon: float, delta: float, scheme: Scheme, n: int) -> npt.NDArray[np.float64]:
    e, p, out = math.exp(epsilon), 0.0, [0.0]
    for q in scheme.probability(np.arange(1, n + 1)).tolist():
        p = min(q, e * p + delta, 1 + (p + delta - 1) / e)
        out.append(p)
    return np.array(out)


def upper(epsilon: float, delta: float) -> int:
    return min(5000, 2 * math.ceil(math.log(1 / delta) / epsilon) + 20)


@settings(deadline=None)
@given(epsilons, deltas)
def test_the_histogram_has_a_closed_form(epsilon: float, delta: float) -> None:
    n = upper(epsilon, delta)
    slow = algorithm_3(epsilon, delta, Everything(), n)
    assert histogram_reporting(epsilon, delta, np.arange(n + 1)) == pytest.approx(slow, rel=1e-10)


@settings(deadline=None)
@given(epsilons, deltas, taus)
def test_ppswor_has_a_closed_form(epsilon: float, delta: float, tau: float) -> None:
    n = upper(epsilon, delta)
    slow = algorithm_3(epsilon, delta, Ppswor(tau), n)
    assert ppswor_reporting(epsilon, delta, tau, np.arange(n + 1)) == pytest.approx(slow, rel=1e-9)


def test_a_form_that_is_two_per_cent_off_would_be_noticed() -> None:
    i = np.arange(30)
    slow = algorithm_3(1.0, 1e-6, Everything(), 29)
    assert histogram_reporting(1.02, 1e-6, i) != pytest.approx(slow, rel=1e-3)


@pytest.mark.parametrize("L", [3, 8, 20])
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_with_a_whole_L_it_is_the_formula_of_the_paper_but_for_a_misprint(
    L: int, epsilon: float
) -> None:
    """Above L the paper prints 2L + 2 - i; the symmetry pi_i = 1 - pi_{2L+1-i} needs 2L + 1 - i."""
    e = math.exp(epsilon)
    delta = (e - 1) / (math.exp(epsilon * L) * (e + 1) - 2)
    i = np.arange(1, 2 * L + 4)
    low = delta * np.expm1(epsilon * i) / (e - 1)

    def formula(end: int) -> npt.NDArray[np.float64]:
        high = 1 - delta * np.expm1(epsilon * np.maximum(end - i, 0)) / (e - 1)
        return np.where(i <= L + 1, low, high)

    truth = algorithm_3(epsilon, delta, Everything(), 2 * L + 3)[1:]
    assert histogram_reporting(epsilon, delta, i) == pytest.approx(truth, rel=1e-10)
    assert formula(2 * L + 1) == pytest.approx(truth, rel=1e-10)
    assert formula(2 * L + 2) != pytest.approx(truth, rel=1e-2)


def test_huge_frequencies_do_not_overflow() -> None:
    with np.errstate(over="raise"):
        assert histogram_reporting(5.0, 1e-12, [10**12, 2**62]).tolist() == [1.0, 1.0]
        assert ppswor_reporting(5.0, 1e-12, 1e-6, 10**12) == 1.0
