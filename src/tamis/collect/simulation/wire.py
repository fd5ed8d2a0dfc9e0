"""Requests to a server over connections that are kept: very many devices in one thread."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from tamis.privacy.errors import StoreUnavailable

HOST = "127.0.0.1"
CONNECTIONS = 64
PATIENCE = 60.0  # seconds in which a server that was killed must be there again
LOST = (OSError, EOFError)  # a connection has ended, or does not come about
_PAUSE = 0.05
_HANGS = 20.0  # seconds after which no answer is expected any more
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
T = TypeVar("T")


@dataclass(frozen=True)
class Reply:
    status: int
    body: bytes


def post(query: str, token: str, body: bytes) -> bytes:
    """A request that brings a report."""
    head = (
        f"POST /queries/{query}/reports HTTP/1.1\r\nHost: {HOST}\r\n"
        f"Authorization: Bearer {token}\r\nContent-Type: application/octet-stream\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def get(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode()


class Link:
    """One connection to a server of this machine, opened when it is needed."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, request: bytes) -> Reply:
        """One of LOST is raised if the answer does not come: it may have been heard, or not."""
        try:
            async with asyncio.timeout(_HANGS):
                reader, writer = await self._open()
                writer.write(request)
                head = await reader.readuntil(b"\r\n\r\n")
                length = _LENGTH.search(head)
                body = await reader.readexactly(int(length[1]) if length else 0)
                return Reply(int(head[9:12]), body)
        except BaseException:
            self.close()
            raise

    async def insist(self, request: bytes) -> Reply:
        """The same again until there is an answer, even if the server is killed meanwhile."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            try:
                reply = await self.ask(request)
            except LOST:
                pass
            else:
                if reply.status != 503:
                    return reply
            await asyncio.sleep(_PAUSE)
        raise StoreUnavailable(f"The server has not answered for {PATIENCE:.0f} seconds.")

    async def hang_up(self, request: bytes, wait: float = 0.0) -> None:
        """Sends it, and goes without waiting for the answer, or only so long."""
        try:
            _, writer = await self._open()
            writer.write(request)
            await asyncio.sleep(wait)
        except LOST:
            pass
        finally:
            self.close()

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].transport.abort()
        self._streams = None

    async def _open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._streams is None:
            self._streams = await asyncio.open_connection(HOST, self._port)
        return self._streams


async def spread(
    port: int,
    things: Iterable[T],
    send: Callable[[Link, T], Awaitable[None]],
    connections: int = CONNECTIONS,
) -> None:
    """Each connection takes the next thing and sends it, until there is none left."""
    todo = iter(things)
    links = [Link(port) for _ in range(connections)]

    async def stream(link: Link) -> None:
        for thing in todo:
            await send(link, thing)

    try:
        await asyncio.gather(*map(stream, links))
    finally:
        for link in links:
            link.close()
