"""A device at work: what it sends, what it refuses, and what it remembers."""

from __future__ import annotations

import base64
import json
import os
import time
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tamis.federated import device as module
from tamis.federated.calibrate import PARTS
from tamis.federated.device import (
    Device,
    Refused,
    Specification,
    Unreachable,
    least_delta,
    sign,
    unseal,
)
from tamis.federated.profile import added
from tests.federated.devices import (
    DROP,
    LOSE,
    OPENER,
    PUBLIC,
    QUERY,
    ROOMY,
    SECRET,
    SIGNER,
    TOKEN,
    Collector,
    asked,
    device,
    halved,
    searched,
    serving,
    state,
)

ALWAYS = int(0.63 * module.PARTS)
NEVER = 1  # one device in 2^32 is kept
OTHER = "f" * 32


@pytest.fixture
def collector() -> Iterator[Collector]:
    with serving() as found:
        yield found


def settle(folder: Path, made: Specification, wanted: bool) -> None:
    """Give the device a secret whose coin is known."""
    secret = next(s for s in iter(lambda: os.urandom(32), b"") if module.kept(made, s) is wanted)
    content = {"tamis": 1, "secret": secret.hex(), "queries": {}}
    (folder / "state").write_text(json.dumps(content))


# --- what is sent -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "item", "said"),
    [
        (asked(), "the", b"the"),
        (searched(), "them", b"the"),
        (halved(), 300, b"1"),
        (halved(), np.int64(300), b"1"),
    ],
)
def test_a_device_that_is_kept_sends_its_answer(
    collector: Collector, tmp_path: Path, made: Specification, item: str | int, said: bytes
) -> None:
    settle(tmp_path, made, True)
    collector.show(made)
    device(collector, tmp_path).report(QUERY, item, TOKEN)
    ((path, headers, body),) = collector.sent
    assert path == f"/queries/{QUERY}/reports"
    assert headers["Authorization"] == f"Bearer {TOKEN[:112]}"
    assert headers["Content-Type"] == "application/octet-stream"
    assert unseal(made, body, OPENER, SECRET) == said


@pytest.mark.parametrize(("made", "item"), [(asked(), "the"), (searched(), "of")])
def test_a_device_that_is_not_kept_or_has_nothing_to_say_sends_null(
    collector: Collector, tmp_path: Path, made: Specification, item: str
) -> None:
    settle(tmp_path, made, made.kind != "histogram")
    collector.show(made)
    device(collector, tmp_path).report(QUERY, item, TOKEN)
    assert unseal(made, collector.sent[0][2], OPENER, SECRET) is None


def test_neither_network_nor_state_tell_what_the_coin_said(
    collector: Collector, tmp_path: Path
) -> None:
    collector.show(asked())
    seen = []
    for wanted in (True, False):
        folder = tmp_path / str(wanted)
        folder.mkdir()
        settle(folder, asked(), wanted)
        device(collector, folder).report(QUERY, "the", str(wanted).ljust(144, "x"))
        path, headers, body = collector.sent.pop()
        headers.pop("Authorization")
        record = state(folder)
        record.pop("secret")
        seen.append((path, headers, len(body), record))
    assert seen[0] == seen[1]


def test_one_device_has_the_same_coin_in_every_process(
    collector: Collector, tmp_path: Path
) -> None:
    """However often its reports are lost, it never tosses again: ten tosses would show a client."""
    collector.show(asked())
    for _ in range(20):
        collector.faults = [503]
        with pytest.raises(Unreachable):
            device(collector, tmp_path, tries=1).report(QUERY, "the", TOKEN)
    assert len({body for _, _, body in collector.sent}) == 1


def test_every_round_has_a_report_of_its_own(collector: Collector, tmp_path: Path) -> None:
    for number in (1, 2, 3):
        collector.show(asked(rounds=3, round=number))
        device(collector, tmp_path).report(QUERY, "the", TOKEN)
    assert [int.from_bytes(body[16:18], "big") for _, _, body in collector.sent] == [1, 2, 3]
    assert len({body[:16] for _, _, body in collector.sent}) == 3
    assert len(collector.taken) == 3


