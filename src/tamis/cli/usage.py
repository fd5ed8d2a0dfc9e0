"""What was wrong with the words of a command, in a sentence."""

from __future__ import annotations

from cyclopts import (
    Argument,
    CoercionError,
    CycloptsError,
    MissingArgumentError,
    UnusedCliTokensError,
)

_KINDS: dict[object, str] = {float: "a number", int: "a whole number", bool: "no value"}


def sentence(error: CycloptsError) -> str:
    """What was wrong with options and arguments, and what to do."""
    if isinstance(error, UnusedCliTokensError) and error.unused_tokens:
        return (
            f"{error.unused_tokens[0]!r} is too much for {_command(error)}: put what has spaces "
            f"in it in quotes, or see {_command(error)} --help."
        )
    if isinstance(error, MissingArgumentError) and error.argument is not None:
        return _missing(error, error.argument)
    if isinstance(error, CoercionError) and error.token is not None:
        kind = error.msg or _KINDS.get(error.target_type)
        name = error.token.keyword or (error.argument.name if error.argument else None)
        if kind and name:
            return f"{name} takes {kind}, not {error.token.value!r}."
    return str(error)


def _command(error: CycloptsError) -> str:
    return " ".join(("tamis", *(error.command_chain or ())))


def _missing(error: MissingArgumentError, first: Argument) -> str:
    """All that is needed at once, and not one thing after the other."""
    given = {word.split("=", 1)[0] for word in error.root_input_tokens or ()}
    if given & set(first.names):
        return f"{first.name} needs a value; see {_command(error)} --help."
    known = [] if error.app is None else error.app.assemble_argument_collection()
    options = [a for a in known if a.required and a.field_info.is_keyword]
    others = [a.name for a in options if not given & set(a.names)]
    *rest, last = dict.fromkeys([first.name, *others])
    names = f"{', '.join(rest)} and {last} are" if rest else f"{last} is"
    return f"{names} missing; see {_command(error)} --help."
