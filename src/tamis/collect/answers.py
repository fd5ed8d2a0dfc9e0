"""What the server says to devices: a status and a sentence, never anything of what they sent."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException as PlainHTTPException
from starlette.requests import ClientDisconnect

from tamis.collect.intake import Overloaded
from tamis.collect.records import Outcome
from tamis.federated.device import HEAD, LONGEST_ANSWER, SEALED
from tamis.privacy.errors import StoreUnavailable

LONGEST = HEAD + 3 + LONGEST_ANSWER + SEALED  # bytes of a report: the cap
PAUSE = "2"  # seconds after which a device may try again
Declared = dict[int | str, dict[str, Any]]  # answers by status, as FastAPI describes them

UNKNOWN = "There is no query with this id; see /queries for those that are open."
NO_TOKEN = "This needs the enrolment token of the query: Authorization: Bearer <token>."
FORGED = "This token was not issued for this query; ask whoever enrolled this device for another."
NO_RELEASE = "There is no release of this query, or not yet; try again after its last round."
OTHER_TYPE = "A report is sent as Content-Type: application/octet-stream."
TOO_LONG = f"A report has at most {LONGEST} bytes; what was sent is longer."
BAD_ID = "The id of a query is 32 hex digits, in small letters."
BAD_REPORT = "A report begins with its id (16 random bytes, not all 0) and its round (2 bytes)."
LATER = "The collector cannot take this now; send the same again a little later."
FAILED = "The collector has failed; tell whoever runs it, and send the same again later."

REFUSALS = {
    Outcome.REPORTED: (409, "This token has reported in this round; a second report is refused."),
    Outcome.ID_TAKEN: (409, "This report id is taken; draw 16 new random bytes, and seal again."),
    Outcome.CLOSED: (410, "The window of this round has closed; nothing more is taken."),
    Outcome.EARLY: (425, "The window of this round is not open yet; try again when it opens."),
    Outcome.WRONG_ROUND: (422, "This query has no such round; fetch its specification again."),
    Outcome.WRONG_SIZE: (422, "A report must have exactly the size that its round asks for."),
}
_FRAMEWORK = {
    404: "There is nothing at this address; see /openapi.json for what there is.",
    405: "This address does not know this method; see /openapi.json for what it knows.",
}


class Failure(BaseModel):
    """What was wrong, and what to do."""

    error: str = Field(examples=[UNKNOWN])


class Health(BaseModel):
    """The server runs, and can read its database."""

    status: str = Field(examples=["ok"])


class Envelope(BaseModel):
    """The specification of one round, and the aggregator's signature of exactly that text."""

    specification: str = Field(description="JSON text.", examples=['{"delta": 1e-06, "tau": 14}'])
    signature: str = Field(
        description="Ed25519, in base64.",
        examples=["q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJCrze8SNFZ4kKvN7xI0VniQqw=="],
    )


def settled(outcome: Outcome) -> Response:
    """Without content where there is nothing to say: that is one packet less."""
    if outcome in REFUSALS:
        raise HTTPException(*REFUSALS[outcome])
    return Response(status_code=201 if outcome is Outcome.TAKEN else 200)


def declared(*sentences: tuple[int, str]) -> Declared:
    """The errors that an address may answer with, for its description."""
    found: Declared = {}
    for status, sentence in (*sentences, (503, LATER)):
        said = found.setdefault(status, _description(status))
        examples = said["content"]["application/json"]["examples"]
        examples[str(len(examples) + 1)] = {"value": {"error": sentence}}
    return found


def _description(status: int) -> dict[str, Any]:
    described: dict[str, Any] = {
        "model": Failure,
        "description": HTTPStatus(status).phrase,
        "content": {"application/json": {"examples": {}}},
    }
    header = {401: "WWW-Authenticate", 503: "Retry-After"}.get(status)
    if header:
        described["headers"] = {header: {"required": True, "schema": {"type": "string"}}}
    return described


def answer_errors(app: FastAPI) -> None:
    """Every error in one form, whoever found it."""

    @app.exception_handler(PlainHTTPException)
    async def refused(_: Request, error: PlainHTTPException) -> Response:
        ours = isinstance(error, HTTPException)
        sentence = error.detail if ours else _FRAMEWORK.get(error.status_code, FAILED)
        return JSONResponse({"error": sentence}, error.status_code, error.headers)

    @app.exception_handler(RequestValidationError)
    async def bad_id(_: Request, error: RequestValidationError) -> Response:
        return JSONResponse({"error": BAD_ID}, 422)

    @app.exception_handler(StoreUnavailable)
    @app.exception_handler(Overloaded)
    async def later(_: Request, error: Exception) -> Response:
        return JSONResponse({"error": LATER}, 503, {"Retry-After": PAUSE})

    @app.exception_handler(ClientDisconnect)
    async def gone(_: Request, error: ClientDisconnect) -> Response:
        return Response(status_code=400)  # nobody is there to read it

    @app.exception_handler(Exception)
    async def failed(_: Request, error: Exception) -> Response:
        return JSONResponse({"error": FAILED}, 500)