# --- trying again -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "faults",
    [
        [500],
        [503, 502, 504, 429],
        [DROP],
        [LOSE],
        [DROP, 500, LOSE, DROP, 503],
    ],
)
def test_a_report_is_tried_again_with_the_same_bytes_and_taken_once(
    collector: Collector, tmp_path: Path, faults: list[str | int]
) -> None:
    collector.show(asked())
    collector.faults = list(faults)
    device(collector, tmp_path).report(QUERY, "the", TOKEN)
    assert len(collector.sent) == len(faults) + 1
    assert len({body for _, _, body in collector.sent}) == 1
    assert len(collector.taken) == 1


def test_a_report_that_was_taken_is_not_sent_again(collector: Collector, tmp_path: Path) -> None:
    collector.show(asked())
    for item in ("the", "the", "other"):
        device(collector, tmp_path).report(QUERY, item, TOKEN)
    assert len(collector.sent) == 1


def test_the_number_of_attempts_is_bounded(collector: Collector, tmp_path: Path) -> None:
    collector.show(asked())
    collector.faults = [503] * 100
    with pytest.raises(Unreachable, match="report again later"):
        device(collector, tmp_path, tries=4).report(QUERY, "the", TOKEN)
    assert len(collector.sent) == 4


def test_the_time_of_attempts_is_bounded(collector: Collector, tmp_path: Path) -> None:
    collector.show(asked())
    collector.faults = [503] * 100
    with pytest.raises(Unreachable):
        device(collector, tmp_path, tries=100, wait=0.05, patience=0.3).report(QUERY, "the", TOKEN)
    assert 1 <= len(collector.sent) <= 5  # pauses of at least 0.025, 0.05, 0.1 and 0.2 seconds


def test_a_server_that_is_not_there_can_be_tried_later(
    collector: Collector, tmp_path: Path
) -> None:
    collector.show(asked())
    with serving() as gone:
        pass
    with pytest.raises(Unreachable):
        device(gone, tmp_path, tries=2).report(QUERY, "the", TOKEN)
    assert not (tmp_path / "state").exists()
    device(collector, tmp_path).report(QUERY, "the", TOKEN)
    assert len(collector.taken) == 1


@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        (401, "token"),
        (404, "does not know"),
        (409, "has been used"),
        (410, "has closed"),
        (413, "status 413"),
        (422, "status 422"),
        (425, "not open yet"),
        (204, "status 204"),
    ],
)
def test_what_the_server_refuses_is_not_tried_again(
    collector: Collector, tmp_path: Path, status: int, sentence: str
) -> None:
    collector.show(asked())
    collector.faults = [status]
    with pytest.raises(Refused, match=sentence):
        device(collector, tmp_path).report(QUERY, "the", TOKEN)
    assert len(collector.sent) == 1


def test_a_token_that_another_device_has_used_is_refused(
    collector: Collector, tmp_path: Path
) -> None:
    collector.show(asked())
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        folder.mkdir()
    device(collector, folders[0]).report(QUERY, "the", TOKEN)
    with pytest.raises(Refused, match="has been used"):
        device(collector, folders[1]).report(QUERY, "the", TOKEN)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_token_is_not_carried_to_another_address(
    collector: Collector, tmp_path: Path, status: int
) -> None:
    collector.show(asked())
    collector.faults = [status]
    with pytest.raises(Refused, match=f"status {status}"):
        device(collector, tmp_path).report(QUERY, "the", TOKEN)
    assert len(collector.sent) == 1


def test_where_a_redirection_leads_is_not_even_read(collector: Collector, tmp_path: Path) -> None:
    collector.show(asked())
    collector.faults = [302]
    mine = device(collector, tmp_path)
    collector.address = "http://["  # the place it names is no address
    with pytest.raises(Refused, match="status 302"):
        mine.report(QUERY, "the", TOKEN)


