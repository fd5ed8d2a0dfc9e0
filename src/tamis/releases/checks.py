"""What is given for the options of a release, checked by kind before anything else is done."""

from __future__ import annotations

import numpy as np

from tamis.engines.choice import NAMES
from tamis.privacy.errors import InvalidInput, shown


def is_text(value: object) -> bool:
    """Whether it is a string that can be written down."""
    try:
        return isinstance(value, str) and b"\0" not in value.encode()
    except UnicodeEncodeError:
        return False


def check_texts(**options: object) -> None:
    """Refuse what is given, and is not text."""
    for name, value in options.items():
        if value is not None and not is_text(value):
            raise InvalidInput(f"{name} must be text, not {shown(value)}.")


def check_choices(**options: tuple[object, ...]) -> None:
    """Refuse a value (the first of each) that is none of the others."""
    for name, (value, *allowed) in options.items():
        if not isinstance(value, str) or value not in allowed:
            words = " or ".join(f'"{word}"' for word in allowed)
            raise InvalidInput(f"{name} must be {words}, not {shown(value)}.")


def check_units(
    unit: str | None, most: int | None, elements: int, count: str | None, advice: str
) -> None:
    """Refuse bounds without units, and units without bounds."""
    if unit is None:
        if most not in (None, 1) or elements != 1:
            raise InvalidInput(
                "keys_per_unit and elements_per_key bound what a unit contributes: name the column "
                "of units with unit=."
            )
        return
    if unit == "element":
        raise InvalidInput(
            "a column of units may not be called 'element', the word for rows that stand for "
            "themselves; rename it."
        )
    if count is not None:
        raise InvalidInput("data that is counted already has no units: give unit or count.")
    if most is None:
        raise InvalidInput(
            "keys_per_unit is missing: to how many keys may one unit contribute? Units with more "
            f"are cut at random; {advice}."
        )


def check_running(threads: object, progress: object, engine: object) -> None:
    """Refuse options of how to run it that are of another kind."""
    whole = isinstance(threads, (int, np.integer)) and not isinstance(threads, bool)
    if threads is not None and not whole:
        raise InvalidInput(f"threads must be a whole number, such as 2, not {shown(threads)}.")
    if progress is not None and not isinstance(progress, bool):
        raise InvalidInput(f"progress must be True, False or None, not {shown(progress)}.")
    made = all(hasattr(engine, name) for name in ("count", "close"))
    if not (engine is None or made or (isinstance(engine, str) and engine in NAMES)):
        raise InvalidInput(
            f'engine must be "duckdb", "spark" or an engine such as tamis.engines.duckdb.DuckDB(), '
            f"not {shown(engine)}."
        )
