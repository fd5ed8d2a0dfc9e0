"""Quick tests look at fewer made-up examples than those of `make test-all`."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings

settings.register_profile("quick", max_examples=25)
settings.register_profile("all", max_examples=100)
settings.load_profile("quick")


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