def test_a_fleet_does_not_report_at_one_moment(collector: Collector, tmp_path: Path) -> None:
    collector.show(asked())
    waited = []
    for _ in range(8):
        start = time.monotonic()
        device(collector, tmp_path, jitter=0.1).report(QUERY, "the", TOKEN)
        waited.append(time.monotonic() - start)
    assert max(waited) - min(waited) > 0.01  # all eight within a tenth of it: once in 10^6


# --- what is refused ----------------------------------------------------------------------------


def test_queries_that_are_signed_are_shown(collector: Collector, tmp_path: Path) -> None:
    collector.show(asked(), halved(query=OTHER))
    collector.shown["bad"] = {**collector.shown[QUERY], "signature": "A" * 86 + "=="}
    collector.shown["worse"] = None
    assert device(collector, tmp_path).queries() == [asked(), halved(query=OTHER)]


def test_a_device_with_the_wrong_signer_is_told_so(collector: Collector, tmp_path: Path) -> None:
    mine = device(collector, tmp_path)
    assert mine.queries() == []  # nothing is asked, and that is no fault
    stranger = Ed25519PrivateKey.generate()
    for query in (QUERY, OTHER):
        collector.shown[query] = sign(asked(query=query), stranger)
    with pytest.raises(Refused, match="nothing that the server shows is signed by the signer of"):
        mine.queries()
    collector.show(asked(query=OTHER))
    assert mine.queries() == [asked(query=OTHER)]


def test_what_is_signed_but_not_understood_is_no_fault_of_the_signer(
    collector: Collector, tmp_path: Path
) -> None:
    text = asked().text().replace('"tamis": 1', '"tamis": 2')
    signature = base64.b64encode(SIGNER.sign(text.encode())).decode()
    collector.shown[QUERY] = {"specification": text, "signature": signature}
    assert device(collector, tmp_path).queries() == []


@pytest.mark.parametrize(
    ("limits", "sentence"),
    [
        ({"epsilon": 0.5}, "asks for epsilon 1; this device allows at most 0.5"),
        ({"delta": 1e-7}, "asks for delta 1e-06; this device allows at most 1e-07"),
        ({"tau": 15}, "asks for tau 14; this device allows no less than 15"),
        ({"lifetime_epsilon": 0.9}, "epsilon 1; of the 0.9 that .* lifetime, 0 is spent"),
        ({"lifetime_delta": 1e-7}, "delta 1e-06; of the 1e-07"),
    ],
)
def test_a_query_beyond_the_limits_is_refused_and_nothing_is_sent(
    collector: Collector, tmp_path: Path, limits: dict[str, Any], sentence: str
) -> None:
    collector.show(asked())
    with pytest.raises(Refused, match=sentence):
        device(collector, tmp_path, replace(ROOMY, **limits)).report(QUERY, "the", TOKEN)
    assert not collector.sent
    assert not (tmp_path / "state").exists()


def test_a_lifetime_is_the_sum_of_its_queries_and_counts_each_once(
    collector: Collector, tmp_path: Path
) -> None:
    limits = replace(ROOMY, lifetime_epsilon=0.3)
    mine = device(collector, tmp_path, limits)
    for n in range(3):  # three tenths are three tenths, whatever floats say
        for number in (1, 2):
            query = f"{n:032x}"
            collector.show(asked(query=query, epsilon=0.1, parts=NEVER, rounds=2, round=number))
            mine.report(query, "the", TOKEN)
    collector.show(asked(query=OTHER, epsilon=0.1, parts=NEVER))
    with pytest.raises(Refused, match=r"of the 0\.3 that .*, 0\.3 is spent"):
        mine.report(OTHER, "the", TOKEN)
    assert len(collector.taken) == 6


def test_the_coin_does_not_change_what_is_charged(collector: Collector, tmp_path: Path) -> None:
    for wanted in (True, False):
        folder = tmp_path / str(wanted)
        folder.mkdir()
        settle(folder, asked(), wanted)
        collector.show(asked(), asked(query=OTHER))
        mine = device(collector, folder, replace(ROOMY, lifetime_epsilon=1.5))
        mine.report(QUERY, "the", str(wanted).ljust(144, "x"))
        with pytest.raises(Refused, match="1 is spent"):
            mine.report(OTHER, "the", TOKEN)


