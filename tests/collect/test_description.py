"""The description of the server is true: Schemathesis asks all that it allows, and more."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from schemathesis import openapi
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tamis.collect.open import open_store
from tests.collect.conftest import OCTETS, Asked, Server, ask, kill, start
from tests.collect.hooks import REPORT
from tests.federated.devices import NOW

ROOT = Path(__file__).parents[2]
BROKEN = (
    "import os, sys; from tamis.collect import app, serve; "
    "app.opened_token = lambda *_: bytes(84); serve.serve(sys.argv[1], port=0, "
    "ready=lambda _, port: print(port, flush=True))"
)
NOT_HTTP = "WARNING:  Invalid HTTP request received."  # it also sends what is none
CONFORMING = [
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
]
OPERATIONS = {
    "GET /health",
    "GET /queries",
    "GET /queries/{id}",
    "GET /queries/{id}/release",
    "POST /queries/{id}/reports",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("collector") / "collector.sqlite")


@pytest.fixture(scope="module")
def asked(place: str) -> Asked:
    with open_store(place) as store:
        return ask(store)


@pytest.fixture(scope="module")
def released(place: str) -> Asked:
    with open_store(place) as store:
        over = ask(store)
        store.close_round(over.query, 1)
        store.release(over.query, 1, b"PAR1 a file PAR1")
        return over


@pytest.fixture(scope="module")
def served(place: str, asked: Asked, released: Asked) -> Iterator[Server]:
    server = start(place)
    try:
        yield server
    finally:
        server.process.terminate()
        _, said = server.process.communicate(timeout=30)
    assert set(said.splitlines()) <= {NOT_HTTP}


def test_the_description_names_all_and_gives_examples(served: Server) -> None:
    described = json.loads(served.ask("GET", "/openapi.json").body)
    named = {
        f"{method.upper()} {path}": operation
        for path, methods in described["paths"].items()
        for method, operation in methods.items()
    }
    assert named.keys() == OPERATIONS
    for operation in named.values():
        assert operation["description"]
        for status, answer in operation["responses"].items():
            assert answer["description"]
            if int(status) >= 400:
                assert answer["content"]["application/json"]["examples"]
    statuses = named["POST /queries/{id}/reports"]["responses"].keys()
    refusals = {"401", "404", "409", "410", "413", "415", "422", "425", "503"}
    assert statuses == {"200", "201"} | refusals
    assert "totals" not in json.dumps(described)


# --- asking all that is described, and more -----------------------------------------------------


def examine(
    server: Server, folder: Path, config: str, *options: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    (folder / "schemathesis.toml").write_text(config)
    command = [sys.executable, "-m", "schemathesis.cli", "run", f"{server.url}/openapi.json"]
    return subprocess.run(
        [*command, "--max-examples", "10", "--checks", "all", *options],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def places(asked: Asked, released: Asked) -> str:
    return f"""
        parameters = {{ "path.id" = "{asked.query}" }}
        [[operations]]
        include-name = "GET /queries/{{id}}/release"
        parameters = {{ "path.id" = "{released.query}" }}
    """


def authorized(asked: Asked, token: str) -> list[str]:
    return ["--header", f"Authorization: Bearer {token}"]


@pytest.mark.slow
def test_whatever_is_asked_of_any_query_is_answered_as_described(
    served: Server, asked: Asked, tmp_path: Path
) -> None:
    done = examine(served, tmp_path, "", *authorized(asked, asked.tokens(1)[0]))
    assert done.returncode == 0, done.stdout


def test_whatever_is_sent_to_an_open_query_is_answered_as_described(
    served: Server, asked: Asked, released: Asked, tmp_path: Path
) -> None:
    # no description can say what is sealed: most of what has the right form is refused
    less = ["--exclude-checks", "positive_data_acceptance"]
    token = authorized(asked, asked.tokens(1)[0])
    done = examine(served, tmp_path, places(asked, released), *less, *token)
    assert done.returncode == 0, done.stdout


def test_a_good_report_is_taken_with_its_token_only(
    served: Server, asked: Asked, released: Asked, tmp_path: Path
) -> None:
    done = examine_good(served, asked, released, tmp_path)
    assert done.returncode == 0, done.stdout


def examine_good(
    server: Server, asked: Asked, released: Asked, folder: Path
) -> subprocess.CompletedProcess[str]:
    """With one report that is good, and what is not a token."""
    options = ["--mode", "positive", "--phases", "fuzzing", *authorized(asked, asked.tokens(1)[0])]
    return examine(
        server,
        folder,
        places(asked, released),
        *options,
        SCHEMATHESIS_HOOKS="tests.collect.hooks",
        **{REPORT: asked.body().hex()},
    )


@pytest.mark.slow
def test_a_server_that_takes_any_token_would_be_found_out(
    place: str, asked: Asked, released: Asked, tmp_path: Path
) -> None:
    broken = start(place, code=BROKEN)
    try:
        done = examine_good(broken, asked, released, tmp_path)
    finally:
        kill(broken)
    assert done.returncode == 1
    assert "API accepts invalid authentication" in done.stdout


def test_every_answer_to_a_report_is_as_described(
    place: str, served: Server, asked: Asked, released: Asked
) -> None:
    with open_store(place) as store:
        early = ask(store, opens=NOW + 30_000)
    one, two = asked.tokens(2)
    body, other = asked.body(), asked.body()
    post = openapi.from_url(f"{served.url}/openapi.json")["/queries/{id}/reports"]["POST"]
    for query, token, sent, kind, status in (
        (asked, one, body, OCTETS, 201),
        (asked, one, body, OCTETS, 200),
        (asked, "", body, OCTETS, 401),
        (asked, one, other, OCTETS, 409),
        (asked, two, body, OCTETS, 409),
        (released, released.tokens(1)[0], released.body(), OCTETS, 410),
        (early, early.tokens(1)[0], early.body(), OCTETS, 425),
        (asked, two, bytes(10_000), OCTETS, 413),
        (asked, two, other, "text/plain", 415),
        (asked, two, other[:-1], OCTETS, 422),
    ):
        headers = {"Authorization": f"Bearer {token}", "Content-Type": kind}
        place_of = {"id": query.query}
        case = post.Case(path_parameters=place_of, headers=headers, body=sent, media_type=OCTETS)
        response = case.call()
        assert response.status_code == status
        case.validate_response(response, checks=CONFORMING)
