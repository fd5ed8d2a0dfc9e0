"""The parameters of the experiments. The README says which the poster states and which we chose."""

from __future__ import annotations

DELTA = 1e-6
EPSILONS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0)
DOMAINS = (2**6, 2**10, 2**14)
CLIENTS = 204_000
DRAWS = 20
SIMILAR = 1.1  # errors up to so much larger are called similar
EQUAL = 1.02  # and up to this, equal: no method lags another, nor is it better

# Figure 1: the poster's example.
POSTER_P, POSTER_TAU, POSTER_EPSILON, POSTER_DELTA = 0.1, 6, 1.0, 0.0015
THRESHOLDS = tuple(range(2, 31))

# Figure 5.
DEPTH = 10
WORD_DRAWS = 5
RECALL = (100, 400)
TOPS = (10, 25, 50, 100, 200, 400, 800)
