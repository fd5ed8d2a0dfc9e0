"""One word per key, compared with integers: the draw behind every release.

Guarantee: `draw` gives a key of frequency i the token x with exactly the probability
(T_i(x - 1) - T_i(x)) / 2^128 of the integers in `privacy.verify`, and 0 (not reported) otherwise.
"""

from __future__ import annotations

import numpy as np

from tamis.weighted.mechanism import Mechanism
from tamis.weighted.walk import SchemeSampler
from tamis.weighted.words import CHUNK, Ints, Table, Words


def draw(mechanism: Mechanism, frequencies: Ints) -> Ints:
    """A token for every frequency; 0 where the key is not reported."""
    if mechanism.everything:
        return _from_table(mechanism, frequencies)
    most = int(frequencies.max()) if len(frequencies) > CHUNK else 0
    return SchemeSampler(mechanism, most).draw(frequencies)


def _from_table(mechanism: Mechanism, frequencies: Ints) -> Ints:
    """Every key is looked at: token = frequency - D, one table for all frequencies.

    With a head start the token of a key that occurs is higher by it.
    """
    (entries, stride), ahead = mechanism.draw, mechanism.head_start
    table, tokens = Table(entries[1:-1]), np.empty(len(frequencies), dtype=np.int64)
    for start in range(0, len(frequencies), CHUNK):
        part = frequencies[start : start + CHUNK]
        noise = table.reached(Words.draw(len(part)))
        np.subtract(part * stride if stride > 1 else part, noise, out=noise)
        if ahead:
            noise += ahead
            noise[part < 1] = 0
        np.maximum(noise, 0, out=tokens[start : start + CHUNK])
    return tokens
