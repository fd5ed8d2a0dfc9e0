"""The sections of the page of a release of clusters."""

from __future__ import annotations

from tamis.releases.clusters.clusters import Clusters
from tamis.releases.report import advice, clusters_advice, clusters_promise
from tamis.releases.report.clusters_figures import expected
from tamis.releases.report.clusters_rows import centres, map_of


def sections(release: Clusters) -> dict[str, str]:
    """Ready HTML by title."""
    about = release.about
    return {
        "What this is": clusters_promise.facts(release) + clusters_promise.plainly(release),
        "The guarantee, formally": clusters_promise.formally(about),
        "Centres and sizes": centres(release),
        "The clusters as a picture": map_of(release),
        "How to read it": clusters_advice.reading(about),
        "What noise costs, by epsilon": expected(release),
        "What was spent": advice.spent(about),
        "How to verify": clusters_advice.verifying(release),
        "What is not protected": clusters_advice.limits(about),
        "How to cite": advice.citing(about, clusters_advice.PAPERS),
    }
