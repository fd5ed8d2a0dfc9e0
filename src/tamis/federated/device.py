"""A device that reports to a collector: one file, standard library and `cryptography` only.

A query asks every device that takes part for one short answer. A coin that only the device knows
decides whether its answer is counted: if not, it sends a *null report*, which nobody but the
aggregator can tell from an answer. All reports of a round have the same size, and are sealed so
that only the aggregator opens them, after the window has closed.

Everything that a query asks stands in its *specification*, signed by the aggregator. A device
believes no other, and refuses what goes beyond its own `Limits`.
"""

from __future__ import annotations

import base64
import calendar
import hashlib
import hmac
import json
import operator
import os
import re
import sys
import time
import urllib.request
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from decimal import ROUND_CEILING, Context, Decimal, localcontext
from email.utils import parsedate
from fractions import Fraction
from http.client import HTTPException
from itertools import pairwise
from pathlib import Path
from typing import Any, SupportsIndex
from urllib.parse import urlsplit

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

FORMAT = 1  # of specifications, reports and the state of a device
PARTS = 1 << 32  # a coin is one comparison of 32 bits
LONGEST_TEXT = 1 << 20  # of a specification, in bytes
LONGEST_ANSWER = 4096  # in bytes
MOST_TAU = 100_000  # beyond that nobody checks what a query costs
SHOWN = 112  # characters of a token that the server sees
HEAD = 16 + 2  # of a body: the report id and the round
SEALED = 32 + 16  # what sealing adds: a public key of its own, and a tag
KINDS = ("histogram", "heavy hitters", "quantiles")
NEIGHBOURS = ("add or remove", "replace")

_SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_128_GCM)


class Refused(ValueError):
    """A specification, an item or a report cannot be taken as it is; the sentence says why."""


class Unreachable(Exception):
    """The server does not answer now. Report again later: the same report will be sent."""


def need(condition: object, sentence: str) -> None:
    if not condition:
        raise Refused(sentence)


def whole(value: object, name: str, low: int, high: int) -> int:
    if type(value) is int and low <= value <= high:
        return value
    raise Refused(f"{name} must be a whole number from {low} to {high}.")


def plain_int(value: object) -> object:
    """A whole number of another kind, such as one of numpy, as an int; else what was given."""
    if isinstance(value, SupportsIndex) and not isinstance(value, bool):
        with suppress(TypeError):
            return operator.index(value)
    return value


def above(value: object, name: str, most: float, zero: bool = False) -> float:
    found, low = plain_int(value), "not below" if zero else "above"
    if (
        isinstance(found, (int, float))
        and not isinstance(found, bool)
        and (0 < found <= most or (zero and found == 0))
    ):
        return float(found)
    raise Refused(f"{name} must be a number {low} 0 and at most {most:g}.")


def printable(text: object) -> bool:
    return isinstance(text, str) and text.isprintable()


def decoded(text: object, name: str, size: int) -> bytes:
    try:
        found = base64.b64decode(text, validate=True) if isinstance(text, str) else b""
    except ValueError:
        found = b""
    need(len(found) == size, f"{name} must be {size} bytes in base64.")
    return found


