"""Histograms, heavy hitters and quantiles of what clients hold: sampling itself is the noise."""

from tamis.federated.mechanism import Histogram, SampleAndThreshold

__all__ = ["Histogram", "SampleAndThreshold"]