def test_it_is_charged_before_anything_is_sent(collector: Collector, tmp_path: Path) -> None:
    collector.show(asked(), asked(query=OTHER))
    collector.faults = [503]
    mine = device(collector, tmp_path, replace(ROOMY, lifetime_epsilon=1.5), tries=1)
    with pytest.raises(Unreachable):
        mine.report(QUERY, "the", TOKEN)
    with pytest.raises(Refused, match="1 is spent"):
        mine.report(OTHER, "the", TOKEN)
    mine.report(QUERY, "the", TOKEN)  # it is paid for


@pytest.mark.parametrize(("status", "sentence"), [(410, "has closed"), (425, "not open yet")])
def test_a_server_that_says_the_window_is_not_open_takes_no_charge_back(
    collector: Collector, tmp_path: Path, status: int, sentence: str
) -> None:
    """It may have taken the report all the same: what a device has sent may be counted."""
    collector.show(asked(), asked(query=OTHER))
    collector.faults = [status]
    mine = device(collector, tmp_path, replace(ROOMY, lifetime_epsilon=1.5))
    with pytest.raises(Refused, match=sentence):
        mine.report(QUERY, "the", TOKEN)
    with pytest.raises(Refused, match="1 is spent"):
        mine.report(OTHER, "the", TOKEN)
    mine.report(QUERY, "the", TOKEN)  # paid for, and the same report as before
    assert len({body for _, _, body in collector.sent}) == 1
    assert len(collector.sent) == 2


def test_a_round_whose_specification_changes_is_refused(
    collector: Collector, tmp_path: Path
) -> None:
    collector.show(searched())
    mine = device(collector, tmp_path)
    mine.report(QUERY, "the", TOKEN)
    collector.show(searched(task={"length": 3, "known": 2, "prefixes": ["th"]}))
    with pytest.raises(Refused, match="specification of this round has changed"):
        mine.report(QUERY, "the", TOKEN)
    assert len(collector.sent) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": 1.1},
        {"delta": 2e-6},
        {"parts": PARTS // 5},
        {"tau": 15},
        {"seal": base64.b64encode(bytes(range(32))).decode()},
        {"rounds": 3},
        {"question": "Which name?"},
        {"neighbours": "replace"},
        {"schema": {"type": "text", "bytes": 39}},
        {"kind": "heavy hitters", "task": {"length": 1, "known": 0, "prefixes": []}},
    ],
)
def test_a_later_round_with_other_terms_is_refused(
    collector: Collector, tmp_path: Path, change: dict[str, Any]
) -> None:
    mine = device(collector, tmp_path)
    collector.show(asked(rounds=2))
    mine.report(QUERY, "the", TOKEN)
    collector.show(asked(**{"rounds": 2, "round": 2, **change}))
    with pytest.raises(Refused, match=f"the query has changed its {next(iter(change))}"):
        mine.report(QUERY, "the", TOKEN)
    assert len(collector.sent) == 1


@pytest.mark.parametrize("away", [-1000, 1000])
def test_a_device_whose_clock_is_off_says_so_and_sends_nothing(
    collector: Collector, tmp_path: Path, away: float
) -> None:
    collector.show(asked())
    collector.away = away
    mine = device(collector, tmp_path)
    with pytest.raises(Refused, match=r"(999|1000|1001) seconds apart, more than 300"):
        mine.report(QUERY, "the", TOKEN)
    with pytest.raises(Refused, match="seconds apart"):
        mine.queries()
    assert not collector.sent
    assert not (tmp_path / "state").exists()
    device(collector, tmp_path, skew=2000).report(QUERY, "the", TOKEN)


