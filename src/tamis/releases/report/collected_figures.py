"""What to expect of sampling and a threshold: it follows from p and tau alone."""

from __future__ import annotations

from math import sqrt

import numpy as np
from scipy import stats

from tamis.federated import Histogram, SampleAndThreshold
from tamis.privacy.answer import quantile
from tamis.privacy.guarantee import REPLACED
from tamis.releases.collected.about import AboutCollected
from tamis.releases.report.figures import (
    Sizes,
    Words,
    error_figure,
    naming_figure,
    numbers,
    places,
)
from tamis.releases.report.svg import DIGIT, NUMBER, Label, Line, chart, log_axis
from tamis.releases.report.ways import Floats, Ints, Way, way_of
from tamis.sampling.arrow import column_of
from tamis.weighted.plan import plan

_SURE = 1e-9  # an item that is missed less often is as good as always named
_ITEMS = Words(
    one="an item",
    done="named",
    axis="clients that hold the item",
    sized="{:,} clients",
    unit="in clients",
    error="error, if it is named",
    spread="root of the mean squared error",
    head=("clients", "named", "with central noise", "error, if named", "interval"),
)
_RANGES = Words(
    one="a range",
    done="seen",
    axis="clients in the range",
    sized="{:,} clients",
    unit="in clients",
    error="error",
    spread="error",
    head=(),
)


def expected(about: AboutCollected) -> str:
    """Two figures, and for items the same in numbers."""
    figures = _of_quantiles(about) if about.kind == "quantiles" else _of_items(about)
    return f"""
<p>These figures follow from the parameters alone. They would be the same for any data.</p>
{figures}"""


def _of_items(about: AboutCollected) -> str:
    compared = ways(about)
    drawn = places(compared)
    known = sizes(about, drawn[drawn >= about.mechanism.tau])
    tree = (
        " It is for an item that shares its first letters with no other: one that does is found a "
        "little more often."
        if about.mechanism.rounds > 1
        else ""
    )
    return f"""
<div class="figures">
<figure>{naming_figure(compared, _ITEMS)}
<figcaption>How likely an item is to be named, by the number of clients that hold it.{tree} Beside
it, what central noise with the same budget would name, if every client sent its answer. Further to
the left is better: rarer items are named.</figcaption></figure>
<figure>{error_figure(compared[:1], known, _ITEMS)}
<figcaption>How far off the estimate of a named item is, as the root of the mean square, and how
wide its interval is. To the left, where items are seldom named, those that are look larger than
they are.</figcaption></figure>
</div>
{numbers(compared, known, _ITEMS)}
"""


def _of_quantiles(about: AboutCollected) -> str:
    m = about.mechanism
    named = way_of(("seen in", "a round"), "one", lambda w: 1 - m.missed(w))
    return f"""
<div class="figures">
<figure>{naming_figure([named], _RANGES)}
<figcaption>How likely a range of numbers is to be seen in a round, by the number of clients in it.
What is not seen counts as empty.</figcaption></figure>
<figure>{_rank_figure(m, about.coverage)}
<figcaption>How far the rank of an estimate is from the quantile that was asked for, by the number
of clients that report: about so much at most for the median, and less for
others.</figcaption></figure>
</div>
"""


def ways(about: AboutCollected) -> tuple[Way, Way]:
    """The release, and the best central noise on the answers of all clients."""
    m, g = about.mechanism, about.guarantee
    touched = 2 if g.neighbours == REPLACED else 1  # an item that is left, and one that is taken
    central = plan(g.epsilon, g.delta, keys_per_unit=touched)
    return (
        way_of(("tamis,", "this release"), "one", lambda w: (1 - m.missed(w)) ** m.rounds),
        way_of(
            ("central noise on", "all answers"), "two", lambda w: np.asarray(central.reporting(w))
        ),
    )


def sizes(about: AboutCollected, at: Ints) -> Sizes:
    """Errors and typical intervals of items of so many clients, if they are named."""
    m = about.mechanism
    middle = stats.binom.ppf(m.missed(at) + (1 - m.missed(at)) / 2, at, m.p)
    tokens, place = np.unique(np.maximum(middle, m.tau).astype(np.int64), return_inverse=True)
    made = Histogram.of(m, column_of(np.arange(len(tokens))), tokens, about.coverage).table
    low, high = (np.asarray(made.column(name))[::-1][place] for name in ("low", "high"))
    return Sizes(at, np.array([_error(m, int(k)) for k in at]), low, high)


def _error(m: SampleAndThreshold, k: int) -> float:
    """The root of the mean of (T / p - k)^2, given T >= tau."""
    if m.missed(k) < _SURE:
        return sqrt(k * (1 - m.p) / m.p)
    t = np.arange(m.tau, k + 1)
    law = stats.binom.logpmf(t, k, m.p)
    law = np.exp(law - law.max())
    return float(sqrt(law @ (t / m.p - k) ** 2 / law.sum()))


def _rank_figure(m: SampleAndThreshold, coverage: float) -> str:
    """In per cent of all clients; the share below a number is that of a sample."""
    first = max(100.0, 2 * m.needed)
    at = np.rint(np.geomspace(first, 10_000 * first, 60)).astype(np.int64)
    error: Floats = 100 * np.sqrt(0.25 * (1 - m.p) / (m.p * at))
    ends = 2 * quantile(coverage) * error
    x = log_axis(first, 10_000 * first, "clients that report", DIGIT)
    y = log_axis(error[-1] / 2, ends[0] * 2, "in per cent of all clients", NUMBER)
    left, right = (0.45, float(y.share(error[27])) - 0.06), (0.55, float(y.share(ends[33])) + 0.06)
    lines = [
        Line(at, error, "one", Label(("typical error",), left, left, "end")),
        Line(at, ends, "other", Label(("interval, end to end",), right, right)),
    ]
    described = f"With {at[30]:,} clients the typical error is {error[30]:.2g} per cent."
    return chart(x, y, lines, "error", "Error of the rank", described)
