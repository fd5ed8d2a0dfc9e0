"""A guarantee is a frozen value, and refuses what cannot be promised."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from tamis.privacy.errors import InvalidInput
from tamis.privacy.guarantee import NEIGHBOURS, Guarantee

NAN, INF = float("nan"), float("inf")
BAD: dict[str, list[Any]] = {
    "epsilon": [0, -0.0, -1, INF, -INF, NAN, None, "1", True, 1001, [1]],
    "delta": [0, 1, -1e-9, 1.5, INF, NAN, None, "1e-6", True],
    "keys_per_unit": [0, -1, 1.5, 1.0, NAN, None, "4", True],
    "elements_per_key": [0, -1, 1.5, 1.0, NAN, None, "4", True],
}


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, vs in BAD.items() for v in vs])
def test_what_cannot_be_promised_is_refused_by_name(name: str, value: Any) -> None:
    options = {"epsilon": 1.0, "delta": 1e-6, name: value}
    with pytest.raises(InvalidInput, match=rf"^{name} must .* not "):
        Guarantee(**options)


def test_a_guarantee_is_frozen_and_equal_by_value() -> None:
    one = Guarantee(1, 1e-6, 4)
    assert one == Guarantee(1.0, 1e-6, keys_per_unit=4)
    assert hash(one) == hash(Guarantee(1.0, 1e-6, 4))
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.epsilon = 2.0  # type: ignore[misc]


def test_it_is_described_as_it_is_printed() -> None:
    said = Guarantee(0.1, 1e-8, 4, 2, "user_id").describe()
    assert said["epsilon"] == "0.1"
    assert said["delta"] == "1e-08"
    assert (said["keys_per_unit"], said["elements_per_key"], said["unit"]) == (4, 2, "user_id")
    assert said["neighbours"] == NEIGHBOURS
