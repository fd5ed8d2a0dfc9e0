"""What the page says of the comparison before its figures."""

from __future__ import annotations

from benchmarks.peers.laws import DELTA, EPSILON
from benchmarks.peers.results import TOP

TASK = f"""\
The task: which keys occur and how many units have each, with epsilon {EPSILON:g} and delta \
{DELTA:g} for one unit that is added or removed, where keys are not known beforehand. Data is cut \
to the bound first, so that all are given the same frequencies. How ours stands beside the best of \
the other libraries that count, in how many data sets, by keys per unit:"""
EXPLAINED = f"""\
What is compared, and how: every library is in an environment of its own, with the best settings \
that were found for it (`benchmarks/peers`, one file each, says which). All have the same *true* \
guarantee, for such a unit, which moves so many counts by one each, by an account of our own where \
a library states another one. So others are better here than their documentation makes them:

- OpenDP states too little delta for whole counts: its threshold is higher here.
- SmartNoise SQL accounts for a unit that moves one count by all of its keys: it is told more.
- Tumult accounts for rows that may all have one key: it is told more delta.
- Gaussian noise and its threshold may each spend all of delta, because a key of a unit is moved, \
or is new. PipelineDP and PyDP divide delta between the two, and are told twice as much; OpenDP is \
given the noise and the threshold of that account, where its own would need more of both.

Further:

- `tamis` is the default call, and `tamis, fine tokens` the call with `tokens="fine"`: tokens in \
steps of less than one, for a better order of keys.
- Only tamis enforces the bounds on what a unit contributes within the time. All others rely on \
data that was cut beforehand.
- PyDP only selects keys, with all of the budget for that, from counts that Arrow made for it.
- Tumult Analytics names keys with one query and counts them with another; epsilon is divided 7 to \
3 between the two. Its counts have geometric noise, or with 50 keys Gaussian noise, which is then \
less.
- Online Retail, msweb and ABC words are real tables, which are not shipped: CONTRIBUTING.md says \
under "Data for benchmarks" where they are from.

How to read the columns:

- Errors are root mean squares: over the keys that were named, or over the {TOP} most frequent \
keys, of which one that is not named counts as 0. The mean absolute error is over the keys that \
were named.
- ±: the standard error over the runs.
- Seconds: reading and releasing, the median. Before the first bound a library runs once on all \
rows, and before each bound once on some of them; these runs do not count.
- Ratio: to the plain GROUP BY of the same file, the median of runs in turns with the libraries. \
Each of these is a new process and writes a file, while libraries are warm and write none.
- MB: the most that all processes of a library had at once, looked at 50 times a second. One \
process does all bounds, from 1 key on, so that later ones may carry what earlier ones left. \
Memory: MB, as a multiple of that of the plain GROUP BY."""
LAWS = (
    "How much the noise of a frequent key errs by its law alone, without any run (root mean "
    "square, mean absolute): ours; Laplace noise, as in OpenDP and PipelineDP; the same with the "
    "digits after the point cut off, as in SmartNoise SQL; geometric, as in OpenDP and Tumult "
    "Core; Gaussian, as in OpenDP and PipelineDP; the same, cut, as in SmartNoise SQL.\n\n"
)
