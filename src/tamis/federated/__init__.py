"""Histograms, heavy hitters and quantiles of what clients hold: sampling itself is the noise."""

from tamis.federated.hitters import HeavyHitters
from tamis.federated.mechanism import Histogram, SampleAndThreshold
from tamis.federated.quantiles import Quantiles, QuantileTable

__all__ = ["HeavyHitters", "Histogram", "QuantileTable", "Quantiles", "SampleAndThreshold"]
