"""What sample-and-threshold is measured against, each with its own guarantee."""

from tamis.federated.baselines.central import CentralNoise
from tamis.federated.baselines.local import HadamardResponse
from tamis.federated.baselines.shuffle import BernoulliNoise, delta_of
from tamis.federated.baselines.trie import TrieHH

__all__ = ["BernoulliNoise", "CentralNoise", "HadamardResponse", "TrieHH", "delta_of"]
