"""The parameters of the experiments. The README says which the paper states and which we chose."""

from __future__ import annotations

CLUSTERS, ITERATIONS = 25, 10
MIXING = 0.5  # lambda of the coreset sampler
SIZES = (5_000, 10_000, 20_000)
EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 1000.0)
DRAWS = 50
START = 0.25  # of the radius: the l1 norm of the first centres

# l1 norms of centred rows beyond which rows are dropped: about 2.5 % of them. Public numbers.
RADII = {"letter": 46.0, "shuttle": 274.0, "covtype": 6_086.0, "mixture": 12.4}

EQUAL = 1.03  # costs up to so much apart are called equal
