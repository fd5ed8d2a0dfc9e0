"""Calls of Spark, whose errors and logs may hold data."""

from __future__ import annotations

import logging
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from tamis.privacy.errors import BadData, EngineMissing, InvalidInput
from tamis.sampling.attempt import attempt
from tamis.sampling.executors import OTHER
from tamis.sampling.interruption import interruptible

Given = ParamSpec("Given")
Found = TypeVar("Found")

# PySpark logs errors of the expressions in SQL, of those in Python, and of a server before it
# raises them
_LOGGERS = (
    "SQLQueryContextLogger",
    "DataFrameQueryContextLogger",
    "pyspark.sql.connect.logging",
)
_CASTS = ("CAST_", "ARITHMETIC_", "NUMERIC_", "DIVIDE_", "USER_RAISED_EXCEPTION")
_NEEDED = ("tamis", "numpy", "scipy", "pyarrow", "duckdb")  # by what runs on executors
_WORDS = {
    "AMBIGUOUS_REFERENCE": "two columns have names that Spark does not tell apart, such as q and "
    "Q: rename one, or leave it out.",
    **dict.fromkeys(
        ("GROUP_EXPRESSION_TYPE_IS_NOT_ORDERABLE", "EXPRESSION_TYPE_IS_NOT_ORDERABLE"),
        "a key or unit is of a type that Spark does not group or sort, such as variants and "
        "intervals: convert it to text first.",
    ),
    **dict.fromkeys(
        (
            "TABLE_OR_VIEW_NOT_FOUND",
            "UNRESOLVED_COLUMN.WITH_SUGGESTION",
            "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION",
        ),
        "the DataFrame uses a table or a column that Spark does not find: its show() says which.",
    ),
    "UNSUPPORTED_TIME_TYPE": "data holds times of day, which Spark does not count: convert them to "
    "text, or leave them out.",
}


def is_frame(data: object) -> bool:
    """Whether data is a DataFrame of Spark, classic or Connect."""
    return type(data).__module__.startswith("pyspark.") and hasattr(data, "mapInArrow")


def missing() -> EngineMissing:
    """What to raise where there is no PySpark."""
    return EngineMissing("the Spark engine needs PySpark 4: pip install 'tamis[spark]'.")


def at_rest(frame: Any) -> Any:
    """A DataFrame of rows that are there, in a session that runs; any other is refused."""
    if not is_frame(frame):
        raise InvalidInput(f"data must be a DataFrame of Spark, not {type(frame).__name__}.")
    if _stopped(frame.sparkSession):
        raise InvalidInput("the Spark session of the data was stopped; read it in one that runs.")
    if run(lambda: frame.isStreaming):
        raise InvalidInput(
            "data is a stream, which has no end: take what has been written of it, or use "
            "foreachBatch, where every batch is a release that is paid for."
        )
    return frame


def _stopped(session: Any) -> bool:
    """Whether a session has ended: Connect says it, and a classic one is without its Java."""
    context = getattr(session, "_sc", session)
    return bool(getattr(session, "is_stopped", False)) or getattr(context, "_jsc", context) is None


def asked(call: Callable[[], Any]) -> Any:
    """What Spark finds, or the error that it raises, of which nothing was logged."""
    with quiet():
        return interruptible(lambda: attempt(call, Exception))


def condition_of(error: Exception) -> str:
    """What Spark calls an error, such as PATH_NOT_FOUND, or else the name of its type."""
    return str(getattr(error, "getCondition", lambda: None)() or type(error).__name__)


def run(call: Callable[[], Any], doing: str = "read or count the data") -> Any:
    """What Spark finds. Its messages may hold data: only an error's kind is told."""
    found = asked(call)
    if not isinstance(found, Exception):
        return found
    if isinstance(found, (InvalidInput, EngineMissing)):
        raise found
    text = str(found)
    differs = OTHER in text
    lacking = [name for name in _NEEDED if f"No module named '{name}" in text]
    what = condition_of(found)
    del found, text  # whoever prints the locals of a traceback would print them
    if differs:
        raise EngineMissing(OTHER)
    if lacking:
        raise EngineMissing(
            f"the executors have no {lacking[0]}: install tamis there too, with all that it needs."
        )
    if what.startswith(_CASTS):
        raise BadData(
            "a cast or a sum in where=, or in the DataFrame, fails on some row: write "
            "try_cast(age AS INTEGER) > 30, which gives NULL there, unless it is a value in a form "
            "that Spark may read in another way than DuckDB, such as 9.5 or ' 7 ': repair these."
        )
    if what in _WORDS:
        raise InvalidInput(_WORDS[what])
    raise BadData(f"Spark could not {doing} ({what}).")


def guarded(call: Callable[Given, Found]) -> Callable[Given, Found]:
    """A function that asks Spark in several places, all of them as in `run`."""

    @wraps(call)
    def inner(*given: Given.args, **named: Given.kwargs) -> Found:
        found: Found = run(lambda: call(*given, **named))
        return found

    return inner


# a session and a setting: how many have set it, and what was there before the first of them
_CHANGED: dict[tuple[str, str], tuple[int, str]] = {}
_CHANGING = threading.Lock()


@contextmanager
def setting(frame: Any, name: str, value: str) -> Iterator[None]:
    """Another setting of a frame's session, for as long as any thread needs it."""
    conf, place = frame.sparkSession.conf, (_name(frame.sparkSession), name)
    with _CHANGING:
        many, before = _CHANGED.get(place) or (0, conf.get(name))
        _CHANGED[place] = many + 1, before
    try:
        conf.set(name, value)
        yield
    finally:
        with _CHANGING:
            many, before = _CHANGED.pop(place)
            if many > 1:
                _CHANGED[place] = many - 1, before
            else:
                conf.set(name, before)


def _name(session: Any) -> str:
    """The name of a session, which several objects of Python may stand for."""
    java = getattr(session, "_jsparkSession", None)
    return str(session.session_id if java is None else java.sessionUUID())


class _Hush(logging.Filter):
    """Lets nothing through in a thread that is inside of `quiet`."""

    def __init__(self) -> None:
        super().__init__()
        self.here = threading.local()

    @property
    def depth(self) -> int:
        return getattr(self.here, "depth", 0)

    def filter(self, record: logging.LogRecord) -> bool:
        return not self.depth


_HUSH = _Hush()


@contextmanager
def quiet() -> Iterator[None]:
    """PySpark logs what it raises, with the value that was wrong, and warns of new pandas."""
    try:
        from pyspark.logger import PySparkLogger
    except ImportError:
        raise missing() from None
    for name in _LOGGERS:
        PySparkLogger.getLogger(name).addFilter(_HUSH)  # once: others may be there
    _HUSH.here.depth = _HUSH.depth + 1
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")
            yield
    finally:
        _HUSH.here.depth -= 1
