"""The exact delta of sample and threshold, by the number of clients and by the threshold."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from scipy import stats

from papers.federated.data import Floats, Ints
from papers.federated.settings import POSTER_EPSILON, POSTER_P
from tamis.federated.profile import added


def by_others(p: float, tau: int, epsilon: float, others: Ints) -> Floats:
    """The delta of one client more, beside so many others with its item: not below 0.

    Outcomes from t0 on tell most: those from tau on that are e^epsilon times as likely with it.
    """
    gamma = 1 - (1 - p) * math.exp(-epsilon)
    first = np.maximum(tau, np.floor(gamma * (others + 1)) + 1)
    gain = p * stats.binom.pmf(first - 1, others, p)
    return np.maximum(0.0, gain - math.expm1(epsilon) * stats.binom.sf(first - 1, others, p))


def exact(tau: int, p: float = POSTER_P, epsilon: float = POSTER_EPSILON) -> float:
    """The largest of these over all numbers of others."""
    return float(added(Fraction(repr(p)), tau, Fraction(repr(epsilon))).high)


def alpha(p: float = POSTER_P, epsilon: float = POSTER_EPSILON) -> float:
    """p over the highest rate that there is."""
    return p / -math.expm1(-epsilon)


def bound(tau: int, p: float = POSTER_P, epsilon: float = POSTER_EPSILON) -> float:
    """The closed form exp(-tau (ln(1/alpha) - 1/(1 + alpha))), which is larger than delta."""
    a = alpha(p, epsilon)
    return math.exp(-tau * (math.log(1 / a) - 1 / (1 + a)))
