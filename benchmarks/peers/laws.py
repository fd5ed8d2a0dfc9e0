"""The error of a frequent key by the law of its noise, without any run: what chance cannot blur."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np

import tamis
from benchmarks.page import table
from tamis.privacy.curves import GaussianCurve, gaussian_mu
from tamis.weighted.mechanism import Tokens

EPSILON, DELTA = 1.0, 1e-8  # what all promise for one unit
Noise = Literal["Laplace", "cut Laplace", "geometric", "Gaussian"]
NOISES: tuple[Noise, ...] = ("Laplace", "cut Laplace", "geometric", "Gaussian")
_WHOLE = 4  # keys per unit, from which on OpenDP is given whole counts (with_opendp.py)
_KNOWN: dict[str, Noise] = {
    "OpenDP, Laplace": "Laplace",
    "SmartNoise SQL": "cut Laplace",
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
    """Of noise that is given all of epsilon; Gaussian is given half of delta too.

    Cut: the noisy count is a float of which the digits after the point are dropped.
    """
    scale = keys / EPSILON
    if noise == "Laplace":
        return Error(math.sqrt(2) * scale, scale)
    if noise == "cut Laplace":
        whole = np.arange(-60.0 * scale - 1, 60.0 * scale + 1).round()
        below = np.where(whole < 0, np.exp(whole / scale) / 2, 1 - np.exp(-whole / scale) / 2)
        away, probability = np.abs(whole[:-1]), np.diff(below)
        return Error(math.sqrt(float(probability @ away**2)), float(probability @ away))
    if noise == "geometric":
        a = math.exp(-1 / scale)
        return Error(math.sqrt(2 * a) / (1 - a), 2 * a / (1 - a * a))
    sigma = math.sqrt(keys) / gaussian_mu(EPSILON, DELTA / 2)
    return Error(sigma, math.sqrt(2 / math.pi) * sigma)


def noise_of(method: str, keys: int) -> Noise | None:
    """What a method of the page draws, if all of its budget goes into one draw of a known law."""
    whole = method == "OpenDP, Laplace" and keys >= _WHOLE
    return "geometric" if whole else _KNOWN.get(method)


def laws(bounds: Sequence[int]) -> str:
    """A table of all of them."""
    heads = ("keys per unit", "tamis", "tamis, fine tokens", *NOISES)
    return table(heads, [_row(bound) for bound in bounds])


def _row(keys: int) -> tuple[str, ...]:
    errors = (ours(keys, "whole"), ours(keys, "fine"), *(others(keys, kind) for kind in NOISES))
    return (str(keys), *(f"{error.root:.2f}, {error.absolute:.2f}" for error in errors))
