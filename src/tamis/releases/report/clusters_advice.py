"""How to read and verify a release of clusters, and where its protection ends."""

from __future__ import annotations

from tamis.releases.clusters.about import AboutClusters
from tamis.releases.clusters.clusters import Clusters
from tamis.releases.report.advice import by_digest, by_hand

PAPERS = """\
@inproceedings{su2016differentially,
  author    = {Su, Dong and Cao, Jianneng and Li, Ninghui and Bertino, Elisa and Jin, Hongxia},
  title     = {Differentially Private K-Means Clustering},
  booktitle = {Proceedings of the Sixth ACM Conference on Data and Application Security and
               Privacy (CODASPY)},
  publisher = {ACM},
  year      = {2016},
}

@misc{fay2023privacy,
  author    = {Fay, Dominik and Mair, Sebastian and Sj{\\"o}lund, Jens},
  title     = {Privacy Amplification via Importance Sampling},
  note      = {arXiv:2307.10187},
  year      = {2023},
}
"""


def reading(about: AboutClusters) -> str:
    """How to read centres and sizes."""
    clipped = (
        "the bounds counted as if it lay at them"
        if about.radius is None
        else "the radius counted as if it lay at it"
    )
    return f"""
<ul>
<li><strong>Centre.</strong> About the mean of the rows that are nearer to it than to any other
centre, with noise. What lay beyond {clipped}.</li>
<li><strong>Size.</strong> About how many rows those are, with noise. A size of 0 means that nothing
but noise was seen there: such a centre says nothing.</li>
<li><strong>Numbers</strong> of clusters are places in the order of sizes. Another run gives other
numbers, and k-means may divide the same data in another way.</li>
<li><strong>How well it fits</strong> is not in the release: distances of the rows to their centres
would have to be paid for. Whoever holds the data may look at them, and must not publish
them.</li>
<li>Whatever is computed from this release alone is as private as the release: sort it, draw it,
give new rows to their nearest centre, join it with public data, publish a part of it.</li>
</ul>
"""


def verifying(release: Clusters) -> str:
    """How to check the file, with tamis and without."""
    inside = "" if release.about.bounds is None else " within their bounds"
    return f"""
<p>With tamis installed:</p>
<pre><code>tamis verify release.parquet</code></pre>
<p>This checks that what the parts spend, on a sample or on all rows, is no more than is promised,
that the clusters are all there, in the order of their sizes, and that centres are finite
numbers{inside}. It also prints the digest of the file, a SHA-256 over its rows and all that it says
about itself. The file that this page is about has the digest</p>
{by_digest(release.digest)}
{by_hand(release.certificate)}
<p>The certificate says what was spent on what. It does not prove that the noise was drawn so, from
the data you think of, or only once.</p>
"""


def limits(about: AboutClusters) -> str:
    """What is not protected."""
    ends = "radius" if about.bounds is None else "bounds"
    return f"""
<p>The guarantee is about what this release adds to the knowledge of its readers, concerning one
row. It does not cover:</p>
<ul>
<li>People with several rows, as a whole: what is protected is one row at a time.</li>
<li><strong>Which cluster a row of the data belongs to</strong>, and how far it is from its centre.
Neither is in this release, and neither is private.</li>
<li>Other releases about the same data. What they reveal adds up; a ledger keeps account of it.</li>
<li>The names of the columns and the {ends}, which are published as they stand and are taken to be
public. If they were taken from the data, they tell of it.</li>
<li>Other choices that were made by looking at the data, such as the number of clusters, which rows
to use, or epsilon itself.</li>
<li>Facts about groups, and conclusions from them about people who were not even in the data.</li>
<li>What can be seen from outside while a release is made, such as how long it takes.</li>
<li>The data before the release, and whoever holds it.</li>
</ul>
"""