# --- specifications -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Specification:
    """What one round of one query asks; refused if it makes no sense.

    In each round a device is kept with probability ``parts`` / 2^32, and an answer is released if
    at least ``tau`` devices that were kept gave it. ``epsilon`` and ``delta`` are promised for all
    ``rounds`` together.
    """

    query: str  # 32 hex digits
    kind: str  # one of KINDS
    question: str  # a sentence for people
    round: int  # from 1 on
    rounds: int  # at most so many
    epsilon: float
    delta: float
    neighbours: str  # one of NEIGHBOURS
    parts: int
    tau: int
    schema: dict[str, Any]  # {"type": "text", "bytes": 40} or {"type": "integer", "domain": 1024}
    task: dict[str, Any]  # {}, {"length": 3, "known": 2, "prefixes": ["th"]} or {"cuts": [256]}
    opens: int  # seconds since 1970, UTC
    closes: int
    seal: str  # base64 of the aggregator's X25519 public key
    size: int  # bytes of an opened report: 3 more than the longest answer

    def __post_init__(self) -> None:
        query_bytes(self.query)
        need(self.kind in KINDS, f"kind must be one of {', '.join(KINDS)}.")
        need(self.neighbours in NEIGHBOURS, f"neighbours must be {' or '.join(NEIGHBOURS)}.")
        need(printable(self.question), "question must be one line of printable text.")
        whole(self.rounds, "rounds", 1, 65535)
        whole(self.round, "round", 1, self.rounds)
        object.__setattr__(self, "epsilon", above(self.epsilon, "epsilon", 1000))
        object.__setattr__(self, "delta", above(self.delta, "delta", 1))
        most = highest_parts(self.epsilon)
        fits = whole(self.parts, "parts", 1, PARTS - 1) <= most
        need(fits, f"parts / 2^32 must be at most 1 - e^-epsilon = {most / PARTS:.6g}.")
        whole(self.tau, "tau", 1, 1 << 20)
        whole(self.opens, "opens", 0, 1 << 40)
        whole(self.closes, "closes", self.opens + 1, 1 << 40)
        decoded(self.seal, "seal", 32)
        least = 3 + longest_answer(self.kind, self.schema, self.task)
        whole(self.size, "size", least, 3 + LONGEST_ANSWER)

    def text(self) -> str:
        text = json.dumps({"tamis": FORMAT, **asdict(self)}, sort_keys=True)
        need(len(text) <= LONGEST_TEXT, f"a specification has at most {LONGEST_TEXT} bytes.")
        return text

    @classmethod
    def read(cls, text: str) -> Specification:
        found, names = read_json(text, LONGEST_TEXT), [field.name for field in fields(cls)]
        need(isinstance(found, dict), "a specification must be a JSON object.")
        need(found.get("tamis") == FORMAT, f"only specifications of form {FORMAT} are understood.")
        need(found.keys() == {"tamis", *names}, f"it must have the fields {', '.join(names)}.")
        return cls(**{name: found[name] for name in names})


def query_bytes(query: object) -> bytes:
    """The 16 bytes of a query id."""
    fits = isinstance(query, str) and len(query) == 32 and set(query) <= set("0123456789abcdef")
    need(fits, "a query id must be 32 hex digits, in small letters.")
    return bytes.fromhex(str(query))


def highest_parts(epsilon: float) -> int:
    """The most parts p with p <= 1 - e^-epsilon: above that, an absent device would show."""
    falls = Fraction(Context(prec=50).exp(Decimal(f"-{epsilon!r}")))
    return min(int((1 - falls) * PARTS), PARTS - 1)


def least_delta(parts: int, tau: int, epsilon: float) -> Fraction:
    """The delta of one round, rounded up a little: Pr[A >= tau] - e^epsilon Pr[B >= tau].

    A counts those kept of one device more than B, and their number is that which tells most.
    """
    need(tau <= MOST_TAU, f"tau is more than {MOST_TAU:,}: what the query costs cannot be checked.")
    # 1 - below may be as small as delta / e^epsilon, and must be known to 40 digits and more.
    exact = Context(prec=160 + int(epsilon), Emin=-(10**9), Emax=10**9)
    growth, p = exact.exp(Decimal(repr(epsilon))), exact.divide(Decimal(parts), Decimal(PARTS))
    with localcontext(exact):
        kept_less = 1 - (1 - p) / growth
        most = max(tau, int(((tau - 1) / kept_less).to_integral_value(ROUND_CEILING)))
        chance, below, odds = (1 - p) ** (most - 1), Decimal(0), p / (1 - p)
        last = chance
        for count in range(tau):  # of `most` - 1 others
            below, last = below + chance, chance
            chance = chance * odds * (most - 1 - count) / (count + 1)
        cost = p * last - (growth - 1) * (1 - below)
        return Fraction(cost + abs(cost) * Decimal("1e-40"))


