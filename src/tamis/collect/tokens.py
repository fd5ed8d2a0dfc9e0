"""Enrolment tokens: each lets one client take part in one query, once in every round.

A token is a nonce, the aggregator's signature of it for this query, and a secret that follows from
the nonce and a key of the aggregator. A client shows the first two: the server can check them, and
make none. It seals its reports with the secret, which the server never sees: so whoever runs the
server can leave reports out, but cannot put others in their place. Who was handed which token is
not known here.
"""

from __future__ import annotations

import base64
import hmac
import os
import re

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from tamis.federated.device import query_bytes
from tamis.privacy.errors import InvalidInput
from tamis.privacy.guarantee import check_bound

NONCE = 20  # bytes; with a signature of 64 they need no padding, and can be written in one way
KEY = 32
_SECRET = 24

_FORM = re.compile(r"[A-Za-z0-9_-]{112}")


def public_part(key: bytes) -> bytes:
    """What a server needs to check tokens."""
    return _private(key).public_key().public_bytes_raw()


def issue(key: bytes, query: str, count: int) -> list[str]:
    """New tokens for a query."""
    private, bound = _private(key), _bound(query)
    nonces = [os.urandom(NONCE) for _ in range(check_bound("count", count))]
    signed = (nonce + private.sign(bound + nonce) for nonce in nonces)
    whole = (raw + secret_of(key, query, raw) for raw in signed)
    return [base64.urlsafe_b64encode(raw).decode() for raw in whole]


def secret_of(key: bytes, query: str, raw: bytes) -> bytes:
    """The secret of a token, from the bytes that are shown of it."""
    place = b"tamis secret\0" + query_bytes(query) + raw[:NONCE]
    return hmac.digest(key, place, "sha256")[:_SECRET]


def opened_token(public: bytes, query: str, token: str) -> bytes | None:
    """The bytes of what is shown of a token; None if it is forged, or of another query."""
    if not _FORM.fullmatch(token):
        return None
    raw = base64.urlsafe_b64decode(token)
    return raw if is_token(public, query, raw) else None


def is_token(public: bytes, query: str, raw: bytes) -> bool:
    """Whether these bytes are a token that the aggregator has issued for this query."""
    key = Ed25519PublicKey.from_public_bytes(public)
    try:
        key.verify(raw[NONCE:], _bound(query) + raw[:NONCE])
    except InvalidSignature:
        return False
    return True


def _private(key: bytes) -> Ed25519PrivateKey:
    if len(key) != KEY:
        raise InvalidInput(f"a token key must be {KEY} random bytes.")
    return Ed25519PrivateKey.from_private_bytes(key)


def _bound(query: str) -> bytes:
    return b"tamis token\0" + query_bytes(query)
