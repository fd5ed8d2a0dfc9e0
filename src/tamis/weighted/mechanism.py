"""A curve and a scheme made into integer probabilities, and the words that meet them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import Any, Literal

import numpy as np

from tamis.privacy import composition, exact
from tamis.privacy.certificate import Certificate
from tamis.privacy.composition import Composition
from tamis.privacy.curves import ApproximateCurve, Curve, GaussianCurve
from tamis.privacy.guarantee import Guarantee
from tamis.privacy.verify import Survival, U
from tamis.sampling.schemes import Everything, Scheme
from tamis.weighted.laws import DrawLaw, Law, SurvivalLaw

Tokens = Literal["whole", "fine"]


@dataclass(frozen=True)
class Mechanism:
    """The integers that release keys and tokens under a guarantee.

    Guarantee: releasing, for every key, the token that `weighted.tokens.draw` gives it from one
    fresh word of the operating system satisfies ``guarantee``, exactly. With ``sampler_error`` the
    keys come from a sample that was made elsewhere with probabilities that differ from those of
    ``scheme`` by at most so much, and what is guaranteed is sampling and sanitising together.
    """

    guarantee: Guarantee
    scheme: Scheme
    tokens: Tokens = "whole"
    sampler_error: float | None = None

    def __getstate__(self) -> dict[str, Any]:
        """What it is made of: what was found since is found again wherever it is sent."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def elsewhere(self) -> bool:
        return self.sampler_error is not None

    @property
    def everything(self) -> bool:
        return self.scheme.rule() == Everything().rule()

    @cached_property
    def _composition(self) -> Composition[Curve]:
        plain = not self.everything or self.tokens == "fine"
        return composition.choose(self.guarantee, sampled=plain)

    @property
    def curve(self) -> Curve:
        """The privacy curve of one key, chosen so that keys are named at the lowest frequency."""
        return self._composition.curve

    @cached_property
    def integers(self) -> Survival:
        """P_i and T_i(x), for an (epsilon, delta) curve."""
        assert isinstance(self.curve, ApproximateCurve)
        return exact.survival(self.curve, self.scheme.rule(), self._away)

    @property
    def _away(self) -> int:
        """The error of the sampler in words, rounded up; -1 if there is no sampler elsewhere."""
        if self.sampler_error is None or self.everything:
            return -1
        return ceil(Fraction(self.sampler_error) * U)

    @cached_property
    def draw(self) -> tuple[list[int], int]:
        """(C, stride): C[d] = Pr[D < d] U for the draw of a key that is surely looked at."""
        if isinstance(self.curve, GaussianCurve):
            return exact.gaussian_table(self.curve), 1
        return self.integers.fine_draw() if self.tokens == "fine" else (self.integers.draw(), 1)

    @property
    def head_start(self) -> int:
        """What is added to the frequency of a key that occurs before the draw is taken off."""
        return self.curve.head_start if isinstance(self.curve, GaussianCurve) else 0

    @cached_property
    def stride(self) -> int:
        """Pieces per unit of frequency in the numbering of tokens: 1 for whole tokens."""
        if self.everything or self.tokens == "whole":
            return self.draw[1] if self.everything else 1
        return 2 * self.integers.width() + 1

    @cached_property
    def rule(self) -> dict[str, Any]:
        rule: dict[str, Any] = {
            "scheme": self.scheme.rule(),
            "tokens": self.tokens,
            "accounting": self._composition.accounting,
        }
        if isinstance(self.curve, GaussianCurve):
            table = [hex(c) for c in self.draw[0]]
            return rule | {"table": table, "stride": 1, "head_start": self.head_start}
        integers = self.integers
        rule |= {"growth": hex(integers.M), "shift": integers.k, "gift": hex(integers.D)}
        return rule | ({"away": hex(self._away)} if self._away >= 0 else {})

    @cached_property
    def certificate(self) -> Certificate:
        return Certificate.of(self.guarantee, self.rule)

    @cached_property
    def law(self) -> Law:
        """The law of whole tokens in floating point."""
        if self.everything:
            table, stride = self.draw
            cumulative = np.array([_ratio(c) for c in table[:-1:stride]] + [1.0])
            return DrawLaw(cumulative, self.head_start)
        assert isinstance(self.curve, ApproximateCurve)
        return SurvivalLaw(self.curve.epsilon, _ratio(self.integers.D), self.scheme)


def _ratio(words: int) -> float:
    return words / U
