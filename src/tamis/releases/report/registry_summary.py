"""The guarantee of a summary as an entry for the registry."""

from __future__ import annotations

from tamis.releases.report.registry_common import (
    FILL_IN,
    Value,
    administrative,
    basic,
    loss,
    model,
)
from tamis.releases.report.summary_advice import method_in_words
from tamis.releases.summary.about import AboutSummary
from tamis.releases.summary.summary import Summary
from tamis.sparse.planning import outlook

_PAPER: dict[str, Value] = {
    "author": "Cormode, Graham and Procopiuc, Cecilia and Srivastava, Divesh and Tran, Thanh T. L.",
    "title": "Differentially Private Summaries for Sparse Data",
    "booktitle": "Proceedings of the 15th International Conference on Database Theory (ICDT)",
    "pages": "299-311",
    "publisher": "ACM",
    "year": 2012,
}


def summary_deployment(summary: Summary) -> dict[str, Value]:
    """The sections of the entry, in their order."""
    about, columns = summary.about, ", ".join(summary.domain.names)
    description = (
        f"Estimated counts of all combinations of {columns}, and of sums of them, with intervals "
        f"of coverage {about.coverage!r}."
    )
    return {
        "basic": basic(about, f"Private counts by {columns}", description),
        "dp_variant": _variant(about),
        "privacy_loss": loss(about, "cell", "count"),
        "deployment_model": model(about),
        "implementation": _implementation(about, summary.digest),
        "administrative": administrative(_PAPER),
    }


def _variant(about: AboutSummary) -> dict[str, Value]:
    what = {"rows": "Tables of events, a row each", "counts": "Tables of cells with counts"}
    chosen = "; rows that do not satisfy a condition are left out" if about.filtered else ""
    domain = about.recipe.domain
    return {
        "variant_name": "Pure DP",
        "data_domain": f"{what[about.counted]}, with the attributes {', '.join(domain.names)}, "
        f"whose values are public; {domain!r}{chosen}.",
        "unprotected_quantities": "None in the summary; the values of the attributes are public.",
    }


def _implementation(about: AboutSummary, digest: str) -> dict[str, Value]:
    r, ahead = about.recipe, outlook(about.recipe)
    parts = "" if len(about.parts) == 1 else f" The {len(about.parts)} parts add up."
    return {
        "preprocessing_and_hyperparameter_tuning": "Contributions of a unit are bounded before "
        "counting. What was spent on choosing parameters is in privacy_parameters_details.",
        "mechanisms": f"Two-sided geometric noise on all counts, and a summary of what results "
        f"(Cormode, Procopiuc, Srivastava, Tran 2012), tamis {about.library}. Method: {r.method}, "
        f"{method_in_words(r.method)}. One unit changes the counts by at most {r.change} in total; "
        f"size {r.size or 'not bounded'}, theta {r.theta}. Whole numbers decide, so floating point "
        "leaks nothing; random words come from the operating system; time and memory are not "
        "protected.",
        "composition": f"Within one unit: the noise is for all that it changes.{parts}",
        "post_processing": "Weights and intervals are computed from noisy values; rows are in the "
        "order of their cells.",
        "justification": FILL_IN,
        "utility": f"The root of the mean squared error of a cell that stays is {ahead.point:.4g}.",
        "additional_information": "'tamis verify' re-checks that the promise follows from what the "
        "file states, and prints the digest of the file: that of this summary is "
        f"{digest}.",
    }
