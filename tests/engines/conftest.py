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
DUCKDB_ONLY = ("test_source",)
# every question to Spark takes a second: these few are asked by the quick tests too
QUICK_ON_SPARK = (
    "test_frequencies_may_be_asked_for_with_another_bound",
    "test_nothing_is_drawn_before_frequencies_are_asked_for",
    "test_rows_that_belong_to_no_one_may_be_left_out",
    "test_text_that_is_not_in_utf_8_is_refused_before_any_draw",
    "test_units_with_the_same_keys_keep_runs_of_one_order",
)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "engine" in metafunc.fixturenames:
        module = metafunc.module.__name__
        names = [*ENGINES, *(PARTS if module.endswith(IN_PARTS) else ())]
        if module.endswith(DUCKDB_ONLY):
            names.remove("spark")
        long = {"spark"} if metafunc.function.__name__ not in QUICK_ON_SPARK else set()
        made = [pytest.param(name, marks=[pytest.mark.slow][: name in long]) for name in names]
        metafunc.parametrize("engine", made, indirect=True, scope="session")


@pytest.fixture(scope="session")
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    made = (ENGINES | PARTS)[request.param]()
    yield made
    made.close()
