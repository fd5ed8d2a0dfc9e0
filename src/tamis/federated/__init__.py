"""Histograms, heavy hitters and quantiles of what clients hold: sampling itself is the noise."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tamis.federated.client import Client
    from tamis.federated.device import Device, Limits, Refused, Unreachable
    from tamis.federated.hitters import HeavyHitters
    from tamis.federated.mechanism import Histogram, SampleAndThreshold
    from tamis.federated.quantiles import Quantiles, QuantileTable

__all__ = [
    "Client",
    "Collector",
    "Device",
    "HeavyHitters",
    "Histogram",
    "Limits",
    "QuantileTable",
    "Quantiles",
    "Refused",
    "SampleAndThreshold",
    "Unreachable",
]

# Loaded when they are used, so that a device starts without what it does not need. The collector
# writes release files, so it lives above this package; people look for its name here.
_FROM = {
    "Client": "tamis.federated.client",
    "Collector": "tamis.collect.collector",
    "Device": "tamis.federated.device",
    "HeavyHitters": "tamis.federated.hitters",
    "Histogram": "tamis.federated.mechanism",
    "Limits": "tamis.federated.device",
    "QuantileTable": "tamis.federated.quantiles",
    "Quantiles": "tamis.federated.quantiles",
    "Refused": "tamis.federated.device",
    "SampleAndThreshold": "tamis.federated.mechanism",
    "Unreachable": "tamis.federated.device",
}


def __getattr__(name: str) -> Any:
    if name not in _FROM:
        raise AttributeError(f"module 'tamis.federated' has no attribute {name!r}")
    value = getattr(import_module(_FROM[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
