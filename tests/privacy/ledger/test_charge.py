"""Who is refused something has not paid; who has paid is told so."""

from __future__ import annotations

from pathlib import Path

import pytest

from tamis.privacy.errors import BadData, EngineMissing, ReleaseFailed
from tamis.privacy.guarantee import Guarantee
from tamis.privacy.ledger import open_ledger
from tamis.privacy.ledger.charge import SPENT, Charge

COST = Guarantee(0.5, 1e-9)


def fail(error: BaseException, charged: bool, budget: str | None, place: Path | None) -> None:
    with Charge(budget, place, None, COST) as charge:
        if charged:
            charge()
        raise error


@pytest.mark.parametrize("error", [BadData("it cannot be read."), EngineMissing("it is gone.")])
def test_what_fails_after_a_charge_says_that_it_is_spent(tmp_path: Path, error: Exception) -> None:
    place = tmp_path / "ledger.sqlite"
    with open_ledger(place) as ledger:
        ledger.create("rows", 1.0, 1e-6, "element")
    with pytest.raises(type(error)):
        fail(error, False, "rows", place)
    with pytest.raises(type(error)):
        fail(error, True, None, None)
    with pytest.raises(ReleaseFailed, match=f"{error} It had been charged"):
        fail(error, True, "rows", place)
    with open_ledger(place) as ledger:
        assert len(ledger.history("rows")) == 1


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(130), MemoryError("none left.")])
def test_an_interruption_after_a_charge_has_a_note_of_it(
    tmp_path: Path, error: BaseException
) -> None:
    place = tmp_path / "ledger.sqlite"
    with open_ledger(place) as ledger:
        ledger.create("rows", 1.0, 1e-6, "element")
    with pytest.raises(type(error)):
        fail(error, False, "rows", place)
    assert not hasattr(error, "__notes__")
    with pytest.raises(type(error)):
        fail(error, True, "rows", place)
    assert error.__notes__ == [SPENT]
