"""What a device is given: limits, addresses, pauses. What makes no sense is refused at once."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tamis import federated
from tamis.federated import device as module
from tamis.federated.device import Device, Limits, Refused
from tests.federated.devices import PUBLIC, ROOMY

NO_NUMBERS: list[Any] = [
    "1",
    None,
    True,
    [1],
    1j,
    float("nan"),
    float("inf"),
    -float("inf"),
    10**400,
]


def made(**changes: Any) -> Device:
    usual = {"server": "https://example.org", "signer": PUBLIC, "state": "state", "limits": ROOMY}
    return Device(**{**usual, **changes})


# --- limits -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["epsilon", "delta", "lifetime_epsilon", "lifetime_delta"])
@pytest.mark.parametrize("value", [*NO_NUMBERS, 0, -1, -1e-9], ids=repr)
def test_a_limit_that_is_no_positive_number_is_refused(name: str, value: Any) -> None:
    with pytest.raises(Refused, match=f"^the limit {name} must be a number above 0 and at most"):
        replace(ROOMY, **{name: value})


@pytest.mark.parametrize("name", ["delta", "lifetime_delta"])
def test_a_limit_of_delta_is_at_most_one(name: str) -> None:
    most: dict[str, Any] = {name: 1}
    more: dict[str, Any] = {name: 1.0000001}
    assert getattr(replace(ROOMY, **most), name) == 1
    with pytest.raises(Refused, match=f"the limit {name} must be .* at most 1"):
        replace(ROOMY, **more)


@pytest.mark.parametrize("value", [*NO_NUMBERS, 0, -3, 2.5, 14.0, 1 << 21], ids=repr)
def test_the_limit_of_tau_is_a_whole_number_from_one_on(value: Any) -> None:
    with pytest.raises(Refused, match=r"^the limit tau must be a whole number from 1 to"):
        replace(ROOMY, tau=value)
    assert replace(ROOMY, tau=1).tau == 1


def test_a_lifetime_may_be_shorter_than_one_query() -> None:
    assert Limits(1, 1e-6, 10, lifetime_epsilon=0.5, lifetime_delta=1e-7).lifetime_epsilon == 0.5


def test_numbers_of_numpy_are_limits_like_others() -> None:
    given = Limits(np.float64(0.1), np.float64(1e-6), np.int64(10), np.int32(4), np.float64(1e-5))  # type: ignore[arg-type]
    assert given == Limits(0.1, 1e-6, 10, 4, 1e-5)
    assert repr(given) == repr(Limits(0.1, 1e-6, 10, 4, 1e-5))  # lifetimes are summed from these


# --- the rest -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["skew", "jitter", "wait", "patience"])
def test_pauses_are_not_negative(name: str) -> None:
    for value in (*NO_NUMBERS, -1, -0.001):
        with pytest.raises(Refused, match=f"^{name} must be a number not below 0 and at most"):
            made(**{name: value})
    for value in (0, 2, 0.5, np.float64(0.5), np.int64(2)):
        assert getattr(made(**{name: value}), name) == value


@pytest.mark.parametrize("value", [*NO_NUMBERS, 0, -1, 1e7], ids=repr)
def test_a_timeout_is_positive_and_one_that_sockets_can_keep(value: Any) -> None:
    with pytest.raises(Refused, match=r"^timeout must be a number above 0 and at most"):
        made(timeout=value)


@pytest.mark.parametrize("value", [*NO_NUMBERS, 0, -1, 1.5, 6.0, 1001], ids=repr)
def test_tries_are_a_whole_number_from_one_on(value: Any) -> None:
    with pytest.raises(Refused, match=r"^tries must be a whole number from 1 to 1000"):
        made(tries=value)
    assert made(tries=np.int64(3)).tries == 3


@pytest.mark.parametrize(
    "server",
    [
        None,
        5,
        b"https://example.org",
        ["https://example.org"],
        "https://",
        "https:///queries",
        "https://:8000",
        "https:example.org",
        "https://example.org:port",
        "https://example.org:99999",
        "https://[::1",
        "https://a..b",
        "https://" + "a" * 64 + ".org",
        "https://exam ple.org",
        "https://example.org\n",
        "https://example.org/\0",
        "https://example.org/é",
        "https://example.org/?a=1",
        "https://example.org/#a",
        "https://user:word@example.org",
        "http://127.0.0.1.example.org",
    ],
    ids=repr,
)
def test_a_server_that_is_no_address_with_a_host_is_refused(server: Any) -> None:
    with pytest.raises(Refused, match=r"^server must be an https address with a host"):
        made(server=server)


@pytest.mark.parametrize(
    "server",
    [
        "https://example.org",
        "https://example.org:8443/collector/",
        "HTTPS://Example.org",
        "https://bücher.example",
        "https://[2001:db8::1]:8000",
        "http://127.0.0.1:8000",
        "http://[::1]:8000",
        "http://localhost",
    ],
)
def test_addresses_with_https_or_of_this_machine_are_taken(server: str) -> None:
    assert made(server=server).server == server


@pytest.mark.parametrize(
    ("name", "value"), [("signer", None), ("signer", b"A" * 44), ("state", None), ("state", 5)]
)
def test_what_is_no_key_or_no_path_is_refused(name: str, value: Any) -> None:
    with pytest.raises(Refused, match=f"^{name} must be"):
        made(**{name: value})


@pytest.mark.parametrize("limits", [None, {}, (4, 1e-5, 10, 100, 1e-3)])
def test_a_device_without_limits_is_refused(limits: Any) -> None:
    with pytest.raises(Refused, match=r"^limits must be"):
        made(limits=limits)


# --- names --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["Device", "Limits", "Refused", "Unreachable"])
def test_what_a_program_on_a_device_names_is_in_the_federated_part(name: str) -> None:
    assert name in federated.__all__
    assert getattr(federated, name) is getattr(module, name)


def test_a_device_starts_without_what_it_does_not_need() -> None:
    code = "from tamis.federated import Device, Limits, Refused, Unreachable; import sys; "
    heavy = "[name for name in ('numpy', 'scipy', 'pyarrow', 'duckdb') if name in sys.modules]"
    run = [sys.executable, "-c", f"{code}print({heavy})"]
    found = subprocess.run(run, capture_output=True, text=True, check=True, timeout=60)
    assert found.stdout.strip() == "[]"
