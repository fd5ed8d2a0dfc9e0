"""Ctrl-C while Spark is asked: the jobs of this call are cancelled, and it ends."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar
from uuid import uuid4

from tamis.sampling.attempt import attempt

Found = TypeVar("Found")

_AGAIN = 0.2  # seconds until jobs are cancelled again, which may have begun since
_PATIENCE = 1.5  # seconds until an interruption does not wait for Spark any longer
_NUMBERS = (signal.SIGINT, signal.SIGTERM)


class _Stop(KeyboardInterrupt):
    """Ends what is not a wait for classic Spark; Connect cancels what it waits for."""


class _Gone(BaseException):
    """Ends a wait for classic Spark; of a KeyboardInterrupt py4j would print a traceback."""


class _Watch:
    """Handles signals during one call, in place of whoever does so otherwise.

    A wait for classic Spark cannot be left by an exception: the next call, in some ``finally`` of
    PySpark, would wait for the same answer. So it is kept until cancelled jobs have ended it.
    """

    def __init__(self) -> None:
        self.reason: BaseException | None = None  # what whoever handles signals raised
        self._tag = f"tamis-{uuid4()}"
        self._context: Any = None
        self._before = dict[signal.Signals, Any]()
        self._over = threading.Event()

    def begin(self) -> None:
        for number in _NUMBERS:
            handler = signal.getsignal(number)
            if callable(handler):
                self._before[number] = handler
                signal.signal(number, self._struck)
        self.mark()

    def mark(self) -> None:
        """Mark the jobs of this thread, if there is a classic session by now."""
        module = sys.modules.get("pyspark.core.context")
        context = getattr(getattr(module, "SparkContext", None), "_active_spark_context", None)
        if self._context is None and context is not None:
            self._context = context
            attempt(lambda: context.addJobTag(self._tag), Exception)

    def end(self) -> None:
        self._over.set()
        for number, handler in self._before.items():
            signal.signal(number, handler)
        context = self._context
        if context is not None:
            attempt(lambda: context.removeJobTag(self._tag), Exception)

    def _struck(self, number: int, frame: FrameType | None) -> None:
        if self.reason is not None:  # once more, or nothing has ended for too long
            if _finishes(frame):
                return
            raise _Gone if _hang_up(frame) else _Stop
        reason = _raised(self._handler(number), number, frame)
        if reason is None:  # it goes on
            return
        self.reason = reason
        waits = _waits(frame)
        if not (waits and self._context is not None) and not _finishes(frame):
            raise _Gone if waits and _hang_up(frame) else _Stop
        threading.Thread(target=self._cancel, args=(number,), daemon=True).start()

    def _handler(self, number: int) -> Callable[[int, FrameType | None], object]:
        """Whoever was there; PySpark's would cancel all jobs of the session, and wait for them."""
        handler = self._before[signal.Signals(number)]
        theirs = getattr(handler, "__module__", "") == "pyspark.core.context"
        return signal.default_int_handler if theirs else handler  # type: ignore[no-any-return]

    def _cancel(self, number: int) -> None:
        context = self._context
        end = time.monotonic() + _PATIENCE
        while not self._over.is_set():
            attempt(lambda: context.cancelJobsWithTag(self._tag), Exception)
            self._over.wait(_AGAIN)
            if time.monotonic() > end and not self._over.is_set():
                end = time.monotonic() + _PATIENCE
                if os.name == "posix":
                    signal.pthread_kill(threading.main_thread().ident or 0, number)


@contextmanager
def later() -> Iterator[None]:
    """An interruption comes when this has ended, or with the second signal.

    A Java that is interrupted while it starts could stay, with nobody to end it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    struck = list[tuple[int, FrameType | None]]()
    before = {number: signal.getsignal(number) for number in _NUMBERS}
    handlers = {number: handler for number, handler in before.items() if callable(handler)}

    def wait(number: int, frame: FrameType | None) -> None:
        struck.append((number, frame))
        if len(struck) > 1:
            handlers[signal.Signals(number)](number, frame)

    for number in handlers:
        signal.signal(number, wait)
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if len(struck) == 1:
            which, frame = struck[0]
            handlers[signal.Signals(which)](which, frame)


def _raised(
    handler: Callable[[int, FrameType | None], object], number: int, frame: FrameType | None
) -> BaseException | None:
    try:
        handler(number, frame)
    except BaseException as reason:
        return reason
    return None


def _waits(frame: FrameType | None) -> bool:
    """Whether classic Spark is being waited for."""
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name.startswith(("pyspark.sql.connect", "tamis.")):
            return False
        if name.startswith(("py4j.", "pyspark.")):
            return True
        frame = frame.f_back
    return False


def _finishes(frame: FrameType | None) -> bool:
    """Whether something is being thrown away, where Python would print errors and go on."""
    while frame is not None:
        if frame.f_code.co_name == "__del__":
            return True
        frame = frame.f_back
    return False


def _hang_up(frame: FrameType | None) -> bool:
    """Give up a connection to Java whose answer nobody will read: there will be another one."""
    found = False
    while frame is not None:
        connection: Any = frame.f_locals.get("self")
        if type(connection).__name__ == "ClientServerConnection":
            attempt(connection.close, Exception)
            found = True
        frame = frame.f_back
    return found


_WATCHES: list[_Watch] = []  # the one of the main thread, if it asks Spark


def interruptible(call: Callable[[], Found]) -> Found:
    """What a call of Spark gives, which an interruption of the main thread ends soon.

    What handles signals otherwise is called, and what it raises is raised, when the call has ended.
    """
    if threading.current_thread() is not threading.main_thread():
        return call()
    if _WATCHES:
        _WATCHES[0].mark()
        return call()
    watch = _Watch()
    _WATCHES.append(watch)
    try:
        watch.begin()
        return call()
    finally:
        _WATCHES.clear()
        watch.end()
        if watch.reason is not None:  # in the place of what cancelled jobs raise
            raise watch.reason.with_traceback(None) from None
