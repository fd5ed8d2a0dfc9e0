"""Running the collector server."""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable
from pathlib import Path

from tamis.privacy.errors import InvalidInput, StoreUnavailable, shown

_MOST_AT_ONCE = 4096  # connections; a proxy in front should allow fewer, and end slow ones


def serve(
    where: str | Path,
    host: str = "127.0.0.1",
    port: int = 8000,
    ready: Callable[[str, int], None] | None = None,
) -> None:
    """Serves the collector's database until the process is told to stop.

    ``ready`` is told host and port as soon as devices can connect; port 0 takes a free one. There
    is no log of who asked for what, nor a word about bytes that are no request. Connections are not
    encrypted here, only reports are: put a server that speaks TLS before it.
    """
    try:
        import uvicorn

        from tamis.collect.app import create_app
    except ImportError:
        raise StoreUnavailable(
            "The collector server needs the packages fastapi, uvicorn and cryptography; install "
            "tamis with its extra: pip install 'tamis[server]'."
        ) from None
    from tamis.collect.open import open_store

    open_store(where).close()  # what is wrong with it is said here, before anything runs
    with _listening(host, port) as listening:
        config = uvicorn.Config(
            create_app(where),
            access_log=False,
            log_level="error",  # its warnings are what anybody who finds the port can cause
            server_header=False,
            proxy_headers=False,
            ws="none",
            http="h11",  # the one that refuses endless headers
            limit_concurrency=_MOST_AT_ONCE,
            lifespan="on",
            timeout_graceful_shutdown=10,
        )
        server = uvicorn.Server(config)
        starting = server.startup

        async def startup(sockets: list[socket.socket] | None = None) -> None:
            """From here on signals stop the server in order, so this is when it is ready."""
            await starting(sockets)
            if ready is not None and server.started:
                ready(*listening.getsockname()[:2])

        server.startup = startup  # type: ignore[method-assign]
        server.run(sockets=[listening])
        if not server.started:
            raise StoreUnavailable("The collector server could not start; see what it wrote above.")


def _listening(host: str, port: int) -> socket.socket:
    if not 0 <= port <= 65535:
        raise InvalidInput(f"port must be a whole number from 0 to 65535, not {shown(port)}.")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise InvalidInput(_why(error, host, port)) from error


def _why(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"Port {port} of {host} is taken by another program; take another port."
    if error.errno in (errno.EACCES, errno.EPERM):
        return f"This user may not listen on port {port}; take one from 1024 on."
    return f"This machine has no address {host!r} to listen on; take one of its own."
