"""An estimate with its error."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from statistics import NormalDist
from typing import Any

from tamis.privacy.errors import InvalidInput, shown


@dataclass(frozen=True)
class Answer:
    """An estimate, its standard error, and an interval; ``said`` is what the interval is about."""

    estimate: float
    standard_error: float
    low: float
    high: float
    coverage: float = 0.95
    said: str = ""

    @classmethod
    def normal(
        cls, estimate: float, standard_error: float, coverage: float = 0.95, said: str = ""
    ) -> Answer:
        """With the interval of the normal approximation."""
        margin = quantile(coverage) * standard_error
        return cls(estimate, standard_error, estimate - margin, estimate + margin, coverage, said)

    def describe(self) -> dict[str, Any]:
        """As JSON can hold it: an end that is not finite is None."""
        return {k: v if isinstance(v, str) or isfinite(v) else None for k, v in vars(self).items()}

    def __float__(self) -> float:
        return self.estimate

    def __str__(self) -> str:
        return (
            f"{self.estimate:,.1f} +- {self.standard_error:,.1f} "
            f"({100 * self.coverage:.10g}%: {_number(self.low)} to {_number(self.high)})"
            + (f"; {self.said}" if self.said else "")
        )

    __repr__ = __str__


def _number(value: float) -> str:
    return f"{value:,.1f}" if abs(value) < 1e15 else f"{value:.3g}"


def check_coverage(coverage: object) -> float:
    from tamis.privacy.guarantee import as_float  # NumPy, which the command line starts without

    number = as_float(coverage)
    if not 0 < number < 1:
        raise InvalidInput(f"coverage must lie strictly between 0 and 1, not {shown(coverage)}.")
    return number


def quantile(coverage: float) -> float:
    """z: a normal variable is within z standard deviations with this probability."""
    return NormalDist().inv_cdf(0.5 + coverage / 2)
