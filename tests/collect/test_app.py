"""The collector server, in a process of its own, over real connections."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import pytest

from tamis.collect.answers import LONGEST
from tamis.collect.open import open_store
from tamis.collect.serve import serve
from tamis.collect.store import Store
from tamis.federated.device import Device, Specification, opened, unseal
from tamis.privacy.errors import InvalidInput, StoreUnavailable
from tests.collect.conftest import (
    OCTETS,
    Answer,
    Asked,
    Server,
    ask,
    free_port,
    fresh,
    kill,
    running,
    start,
)
from tests.federated.devices import NOW, OPENER, PUBLIC, ROOMY, SIGNER
from tests.privacy.ledger import server as database


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("collector") / "collector.sqlite")


@pytest.fixture(scope="module")
def stored(place: str) -> Iterator[Store]:
    with open_store(place) as store:
        yield store


@pytest.fixture(scope="module")
def served(place: str, stored: Store) -> Iterator[Server]:
    with running(place) as server:
        yield server


@pytest.fixture
def asked(stored: Store) -> Asked:
    return ask(stored)


def sentence(answer: Answer) -> str:
    """The one thing that an error says."""
    assert answer.headers["content-type"] == "application/json"
    said = json.loads(answer.body)
    assert said.keys() == {"error"}
    assert said["error"].endswith(".")
    return str(said["error"])


def on_disk(store: Store, asked: Asked) -> int:
    return sum(1 for _ in store.reports(asked.query, 1))


def wait_for(many: int, store: Store, asked: Asked) -> None:
    until = time.monotonic() + 60
    while on_disk(store, asked) < many:
        assert time.monotonic() < until, "no reports come in"
        time.sleep(0.005)


# --- what is published --------------------------------------------------------------------------


def test_queries_that_are_open_are_published_signed(served: Server, stored: Store) -> None:
    now, later, over = ask(stored), ask(stored, opens=NOW + 30_000), ask(stored, closes=NOW - 10)
    found = json.loads(served.ask("GET", "/queries").body)
    seen = [opened(envelope, SIGNER.public_key()) for envelope in found]
    queries = [specification.query for specification in seen]
    assert queries == sorted(queries)
    assert now.specification in seen
    assert not {later.query, over.query} & set(queries)
    for asked in (now, later, over):
        envelope = json.loads(served.ask("GET", f"/queries/{asked.query}").body)
        assert opened(envelope, SIGNER.public_key()) == asked.specification


def test_the_newest_round_is_published(served: Server, stored: Store, asked: Asked) -> None:
    stored.close_round(asked.query, 1)
    stored.next_round(asked.round(2))
    envelope = json.loads(served.ask("GET", f"/queries/{asked.query}").body)
    assert Specification.read(envelope["specification"]).round == 2
    assert served.post(asked, asked.tokens(1)[0], asked.body()).status == 410
    assert served.post(asked, asked.tokens(1)[0], asked.body(number=2)).status == 201


def test_a_release_is_published_when_it_is_there(
    served: Server, stored: Store, asked: Asked
) -> None:
    path = f"/queries/{asked.query}/release"
    assert served.ask("GET", path).status == 404
    stored.close_round(asked.query, 1)
    assert "not yet" in sentence(served.ask("GET", path))
    stored.release(asked.query, 1, b"PAR1 a file PAR1")
    found = served.ask("GET", path)
    assert (found.status, found.body) == (200, b"PAR1 a file PAR1")
    assert found.headers["content-type"] == "application/vnd.apache.parquet"
    assert served.post(asked, asked.tokens(1)[0], asked.body()).status == 410


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/queries/" + "0" * 32, 404),
        ("GET", "/queries/" + "0" * 32 + "/release", 404),
        ("POST", "/queries/" + "0" * 32 + "/reports", 404),
        ("GET", "/queries/" + "0" * 31, 422),
        ("GET", "/queries/" + "A" * 32, 422),
        ("GET", "/queries/%00%ff" + "0" * 30, 422),
        ("GET", "/nothing", 404),
        ("GET", "/docs", 404),
        ("GET", "/redoc", 404),
        ("GET", "/queries/", 404),
        ("DELETE", "/queries", 405),
        ("GET", "/queries/" + "0" * 32 + "/reports", 405),
    ],
)
def test_what_is_not_there_is_said_in_a_sentence(
    served: Server, method: str, path: str, status: int
) -> None:
    found = served.ask(method, path)
    assert found.status == status
    sentence(found)


def test_a_server_says_nothing_of_itself_but_that_it_runs(served: Server) -> None:
    found = served.ask("GET", "/health")
    assert (found.status, json.loads(found.body)) == (200, {"status": "ok"})
    assert found.headers.keys() == {"date", "content-type", "content-length"}


# --- taking reports -----------------------------------------------------------------------------


def test_a_report_is_taken_and_a_retry_is_the_same(
    served: Server, stored: Store, asked: Asked
) -> None:
    (token,), body = asked.tokens(1), asked.body("or not to be")
    for status in (201, 200, 200):
        found = served.post(asked, token, body)
        assert (found.status, found.body) == (status, b"")
    ((_, held),) = stored.reports(asked.query, 1)
    assert unseal(asked.specification, held, OPENER) == b"or not to be"


def test_a_second_report_is_refused(served: Server, stored: Store, asked: Asked) -> None:
    (one, two), body = asked.tokens(2), asked.body()
    assert served.post(asked, one, body).status == 201
    for token, other in ((one, asked.body()), (one, body[:-1] + b"?"), (two, body)):
        found = served.post(asked, token, other)
        assert found.status == 409
        sentence(found)
    assert [held for _, held in stored.reports(asked.query, 1)] == [body]


def test_a_device_reports_and_is_counted(
    served: Server, stored: Store, asked: Asked, tmp_path: Path
) -> None:
    device = Device(served.url, PUBLIC, tmp_path / "state", ROOMY)
    (token,) = asked.whole_tokens(1)
    assert asked.specification in device.queries()
    for _ in range(2):
        device.report(asked.query, "the", token)
    assert on_disk(stored, asked) == 1


@pytest.mark.parametrize(("opens", "closes", "status"), [(-60, 0, 410), (9000, 9999, 425)])
def test_outside_of_the_window_nothing_is_taken(
    served: Server, stored: Store, opens: int, closes: int, status: int
) -> None:
    asked = ask(stored, opens=NOW + opens, closes=NOW + closes)
    found = served.post(asked, asked.tokens(1)[0], asked.body())
    assert found.status == status
    sentence(found)
    assert on_disk(stored, asked) == 0


# --- what is refused ----------------------------------------------------------------------------


def forged(asked: Asked, other: Asked) -> list[str | None]:
    (token,), (foreign,) = asked.tokens(1), other.tokens(1)
    flipped = ("B" if token[0] == "A" else "A") + token[1:]
    ended = token[:-1] + ("B" if token[-1] == "A" else "A")
    cut = [f"Bearer {token[:-1]}", f"Bearer {token}A", f"Bearer {token}==", "Bearer", "Bearer "]
    schemes = [token, f"Basic {token}", f"Token {token}", f"Bearer{token}"]
    texts = [f"Bearer {made}" for made in (flipped, ended, foreign, "A" * 64, "é" * 64)]
    return [None, "", *cut, *schemes, *texts]


def test_without_a_token_of_the_query_nothing_is_taken(
    served: Server, stored: Store, asked: Asked
) -> None:
    for header in forged(asked, ask(stored)):
        named = {} if header is None else {"Authorization": header.encode().decode("latin-1")}
        found = served.ask("POST", asked.path, asked.body(), Content_Type=OCTETS, **named)
        assert found.status == 401, header
        assert found.headers["www-authenticate"] == "Bearer"
        sentence(found)
    assert on_disk(stored, asked) == 0


def test_every_character_of_a_token_counts(served: Server, stored: Store, asked: Asked) -> None:
    (token,), body = asked.tokens(1), asked.body()
    for at, was in enumerate(token):
        changed = token[:at] + ("A" if was != "A" else "B") + token[at + 1 :]
        assert served.post(asked, changed, body).status == 401
    assert on_disk(stored, asked) == 0
    assert served.post(asked, token, body).status == 201


@pytest.mark.parametrize("content_type", ["", "text/plain", "application/json", "multipart/x"])
def test_other_types_are_refused(served: Server, asked: Asked, content_type: str) -> None:
    (token,) = asked.tokens(1)
    headers = {"Authorization": f"Bearer {token}", "Content_Type": content_type}
    found = served.ask("POST", asked.path, asked.body(), **headers)
    assert found.status == 415
    sentence(found)


def wrong(asked: Asked) -> dict[str, bytes]:
    body = asked.body()
    return {
        "nothing": b"",
        "no round": body[:17],
        "only a head": body[:18],
        "a byte less": body[:-1],
        "a byte more": body + b"\0",
        "as long as can be": body.ljust(LONGEST, b"\0"),
        "round 0": body[:16] + bytes(2) + body[18:],
        "round 2": body[:16] + b"\0\2" + body[18:],
        "no id": bytes(16) + body[16:],
    }


def test_wrong_sizes_rounds_and_ids_are_refused(
    served: Server, stored: Store, asked: Asked
) -> None:
    (token,) = asked.tokens(1)
    for name, body in wrong(asked).items():
        found = served.post(asked, token, body)
        assert found.status == 422, name
        sentence(found)
    assert on_disk(stored, asked) == 0
    assert served.post(asked, token, asked.body()).status == 201


@pytest.mark.parametrize("size", [LONGEST + 1, 100_000, 1_000_000])
@pytest.mark.parametrize("chunked", [False, True])
def test_bodies_over_the_cap_are_cut_off(
    served: Server, stored: Store, asked: Asked, size: int, chunked: bool
) -> None:
    pieces = (bytes(1000) for _ in range(size // 1000 + 1))
    found = served.post(asked, asked.tokens(1)[0], pieces if chunked else bytes(size))
    assert found.status == 413
    sentence(found)
    assert on_disk(stored, asked) == 0


def test_an_endless_body_is_not_read_to_its_end(served: Server, asked: Asked) -> None:
    (token,) = asked.tokens(1)
    head = (
        f"POST {asked.path} HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: {OCTETS}\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", served.port), timeout=10) as link:
        link.sendall(head.encode())
        assert megabytes(link) < 32
    assert served.ask("GET", "/health").status == 200


def megabytes(link: socket.socket) -> int:
    """How many of them are sent until the other side hangs up, or 256."""
    piece = b"%x\r\n%b\r\n" % (1 << 20, bytes(1 << 20))
    for sent in range(256):
        try:
            link.sendall(piece)
        except ConnectionError:
            return sent
    return 256


def test_whoever_hangs_up_in_the_middle_is_forgotten(
    served: Server, stored: Store, asked: Asked
) -> None:
    (token,), body = asked.tokens(1), asked.body()
    head = (
        f"POST {asked.path} HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: {OCTETS}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    for part in (b"", body[:50]):
        with socket.create_connection(("127.0.0.1", served.port)) as link:
            link.sendall(head.encode() + part)
    assert served.post(asked, token, body).status == 201
    assert on_disk(stored, asked) == 1


TLS_HELLO = bytes.fromhex("16030100c8010000c40303") + bytes(range(194))
UPGRADE = b"GET /health HTTP/1.1\r\nHost: here\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"


def test_garbage_on_the_port_is_not_worth_a_word(place: str, stored: Store) -> None:
    """That nothing was said to whoever runs the server is seen when it has ended."""
    with running(place) as server:
        for garbage in (b"\0\xff\r\n\r\n" * 9, TLS_HELLO, b"HELO here\r\n\r\n", bytes(70_000)):
            assert b" 400 " in answered(server, garbage).partition(b"\r\n")[0]
        assert b" 200 " in answered(server, UPGRADE).partition(b"\r\n")[0]
        assert server.ask("GET", "/health").status == 200


def answered(server: Server, sent: bytes) -> bytes:
    """The beginning of what the server says to these bytes."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as link:
        link.sendall(sent)
        return link.recv(4096)