def test_a_server_that_does_not_tell_the_time_gets_nothing(
    collector: Collector, tmp_path: Path
) -> None:
    collector.show(asked())
    collector.date = False
    with pytest.raises(Refused, match="what time it is"):
        device(collector, tmp_path).report(QUERY, "the", TOKEN)
    assert not collector.sent


@pytest.mark.parametrize(
    ("opens", "closes", "sentence"), [(-20, -10, "has closed"), (10, 20, "not open yet")]
)
def test_a_window_that_is_not_open_gets_nothing(
    collector: Collector, tmp_path: Path, opens: int, closes: int, sentence: str
) -> None:
    now = int(time.time())
    collector.show(asked(opens=now + opens, closes=now + closes))
    with pytest.raises(Refused, match=sentence):
        device(collector, tmp_path).report(QUERY, "the", TOKEN)
    assert not (tmp_path / "state").exists()


def test_an_unknown_query_is_refused(collector: Collector, tmp_path: Path) -> None:
    with pytest.raises(Refused, match="does not know"):
        device(collector, tmp_path).report(QUERY, "the", TOKEN)


def test_another_query_than_the_one_asked_for_is_refused(
    collector: Collector, tmp_path: Path
) -> None:
    collector.show(asked(query=OTHER))
    collector.shown[QUERY] = collector.shown[OTHER]
    with pytest.raises(Refused, match="another query"):
        device(collector, tmp_path).report(QUERY, "the", TOKEN)
    assert not collector.sent


@pytest.mark.parametrize("item", ["x" * 41, 5, "a\0"])
def test_of_a_bad_item_only_the_caller_hears_and_the_server_gets_a_null_report(
    collector: Collector, tmp_path: Path, item: str | int
) -> None:
    collector.show(asked())
    with pytest.raises(Refused, match="the item must"):
        device(collector, tmp_path).report(QUERY, item, TOKEN)
    ((_, _, body),) = collector.sent
    assert unseal(asked(), body, OPENER, SECRET) is None


@pytest.mark.parametrize(
    "change", [{"tau": 13}, {"delta": 7e-7}, {"parts": PARTS // 2}, {"epsilon": 0.9}]
)
def test_one_round_that_costs_more_than_it_states_is_refused(
    collector: Collector, tmp_path: Path, change: dict[str, Any]
) -> None:
    collector.show(asked(**change))
    with pytest.raises(Refused, match="but needs more"):
        device(collector, tmp_path).report(QUERY, "the", TOKEN)
    assert not collector.sent


@pytest.mark.parametrize(
    ("p", "tau", "epsilon"), [(0.1, 6, 1.0), (0.25, 14, 1.0), (0.02, 11, 0.1), (0.3, 1, 2.0)]
)
def test_a_device_computes_the_exact_delta_of_one_round(p: float, tau: int, epsilon: float) -> None:
    parts = int(p * PARTS)
    exact = added(Fraction(parts, PARTS), tau, Fraction(repr(epsilon)))
    assert float(least_delta(parts, tau, epsilon)) == pytest.approx(float(exact.high), rel=1e-14)


@pytest.mark.parametrize(
    "token",
    [
        *("", "x" * 143, "x" * 145, "x" * 143 + "\n", "x\r\nHost: y".ljust(144)),
        *(None, 5, b"x" * 144, ["x"] * 144),
    ],
)
def test_a_token_of_another_form_is_not_sent(
    collector: Collector, tmp_path: Path, token: Any
) -> None:
    collector.show(asked())
    with pytest.raises(Refused, match="a token has 144"):
        device(collector, tmp_path).report(QUERY, "the", token)
    assert not collector.sent
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize("server", ["", "example", "file:///etc", "http://example.org", "ftp://x"])
def test_tokens_travel_over_https_only(tmp_path: Path, server: str) -> None:
    with pytest.raises(Refused, match="https"):
        Device(server, PUBLIC, tmp_path / "state", ROOMY)
    Device("https://example.org/collector/", PUBLIC, tmp_path / "state", ROOMY)
    with pytest.raises(Refused, match="signer"):
        Device("https://example.org", "key", tmp_path / "state", ROOMY)
