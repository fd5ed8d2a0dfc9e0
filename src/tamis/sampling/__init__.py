"""Which keys are looked at: schemes, threshold and bottom-k samples, streams."""

from tamis.sampling.bottomk import BottomK, bottom_k
from tamis.sampling.frequencies import check_frequencies
from tamis.sampling.schemes import Custom, Everything, Pps, Ppswor, Scheme
from tamis.sampling.stream import PpsworStream, SecondPass, count
from tamis.sampling.threshold import (
    PrivateTau,
    private_tau,
    tau_for_size,
    threshold_sample,
    threshold_sample_table,
)

__all__ = [
    "BottomK",
    "Custom",
    "Everything",
    "Pps",
    "Ppswor",
    "PpsworStream",
    "PrivateTau",
    "Scheme",
    "SecondPass",
    "bottom_k",
    "check_frequencies",
    "count",
    "private_tau",
    "tau_for_size",
    "threshold_sample",
    "threshold_sample_table",
]
