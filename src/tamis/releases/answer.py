"""An estimate with its error."""

from __future__ import annotations

from dataclasses import dataclass

from scipy.special import ndtri


@dataclass(frozen=True)
class Answer:
    """An estimate, its standard error, and an interval by the normal approximation."""

    estimate: float
    standard_error: float
    coverage: float = 0.95

    @property
    def low(self) -> float:
        return self.estimate - self._margin

    @property
    def high(self) -> float:
        return self.estimate + self._margin

    @property
    def _margin(self) -> float:
        return float(ndtri(0.5 + self.coverage / 2)) * self.standard_error

    def __float__(self) -> float:
        return self.estimate

    def __str__(self) -> str:
        return (
            f"{self.estimate:,.1f} +- {self.standard_error:,.1f} "
            f"({100 * self.coverage:.10g}%: {self.low:,.1f} to {self.high:,.1f})"
        )

    __repr__ = __str__
