"""Enrolment tokens: each lets one client take part in one query, once in every round.

A token is a nonce, and a proof that whoever holds the key issued it for this query. Who was handed
which token is not known here.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import re

from tamis.federated.device import query_bytes
from tamis.privacy.errors import InvalidInput
from tamis.privacy.guarantee import check_bound

NONCE = 16  # bytes
KEY = 32

_FORM = re.compile(r"[A-Za-z0-9_-]{64}")  # 48 bytes need no padding, and can be written in one way


def issue(key: bytes, query: str, count: int) -> list[str]:
    """New tokens for a query."""
    nonces = [os.urandom(NONCE) for _ in range(check_bound("count", count))]
    return [
        base64.urlsafe_b64encode(nonce + _proof(key, query, nonce)).decode() for nonce in nonces
    ]


def nonce_of(key: bytes, query: str, token: str) -> bytes | None:
    """The nonce of a token of this query; None if it is forged, or of another query."""
    if not _FORM.fullmatch(token):
        return None
    raw = base64.urlsafe_b64decode(token)
    nonce, proof = raw[:NONCE], raw[NONCE:]
    return nonce if hmac.compare_digest(proof, _proof(key, query, nonce)) else None


def _proof(key: bytes, query: str, nonce: bytes) -> bytes:
    if len(key) != KEY:
        raise InvalidInput(f"a token key must be {KEY} random bytes.")
    return hmac.digest(key, b"tamis token\0" + query_bytes(query) + nonce, hashlib.sha256)
