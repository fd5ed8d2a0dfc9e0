"""The error of a frequent key by the law of its noise, without any run: what chance cannot blur."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

import tamis
from benchmarks.page import table
from benchmarks.peers.gaussian import told
from tamis.privacy.curves import GaussianCurve
from tamis.weighted.mechanism import Tokens

Floats = npt.NDArray[np.float64]
EPSILON, DELTA = 1.0, 1e-8  # what all promise for one unit
Noise = Literal["Laplace", "cut Laplace", "geometric", "Gaussian", "cut Gaussian"]
NOISES: tuple[Noise, ...] = ("Laplace", "cut Laplace", "geometric", "Gaussian", "cut Gaussian")
_KNOWN: dict[str, Noise] = {
    "OpenDP, Laplace": "Laplace",
    "OpenDP, geometric": "geometric",
    "OpenDP, Gaussian": "Gaussian",
    "OpenDP, discrete Gaussian": "Gaussian",
    "SmartNoise SQL, Laplace": "cut Laplace",
    "SmartNoise SQL, Gaussian": "cut Gaussian",
    "PipelineDP, Laplace": "Laplace",
    "PipelineDP, Gaussian": "Gaussian",
    "Tumult Core": "geometric",
}


@dataclass(frozen=True)
class Error:
    """The root of the mean square, and the mean of the absolute value."""

    root: float
    absolute: float


@cache
def ours(keys: int, tokens: Tokens) -> Error:
    """Of a key that is frequent enough to be named surely."""
    planned = tamis.plan(EPSILON, DELTA, keys, tokens=tokens)
    frequency = 4 * planned.mechanism.law.width
    given, probability = planned.mechanism.law.row(frequency)
    away = planned.estimator.frequencies(given) - frequency
    return Error(math.sqrt(float(probability @ away**2)), float(probability @ np.abs(away)))


def gaussian_curve(keys: int, tokens: Tokens) -> bool:
    """Whether ours takes the Gaussian curve with so many keys for a unit."""
    planned = tamis.plan(EPSILON, DELTA, keys, tokens=tokens)
    return isinstance(planned.curve, GaussianCurve)


def others(keys: int, noise: Noise) -> Error:
    """Of noise that is given all of epsilon, and Gaussian noise all of delta, too.

    Cut: the noisy count is a float of which the digits after the point are dropped.
    """
    scale = keys / EPSILON
    if noise == "Laplace":
        return Error(math.sqrt(2) * scale, scale)
    if noise == "cut Laplace":
        whole = _around(60.0 * scale)
        tail = np.exp(-np.abs(whole) / scale) / 2
        return _cut(whole, np.where(whole < 0, tail, 1 - tail))
    if noise == "geometric":
        a = math.exp(-1 / scale)
        return Error(math.sqrt(2 * a) / (1 - a), 2 * a / (1 - a * a))
    sigma = told(EPSILON, DELTA, keys).scale
    if noise == "cut Gaussian":
        whole = _around(30.0 * sigma)
        return _cut(whole, ndtr(whole / sigma))
    return Error(sigma, math.sqrt(2 / math.pi) * sigma)


def _around(far: float) -> Floats:
    """The whole numbers that are no further from 0 than this."""
    return np.arange(-math.ceil(far), math.ceil(far) + 1.0)


def _cut(whole: Floats, below: Floats) -> Error:
    """Of noise that is below these whole numbers with these probabilities, and is rounded down."""
    away, probability = np.abs(whole[:-1]), np.diff(below)
    return Error(math.sqrt(float(probability @ away**2)), float(probability @ away))


def noise_of(method: str) -> Noise | None:
    """What a method of the page draws, if all of its budget goes into one draw of a known law."""
    return _KNOWN.get(method)


def laws(bounds: Sequence[int]) -> str:
    """A table of all of them."""
    heads = ("keys per unit", "tamis", "tamis, fine tokens", *NOISES)
    return table(heads, [_row(bound) for bound in bounds])


def _row(keys: int) -> tuple[str, ...]:
    errors = (ours(keys, "whole"), ours(keys, "fine"), *(others(keys, kind) for kind in NOISES))
    return (str(keys), *(f"{error.root:.2f}, {error.absolute:.2f}" for error in errors))
