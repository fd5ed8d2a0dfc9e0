"""Curves made into integers: always on the safe side, and hardly a word away from the optimum."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from decimal import Context, Decimal
from fractions import Fraction

import mpmath as mp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.privacy import exact
from tamis.privacy.curves import ApproximateCurve, GaussianCurve
from tamis.privacy.errors import InvalidInput
from tamis.privacy.guarantee import Guarantee
from tamis.privacy.verify import Survival, U
from tamis.sampling.schemes import Custom, Everything, Pps, Ppswor, Scheme
from tamis.weighted.mechanism import Mechanism

EPSILONS = (0.01, 0.1, 0.5, 1.0, 2.0, 5.0)
DELTAS = (1e-3, 1e-6, 1e-9, 1e-12)
SCHEMES: dict[str, Scheme] = {
    "Everything": Everything(),
    "Pps(0.1)": Pps(0.1),
    "Pps(0.001)": Pps(0.001),
    "Ppswor(0.1)": Ppswor(0.1),
    "Ppswor(1e-4)": Ppswor(1e-4),
    "Ppswor(0.01, power=2)": Ppswor(0.01, power=2),
    "steps": Custom({1: 0.01, 10: 0.1, 50: 0.5, 300: 1}),
}

# --- the parameters of the integers --------------------------------------------------------------


@settings(max_examples=100, deadline=None)
@given(st.floats(1e-6, 40))
def test_the_growth_is_at_most_exp_epsilon_and_within_64_places_of_it(epsilon: float) -> None:
    with mp.workdps(80):
        true = mp.exp(mp.mpf(repr(epsilon))) * 2**exact.SHIFT
        assert exact.growth(epsilon) <= true < exact.growth(epsilon) + 2


@settings(max_examples=60, deadline=None)
@given(st.floats(0.01, 5), st.floats(1e-11, 0.5), st.sampled_from([-1, 0, 1000, U >> 50]))
def test_the_gift_leaves_room_for_rounding_and_little_more(
    epsilon: float, delta: float, away: int
) -> None:
    law = exact.survival(ApproximateCurve(epsilon, delta), Pps(0.1).rule(), away)
    whole = Fraction(repr(delta)) * U
    assert law.D + law.slack() + law.charge(away) <= whole
    assert whole - law.D <= 2 * law.slack() + law.charge(away)
    assert (law.M, law.k) == (exact.growth(epsilon), exact.SHIFT)


@pytest.mark.parametrize("n", [6, 10, 14])
def test_the_gift_leaves_room_where_a_smaller_gift_makes_longer_rows(n: int) -> None:
    curve, away = ApproximateCurve(1.0, math.exp(-n) * (1 + 1e-12)), U >> 45
    assert exact.survival(curve, Pps(0.1).rule()).width() == 3 * n + 2
    law = exact.survival(curve, Pps(0.1).rule(), away)
    assert law.width() == 3 * n + 5
    assert law.D + law.slack() + law.charge(away) <= Fraction(repr(curve.delta)) * U


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(1.0, 1e-18), (1.0, 1e-30), (60.0, 1e-6), (700.0, 0.5)]
)
def test_curves_that_need_more_than_128_places_are_refused_by_name(
    epsilon: float, delta: float
) -> None:
    with pytest.raises(InvalidInput, match=r"delta per key is .* take a larger delta"):
        exact.survival(ApproximateCurve(epsilon, delta), Everything().rule())


# --- Gaussian tables -----------------------------------------------------------------------------


def gaussian_level(mu: float, delta: float, times: int) -> mp.mpf:
    """h applied ``times`` times to 0, from its definition, in many digits."""
    level, keep = mp.mpf(0), 1 - mp.mpf(delta)

    def quantile(p: mp.mpf) -> mp.mpf:
        return mp.sqrt(2) * mp.erfinv(2 * p - 1)

    for _ in range(times):
        share = min(mp.mpf(1), level / keep)
        inner = quantile(share) + mu if 0 < share < 1 else (mp.ninf if share == 0 else mp.inf)
        level = delta + keep * (mp.ncdf(inner) if mp.isfinite(inner) else mp.mpf(int(inner > 0)))
    return level


@pytest.mark.parametrize(("mu", "delta"), [(1.0, 1e-3), (0.4, 1e-5), (2.5, 1e-7)])
def test_a_gaussian_table_is_h_applied_again_and_again(mu: float, delta: float) -> None:
    table = exact.gaussian_table(GaussianCurve(mu, delta))
    assert table[0] == 0
    assert table[-1] == U
    assert table == sorted(table)
    with mp.workdps(40):
        for d in range(1, len(table) - 1):
            level = gaussian_level(mu, delta, d)
            assert abs(mp.mpf(table[d]) / U - level) <= mp.mpf("1e-12") * min(level, 1)
        assert 1 - gaussian_level(mu, delta, len(table) - 1) < 1e-12


@settings(max_examples=60, deadline=None)
@given(st.floats(0.02, 5), st.floats(-15, -2).map(lambda x: 10**x))
def test_gaussian_tables_run_from_zero_to_one_without_falling(mu: float, delta: float) -> None:
    table = exact.gaussian_table(GaussianCurve(mu, delta))
    assert (table[0], table[-1]) == (0, U)
    assert table == sorted(table)
    assert table[-2] < U


# --- utility lost to exactness ------------------------------------------------------------------

FIFTY = Context(prec=50)


def optimum(epsilon: float, delta: float, scheme: Scheme, upto: int) -> Iterator[Decimal]:
    """pi_1, pi_2, ... of Algorithm 3 in 50 digits."""
    c, e, d = FIFTY, FIFTY.exp(Decimal(repr(epsilon))), Decimal(repr(delta))
    p = Decimal(0)
    for i in range(1, upto + 1):
        rise = c.fma(e, p, d)
        fall = c.subtract(1, c.divide(c.subtract(c.subtract(1, d), p), e))
        p = min(chance(scheme, i), rise, fall)
        yield p


def chance(scheme: Scheme, i: int) -> Decimal:
    """q(i) in 50 digits."""
    c = FIFTY
    if isinstance(scheme, Pps | Ppswor):
        z = c.multiply(Decimal(repr(scheme.tau)), c.power(i, Decimal(repr(scheme.power))))
        return min(Decimal(1), z) if isinstance(scheme, Pps) else c.subtract(1, c.exp(c.minus(z)))
    if isinstance(scheme, Custom):
        q = next(q for start, q in reversed(scheme.steps) if start <= i)
        return c.divide(q.numerator, q.denominator)
    return Decimal(1)


def loss(law: Survival, epsilon: float, delta: float, scheme: Scheme, upto: int) -> Decimal:
    """The largest relative loss of reporting probability against the optimum; never a gain."""
    c, worst = FIFTY, Decimal(0)
    for i, best in enumerate(optimum(epsilon, delta, scheme, upto), start=1):
        found = c.divide(law.reporting(i), U)
        assert found <= c.add(best, c.divide(2, U))
        if best > 0:
            worst = max(worst, c.divide(c.subtract(best, found), best))
    return worst


def allowed_loss(delta: float) -> Decimal:
    return Decimal("1e-9") if delta >= 1e-6 else Decimal("1e-4")


QUICK = [(0.1, 1e-6), (0.5, 1e-12), (1.0, 1e-9), (5.0, 1e-3)]


@pytest.mark.parametrize(("epsilon", "delta"), QUICK)
@pytest.mark.parametrize("name", SCHEMES)
def test_reporting_is_as_close_to_the_optimum_as_promised(
    epsilon: float, delta: float, name: str
) -> None:
    scheme = SCHEMES[name]
    law = exact.survival(ApproximateCurve(epsilon, delta), scheme.rule())
    assert loss(law, epsilon, delta, scheme, 350) <= allowed_loss(delta)


@pytest.mark.slow
@pytest.mark.parametrize("name", SCHEMES)
@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_whole_grid_verifies_and_is_as_close_to_the_optimum_as_promised(
    epsilon: float, delta: float, name: str, record_property: Callable[[str, object], None]
) -> None:
    mechanism = Mechanism(Guarantee(epsilon, delta), SCHEMES[name])
    certificate = mechanism.certificate
    start = time.perf_counter()
    said = certificate.verify()
    record_property("seconds to verify", round(time.perf_counter() - start, 2))
    assert "checked" in said
    law = mechanism.integers
    upto = min(3000, len(law.draw()) + 50)
    assert loss(law, epsilon, delta, SCHEMES[name], upto) <= allowed_loss(delta)
    for i in (10**4, 10**5, 10**6, 10**9, 10**12):  # far beyond: the optimum is q itself
        best, found = chance(SCHEMES[name], i), FIFTY.divide(law.reporting(i), U)
        assert abs(best - found) <= FIFTY.multiply(best, allowed_loss(delta))
