"""One run of the command line, from its arguments to its exit code."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Sequence
from types import FrameType

from tamis.cli import failures, streams
from tamis.cli.streams import STANDARD

PIPE_CLOSED = 128 + 13
_signals: list[int] = []  # that came while a command was running


class Interrupted(SystemExit):
    """A signal asked to end; wherever nobody waits for it, it is the exit code.

    A KeyboardInterrupt would not do: if it strikes in an ``exec`` of text, of which imports are
    full, Python remembers it and ends as if by Ctrl-C, caught or not.
    """

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.exit_code = 128 + number


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; without arguments, those of the program are taken."""
    if argv is None:
        argv = sys.argv[1:]
        _prepare()
    try:
        return _run(argv)
    except BrokenPipeError:  # whoever read the output has seen enough
        streams.give_up()
        return PIPE_CLOSED
    except (Interrupted, KeyboardInterrupt) as reason:
        streams.say(f"tamis: interrupted.{_notes(reason)}")
        return reason.exit_code if isinstance(reason, Interrupted) else 128 + signal.SIGINT


def _run(argv: Sequence[str]) -> int:
    try:
        from tamis.cli.app import app

        app(_marked(argv))
        streams.flush()
    except BrokenPipeError:
        raise
    except Exception as error:
        if _signals:  # DuckDB makes an error of its own of an interruption
            reason = Interrupted(_signals[0])
            reason.__notes__ = _noted(error)
            raise reason from None
        return _failed(error, argv)
    return failures.DONE


def _marked(argv: Sequence[str]) -> list[str]:
    """A file called - is marked, so that it is not taken for an option; help is an option."""
    words = [STANDARD if word == "-" else word for word in argv]
    return [*words[1:], "--help"] if words[:1] == ["help"] else words


def _failed(error: Exception, argv: Sequence[str]) -> int:
    code, sentence = failures.explain(error, argv)
    if os.environ.get("TAMIS_DEBUG") == "1":
        streams.say("".join(traceback.format_exception(error)).rstrip())
    streams.say("tamis: " + " ".join(streams.unmarked(sentence + _notes(error)).split()))
    with contextlib.suppress(failures.Failed):  # or what is buffered would fail again at the end
        streams.flush()
    return code


def _noted(error: BaseException) -> list[str]:
    return list(getattr(error, "__notes__", []))


def _notes(error: BaseException) -> str:
    """What was added to an error on its way: that something was charged."""
    return "".join(f" {note}" for note in _noted(error))


def _prepare() -> None:
    """What a program does, and a library does not."""
    if sys.stdout is None or sys.stderr is None:  # closed by whoever started it
        nowhere = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  until the end
        sys.stdout, sys.stderr = sys.stdout or nowhere, sys.stderr or nowhere
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    if not sys.warnoptions:
        warnings.simplefilter("ignore")  # they are for developers, and may hold data


def _interrupt(number: int, frame: FrameType | None) -> None:
    """End in order, so that folders with spilled data are removed."""
    _signals.append(number)
    raise Interrupted(number)
