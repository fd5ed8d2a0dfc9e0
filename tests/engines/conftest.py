"""One suite for all engines: a new engine is one more line here."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tamis.engines.duckdb import DuckDB
from tamis.engines.protocol import Engine
from tests.sparks import spark_engine

ENGINES: dict[str, Callable[[], Engine]] = {"duckdb": DuckDB, "spark": spark_engine}
PARTS: dict[str, Callable[[], Engine]] = {"duckdb in small parts": lambda: DuckDB(at_once=9)}
# where it matters that rows come in parts
IN_PARTS = ("test_bounding", "test_counting", "test_joining")
# what is about the formats that DuckDB reads
DUCKDB_ONLY = ("test_source", "test_interruption")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "engine" in metafunc.fixturenames:
        module = metafunc.module.__name__
        names = [*ENGINES, *(PARTS if module.endswith(IN_PARTS) else ())]
        if module.endswith(DUCKDB_ONLY):
            names.remove("spark")
        # every question to Spark takes a second
        slow = {name: pytest.mark.slow if name == "spark" else () for name in names}
        made = [pytest.param(name, marks=slow[name]) for name in names]
        metafunc.parametrize("engine", made, indirect=True, scope="session")


@pytest.fixture(scope="session")
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    made = (ENGINES | PARTS)[request.param]()
    yield made
    made.close()
