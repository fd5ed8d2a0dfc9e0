"""What callers need is there after `import tamis`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tamis
from tamis.collect.collector import Collector
from tamis.federated import mechanism
from tamis.federated.client import Client
from tamis.privacy import errors
from tamis.privacy.ledger import open_ledger
from tamis.privacy.verify import Refused
from tamis.releases.clusters import clusters, make

REFERENCE = Path(__file__).parent.parent / "docs" / "reference.md"
FEDERATED = {
    "Client", "Collector", "Device", "HeavyHitters", "Histogram", "Limits", "QuantileTable",
    "Quantiles", "Refused", "SampleAndThreshold", "Unreachable",
}  # fmt: skip
COUNTS = {"key": "k", "count": "n", "delta": 1e-8, "budget": "b"}


def test_every_name_is_there() -> None:
    assert {name for name in tamis.__all__ if hasattr(tamis, name)} == set(tamis.__all__)
    assert dir(tamis) == sorted(tamis.__all__)


def test_what_is_for_devices_is_there_too() -> None:
    assert set(tamis.federated.__all__) == FEDERATED
    assert {name for name in FEDERATED if hasattr(tamis.federated, name)} == FEDERATED
    assert tamis.federated.SampleAndThreshold is mechanism.SampleAndThreshold
    assert tamis.federated.Client is Client
    assert tamis.federated.Collector is Collector
    assert tamis.Collected.__module__ == "tamis.releases.collected.collected"
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        tamis.federated.Nothing  # noqa: B018


def test_private_clusters_are_there() -> None:
    assert {"PrivateKMeans", "Clusters", "kmeans"} <= set(tamis.__all__)
    assert tamis.kmeans is make.kmeans
    assert tamis.Clusters is clusters.Clusters


def test_the_reference_has_a_place_for_every_name_of_the_federated_part() -> None:
    listed = re.findall(r"autoclass:: tamis\.federated\.(\w+)", REFERENCE.read_text())
    assert sorted(listed) == sorted(FEDERATED)


def test_all_errors_can_be_caught_by_public_names() -> None:
    found = (e for e in vars(errors).values() if isinstance(e, type) and issubclass(e, Exception))
    raised = {*found, Refused}
    assert len(raised) == 10
    assert all(getattr(tamis, error.__name__) is error for error in raised)


def test_a_budget_that_is_too_small_is_caught_as_such(tmp_path: Path) -> None:
    place = tmp_path / "ledger.sqlite"
    with open_ledger(place) as ledger:
        ledger.create("b", 0.5, 1e-6, "element")
    (tmp_path / "e.csv").write_text("k,n\na,500\n")
    with pytest.raises(tamis.BudgetRefused, match="nothing was charged"):
        tamis.release(tmp_path / "e.csv", epsilon=1.0, ledger=place, **COUNTS)  # type: ignore[arg-type]
