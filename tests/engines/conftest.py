"""One suite for all engines: a new engine is one more line here."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tamis.engines.duckdb import DuckDB
from tamis.engines.protocol import Engine

ENGINES: dict[str, Callable[[], Engine]] = {"duckdb": DuckDB}
PARTS: dict[str, Callable[[], Engine]] = {"duckdb in small parts": lambda: DuckDB(at_once=9)}
# where it matters that rows come in parts
IN_PARTS = ("test_bounding", "test_counting", "test_joining")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "engine" in metafunc.fixturenames:
        parts = PARTS if metafunc.module.__name__.endswith(IN_PARTS) else {}
        metafunc.parametrize("engine", [*ENGINES, *parts], indirect=True, scope="session")


@pytest.fixture(scope="session")
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    made = (ENGINES | PARTS)[request.param]()
    yield made
    made.close()
