"""Histograms, heavy hitters and quantiles of what clients hold: sampling itself is the noise."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tamis.federated.hitters import HeavyHitters
from tamis.federated.mechanism import Histogram, SampleAndThreshold
from tamis.federated.quantiles import Quantiles, QuantileTable

if TYPE_CHECKING:
    from tamis.federated.client import Client

__all__ = [
    "Client",
    "Collector",
    "HeavyHitters",
    "Histogram",
    "QuantileTable",
    "Quantiles",
    "SampleAndThreshold",
]

# What needs packages of its own is loaded when it is used. The collector writes release files, so
# it lives above this package; its name is here because people look for it here.
_FROM = {"Client": "tamis.federated.client", "Collector": "tamis.collect.collector"}


def __getattr__(name: str) -> Any:
    if name not in _FROM:
        raise AttributeError(f"module 'tamis.federated' has no attribute {name!r}")
    return getattr(import_module(_FROM[name]), name)
