"""How to read and verify a release of devices' reports, and where its protection ends."""

from __future__ import annotations

import numpy as np

from tamis.federated import SampleAndThreshold
from tamis.privacy.errors import counted
from tamis.releases.collected.about import AboutCollected
from tamis.releases.collected.collected import Collected
from tamis.releases.report.advice import by_digest, by_hand
from tamis.releases.report.text import frequency, percent
from tamis.releases.report.ways import lowest

PAPER = """\
@inproceedings{bharadwaj2022sample,
  author    = {Bharadwaj, Akash and Cormode, Graham},
  title     = {Sample-and-threshold differential privacy: Histograms and applications},
  booktitle = {Proceedings of the 25th International Conference on Artificial Intelligence and
               Statistics (AISTATS)},
  series    = {Proceedings of Machine Learning Research},
  volume    = {151},
  pages     = {1420--1431},
  publisher = {PMLR},
  year      = {2022},
}
"""

_WORDING = """\
<li>The wording of answers. What enough clients hold is named as it stands, even when its text is
sensitive.</li>"""
_ALWAYS = """\
<li><strong>Who did not report</strong> is not counted. Numbers are of the clients that took part
and whose report arrived.</li>
<li>Whatever is computed from this release alone is as private as the release: sort it, add it up,
join it with public data, publish a part of it.</li>"""


def reading(about: AboutCollected) -> str:
    """How to read estimates and intervals."""
    lines = _of_quantiles(about) if about.kind == "quantiles" else _of_items(about)
    return f"<ul>\n{lines}\n{_ALWAYS}\n</ul>"


def verifying(release: Collected) -> str:
    """How to check the file, with tamis and without."""
    rows = (
        "that every quantile lies in its interval and that they rise"
        if release.about.kind == "quantiles"
        else "that every estimate and interval follows from its token, and that no token is below "
        "tau"
    )
    return f"""
<p>With tamis installed:</p>
<pre><code>tamis verify release.parquet</code></pre>
<p>This computes anew which delta p, tau and the rounds need, and checks {rows}. It also prints the
digest of the file, a SHA-256 over its rows and all that it says about itself. The file that this
page is about has the digest</p>
{by_digest(release.digest)}
{by_hand(release.certificate)}
<p>The certificate says how clients were sampled and what that guarantees, and nothing about the
data. It does not prove that clients tossed their coins as they should, that each was counted once,
that nothing else was published, or that this was asked only once.</p>
"""


def limits(about: AboutCollected) -> str:
    """What is not protected."""
    tau = about.mechanism.tau
    words = "" if about.domain else _WORDING
    return f"""
<p>The guarantee is about what this release adds to the knowledge of its readers, concerning one
client. It does not cover:</p>
<ul>
<li><strong>Those who run the aggregator.</strong> They open the reports of the clients that
counted, and are trusted to publish nothing else of them. No enclave and no second party keeps them
from looking. The server that takes reports is another program, and cannot open them.</li>
<li><strong>Clients that cheat.</strong> The coins of the other clients are what hides one of them.
For readers who hold c clients themselves, and let them always report what they guess, the threshold
is not {tau:,} but {tau:,} - c, and delta is larger. And clients may lie: whoever holds several
tokens counts several times, and what was lied about is in the estimates.</li>
<li><strong>How many took part.</strong> This page does not say it, and nobody should: together with
the release it could show that one client counted.</li>
<li>Other queries to the same clients, and other releases about them. What they reveal adds up; a
ledger, and each client for itself, keep account of it.</li>
{words}
<li>Facts about groups, and conclusions from them about people who did not take part.</li>
<li>When and from where a client reports, as the network sees it. Whether it counted cannot be seen:
all reports are sealed and of one size.</li>
</ul>
"""


def _of_items(about: AboutCollected) -> str:
    m, coverage = about.mechanism, about.coverage
    return f"""\
<li><strong>Token and estimate.</strong> The token is how many of the clients that counted gave this
answer. Each stands for 1 / p = {1 / m.p:.3g} of all, so the estimate is token / p.</li>
<li><strong>Interval.</strong> For an item that was thought of beforehand, the interval holds the
number of its clients with a probability of at least {percent(coverage)}, or the item is not there.
That is said of each item by itself: of many intervals, some will be wrong, about
{percent(1 - coverage)} of them.</li>
<li><strong>Near the threshold</strong> items look larger than they are. No estimate is below
tau / p = {m.needed:,.1f}; what fewer clients hold is seldom named, and if it is, by luck.</li>
<li><strong>Not named</strong> does not mean absent. The item may be held by nobody, by too few, or
by clients that did not count; this release does not say which. {_chances(m)}</li>
<li><strong>Sums.</strong> <code>tamis query release.parquet sum</code> says how many clients hold
the named items, or some of them, and makes up for those that luck made large. What is not named is
in no sum.</li>"""


def _of_quantiles(about: AboutCollected) -> str:
    m, coverage = about.mechanism, about.coverage
    return f"""\
<li><strong>Estimate.</strong> It was found by a search in {counted(m.rounds, "round")} at most: in
each, clients said in which of a few ranges their number lies, and the range with the quantile was
cut in two. So about that share of the clients have a number that is at most as large.</li>
<li><strong>Interval.</strong> It reaches to the nearest numbers at which the search asked and found
the share of the clients too low, or too high, by more than chance explains, with a probability of
about {percent(coverage)}. A search asks at few numbers, so one side may be wide. That is said of
each quantile by itself.</li>
<li><strong>Small ranges.</strong> A range with few clients counts as empty: one with fewer than
{m.needed:,.0f} clients is mostly not seen. If a round saw no range at all, the search ended there;
then the estimate is in the middle of what was left, and the interval is wide.</li>"""


def _chances(m: SampleAndThreshold) -> str:
    """At how many clients items begin to be named, and are nearly all named."""
    said = [
        f"{100 * p:.0f} % from {frequency(_clients(m, p))} clients on" for p in (0.01, 0.5, 0.99)
    ]
    return f"An item is named with a probability of {', '.join(said)}."


def _clients(m: SampleAndThreshold, probability: float) -> int:
    return lowest(lambda w: np.asarray((1 - m.missed(w)) ** m.rounds), probability)
