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
beforehand, and enforce none in this time. (PipelineDP can be told that bounds are enforced, but \
not where it counts units.) PyDP's selections say names only, with all of the \
budget for that, of counts that Arrow made for them. SmartNoise's Gaussian mechanism is left \
out: it takes the noise for a unit that moves one count by all of its keys, and names fewer with \
1 key and with 50. Tumult Analytics names keys with one query and counts them with another, for \
which epsilon is divided 7 to 3; its \
counts have geometric noise, or Gaussian where that is less, with 50 keys. `tamis, fine tokens` is \
the call with `tokens="fine"`: tokens in steps of less than one, for a better order of keys.

Errors are root mean squares: over the keys that were named, and over the {TOP} most frequent \
keys, where one that is not named counts as 0; the mean absolute error is over the keys that \
were named. ±: the standard error over the runs. Seconds: reading and releasing, the median, \
after two runs that do not count, one of all rows and one of a little data, for everyone; ratio: \
to the plain GROUP BY of \
the same file, the median of runs in turns with the libraries, each of which is a new process and \
writes a file, while libraries are warm and write none. MB: the most of all processes of a \
library, which are looked at 50 times a second; one process does all bounds, from 1 key on, so \
that later ones may carry what earlier ones left."""
LAWS = (
    "What the noise of a frequent key errs by its law alone, without any run (root mean square, "
    "mean absolute): ours; Laplace noise, as in PipelineDP and, with 1 and 2 keys, OpenDP; the "
    "same with the digits after the point cut off, as in SmartNoise SQL; geometric, as in Tumult "
    "Core and, from 4 keys on, OpenDP; Gaussian with half of delta, as in PipelineDP.\n\n"
)