def test_no_answer_repeats_what_was_sent(served: Server, stored: Store, asked: Asked) -> None:
    marked = b"whistleblower"
    (token,) = asked.tokens(1)
    bodies = [marked * n for n in (1, 2, 8, 1000)] + [asked.body()[:18] + marked * 6]
    answers = [served.post(asked, token, body) for body in bodies]
    answers.append(served.post(asked, marked.decode() * 5, asked.body()))
    answers.append(served.ask("GET", "/queries/" + marked.decode()))
    answers.append(served.ask("POST", f"{asked.path}?{marked.decode()}", marked))
    for answer in answers:
        assert 400 <= answer.status < 500
        assert marked not in answer.body
        assert token.encode() not in answer.body


# --- starting, failing and coming back ----------------------------------------------------------


def test_a_server_that_cannot_start_says_why(served: Server, tmp_path: Path) -> None:
    good = str(tmp_path / "collector.sqlite")
    for where, port, said in (
        (good, served.port, "is taken by another program"),
        (good, 70_000, "from 0 to 65535"),
        (str(tmp_path / "none" / "here.sqlite"), 0, "does not exist"),
        ("postgresql://someone:hunter2@127.0.0.1:1/none", 0, "cannot be reached"),
    ):
        with pytest.raises((InvalidInput, StoreUnavailable), match=said) as caught:
            serve(where, port=port)
        assert "hunter2" not in str(caught.value)


