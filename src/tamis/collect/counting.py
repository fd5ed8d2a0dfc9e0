"""Opening the sealed reports of a round, and counting what may be counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pyarrow as pa
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from tamis.collect.tokens import is_token, public_part, secret_of
from tamis.federated import Histogram, SampleAndThreshold
from tamis.federated.device import Refused, Specification, unseal
from tamis.federated.hitters import END


def counted(
    mechanism: SampleAndThreshold,
    asked: Specification,
    reports: Iterable[tuple[bytes, bytes]],
    opener: X25519PrivateKey,
    issuer: bytes,
    coverage: float,
) -> Histogram:
    """The answers of at least tau clients: of those with a token, and one report of each.

    Null reports, and reports that cannot be opened or answer something else, count for nothing, and
    nothing is said of them. Neither the server nor whoever can write into its database is believed:
    tokens are checked again, a token or an id that is there twice counts once, and a report that
    was not sealed with the secret of its token does not.
    """
    sensible, found, seen = _sensible(asked), list[str](), set[bytes]()
    token_key = public_part(issuer)
    for token, body in reports:
        if token in seen or body[:16] in seen or not is_token(token_key, asked.query, token):
            continue
        seen |= {token, body[:16]}
        try:
            said = unseal(asked, body, opener, secret_of(issuer, asked.query, token))
        except Refused:
            continue
        if said is not None and (answer := _text(said)) is not None and sensible(answer):
            found.append(answer)
    return mechanism.threshold(pa.array(found, pa.large_string()), coverage)


def _text(said: bytes) -> str | None:
    try:
        return said.decode()
    except UnicodeDecodeError:
        return None


def _sensible(asked: Specification) -> Callable[[str], bool]:
    """Whether an answer is one that a client which keeps to the rules may give."""
    if asked.schema["type"] == "integer":
        cuts = asked.task.get("cuts")
        most = asked.schema["domain"] if cuts is None else len(cuts) + 1
        return lambda answer: _is_number(answer, most)
    if asked.kind == "histogram":
        return lambda answer: END not in answer
    length, known = asked.task["length"], asked.task["known"]
    live = frozenset(asked.task["prefixes"])

    def grows(answer: str) -> bool:
        whole = len(answer) == length or (len(answer) < length and answer.endswith(END))
        return whole and END not in answer[:-1] and (not known or answer[:known] in live)

    return grows


def _is_number(answer: str, most: int) -> bool:
    """Digits as a number is written, of one below ``most``."""
    plain = answer.isascii() and answer.isdigit() and len(answer) <= 20
    return plain and str(int(answer)) == answer and int(answer) < most
