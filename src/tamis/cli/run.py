"""One run of the command line, from its arguments to its exit code."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Sequence
from types import FrameType

from tamis.cli import failures, output
from tamis.cli.output import STANDARD


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; without arguments, those of the program are taken."""
    if argv is None:
        argv = sys.argv[1:]
        signal.signal(signal.SIGTERM, _terminated)
    try:
        return _run(argv)
    except BrokenPipeError:  # whoever read the output has seen enough
        output.give_up()
        return 128 + signal.SIGPIPE
    except KeyboardInterrupt:
        output.say("tamis: interrupted.")
        return failures.INTERRUPTED


def _run(argv: Sequence[str]) -> int:
    try:
        from tamis.cli.app import app

        app(_marked(argv))
        output.flush()
    except BrokenPipeError:
        raise
    except Exception as error:
        return _failed(error)
    return failures.DONE


def _marked(argv: Sequence[str]) -> list[str]:
    """A file called - is marked, so that it is not taken for an option."""
    return [STANDARD if word == "-" else word for word in argv]


def _failed(error: Exception) -> int:
    code, sentence = failures.explain(error)
    if os.environ.get("TAMIS_DEBUG") == "1":
        output.say("".join(traceback.format_exception(error)).rstrip())
    one_line = " ".join(sentence.replace(STANDARD, "-").split())
    output.say(f"tamis: {one_line[:1].lower() if _ordinary(one_line) else one_line[:1]}"
               f"{one_line[1:]}")
    return code


def _ordinary(sentence: str) -> bool:
    """Whether its first word is capitalised only because it comes first."""
    first = sentence.split(" ", 1)[0]
    return first.isalpha() and first.capitalize() == first


def _terminated(number: int, frame: FrameType | None) -> None:
    """End in order, so that folders with spilled data are removed."""
    sys.exit(128 + number)
