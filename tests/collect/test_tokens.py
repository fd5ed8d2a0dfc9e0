"""Enrolment tokens: who has one, and who has made one up."""

from __future__ import annotations

import base64
import os
import string

import pytest

from tamis.collect.tokens import issue, opened_token, public_part, secret_of
from tamis.federated.device import Refused, token_parts
from tamis.privacy.errors import InvalidInput

KEY, QUERY, OTHER = bytes(range(32)), "0" * 32, "f" * 32
PUBLIC = public_part(KEY)


def shown(count: int) -> list[str]:
    """What the server sees of new tokens."""
    return [token_parts(token)[0] for token in issue(KEY, QUERY, count)]


def test_tokens_are_144_characters_that_need_no_quoting() -> None:
    allowed = set(string.ascii_letters + string.digits + "-_")
    for token in issue(KEY, QUERY, 100):
        assert len(token) == 144
        assert set(token) <= allowed


def test_every_token_has_a_nonce_of_its_own() -> None:
    nonces = [opened_token(PUBLIC, QUERY, token) for token in shown(1000)]
    assert None not in nonces
    assert {len(nonce or b"") for nonce in nonces} == {84}
    assert len(set(nonces)) == 1000


def test_a_token_is_for_one_query_and_one_key() -> None:
    (token,) = shown(1)
    assert opened_token(PUBLIC, QUERY, token) is not None
    assert opened_token(PUBLIC, OTHER, token) is None
    assert opened_token(public_part(bytes(32)), QUERY, token) is None


def test_no_character_of_a_token_can_be_changed() -> None:
    (token,) = shown(1)
    for place, letter in enumerate(token):
        other = "A" if letter != "A" else "B"
        assert opened_token(PUBLIC, QUERY, token[:place] + other + token[place + 1 :]) is None


@pytest.mark.parametrize(
    "token",
    ["", "A" * 111, "A" * 113, "A" * 112, "é" * 112, "A" * 110 + "==", "A" * 111 + "\n", "+/" * 56],
)
def test_what_is_no_token_has_no_nonce(token: str) -> None:
    assert opened_token(PUBLIC, QUERY, token) is None


def test_a_token_can_be_written_in_one_way_only() -> None:
    (token,) = shown(1)
    raw = base64.urlsafe_b64decode(token)
    for other in (f"{token}=", f" {token}", f"{token}\n", token[:32] + "\n" + token[32:]):
        assert opened_token(PUBLIC, QUERY, other) is None
    assert base64.urlsafe_b64encode(raw).decode() == token


def test_the_secret_of_a_token_follows_from_what_is_shown_and_the_key_alone() -> None:
    tokens = issue(KEY, QUERY, 100)
    secrets = set()
    for token in tokens:
        seen, secret = token_parts(token)
        raw = opened_token(PUBLIC, QUERY, seen)
        assert raw is not None
        assert secret_of(KEY, QUERY, raw) == secret
        assert secret_of(bytes(32), QUERY, raw) != secret
        assert secret_of(KEY, OTHER, raw) != secret
        assert secret_of(PUBLIC, QUERY, raw) != secret
        secrets.add(secret)
    assert len(secrets) == 100


@pytest.mark.parametrize("count", [0, -1, 1.5, True])
def test_the_number_of_tokens_is_whole(count: int) -> None:
    with pytest.raises(InvalidInput, match="count"):
        issue(KEY, QUERY, count)


def test_a_short_key_and_a_bad_query_are_refused() -> None:
    with pytest.raises(InvalidInput, match="32 random bytes"):
        issue(b"", QUERY, 1)
    with pytest.raises(Refused, match="32 hex digits"):
        issue(os.urandom(32), "query", 1)