def longest_answer(kind: str, schema: Any, task: Any) -> int:
    """The most bytes of an answer; refused if kind, schema and task do not go together."""
    need(isinstance(schema, dict) and isinstance(task, dict), "schema and task must be objects.")
    if schema.get("type") == "text" and schema.keys() == {"type", "bytes"}:
        most = whole(schema["bytes"], "bytes", 1, LONGEST_ANSWER - 1)
        if kind == "heavy hitters":
            return min(most + 1, 4 * _prefix_length(task, most + 1))
    else:
        form = schema.get("type") == "integer" and schema.keys() == {"type", "domain"}
        need(form, 'schema: {"type": "text", "bytes": n} or {"type": "integer", "domain": n}.')
        domain = whole(schema["domain"], "domain", 1, 1 << 63)
        if kind == "quantiles":
            return len(str(_buckets(task, domain) - 1))
        most = len(str(domain - 1))
    need(kind == "histogram", "heavy hitters are of text, and quantiles of integers.")
    need(task == {}, "the task of a histogram must be empty.")
    return most


def _prefix_length(task: dict[str, Any], longest: int) -> int:
    need(task.keys() == {"length", "known", "prefixes"}, "task: length, known and prefixes.")
    length = whole(task["length"], "length", 1, longest)
    known, prefixes = whole(task["known"], "known", 0, length - 1), task["prefixes"]
    need(
        isinstance(prefixes, list)
        and all(isinstance(prefix, str) and 1 <= len(prefix) <= known for prefix in prefixes)
        and len(set(prefixes)) == len(prefixes)
        and bool(prefixes) == bool(known),
        "prefixes must be different texts of at most `known` characters, and none if that is 0.",
    )
    return length


def _buckets(task: dict[str, Any], domain: int) -> int:
    cuts = task.get("cuts")
    need(task.keys() == {"cuts"} and isinstance(cuts, list) and cuts, "task: a list of cuts.")
    inside = [whole(cut, "a cut", 1, domain - 1) for cut in cuts or []]
    need(all(a < b for a, b in pairwise(inside)), "cuts must rise.")
    return len(inside) + 1


