"""tamis: which keys occur and how often, as far as differential privacy allows."""

from tamis.privacy.certificate import Certificate
from tamis.privacy.errors import InvalidInput
from tamis.privacy.guarantee import Guarantee
from tamis.sampling.schemes import Custom, Everything, Pps, Ppswor
from tamis.weighted.plan import Plan, plan
from tamis.weighted.sample import PrivateSample, sanitize

__all__ = [
    "Certificate",
    "Custom",
    "Everything",
    "Guarantee",
    "InvalidInput",
    "Plan",
    "Pps",
    "Ppswor",
    "PrivateSample",
    "plan",
    "sanitize",
]
