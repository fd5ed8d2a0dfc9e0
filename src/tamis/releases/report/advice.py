"""What was spent, and how to read, verify and cite a release, and where its protection ends."""

from __future__ import annotations

import hashlib

import numpy as np

from tamis.privacy.certificate import Certificate
from tamis.releases.about import About
from tamis.releases.file import AnyAbout
from tamis.releases.release import Release
from tamis.releases.report.promise import one_unit
from tamis.releases.report.text import frequency, percent, safe, table
from tamis.releases.report.ways import HIGHEST, Way, lowest
from tamis.releases.summary.about import AboutSummary

_EXTRACT = """\
import json
import pyarrow.parquet as pq

said = json.loads(pq.read_metadata("release.parquet").metadata[b"tamis"])
with open("certificate.json", "w") as file:
    json.dump(said["certificate"], file, indent=1, sort_keys=True)
"""

_PAPER = """\
@inproceedings{cohen2021weighted,
  author    = {Cohen, Edith and Geri, Ofir and Sarlos, Tamas and Stemmer, Uri},
  title     = {Differentially Private Weighted Sampling},
  booktitle = {Proceedings of the 24th International Conference on Artificial Intelligence and
               Statistics (AISTATS)},
  series    = {Proceedings of Machine Learning Research},
  volume    = {130},
  pages     = {2404--2412},
  publisher = {PMLR},
  year      = {2021},
}
"""

_WORDING = """\
<li>The wording of keys. A key that enough units share is named as it stands, even when its text is
sensitive.</li>"""
_DOMAIN = """\
<li>The domain: which values the attributes have. It is published as it stands, and is taken to be
public.</li>"""


def spent(about: AnyAbout) -> str:
    """The parts of what was spent, and the entry of the ledger."""
    g = about.guarantee
    rows = [
        [safe(part.purpose), repr(part.epsilon), repr(part.delta), _value(part.value)]
        for part in about.parts
    ]
    rows.append(["together", repr(g.epsilon), repr(g.delta), ""])
    head = ["for what", "epsilon", "delta", "released for it"]
    return table(head, rows, "What was spent on this release", "spent") + _entry(about)


def reading(release: Release, planned: Way) -> str:
    """How to read estimates and intervals, and what it means not to be named."""
    coverage = release.plan.coverage
    sampled = "" if release.plan.mechanism.everything else ", not sampled"
    return f"""
<ul>
<li><strong>Estimate.</strong> The true frequency is not known to anybody who reads this. The
estimate is the frequency that fits best to the token, the whole number that was drawn.</li>
<li><strong>Interval.</strong> For a key that is named, the interval holds the true frequency with a
probability of at least {percent(coverage)}, whether the key is rare or frequent. That is said of
each key by itself: of many intervals, some will be wrong, about {percent(1 - coverage)} of them or
fewer.</li>
<li><strong>Not named</strong> does not mean absent. The key may be missing from the data, too
rare{sampled} or unlucky; this release does not say which. {_chances(planned)}</li>
<li><strong>Sums.</strong> Estimates of named keys leave out what was not named. <code>tamis
query</code> makes up for that as far as it can, and gives a standard error.</li>
<li>Whatever is computed from this release alone is as private as the release: sort it, add it up,
join it with public data, publish a part of it.</li>
</ul>
"""


def verifying(release: Release) -> str:
    """How to check the file, with tamis and without."""
    return f"""
<p>With tamis installed:</p>
<pre><code>tamis verify release.parquet</code></pre>
<p>This rebuilds the integers that decided, re-checks the guarantee from the definition of
differential privacy, and checks that every estimate and interval follows from its token. It also
prints the digest of the file, a SHA-256 over its rows and all that it says about itself. The file
that this page is about has the digest</p>
{by_digest(release.digest)}
{by_hand(release.certificate)}
<p>The certificate says how keys were named and what that guarantees, and nothing about the data.
It does not prove that the file was made by that method, from the data you think of, or only
once.</p>
"""


def by_digest(digest: str) -> str:
    """A digest, and what it is good for."""
    return f"""
<pre><code class="digest">{digest}</code></pre>
<p>Another digest means another file. The digest in a file notices accidents only: whoever changes a
file can renew it. Compare it with one that you have from elsewhere, such as from whoever published
the release.</p>"""


def by_hand(certificate: Certificate) -> str:
    """How to check the certificate without tamis."""
    known = hashlib.sha256(certificate.text.encode()).hexdigest()
    return f"""
<p>Without tamis: take the certificate out of the file,</p>
<pre><code class="extract">{safe_lines(_EXTRACT)}</code></pre>
<p>and check it with <code>verify.py</code>, one file of tamis
(<code>tamis/privacy/verify.py</code>) that needs nothing but Python:</p>
<pre><code>python verify.py certificate.json</code></pre>
<p>The SHA-256 of the certificate is <code>{known}</code>.</p>"""


def citing(about: AnyAbout, paper: str = _PAPER) -> str:
    """BibTeX of the software and of the paper."""
    software = f"""\
@software{{tamis,
  author    = {{{{The tamis authors}}}},
  title     = {{tamis: differentially private weighted samples of keyed data}},
  version   = {{{about.library}}},
  year      = {{{about.day[:4]}}},
}}
"""
    return f"<pre><code>{safe_lines(software)}\n{safe_lines(paper)}</code></pre>"


def limits(about: About | AboutSummary) -> str:
    """What is not protected."""
    element = about.guarantee.unit == "element"
    rows = "<li>People. What is protected is one row or element at a time.</li>" if element else ""
    words = _WORDING if isinstance(about, About) else _DOMAIN
    return f"""
<p>The guarantee is about what this release adds to the knowledge of its readers, concerning
{one_unit(about)}. It does not cover:</p>
<ul>
{rows}
<li>Other releases about the same data. What they reveal adds up; a ledger keeps account of it.</li>
{words}
<li>Facts about groups, and conclusions from them about people who were not even in the data.</li>
<li>Choices that were made by looking at the data, such as which rows to count, or epsilon
itself.</li>
<li>What can be seen from outside while a release is made, such as how long it takes.</li>
<li>The data before the release, and whoever holds it.</li>
</ul>
"""


def safe_lines(text: str) -> str:
    """Text of several lines, each made safe."""
    return "\n".join(safe(line) for line in text.split("\n"))


def _value(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def _entry(about: AnyAbout) -> str:
    if about.entry is None:
        return "<p>No ledger was named, so nothing says what else was spent on the same data.</p>"
    entry = sorted(about.entry.items())
    rows = [[safe(name), f"<code>{safe(value)}</code>"] for name, value in entry]
    return table(["entry of the ledger", "value"], rows, "Charged to a budget", "ledger")


def _chances(planned: Way) -> str:
    """At which frequencies keys begin to be named, and are nearly all named."""
    highest = float(planned.reporting(np.array([HIGHEST]))[0])
    said = [
        f"{100 * p:.0f} % from frequency {frequency(lowest(planned.reporting, p))} on"
        for p in (0.01, 0.5, 0.99)
        if p <= highest
    ]
    if not said:
        return "Under this scheme hardly any key is named."
    return f"A key is named with a probability of {', '.join(said)}."