def test_a_server_of_postgres_takes_reports_and_comes_back(postgres: Path) -> None:
    where = fresh(postgres)
    others = "FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = 'postgres'"
    with open_store(where) as store:
        asked = ask(store)
    (one, two), (first, second) = asked.tokens(2), (asked.body(), asked.body())
    with running(where, told="went away") as server:
        assert server.post(asked, one, first).status == 201
        database.execute(where, f"SELECT pg_terminate_backend(pid) {others}")
        assert [server.ask("GET", "/queries").status for _ in range(2)] == [503, 200]
        refused = server.post(asked, two, second)
        assert refused.status == 503
        assert int(refused.headers["retry-after"]) > 0
        assert "postgres" not in sentence(refused).lower()
        assert server.post(asked, two, second).status == 201
    with open_store(where) as store:
        assert sorted(body for _, body in store.reports(asked.query, 1)) == sorted([first, second])


def test_a_server_that_is_told_to_stop_settles_what_it_has(place: str, stored: Store) -> None:
    asked = ask(stored)
    with running(place) as server:
        sent = [(token, asked.body()) for token in asked.tokens(100)]
        with ThreadPoolExecutor(8) as pool:
            answers = [pool.submit(deliver, server.port, asked, *each, once=True) for each in sent]
            wait_for(10, stored, asked)
            server.process.terminate()
        taken = [each.result() for each in answers]
    assert on_disk(stored, asked) == taken.count(201)
    assert set(taken) <= {0, 201, 503}


