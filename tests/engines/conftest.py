"""One suite for all engines: a new engine is one more line here."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tamis.engines.duckdb import DuckDB
from tamis.engines.protocol import Engine

ENGINES: dict[str, Callable[[], Engine]] = {
    "duckdb": DuckDB,
    "duckdb in small parts": lambda: DuckDB(at_once=9),
}


@pytest.fixture(scope="session", params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    made = ENGINES[request.param]()
    yield made
    made.close()
