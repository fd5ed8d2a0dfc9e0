"""Ctrl-C during a call, wherever it strikes."""

from __future__ import annotations

import os
import signal
import time

import pytest

from tamis.sampling.interruption import interruptible

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are sent as on Unix")


def strike() -> int:
    os.kill(os.getpid(), signal.SIGINT)
    return 7


class Thrown:
    """Is struck while it is thrown away."""

    def __del__(self) -> None:
        strike()
        time.sleep(0.01)  # a handler runs between two steps of Python


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_an_interruption_that_strikes_while_something_is_thrown_away_is_not_lost() -> None:
    usual, went_on = signal.default_int_handler, list[bool]()
    before = signal.signal(signal.SIGINT, usual)  # a shell's background job ignores it
    try:
        with pytest.raises(KeyboardInterrupt) as reason:
            interruptible(lambda: went_on.append(Thrown() is None))
        assert went_on == [False]
        assert reason.type is KeyboardInterrupt
        assert signal.getsignal(signal.SIGINT) is usual
    finally:
        signal.signal(signal.SIGINT, before)


def test_who_handles_interruptions_decides_what_becomes_of_them() -> None:
    def handler(*_: object) -> None:
        struck.append(True)

    struck = list[bool]()
    before = signal.signal(signal.SIGINT, handler)
    try:
        assert interruptible(strike) == 7
        assert struck == [True]
        assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.signal(signal.SIGINT, before)
