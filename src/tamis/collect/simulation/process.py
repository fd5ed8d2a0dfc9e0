"""A collector server in a process of its own, which can be killed and started again."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Self

from tamis.collect.open import VARIABLE
from tamis.collect.simulation.wire import HOST
from tamis.privacy.errors import StoreUnavailable

# below those from which systems choose for connections: while a server is down, a device that tries
# its port could be given the very same one, and would hold it
_PORTS = range(20_000, 32_000)
_STARTS = 60.0  # seconds, at most
_STOPS = 30.0


class ServerProcess:
    """`tamis collect serve` for one database, always on the same port of this machine."""

    def __init__(self, store: str, folder: Path) -> None:
        self._store, self._folder = store, folder
        self._process: subprocess.Popen[bytes] | None = None
        self._starting: Thread | None = None
        self.starts = 0
        self.port = free_port()

    @property
    def up(self) -> bool:
        return self._process is not None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._starting is not None:
            self._starting.join()
        if self._process is not None:
            self._process.terminate()
            self._process.wait(_STOPS)

    def start(self) -> None:
        """Devices can connect when this returns."""
        self.starts += 1
        log = self._folder / f"server-{self.starts}.log"
        command = [sys.executable, "-m", "tamis", "collect", "serve", "--port", str(self.port)]
        with log.open("wb") as said:  # an address may hold a password, and others see commands
            environment = {**os.environ, VARIABLE: self._store}
            process = subprocess.Popen(command, stderr=said, env=environment)
        try:
            _wait(process, log)
        except BaseException:
            process.kill()
            process.wait()
            raise
        self._process = process

    def kill(self) -> None:
        """Ends it as a power cut would (kill -9), and starts it again meanwhile."""
        if self._process is None:
            return
        killed, self._process = self._process, None
        killed.kill()
        killed.wait()
        self._starting = Thread(target=self._start_again)
        self._starting.start()

    def _start_again(self) -> None:
        with suppress(StoreUnavailable):  # devices find out
            self.start()


def _wait(process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + _STARTS
    while b"listening" not in log.read_bytes():
        if process.poll() is not None or time.monotonic() > until:
            said = log.read_text(errors="replace").strip().splitlines() or ["it says nothing."]
            raise StoreUnavailable(f"The server does not start: {said[-1]}")
        time.sleep(0.02)


def free_port() -> int:
    """One that nobody listens on."""
    for _ in range(100):
        port = _PORTS[int.from_bytes(os.urandom(4), "big") % len(_PORTS)]
        try:
            socket.create_server((HOST, port)).close()
        except OSError:
            continue
        return port
    raise StoreUnavailable("This machine has no free port for a server.")
