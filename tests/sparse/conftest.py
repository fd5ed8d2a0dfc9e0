"""Laws that are a little off, for tests that must tell them apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

import pytest

from tamis.privacy.reals import Interval, enclose
from tamis.sparse.law import Zero


@pytest.fixture
def chance(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], None]]:
    """Makes cells that hold nothing enter with so many per cent of the right probability."""

    def make(percent: int) -> None:
        right = Zero._p

        def wrong(law: Zero, digits: int) -> Interval:
            return right(law, digits) * Fraction(percent, 100)

        enclose.cache_clear()  # what follows from the right one is remembered under other names
        monkeypatch.setattr(Zero, "_p", wrong)

    yield make
    enclose.cache_clear()
