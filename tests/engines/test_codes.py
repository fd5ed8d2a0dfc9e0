"""Short codes of keys: different for each, in the order of the scattered hashes."""

from __future__ import annotations

import numpy as np
import pytest

from tamis.engines.codes import MIXED, Keys, NumberedKeys, Secret

MANY = 50_000
HASHES = np.random.default_rng(3).integers(2**64, size=MANY, dtype=np.uint64)
SECRET = Secret(0x1234567890ABCDEF, 0x9E3779B97F4A7C15, 0xD1B54A32D192ED03)


@pytest.mark.parametrize(
    ("bits", "shared", "slow"),
    [
        (64, False, False),
        (50, False, False),
        (27, True, False),  # about ten share their first bits
        (22, True, False),  # some hundreds
        (16, None, True),  # most
    ],
)
def test_codes_tell_keys_apart_and_are_in_the_order_of_what_is_scattered(
    bits: int, shared: bool | None, slow: bool
) -> None:
    coding = Keys(HASHES).coding(bits, SECRET)
    assert coding is not None
    assert coding.slow == slow
    assert np.array_equal(coding.order, np.argsort(SECRET.scatter(HASHES)))
    assert (coding.codes[1:] > coding.codes[:-1]).all()
    assert int(coding.codes[-1]) < 2**bits
    rows = np.random.default_rng(4).integers(MANY, size=4 * MANY)
    codes = coding.of(HASHES[rows])
    assert np.array_equal(coding.whose(codes), rows)
    if shared is not None:
        first = SECRET.scatter(HASHES) >> np.uint64(64 - bits)
        assert (len(np.unique(first)) < MANY) == shared


@pytest.mark.parametrize("bits", [64, 22, 16])
def test_keys_are_ordered_anew_by_every_secret(bits: int) -> None:
    """What is kept for one secret is not used for the next, also with as many bits."""
    keys = Keys(HASHES)
    for secret in (SECRET, MIXED, Secret.fresh(), SECRET):
        used, fresh = keys.coding(bits, secret), Keys(HASHES).coding(bits, secret)
        assert used is not None
        assert fresh is not None
        assert np.array_equal(used.order, fresh.order)
        assert np.array_equal(used.codes, fresh.codes)
        assert np.array_equal(used.of(HASHES), fresh.of(HASHES))


def test_there_are_no_codes_of_too_few_bits() -> None:
    assert Keys(HASHES).coding(15, SECRET) is None
    assert Keys(HASHES[:1]).coding(0, SECRET) is not None


def test_what_is_no_key_has_no_code_of_one() -> None:
    coding = Keys(HASHES[:1000]).coding(64, SECRET)
    assert coding is not None
    with pytest.raises(ValueError, match="changed while it was read"):
        coding.whose(coding.of(HASHES[1000:]))


def test_keys_that_share_a_hash_follow_each_other_as_they_are_given() -> None:
    keys = NumberedKeys(np.repeat(HASHES[:100], 3))
    coding = keys.coding(20, SECRET)
    assert coding is not None
    codes = coding.of(np.arange(300, dtype=np.uint64)).reshape(100, 3)
    assert (np.diff(codes.astype(np.int64), axis=1) == 1).all()
    assert np.array_equal(np.argsort(codes[:, 0]), np.argsort(SECRET.scatter(HASHES[:100])))
