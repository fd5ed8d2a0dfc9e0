"""Private weighted samples: plans, tokens, estimates, intervals, order statistics, baselines."""

from tamis.weighted.estimators import BiasedDown, Centred, MaximumLikelihood, Unbiased
from tamis.weighted.mechanism import Mechanism
from tamis.weighted.plan import Plan, plan
from tamis.weighted.sample import PrivateSample, private_sample, sanitize

__all__ = [
    "BiasedDown",
    "Centred",
    "MaximumLikelihood",
    "Mechanism",
    "Plan",
    "PrivateSample",
    "Unbiased",
    "plan",
    "private_sample",
    "sanitize",
]
