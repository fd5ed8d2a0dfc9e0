"""What the page says of the comparison before its figures."""

from __future__ import annotations

from benchmarks.peers.laws import DELTA, EPSILON
from benchmarks.peers.results import TOP

EXPLAINED = f"""\
Which keys occur and how many units have each, epsilon {EPSILON:g}, delta {DELTA:g} for one unit \
that is added or removed, keys not known beforehand. Data is cut to the bound first, so that all \
are given the same frequencies. Every library is in an environment of its own, the best settings \
for it were looked for, and where what it states is not what it does, the true guarantee is the \
same (`benchmarks/peers`, one file each, says how).

What is in the time is not the same for all: tamis and PipelineDP enforce the bounds on what a \
unit contributes. OpenDP, SmartNoise SQL, Tumult and PyDP are given data that was cut \
beforehand, and enforce none in this time. PyDP's selections say names only, with all of the \
budget for that, of counts that Arrow made for them. SmartNoise's Gaussian mechanism is left \
out: it takes the noise for a unit that moves one count by all of its keys, and names fewer with \
1 key and with 50. Tumult Analytics names keys with one query and counts them with another; its \
counts have geometric noise, or Gaussian where that is less, with 50 keys.

Errors are root mean squares: over the keys that were named, and over the {TOP} most frequent \
keys, where one that is not named counts as 0; the mean absolute error is over the keys that \
were named. ±: the standard error over the runs. Seconds: reading and releasing, the median, \
after one run of little data that does not count, for everyone; ratio: to the plain GROUP BY of \
the same file, the median of runs in turns with the libraries. MB: of all processes of a \
library."""
LAWS = (
    "What the noise of a frequent key errs by its law alone, without any run (root mean square, "
    "mean absolute): ours; Laplace noise, as in OpenDP, SmartNoise SQL and PipelineDP; geometric, "
    "as in Tumult Core; Gaussian with half of delta, as in PipelineDP.\n\n"
)