def deliver(port: int, asked: Asked, token: str, body: bytes, once: bool = False) -> int:
    """Sends until there is an answer; 0 if it may be sent once, and there was none."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": OCTETS}
    until = time.monotonic() + 60
    while time.monotonic() < until:
        link = HTTPConnection("127.0.0.1", port, timeout=10)
        try:
            link.request("POST", asked.path, body, headers)
            status = link.getresponse().status
            if once or status != 503:
                return status
        except (OSError, HTTPException):
            if once:
                return 0
            time.sleep(0.05)
        finally:
            link.close()
    return 0


def test_kill_9_loses_no_report_that_was_taken_and_counts_none_twice(
    place: str, stored: Store
) -> None:
    asked, port = ask(stored), free_port()
    sent = [(token, asked.body()) for token in asked.tokens(500)]
    server = start(place, port)
    try:
        with ThreadPoolExecutor(8) as pool:
            answers = [pool.submit(deliver, port, asked, *each) for each in sent[:400]]
            for kill_after in (100, 300):
                wait_for(kill_after, stored, asked)
                kill(server)
                assert kill_after <= on_disk(stored, asked) <= 400
                server = start(place, port)
            answers += [pool.submit(deliver, port, asked, *each) for each in sent[400:]]
            statuses = [each.result() for each in answers]
    finally:
        kill(server)
    assert set(statuses) <= {200, 201}
    assert statuses.count(201) >= 500 - 2 * 8  # at most those under way had to be sent again
    held = [body for _, body in stored.reports(asked.query, 1)]
    assert held == sorted(body for _, body in sent)
