"""Opening what was saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tamis.releases import file
from tamis.releases.clusters.about import AboutClusters
from tamis.releases.clusters.clusters import Clusters
from tamis.releases.collected.about import AboutCollected
from tamis.releases.collected.collected import Collected
from tamis.releases.release import Release
from tamis.releases.summary.about import AboutSummary
from tamis.releases.summary.summary import Summary, read_nodes
from tamis.releases.writing import in_folder
from tamis.weighted.sample import PrivateSample


def open_release(path: str | Path) -> Any:
    """Open a release file: a `Release`, `Summary`, `Collected` or `Clusters`, whichever it holds.

    What was changed in it is refused: the rows, and what it says about itself, must fit the digest.
    """
    if in_folder(path):
        from tamis.releases.folder.reading import open_folder

        return open_folder(path)
    table, about = file.read(path)
    if isinstance(about, AboutClusters):
        return Clusters(table, about)
    if isinstance(about, AboutCollected):
        return Collected(table, about)
    if isinstance(about, AboutSummary):
        return Summary(read_nodes(table, about), about)
    return Release(PrivateSample(table, about.plan), about)
