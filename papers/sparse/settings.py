"""The parameters of the experiments. The README says which the paper states and which we chose."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tamis.sparse.flat import Ints

EPSILON = Fraction(1, 10)
EPSILONS = (Fraction(1, 10), Fraction(1))

# The synthetic tables: cells, mean and standard deviation of the cells that are not empty.
CELLS = 10**6
MEAN, SPREAD = 100, 20
DENSITIES = (0.1, 0.01)
WIDE = 50  # the larger standard deviation
SMALL_MEAN = 10  # a table whose counts are below the filter

# Ranges: cells in each, how many of each length, and how often each summary is drawn.
LENGTHS: Ints = np.rint(10 ** np.arange(1, 5.75, 0.5)).astype(np.int64)
FIXED_LENGTH = 10**4
RANGES = 200
DRAWS = 4
SHARES = (1e-4, 1e-3, 1e-2, 0.05, 0.2)  # of all cells, for boxes, subsets and ranges of real tables
REAL_DRAWS = 2

# Figure 1.
PARAMETER_DRAWS = 2
THETAS = tuple(range(5, 75, 5))
SIZES = tuple(int(x) for x in np.rint(10 ** np.arange(4, 5.9, 0.25)))
PAPERS_THETA = 50  # half of the mean

# Figure 3.
SPEED_DENSITIES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
REPEATS, SECONDS = 3, 0.5  # at least so many runs, and more while there is time

# Figure 8: theta is the least with cells * p(theta) <= share * size.
NOISE_SHARES = tuple(2.0**k for k in (4, 2, 1, 0, -1, -2, -3, -4, -6, -8, -12))
THETA_DRAWS = 2
SUBSETS = (1e-4, 1e-2, 0.2)  # shares of all cells
