"""The guarantee of a release of clusters as an entry for the registry."""

from __future__ import annotations

from tamis.releases.clusters.about import AboutClusters
from tamis.releases.clusters.clusters import Clusters
from tamis.releases.report.registry_common import (
    FILL_IN,
    Value,
    administrative,
    basic,
    model,
    parameters,
)

_PAPER: dict[str, Value] = {
    "author": "Su, Dong and Cao, Jianneng and Li, Ninghui and Bertino, Elisa and Jin, Hongxia",
    "title": "Differentially Private K-Means Clustering",
    "booktitle": "Proceedings of the Sixth ACM Conference on Data and Application Security and "
    "Privacy (CODASPY)",
    "publisher": "ACM",
    "year": 2016,
}


def clusters_deployment(release: Clusters) -> dict[str, Value]:
    """The sections of the entry, in their order."""
    about, columns = release.about, ", ".join(release.about.columns)
    description = f"Centres of {about.clusters} clusters in {columns}, with estimated sizes."
    adjacent = "Adjacent data sets differ by adding or removing one row."
    return {
        "basic": basic(about, f"Private clusters in {columns}", description),
        "dp_variant": _variant(about),
        "privacy_loss": parameters(about, "Row-level", adjacent),
        "deployment_model": model(about),
        "implementation": _implementation(about, release.digest),
        "administrative": administrative(_PAPER),
    }


def _variant(about: AboutClusters) -> dict[str, Value]:
    chosen = "; rows that do not satisfy a condition are left out" if about.filtered else ""
    return {
        "variant_name": "Pure DP",
        "data_domain": f"Tables of numbers, with the columns {', '.join(about.columns)}{chosen}.",
        "unprotected_quantities": "None in the release. The names of the columns and the bounds of "
        "the data are public. Which cluster a row belongs to is not released.",
    }


def _implementation(about: AboutClusters, digest: str) -> dict[str, Value]:
    ends = (
        f"shortened to the l1 norm {about.radius:.10g}"
        if about.radius is not None
        else "moved to bounds that are in the release file"
    )
    sample = "all rows are used" if about.sampler == "full" else f"{about.sampler} sampling of rows"
    return {
        "preprocessing_and_hyperparameter_tuning": f"Rows are {ends}, which were fixed beforehand. "
        "What was spent on the middle of the data is in privacy_parameters_details.",
        "mechanisms": f"Lloyd's algorithm with noise (Su and others 2016), tamis {about.library}: "
        f"{about.steps} steps with two-sided geometric noise on counts and sums of rows on a grid "
        f"of whole numbers; {sample}. Whole numbers decide, so floating point leaks nothing; "
        "random words come from the operating system; time and memory are not protected.",
        "composition": "The parts are run one after the other, and their epsilons add up.",
        "post_processing": "Means are drawn together where they are little but noise; rows are put "
        "in order by size.",
        "justification": FILL_IN,
        "utility": "Depends on the data; the standard error that noise makes follows from sizes "
        "and settings.",
        "additional_information": "The release file holds a certificate of what was spent: "
        "'tamis verify' re-checks it, and so does one file of plain Python. It also prints the "
        f"digest of the file: that of this release is {digest}.",
    }
