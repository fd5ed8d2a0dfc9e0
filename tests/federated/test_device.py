"""The formats of a device: specifications, answers, coins and sealed reports."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from tamis.federated import device
from tamis.federated.calibrate import PARTS, highest_rate
from tamis.federated.device import (
    LONGEST_ANSWER,
    Refused,
    Specification,
    answer,
    body_size,
    highest_parts,
    kept,
    opened,
    seal,
    sign,
    unseal,
)
from tests.federated.devices import OPENER, SIGNER, asked, halved, searched

ID = bytes(range(16))
WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=10)


def test_a_device_needs_only_the_standard_library_and_cryptography() -> None:
    nodes = list(ast.walk(ast.parse(Path(str(device.__file__)).read_text())))
    plain = {name.name for node in nodes if isinstance(node, ast.Import) for name in node.names}
    parts = {node.module or "." for node in nodes if isinstance(node, ast.ImportFrom)}
    found = {name.split(".")[0] for name in plain | parts}
    assert found - sys.stdlib_module_names == {"cryptography"}


# --- specifications -----------------------------------------------------------------------------


@pytest.mark.parametrize("made", [asked(), searched(), halved()])
def test_a_specification_is_what_was_signed(made: Specification) -> None:
    envelope = json.loads(json.dumps(sign(made, SIGNER)))
    assert opened(envelope, SIGNER.public_key()) == made


def test_a_specification_that_was_changed_is_refused() -> None:
    envelope = sign(asked(), SIGNER)
    text = envelope["specification"].replace('"tau": 14', '"tau": 13')
    assert text != envelope["specification"]
    with pytest.raises(Refused, match="not signed"):
        opened({**envelope, "specification": text}, SIGNER.public_key())


def test_a_specification_of_somebody_else_is_refused() -> None:
    with pytest.raises(Refused, match="not signed"):
        opened(sign(asked(), Ed25519PrivateKey.generate()), SIGNER.public_key())


def test_the_signature_is_checked_before_anything_is_read() -> None:
    envelope = {"specification": "[" * 100_000, "signature": "A" * 86 + "=="}
    with pytest.raises(Refused, match="not signed"):
        opened(envelope, SIGNER.public_key())


@pytest.mark.parametrize(
    "envelope",
    [
        None,
        [],
        {},
        {"specification": "{}"},
        {"specification": "{}", "signature": ""},
        {"specification": "{}", "signature": 7},
        {"specification": "{}", "signature": "A" * 87 + "="},
        {"specification": "{}", "signature": "A" * 85 + "é=="},
        {"specification": None, "signature": "A" * 86 + "=="},
        {"specification": "{}", "signature": "A" * 86 + "==", "more": 1},
    ],
)
def test_what_is_no_envelope_is_refused(envelope: object) -> None:
    with pytest.raises(Refused):
        opened(envelope, SIGNER.public_key())


BAD: dict[str, list[Any]] = {
    "query": ["", "0" * 31, "0" * 33, "A" * 32, "g" * 32, 5, None],
    "kind": ["mean", "", 1, None, ["histogram"], "heavy hitters", "quantiles"],
    "question": [None, 5, "two\nlines", "\x1b[2J", "\ud800"],
    "round": [0, -1, 2, 1.0, "1", True, None],
    "rounds": [0, 65536, 1.5, True],
    "epsilon": [0, -1.0, 1001, "1", None, True, float("nan"), float("inf")],
    "delta": [0, -1e-6, 1.5, "1e-6", float("nan")],
    "neighbours": ["", "remove", None],
    "parts": [0, -1, PARTS, int(0.633 * PARTS), 0.25, True],  # 1 - 1/e is 0.632
    "tau": [0, -3, 14.0, "14", 1 << 21],
    "schema": [
        None,
        {},
        {"type": "text"},
        {"type": "text", "bytes": 0},
        {"type": "text", "bytes": LONGEST_ANSWER + 1},
        {"type": "text", "bytes": 40, "domain": 3},
        {"type": "integer", "domain": 0},
        {"type": "integer", "domain": -1},
        {"type": "integer", "domain": True},
        {"type": "integer", "domain": (1 << 63) + 1},
        {"type": "integer", "bytes": 40},
        {"type": "float", "domain": 5},
    ],
    "task": [None, [], {"cuts": [1]}, {"length": 3}],
    "opens": [-1, 1.5, "now", 1 << 41],
    "closes": [0, 5.5, None, 1 << 41],
    "seal": ["", "AAAA", None, 5, "*" * 44],
    "size": [0, 42, 3 + LONGEST_ANSWER + 1, 43.0],
}


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, values in BAD.items() for v in values])
def test_a_specification_that_makes_no_sense_is_refused(name: str, value: object) -> None:
    with pytest.raises(Refused):
        asked(**{name: value})
    found = {**json.loads(asked().text()), name: value}
    with pytest.raises(Refused):
        Specification.read(json.dumps(found))


@pytest.mark.parametrize(
    "task",
    [
        {},
        {"length": 3, "known": 2},
        {"length": 0, "known": 0, "prefixes": []},
        {"length": 42, "known": 0, "prefixes": []},
        {"length": 2, "known": 2, "prefixes": ["th"]},
        {"length": 3, "known": 2, "prefixes": []},
        {"length": 3, "known": 0, "prefixes": ["th"]},
        {"length": 3, "known": 2, "prefixes": ["the"]},
        {"length": 3, "known": 2, "prefixes": [""]},
        {"length": 3, "known": 2, "prefixes": ["th", "th"]},
        {"length": 3, "known": 2, "prefixes": "th"},
        {"length": 3, "known": 2, "prefixes": [3]},
        {"length": 3, "known": 2, "prefixes": ["th"], "more": 1},
    ],
)
def test_a_search_that_makes_no_sense_is_refused(task: dict[str, Any]) -> None:
    with pytest.raises(Refused):
        searched(task=task)


@pytest.mark.parametrize(
    "cuts", [[], None, [0], [1024], [512, 256], [256, 256], [1.5], [True], "1"]
)
def test_cuts_that_make_no_sense_are_refused(cuts: object) -> None:
    with pytest.raises(Refused):
        halved(task={"cuts": cuts})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "{}",
        "[" * 5000,
        "9" * 5000,
        asked().text().replace('"tamis": 1', '"tamis": 2'),
        asked().text().replace('"tamis": 1', '"other": 1'),
        asked().text().replace('"tau": 14', '"tau": 14, "tau": 14'),
        asked().text().replace('"tau": 14', '"tau": 14, "more": 1'),
        asked().text().replace(', "tau": 14', ""),
        asked().text() + " " * (1 << 20),
    ],
)
def test_text_that_is_no_specification_is_refused(text: str) -> None:
    with pytest.raises(Refused):
        Specification.read(text)


@pytest.mark.parametrize("epsilon", [1e-9, 0.01, 0.1, 1.0, 5.0, 22.0, 1000.0])
def test_the_highest_rate_is_the_one_of_the_calibration(epsilon: float) -> None:
    assert highest_parts(epsilon) == min(highest_rate(Fraction(repr(epsilon))), PARTS - 1)


# --- answers ------------------------------------------------------------------------------------


def test_a_histogram_counts_whole_items() -> None:
    assert answer(asked(), "thé") == "thé".encode()
    assert answer(asked(), "") == b""
    numbers = asked(schema={"type": "integer", "domain": 1024})
    assert [answer(numbers, item) for item in (0, 7, 1023)] == [b"0", b"7", b"1023"]


@pytest.mark.parametrize(
    ("item", "said"),
    [
        ("the", b"the"),
        ("theme", b"the"),
        ("th", b"th\0"),  # the whole word
        ("t", None),
        ("", None),
        ("of", None),
        ("anémone", "ané".encode()),
    ],
)
def test_a_search_asks_for_one_letter_more_of_known_prefixes(item: str, said: bytes | None) -> None:
    assert answer(searched(), item) == said


def test_a_search_begins_with_every_word() -> None:
    first = searched(task={"length": 1, "known": 0, "prefixes": []})
    assert [answer(first, item) for item in ("the", "é", "")] == [b"t", "é".encode(), b"\0"]


def test_a_word_that_is_complete_is_not_asked_for_again() -> None:
    task = {"length": 4, "known": 3, "prefixes": ["th\0", "the", "a\0"]}
    found = [answer(searched(task=task), item) for item in ("th", "the", "them", "a")]
    assert found == [None, b"the\0", b"them", None]


@pytest.mark.parametrize(
    ("item", "said"), [(0, b"0"), (255, b"0"), (256, b"1"), (511, b"1"), (767, b"2"), (1023, b"3")]
)
def test_quantiles_ask_between_which_cuts_an_item_lies(item: int, said: bytes) -> None:
    assert answer(halved(), item) == said


@pytest.mark.parametrize("item", ["x" * 41, "é" * 21, "a\0b", "\ud800", 5, None, b"the"])
def test_an_item_that_is_no_short_text_is_refused_without_being_shown(item: Any) -> None:
    for made in (asked(), searched()):
        with pytest.raises(Refused, match="the item must") as caught:
            answer(made, item)
        assert str(item) not in str(caught.value)


@pytest.mark.parametrize("item", [np.int64(300), np.uint16(300), np.array(300)], ids=repr)
def test_whole_numbers_of_numpy_are_whole_numbers(item: Any) -> None:
    assert answer(halved(), item) == b"1"
    numbers = asked(schema={"type": "integer", "domain": 1024})
    assert answer(numbers, item) == b"300"


@pytest.mark.parametrize(
    "item",
    [
        *(-1, 1024, 5.0, "5", True, None),
        *(np.int64(-1), np.int64(1024), np.float64(5), np.True_, np.array([5]), np.array([5, 6])),
    ],
    ids=repr,
)
def test_an_item_outside_its_domain_is_refused(item: Any) -> None:
    with pytest.raises(Refused, match="from 0 to 1023"):
        answer(halved(), item)


@given(WORDS, st.integers(1, 11))
def test_every_answer_fits_into_a_report(word: str, length: int) -> None:
    task = {"length": length, "known": 0, "prefixes": []}
    most = device.longest_answer("heavy hitters", {"type": "text", "bytes": 40}, task)
    made = searched(task=task, size=3 + most)
    said = answer(made, word)
    assert said is not None
    assert len(said) <= most
    assert unseal(made, seal(made, ID, said), OPENER) == said


# --- coins --------------------------------------------------------------------------------------


def coins(made: Specification, many: int = 100_000) -> np.ndarray:
    """The coins of so many devices, the same in every run."""
    secrets = (hashlib.sha256(n.to_bytes(4, "big")).digest() for n in range(many))
    return np.array([kept(made, secret) for secret in secrets])


def off(found: np.ndarray, p: float) -> float:
    """How many standard deviations the share is away from p."""
    return float(abs(found.mean() - p) / np.sqrt(p * (1 - p) / len(found)))


def test_coins_have_the_stated_law_and_are_fresh_in_every_round_and_query() -> None:
    first, p = asked(rounds=2), 0.25
    tossed = coins(first)
    assert off(tossed, p) < 4
    assert off(tossed, 1.05 * p) > 4  # a law that is off by a twentieth would be seen
    for other in (asked(round=2, rounds=2), asked(query="f" * 32)):
        again = coins(other)
        assert off(again, p) < 4
        assert off(tossed & again, p * p) < 4
        assert off(tossed & tossed, p * p) > 4


def test_a_device_has_one_coin_however_often_it_asks() -> None:
    for secret in (os.urandom(32) for _ in range(100)):
        assert len({kept(asked(), secret) for _ in range(20)}) == 1


def test_whoever_is_kept_is_kept_at_every_higher_rate() -> None:
    low, high = coins(asked(parts=PARTS // 10), 2000), coins(asked(parts=PARTS // 2), 2000)
    assert not (low & ~high).any()


def test_the_coin_is_the_one_of_the_design() -> None:
    secret, made = bytes(range(32)), asked()
    place = b"tamis coin\0" + bytes.fromhex(made.query) + b"\0\1"
    pads = [bytes(b ^ pad for b in secret.ljust(64, b"\0")) for pad in (0x36, 0x5C)]
    inner = hashlib.sha256(pads[0] + place).digest()
    word = int.from_bytes(hashlib.sha256(pads[1] + inner).digest()[:4], "big")
    assert kept(asked(parts=word), secret) is False
    assert kept(asked(parts=word + 1), secret) is True


# --- reports ------------------------------------------------------------------------------------


@pytest.mark.parametrize("said", [None, b"", b"the", b"x" * 40])
def test_what_was_sealed_is_opened(said: bytes | None) -> None:
    assert unseal(asked(), seal(asked(), ID, said), OPENER) == said


def test_all_reports_of_a_round_have_the_same_size() -> None:
    bodies = [seal(asked(), os.urandom(16), said) for said in (None, b"", b"the", b"x" * 40)]
    assert {len(body) for body in bodies} == {body_size(asked())} == {16 + 2 + 43 + 48}
    assert body_size(asked(size=100)) == 16 + 2 + 100 + 48


def test_a_report_says_its_id_and_round_and_nothing_else_is_the_same_twice() -> None:
    made = asked(round=2, rounds=300)
    one, other = seal(made, ID, None), seal(made, ID, None)
    assert one[:18] == other[:18] == ID + b"\0\2"
    assert one[18:50] != other[18:50]
    assert one[50:] != other[50:]


def test_a_report_that_was_touched_cannot_be_opened() -> None:
    body = seal(asked(), ID, b"the")
    for place in range(len(body)):
        touched = bytearray(body)
        touched[place] ^= 1
        with pytest.raises(Refused):
            unseal(asked(), bytes(touched), OPENER)


def test_a_report_opens_in_its_own_place_only() -> None:
    made = asked(rounds=3, round=2)
    body = seal(made, ID, b"the")
    assert unseal(made, body, OPENER) == b"the"
    for other in (asked(rounds=3, round=3), asked(rounds=3, round=2, query="f" * 32)):
        moved = body[:16] + other.round.to_bytes(2, "big") + body[18:]
        with pytest.raises(Refused, match="cannot be opened"):
            unseal(other, moved, OPENER)
    with pytest.raises(Refused, match="another round"):
        unseal(asked(rounds=3, round=3), body, OPENER)
    with pytest.raises(Refused, match="cannot be opened"):
        unseal(made, os.urandom(16) + body[16:], OPENER)


def test_only_the_aggregator_opens_a_report() -> None:
    with pytest.raises(Refused, match="cannot be opened"):
        unseal(asked(), seal(asked(), ID, b"the"), X25519PrivateKey.generate())


@pytest.mark.parametrize("cut", [0, 1, 17, 18, 60, 108])
def test_a_report_of_the_wrong_size_is_refused(cut: int) -> None:
    body = seal(asked(), ID, b"the")
    for wrong in (body[:cut], body + bytes(cut + 1)):
        with pytest.raises(Refused, match="size"):
            unseal(asked(), wrong, OPENER)


@pytest.mark.parametrize(
    "plain",
    [
        b"\2\0\3the",  # neither an answer nor null
        b"\0\0\3the",  # null, with an answer
        b"\1\0\2the",  # more after the answer
        b"\1\xff\xff" + b"x" * 40,  # longer than it is
        b"\0\0\0x",
    ],
)
def test_a_sealed_report_of_another_form_is_refused(plain: bytes) -> None:
    made = asked()
    info = b"tamis report\0" + bytes.fromhex(made.query) + b"\0\1" + ID
    sealed = device._SUITE.encrypt(plain.ljust(made.size, b"\0"), OPENER.public_key(), info=info)
    with pytest.raises(Refused, match="form"):
        unseal(made, ID + b"\0\1" + sealed, OPENER)


def test_what_cannot_be_sealed_is_refused() -> None:
    with pytest.raises(Refused, match="at most 40 bytes"):
        seal(asked(), ID, b"x" * 41)
    with pytest.raises(Refused, match="16 bytes"):
        seal(asked(), ID[1:], None)
    with pytest.raises(Refused, match="not a key"):
        seal(asked(seal="A" * 43 + "="), ID, None)
