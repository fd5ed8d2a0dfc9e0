"""Reporting probabilities in closed form, for the two schemes that have one.

Reference: Cohen, Geri, Sarlos, Stemmer (2021), Algorithm 3, Lemmas 4.2 and 4.4. The paper assumes
that L(epsilon, delta) is a whole number; these forms hold for any epsilon and delta.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from tamis.sampling.schemes import Ppswor

Floats = npt.NDArray[np.float64]


def turning_point(epsilon: float, delta: float) -> int:
    """How many times pi grows by a factor e^epsilon before its complement starts to shrink by one.

    The largest n with pi_{n-1} <= (1 - delta) / (1 + e^epsilon): L + 1 when L is a whole number.
    """
    crossing = (1 - delta) / (1 + math.exp(epsilon))
    return math.floor(math.log1p(crossing * math.expm1(epsilon) / delta) / epsilon) + 1


def histogram_reporting(epsilon: float, delta: float, frequency: npt.ArrayLike) -> Floats:
    """pi*_i: the largest probability with which a key of frequency i may be named (Lemma 4.2).

    For a whole L and i > L it is 1 - pi*_{2L+1-i}; the paper prints 2L + 2 - i, which contradicts
    its own recursion.

    Guarantee: reporting each key with at most this probability, and no more about it, is
    (epsilon, delta)-private for one element; no private mechanism reports any key more often.

    >>> histogram_reporting(1.0, 1e-6, [0, 1, 14, 28]).round(6).tolist()
    [0.0, 1e-06, 0.699887, 1.0]
    """
    i = np.asarray(frequency, dtype=np.float64)
    n = turning_point(epsilon, delta)
    grown = delta * np.expm1(epsilon * np.minimum(i, n)) / math.expm1(epsilon)
    rest = max(0.0, 1 - delta * math.expm1(epsilon * n) / math.expm1(epsilon))
    shrunk = np.exp(-epsilon * np.maximum(i - n, 0))
    left = rest * shrunk - delta * (1 - shrunk) / math.expm1(epsilon)
    return np.where(i <= n, np.minimum(grown, 1.0), 1 - np.maximum(left, 0.0))


def ppswor_reporting(epsilon: float, delta: float, tau: float, frequency: npt.ArrayLike) -> Floats:
    """pi_i under threshold ppswor sampling by frequency: pi*_i until it exceeds q_i, then q_i.

    Lemma 4.4. Once the sampling rate is the tighter bound it stays so.
    """
    optimum = histogram_reporting(epsilon, delta, frequency)
    q = Ppswor(tau).probability(frequency)
    meets = _meeting_point(epsilon, delta, tau)
    return np.where(np.asarray(frequency) < meets, optimum, q)


def _meeting_point(epsilon: float, delta: float, tau: float) -> int:
    """The lowest frequency with pi*_i > q_i."""
    scheme = Ppswor(tau)
    last = turning_point(epsilon, delta) + math.ceil(math.log(1 / delta) / epsilon) + 2
    i = np.arange(1, last + 1)
    over = histogram_reporting(epsilon, delta, i) > scheme.probability(i)
    return int(i[np.argmax(over)]) if over.any() else last + 1