def read_json(text: str | bytes, most: int) -> Any:
    """JSON in which no name stands twice, which programs would read differently."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        need(len(dict(pairs)) == len(pairs), "a name stands twice in a JSON object.")
        return dict(pairs)

    need(len(text) <= most, f"what was sent has more than {most} bytes.")
    try:
        return json.loads(text, object_pairs_hook=once)
    except Refused:
        raise
    except (ValueError, RecursionError):
        raise Refused("what was sent is not JSON.") from None


def sign(specification: Specification, private: Ed25519PrivateKey) -> dict[str, str]:
    """The envelope of a specification: its text, and a signature of exactly that text."""
    text = specification.text()
    signature = base64.b64encode(private.sign(text.encode())).decode()
    return {"specification": text, "signature": signature}


def opened(envelope: object, public: Ed25519PublicKey) -> Specification:
    """The specification in an envelope; it is read only after its signature has been checked."""
    return Specification.read(signed_text(envelope, public))


def signed_text(envelope: object, public: Ed25519PublicKey) -> str:
    """The text in an envelope, if its signature is good; what it says is not looked at."""
    if not isinstance(envelope, dict) or envelope.keys() != {"specification", "signature"}:
        raise Refused("an envelope must hold a specification and a signature, and nothing else.")
    text, signature = envelope["specification"], decoded(envelope["signature"], "signature", 64)
    if not isinstance(text, str) or not text.isascii():
        raise Refused("a specification must be ASCII text.")
    try:
        public.verify(signature, text.encode())
    except InvalidSignature:
        raise Refused("the specification is not signed by the aggregator of this device.") from None
    return text


# --- answers, coins and reports -----------------------------------------------------------------


def answer(specification: Specification, item: str | SupportsIndex) -> bytes | None:
    """What a device that holds this item answers; None if it has nothing to say."""
    schema, task = specification.schema, specification.task
    if schema["type"] == "integer":
        number = whole(plain_int(item), "the item", 0, schema["domain"] - 1)
        cuts = task.get("cuts")
        return str(number if cuts is None else bisect_right(cuts, number)).encode()
    word = _word(item, schema["bytes"])
    if specification.kind == "histogram":
        return word.encode()
    ended, known = word + "\0", task["known"]
    start = ended[:known]
    if known and (start.endswith("\0") or start not in task["prefixes"]):
        return None
    return ended[: task["length"]].encode()


def _word(item: object, most: int) -> str:
    if not isinstance(item, str) or "\0" in item:
        raise Refused("the item must be text, and have no NUL in it.")
    try:
        size = len(item.encode())
    except UnicodeEncodeError:
        raise Refused("the item must be text that can be written in UTF-8.") from None
    need(size <= most, f"the item must have at most {most} bytes in UTF-8.")
    return item


def kept(specification: Specification, secret: bytes) -> bool:
    """The coin of a device in a round: the same however often it is asked for."""
    word = hmac.digest(secret, b"tamis coin\0" + _place(specification), "sha256")[:4]
    return int.from_bytes(word, "big") < specification.parts


def body_size(specification: Specification) -> int:
    """How many bytes every report of a round has, on the way to the server."""
    return HEAD + specification.size + SEALED


def token_parts(token: object) -> tuple[str, bytes]:
    """What the server sees of a token, and the secret that it does not: reports are sealed with it.

    Whoever has only the first part can spend the token, but not say anything under it.
    """
    if not isinstance(token, str) or not re.fullmatch(r"[A-Za-z0-9_-]{144}", token):
        raise Refused("a token has 144 letters, digits, - or _.")
    return token[:SHOWN], base64.urlsafe_b64decode(token[SHOWN:])


def seal(
    specification: Specification, report: bytes, said: bytes | None, secret: bytes = b""
) -> bytes:
    """A report as it is sent: its id (16 bytes), the round, and what only the aggregator opens.

    Only if ``secret`` is that of the token, which the aggregator knows too, will it be opened.
    """
    need(len(report) == 16, "a report id must be 16 bytes.")
    plain = bytes([said is not None]) + len(said or b"").to_bytes(2, "big") + (said or b"")
    need(len(plain) <= specification.size, f"an answer has at most {specification.size - 3} bytes.")
    plain = plain.ljust(specification.size, b"\0")
    key = X25519PublicKey.from_public_bytes(decoded(specification.seal, "seal", 32))
    try:
        sealed = _SUITE.encrypt(plain, key, info=_bound(specification, report, secret))
    except ValueError:
        raise Refused("seal is not a key that reports can be sealed with.") from None
    return report + specification.round.to_bytes(2, "big") + sealed


def unseal(
    specification: Specification, body: bytes, private: X25519PrivateKey, secret: bytes = b""
) -> bytes | None:
    """The answer in a report, None if it is null; refused if it was not sealed for this place."""
    need(len(body) == body_size(specification), "a report must have the size of its round.")
    report, number, sealed = body[:16], int.from_bytes(body[16:HEAD], "big"), body[HEAD:]
    need(number == specification.round, "the report is of another round.")
    try:
        plain = _SUITE.decrypt(sealed, private, info=_bound(specification, report, secret))
    except (InvalidTag, ValueError):
        raise Refused("the report cannot be opened.") from None
    there, size = plain[0], int.from_bytes(plain[1:3], "big")
    said, rest = plain[3 : 3 + size], plain[3 + size :]
    sound = there <= 1 and (there or not size) and len(said) == size and not any(rest)
    need(sound, "the report has not the form of a report.")
    return said if there else None


def _bound(specification: Specification, report: bytes, secret: bytes) -> bytes:
    """What a seal is bound to, so that a report can be opened in its own place only."""
    return b"tamis report\0" + _place(specification) + report + secret


def _place(specification: Specification) -> bytes:
    return bytes.fromhex(specification.query) + specification.round.to_bytes(2, "big")


# --- the device ---------------------------------------------------------------------------------

TERMS = (
    *("kind", "question", "rounds", "epsilon", "delta", "neighbours", "parts", "tau", "schema"),
    "seal",
)
LONGEST_REPLY = 1 << 24  # of the server, in bytes
REFUSALS = {
    401: "the server does not take this token: it is forged, or of another query.",
    404: "the server does not know this query.",
    409: "this token has been used for another report of this round.",
    410: "the window of this round has closed.",
    425: "the window of this round is not open yet; report again later.",
}


@dataclass(frozen=True)
class Limits:
    """What a device allows: the most of one query, the least tau, and the most of all queries."""

    epsilon: float
    delta: float
    tau: int
    lifetime_epsilon: float
    lifetime_delta: float

    def __post_init__(self) -> None:
        for name in ("epsilon", "delta", "lifetime_epsilon", "lifetime_delta"):
            most = 1.0 if name.endswith("delta") else 1e9
            object.__setattr__(self, name, above(getattr(self, name), f"the limit {name}", most))
        object.__setattr__(self, "tau", whole(plain_int(self.tau), "the limit tau", 1, 1 << 20))

    def check(self, asked: Specification) -> None:
        for name in ("epsilon", "delta"):
            value, most = getattr(asked, name), getattr(self, name)
            said = f"the query asks for {name} {value:g}; this device allows at most {most:g}."
            need(value <= most, said)
        said = f"the query asks for tau {asked.tau}; this device allows no less than {self.tau}."
        need(asked.tau >= self.tau, said)

    def check_lifetime(self, asked: Specification, before: list[dict[str, Any]]) -> None:
        """Plain sums over all queries that the device has taken part in, exact."""
        for name in ("epsilon", "delta"):
            value, most = getattr(asked, name), getattr(self, f"lifetime_{name}")
            spent = sum((Fraction(repr(terms[name])) for terms in before), Fraction())
            need(
                spent + Fraction(repr(value)) <= Fraction(repr(most)),
                f"the query asks for {name} {value:g}; of the {most:g} that this device allows in "
                f"its lifetime, {float(spent):g} is spent.",
            )


@contextmanager
def changed(path: Path) -> Iterator[dict[str, Any]]:
    """The state of a device, for one process at a time to change; on the disk afterwards.

    It holds a secret, and for every query the terms and the reports, sealed. It does not say what
    the coins were, but with the secret they can be tossed again. Without the file, a device forgets
    what it has spent.
    """
    with _told(path):
        need(path.parent.is_dir(), f"the folder {path.parent} of the state is not there: make it.")
        need(not path.is_dir(), f"the state of a device must be a file, and {path} is a folder.")
        handle = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    with open(handle, "rb") as lock:
        with _told(path):
            if sys.platform == "win32":
                msvcrt.locking(lock.fileno(), msvcrt.LK_LOCK, 1)
            else:
                fcntl.flock(lock, fcntl.LOCK_EX)
            state = _state(path)
        yield state
        with _told(path):
            _replace(path, json.dumps(state).encode())


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Errors of the disk become sentences that name the file."""
    try:
        yield
    except OSError as error:
        why = f"{error.filename or path} cannot be read or written: {error.strerror}"
        raise Refused(f"the state of this device is out of reach: {why}.") from None


