"""The parameters of the figures. The README says which the paper states and which we chose."""

from __future__ import annotations

import numpy as np

from papers.weighted.data import Floats

# Figure 1, and one larger epsilon for the claims about it.
HISTOGRAMS = ((0.1, 0.01), (0.01, 1e-6), (1.0, 1e-6))

# Figures 2, 3, 5, 6, 7.
EPSILON = 0.1
DELTA = 0.001
AT_LEAST = {0.5: 2.30, 1.0: 0.97, 2.0: 0.37}  # least gain by alpha, the caption of figure 5

# The baselines take delta < 1 only; the figures say "1" for this.
ALMOST_ONE = 1 - 2.0**-40
DELTAS: Floats = np.minimum(np.logspace(-8, 0, 81), ALMOST_ONE)
TAUS: Floats = np.logspace(-3, 1, 81)

# Figures 4, 8 and 9.
FINE_DELTA = 2.0**-20
SAMPLES = ((0.5, 1e-2), (0.5, 1e-4), (0.1, 1e-2), (0.1, 1e-4))  # (epsilon, tau)
EPSILONS = (0.5, 0.1)
BIAS_TAUS = (1.0, 1e-2, 1e-4, 1e-6)
RATES: Floats = np.logspace(-6, 0, 49)
VARIANCE_TAUS = (1.0, 1e-3, 1e-5)
