"""Amplification by importance sampling: profiles, optimal weights, samplers, and k-means."""

from tamis.importance.amplification import amplified, sampling_cannot_help, sampling_helps
from tamis.importance.profiles import Count, LaplaceSum, Linear, Lloyd, Profile
from tamis.importance.sample import WeightedSample, poisson, sample_parquet, sample_table
from tamis.importance.samplers import Coreset, Optimal, Sampler, Uniform
from tamis.importance.weights import optimal_weights

__all__ = [
    "Coreset",
    "Count",
    "LaplaceSum",
    "Linear",
    "Lloyd",
    "Optimal",
    "Profile",
    "Sampler",
    "Uniform",
    "WeightedSample",
    "amplified",
    "optimal_weights",
    "poisson",
    "sample_parquet",
    "sample_table",
    "sampling_cannot_help",
    "sampling_helps",
]
