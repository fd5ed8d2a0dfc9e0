"""What went wrong, as an exit code and one sentence."""

from __future__ import annotations

import re
from collections.abc import Collection

from tamis.privacy.errors import (
    AggregatorBusy,
    BadData,
    BudgetRefused,
    EngineMissing,
    InvalidInput,
    LedgerDamaged,
    LedgerUnavailable,
    ReleaseFailed,
    StoreUnavailable,
)
from tamis.privacy.verify import Refused

DONE, FAILED, USAGE, BUDGET, DATA, MISSING = 0, 1, 2, 3, 4, 5


class Failed(Exception):
    """Something that the user asked for could not be finished."""


class Missing(Exception):
    """A package that is not always installed is needed."""


# The first that fits counts: BadData is an InvalidInput too.
_CODES: tuple[tuple[type[Exception], int], ...] = (
    (BadData, DATA),
    (InvalidInput, USAGE),
    (BudgetRefused, BUDGET),
    (Missing, MISSING),
    (EngineMissing, MISSING),
    (Failed, FAILED),
    (Refused, FAILED),
    (ReleaseFailed, FAILED),
    (LedgerDamaged, FAILED),
    (LedgerUnavailable, FAILED),
    (StoreUnavailable, FAILED),
    (AggregatorBusy, FAILED),
)


# What is data and stays as it is: quoted words, and names of columns, which end a sentence.
_DATA = r"""(?<!\w)'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|columns(?: are)?: .*"""


def explain(error: Exception, words: Collection[str] = ()) -> tuple[int, str]:
    """The exit code, and a sentence without anything that only the data could tell.

    ``words`` are those of the command that failed.
    """
    if isinstance(error, ModuleNotFoundError) and not (error.name or "tamis").startswith("tamis"):
        return MISSING, f"the package {error.name!r} is needed and not installed; install it."
    from cyclopts import CycloptsError  # slow to import, and loaded already when it is raised

    if isinstance(error, CycloptsError):
        from tamis.cli.usage import sentence

        return USAGE, sentence(error)
    stores = (LedgerUnavailable, StoreUnavailable)
    if isinstance(error, stores) and isinstance(error.__context__, ImportError):
        return MISSING, str(error)
    for kind, code in _CODES:
        if isinstance(error, kind):
            return code, _in_options(error, words)
    return FAILED, _unforeseen(error)


def _unforeseen(error: Exception) -> str:
    if isinstance(error, MemoryError):
        said = str(error).replace("memory=", "--memory.")  # the engine's; NumPy tells sizes
        return (
            said
            if said.startswith("memory")
            else (
                "memory ran out; a lower --memory makes the work smaller parts. See in the ledger "
                "whether a budget was charged before."
            )
        )
    if isinstance(error, OSError) and error.strerror:
        return f"the operating system refused it: {error.strerror}."
    return (
        f"internal error ({type(error).__name__}); set TAMIS_DEBUG=1 to see where. What it shows "
        "may hold data."
    )


def _in_options(error: Exception, words: Collection[str]) -> str:
    """A sentence of the library; a word that the user gave is the name of something else."""
    from tamis.cli.app import names

    commands, parameters = names()
    given = {part for word in words for part in word.split("=", 1)}
    return in_options(str(error), commands, parameters - given)


def in_options(sentence: str, commands: Collection[str], parameters: Collection[str]) -> str:
    """A sentence about Python as one about the command line.

    Parameters are rewritten where they cannot be taken for words: with an underscore or an equals
    sign. What is data stays.

    >>> known = {"keys_per_unit", "unit"}
    >>> in_options("keys_per_unit bounds a unit='unit'; see tamis.plan.", {"plan"}, known)
    "--keys-per-unit bounds a --unit 'unit'; see tamis plan."
    """
    known = (
        rf"(?P<data>{_DATA})|\btamis\.(?P<command>{'|'.join(commands)})\b"
        rf"|(?<![\w.-])(?P<name>{'|'.join(parameters)})(?:(?P<given>=)|(?!\w))"
    )

    def rewritten(found: re.Match[str]) -> str:
        if found["command"]:
            return f"tamis {found['command']}"
        if found["data"] or not (found["given"] or "_" in found["name"]):
            return found[0]
        value = re.match(r"[\w'\"]", sentence[found.end() :]) if found["given"] else None
        return f"--{found['name'].replace('_', '-')}{' ' if value else ''}"

    return re.sub(known, rewritten, sentence)