def _state(path: Path) -> dict[str, Any]:
    """What the file holds; a new state if there is no file, but not in place of a damaged one."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return {"tamis": FORMAT, "secret": os.urandom(32).hex(), "queries": {}}
    try:
        state: dict[str, Any] = read_json(content, 1 << 30)
        need(state["tamis"] == FORMAT and len(bytes.fromhex(state["secret"])) == 32, "its head")
        for known in state["queries"].values():
            need(known["terms"].keys() >= set(TERMS), "its terms")
            above(known["terms"]["epsilon"], "epsilon", 1000)
            above(known["terms"]["delta"], "delta", 1)
            for mine in known["rounds"].values():
                need(len(bytes.fromhex(mine["digest"])) == 32, "a digest")
                bytes.fromhex(mine["body"])
    except (AttributeError, LookupError, TypeError, ValueError):
        raise Refused(f"the state in {path} is damaged: this device reports no more.") from None
    return state


def _replace(path: Path, content: bytes) -> None:
    """Either all of the new content is there, or all of the old, whatever happens."""
    new = path.with_name(path.name + ".new")
    new.unlink(missing_ok=True)
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(new, path)
    if sys.platform != "win32":
        folder = os.open(path.parent, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)


class _AsItIs(urllib.request.HTTPErrorProcessor):
    """A redirection is a reply, not followed: a token is shown to the server it is for only."""

    def http_response(self, request: Any, response: Any) -> Any:
        return response

    https_response = http_response


@dataclass(frozen=True)
class Device:
    """Reports to one server, for one aggregator, within its limits.

    In a program::

        device = Device("https://collector.example", signer, "state.json", limits)
        for asked in device.queries():
            device.report(asked.query, item, token)

    A request is tried ``tries`` times, with pauses that double from ``wait`` seconds on, but not
    longer than ``patience``.
    """

    server: str  # its address, with https
    signer: str  # base64 of the aggregator's Ed25519 public key
    state: str | Path  # a file that no other device has
    limits: Limits
    skew: float = 300.0  # seconds that the clocks of device and server may be apart
    jitter: float = 0.0  # seconds to wait at most at first, so that not all report at once
    tries: int = 6
    wait: float = 1.0
    patience: float = 120.0
    timeout: float = 10.0  # seconds to wait for an answer

    def __post_init__(self) -> None:
        need(_is_address(self.server), "server must be an https address with a host.")
        decoded(self.signer, "signer", 32)
        need(isinstance(self.state, (str, Path)), "state must be the path of a file.")
        need(isinstance(self.limits, Limits), "limits must be the Limits of this device.")
        for name in ("skew", "jitter", "wait", "patience"):
            object.__setattr__(self, name, above(getattr(self, name), name, 1e9, zero=True))
        object.__setattr__(self, "tries", whole(plain_int(self.tries), "tries", 1, 1000))
        object.__setattr__(self, "timeout", above(self.timeout, "timeout", 1e6))

    def queries(self) -> list[Specification]:
        """What is asked now, if it is signed and understood; refused if nothing shown is signed."""
        found, told, signed = self._get("/queries"), [], False
        for envelope in found if isinstance(found, list) else []:
            with suppress(Refused):
                text = signed_text(envelope, self._public())
                signed = True
                told.append(Specification.read(text))
        said = "nothing that the server shows is signed by the signer of this device"
        need(signed or not found, f"{said}: check its key, and the address of the server.")
        return told

    def check(self, specification: Specification) -> None:
        """Refuse what goes beyond the limits of this device, or is not open now.

        Of several rounds only what one of them costs is computed here: a query that spends more
        than it states in one round is refused, and for the rest the aggregator is believed.
        """
        self.limits.check(specification)
        cost = least_delta(specification.parts, specification.tau, specification.epsilon)
        stated = Fraction(repr(specification.delta))
        need(cost <= stated, f"the query states delta {float(stated):g}, but needs more.")
        need(specification.opens <= time.time(), REFUSALS[425])
        need(time.time() < specification.closes, REFUSALS[410])

    def report(self, query: str, item: str | SupportsIndex, token: str) -> None:
        """Report to the newest round of a query, once, however often this is called.

        Whether it is an answer or a null report is told to nobody, not even to the caller. For an
        item that the query cannot hold a null report is sent, so that nobody else sees it, and
        then it is refused.
        """
        query_bytes(query)
        shown, secret = token_parts(token)
        time.sleep(self.jitter * _fraction())
        envelope = self._get(f"/queries/{query}")
        asked = opened(envelope, self._public())
        need(asked.query == query, "the server shows another query than was asked for.")
        self.check(asked)
        digest = hashlib.sha256(envelope["specification"].encode()).hexdigest()
        said, wrong = _said(asked, item)
        if body := self._prepared(asked, digest, said, secret):
            self._asked(f"/queries/{query}/reports", body, shown)
            with changed(Path(self.state)) as state:
                state["queries"][query]["rounds"][str(asked.round)]["body"] = ""
        if wrong is not None:
            raise Refused(f"{wrong} A null report was sent for this round, and it stays.")

    def _public(self) -> Ed25519PublicKey:
        return Ed25519PublicKey.from_public_bytes(base64.b64decode(self.signer))

    def _prepared(
        self, asked: Specification, digest: str, said: bytes | None, secret: bytes
    ) -> bytes:
        """The report to send, made and charged the first time; empty if it has been taken."""
        number = str(asked.round)
        terms = {name: getattr(asked, name) for name in TERMS}
        with changed(Path(self.state)) as state:
            queries = state["queries"]
            if asked.query not in queries:
                before = [known["terms"] for known in queries.values()]
                self.limits.check_lifetime(asked, before)
            # Charged for good, before anything is sent: a server that answers 410 or 425 may have
            # taken the report all the same, so its word takes no charge back. That the window is
            # open was checked before, by the clock of this device.
            known = queries.setdefault(asked.query, {"terms": terms, "rounds": {}})
            for name in TERMS:
                need(known["terms"][name] == terms[name], f"the query has changed its {name}.")
            if number not in known["rounds"]:
                counts = kept(asked, bytes.fromhex(state["secret"]))
                body = seal(asked, os.urandom(16), said if counts else None, secret)
                known["rounds"][number] = {"digest": digest, "body": body.hex()}
            mine = known["rounds"][number]
            need(mine["digest"] == digest, "the specification of this round has changed.")
        return bytes.fromhex(mine["body"])

    def _get(self, path: str) -> Any:
        """What the server shows, if its clock and that of this device agree."""
        date, reply = self._asked(path)
        try:
            away = abs(time.time() - calendar.timegm(parsedate(date) or ()))
        except (TypeError, ValueError, OverflowError):
            raise Refused("the server does not say what time it is; nothing was sent.") from None
        said = f"the clocks of this device and of the server are {away:.0f} seconds apart"
        need(away <= self.skew, f"{said}, more than {self.skew:g}: set them; nothing was sent.")
        return read_json(reply, LONGEST_REPLY)

    def _asked(self, path: str, body: bytes | None = None, token: str = "") -> tuple[str, bytes]:
        """The date and what the server says, tried again for as long as it cannot be reached."""
        end = time.monotonic() + self.patience
        for attempt in range(self.tries):
            if attempt:
                pause = self.wait * 2 ** (attempt - 1) * (0.5 + _fraction() / 2)
                if time.monotonic() + pause > end:
                    break
                time.sleep(pause)
            with suppress(OSError, HTTPException):
                status, date, reply = self._asked_once(path, body, token)
                if status < 500 and status != 429:
                    other = f"the server refuses the request (status {status})."
                    need(status in (200, 201), REFUSALS.get(status, other))
                    return date, reply
        raise Unreachable("the server cannot be reached now; report again later.")

    def _asked_once(self, path: str, body: bytes | None, token: str) -> tuple[int, str, bytes]:
        headers = {"User-Agent": "tamis"}  # the same for all devices
        if body is not None:
            headers["Authorization"] = f"Bearer {token}"
            headers["Content-Type"] = "application/octet-stream"
        request = urllib.request.Request(self.server.rstrip("/") + path, body, headers)
        opener = urllib.request.build_opener(_AsItIs)
        with opener.open(request, timeout=self.timeout) as reply:
            until, found = time.monotonic() + self.timeout, b""
            while len(found) <= LONGEST_REPLY and (piece := reply.read1(1 << 16)):
                found += piece
                if time.monotonic() > until:
                    raise OSError("the answer takes too long")
            return reply.status, reply.headers.get("Date", ""), found


def _is_address(server: object) -> bool:
    """Whether tokens may be sent there: over https, or to this machine."""
    if not isinstance(server, str) or not server.isprintable() or set(server) & set(" ?#@"):
        return False
    try:
        place = urlsplit(server)
        host, port = (place.hostname or "").encode("idna"), place.port
    except ValueError:
        return False
    near = place.scheme == "http" and host in (b"127.0.0.1", b"::1", b"localhost")
    return bool(host) and port != 0 and place.path.isascii() and (near or place.scheme == "https")


def _said(asked: Specification, item: str | SupportsIndex) -> tuple[bytes | None, Refused | None]:
    """The answer, or what is wrong with the item."""
    try:
        return answer(asked, item), None
    except Refused as wrong:
        return None, wrong


def _fraction() -> float:
    """Anything from 0 to 1, for pauses."""
    return int.from_bytes(os.urandom(4), "big") / PARTS
