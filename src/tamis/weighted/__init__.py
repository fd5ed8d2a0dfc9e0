"""Private weighted samples: plans, tokens, estimates, intervals, order statistics, baselines."""

from tamis.weighted.estimators import BiasedDown, Centred, MaximumLikelihood, Unbiased
from tamis.weighted.mechanism import Mechanism
from tamis.weighted.plan import Plan
from tamis.weighted.sample import PrivateSample, private_sample

__all__ = [
    "BiasedDown",
    "Centred",
    "MaximumLikelihood",
    "Mechanism",
    "Plan",
    "PrivateSample",
    "Unbiased",
    "private_sample",
]
