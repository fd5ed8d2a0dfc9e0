"""The collector server: it publishes signed specifications, and takes sealed reports.

It holds no key that opens a report, keeps no address, and answers with no total.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path as FilePath
from typing import Annotated

from fastapi import APIRouter, FastAPI, HTTPException, Path, Request, Security
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse, Response
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from tamis.collect import answers
from tamis.collect.answers import LONGEST, declared
from tamis.collect.intake import Intake
from tamis.collect.open import Connection
from tamis.collect.records import Report
from tamis.collect.tokens import opened_token
from tamis.federated.device import HEAD

PARQUET = "application/vnd.apache.parquet"
_PATIENT = 1 << 20  # bytes of a body that is too long which are read and thrown away
_DESCRIPTION = """
Devices fetch signed specifications here, and post sealed reports: one for each token and round, all
of one size, whether they hold an answer or not. Only the aggregator, which is another program, can
open them, after the window of a round has closed. Every error is `{"error": "<sentence>"}`.
"""
_BINARY = {"type": "string", "format": "binary"}
_BODY = {
    "required": True,
    "description": "The report id (16 random bytes), the number of the round (2 bytes, big "
    "endian), and the sealed report; the specification says how many bytes that are.",
    "content": {"application/octet-stream": {"schema": {**_BINARY, "maxLength": LONGEST}}},
}
_FILE: answers.Declared = {
    200: {"description": "The release file.", "content": {PARQUET: {"schema": _BINARY}}}
}
_AGAIN: answers.Declared = {200: {"description": "The same report was taken before."}}

QueryId = Annotated[
    str,
    Path(
        alias="id",
        pattern="^[0-9a-f]{32}$",
        description="The id of a query.",
        examples=["0123456789abcdef0123456789abcdef"],
    ),
]
_bearer = HTTPBearer(auto_error=False, description="An enrolment token of the query.")
Bearer = Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)]
router = APIRouter(generate_unique_id_function=lambda route: route.name)


class Service:
    """What a running server holds: a connection for questions, and the writer."""

    def __init__(self, where: str | FilePath, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.reader = Connection(where)
        self.intake = Intake(where, clock)
        self._token_keys: dict[str, bytes] = {}

    async def close(self) -> None:
        await self.intake.close()
        self.reader.close()

    async def token_key(self, query: str) -> bytes:
        if query not in self._token_keys:
            found = await run_in_threadpool(self.reader.ask, lambda store: store.query(query))
            if found is None:
                raise HTTPException(404, answers.UNKNOWN)
            self._token_keys[query] = found.token_key
        return self._token_keys[query]


def create_app(where: str | FilePath, clock: Callable[[], float] = time.time) -> FastAPI:
    """The server of the database at ``where``; ``clock`` says when windows open and close."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.service = Service(where, clock)
        try:
            yield
        finally:
            await app.state.service.close()

    app = FastAPI(
        title="tamis collector",
        description=_DESCRIPTION,
        version=version("tamis"),
        docs_url=None,  # these pages load programs from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        routes=router.routes,
        lifespan=lifespan,
    )
    answers.answer_errors(app)
    return app


@router.post(
    "/queries/{id}/reports",
    status_code=201,
    response_class=Response,
    response_description="The report was taken, and is on the disk.",
    responses=_AGAIN
    | declared(
        (401, answers.NO_TOKEN),
        (401, answers.FORGED),
        (404, answers.UNKNOWN),
        (413, answers.TOO_LONG),
        (415, answers.OTHER_TYPE),
        (422, answers.BAD_ID),
        (422, answers.BAD_REPORT),
        *answers.REFUSALS.values(),
    ),
    openapi_extra={"requestBody": _BODY},
    tags=["reports"],
)
async def send_report(request: Request, query: QueryId, bearer: Bearer) -> Response:
    """Takes a sealed report. The same one may be sent again, and counts once."""
    service: Service = request.app.state.service
    token = _token(await service.token_key(query), query, bearer)
    if _media_type(request) != "application/octet-stream":
        raise HTTPException(415, answers.OTHER_TYPE)
    report = _report(query, token, await _body(request))
    return answers.settled(await service.intake.take(report))


@router.get(
    "/queries", response_model=list[answers.Envelope], responses=declared(), tags=["queries"]
)
def list_queries(request: Request) -> Response:
    """The envelopes of all rounds that are open now, in the order of their queries."""
    service: Service = request.app.state.service
    rounds = service.reader.ask(lambda store: store.open_rounds(service.clock()))
    return _json("[" + ", ".join(each.envelope for each in rounds) + "]")


@router.get(
    "/queries/{id}",
    response_model=answers.Envelope,
    responses=declared((404, answers.UNKNOWN), (422, answers.BAD_ID)),
    tags=["queries"],
)
def read_query(request: Request, query: QueryId) -> Response:
    """The envelope of a query's newest round, open or not."""
    service: Service = request.app.state.service
    newest = service.reader.ask(lambda store: store.newest(query))
    if newest is None:
        raise HTTPException(404, answers.UNKNOWN)
    return _json(newest.envelope)


@router.get(
    "/queries/{id}/release",
    response_class=Response,
    responses=_FILE | declared((404, answers.NO_RELEASE), (422, answers.BAD_ID)),
    tags=["queries"],
)
def read_release(request: Request, query: QueryId) -> Response:
    """The release file of a query, once it has been released."""
    service: Service = request.app.state.service
    file = service.reader.ask(lambda store: store.release_file(query))
    if file is None:
        raise HTTPException(404, answers.NO_RELEASE)
    return Response(file, media_type=PARQUET)


@router.get("/health", response_model=answers.Health, responses=declared(), tags=["server"])
def health(request: Request) -> Response:
    """Whether the server can read its database."""
    service: Service = request.app.state.service
    service.reader.ask(lambda store: store.check_version())
    return JSONResponse({"status": "ok"})


def _json(text: str) -> Response:
    return Response(text, media_type="application/json")


def _token(key: bytes, query: str, bearer: HTTPAuthorizationCredentials | None) -> bytes:
    wanted = {"WWW-Authenticate": "Bearer"}
    if bearer is None:
        raise HTTPException(401, answers.NO_TOKEN, wanted)
    token = opened_token(key, query, bearer.credentials)
    if token is None:
        raise HTTPException(401, answers.FORGED, wanted)
    return token


def _media_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def _body(request: Request) -> bytes:
    """Cut off at the cap, whatever its length is said to be.

    A little more is read and thrown away, so that whoever sends it comes to hear the answer.
    """
    pieces, size = [], 0
    async for piece in request.stream():
        size += len(piece)
        if size <= LONGEST:
            pieces.append(piece)
        elif size > _PATIENT:
            break
    if size > LONGEST:
        raise HTTPException(413, answers.TOO_LONG, {"Connection": "close"})
    return b"".join(pieces)


def _report(query: str, token: bytes, body: bytes) -> Report:
    report, number = body[:16], int.from_bytes(body[16:HEAD], "big")
    if len(body) < HEAD or not any(report):
        raise HTTPException(422, answers.BAD_REPORT)
    return Report(query, number, token, report, body)
