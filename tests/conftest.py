"""Quick tests look at fewer made-up examples than those of `make test-all`."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings

settings.register_profile("quick", max_examples=25)
settings.register_profile("all", max_examples=100)
settings.load_profile("quick")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A file of tests stays in one process, and all that share a Spark do.

    Tests of a file may share what they have set up, and a Spark takes half a minute to be quick.
    """
    for item in items:
        engine = getattr(getattr(item, "callspec", None), "params", {}).get("engine")
        spark = engine == "spark" or "session" in getattr(item, "fixturenames", ())
        item.add_marker(pytest.mark.xdist_group("spark" if spark else str(item.path)))


@pytest.fixture(scope="session")
def session() -> Any:
    """A Spark, for all tests of a process that ask for it."""
    from tests.sparks import spark_session

    return spark_session()


@pytest.fixture(scope="session")
def frame(session: Any) -> Any:
    """Two frequent keys and many rare ones, on Spark."""
    from tests.sparks import EVENTS

    return session.createDataFrame(EVENTS)
