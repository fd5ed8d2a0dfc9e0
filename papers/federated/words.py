"""Heavy hitters: which of the most frequent words each method finds."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from papers.federated.data import Floats, Texts, Words
from papers.federated.settings import DELTA, DEPTH, TOPS, WORD_DRAWS
from papers.sparse.draws import repeatable
from tamis.federated import HeavyHitters, SampleAndThreshold
from tamis.federated.baselines import TrieHH

EPSILON = 1.0
LEAF, TREE, TRIE = "leaf level, one round", "prefix tree, ten rounds", "TrieHH"


def leaf(words: Texts) -> set[str]:
    """All words that a histogram of whole words releases."""
    table = SampleAndThreshold(EPSILON, DELTA).release(words).to_arrow()
    return set(table["item"].to_pylist())


def tree(words: Texts) -> set[str]:
    """All words found along a tree that grows by one letter in each round."""
    table = HeavyHitters(EPSILON, DELTA, rounds=DEPTH, depth=DEPTH).release(words).to_arrow()
    return set(table["item"].to_pylist())


def trie(words: Texts) -> set[str]:
    """What the baseline finds."""
    return set(TrieHH(EPSILON, DELTA, DEPTH).release(words))


# A method that is added here is measured and told in the claim, and needs a style to be drawn in.
COMPARED: dict[str, Callable[[Texts], set[str]]] = {LEAF: leaf, TREE: tree, TRIE: trie}


@lru_cache
def recall(words: Words, tops: tuple[int, ...] = TOPS) -> dict[str, Floats]:
    """The mean share of the most frequent words that is found: a number for each of ``tops``."""
    found = {}
    for name, method in COMPARED.items():
        with repeatable(1):
            sets = [method(words.words) for _ in range(WORD_DRAWS)]
        shares = [[len(s.intersection(words.by_frequency[:k])) / k for k in tops] for s in sets]
        found[name] = np.mean(shares, axis=0)
    return found
