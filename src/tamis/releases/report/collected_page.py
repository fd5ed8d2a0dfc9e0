"""The sections of the page of what devices have reported."""

from __future__ import annotations

from tamis.releases.collected.collected import Collected
from tamis.releases.report import advice, collected_advice, collected_promise
from tamis.releases.report.collected_figures import expected
from tamis.releases.report.collected_rows import quantiles, top_items

_TITLES = {
    "histogram": "answers of devices",
    "heavy hitters": "the most frequent answers of devices",
    "quantiles": "quantiles of what devices hold",
}


def title(release: Collected) -> str:
    """What it is a release of."""
    return _TITLES[release.about.kind]


def sections(release: Collected) -> dict[str, str]:
    """Ready HTML by title."""
    about = release.about
    return {
        "What this is": collected_promise.facts(release) + collected_promise.plainly(release),
        "The guarantee, formally": collected_promise.formally(about),
        **_looked_at(release),
        "How to read estimates and intervals": collected_advice.reading(about),
        "What to expect of the method": expected(about),
        "What was spent": advice.spent(about),
        "How to verify": collected_advice.verifying(release),
        "What is not protected": collected_advice.limits(about),
        "How to cite": advice.citing(about, collected_advice.PAPER),
    }


def _looked_at(release: Collected) -> dict[str, str]:
    if release.about.kind == "quantiles":
        return {"The quantiles": quantiles(release)}
    return {"The most frequent items": top_items(release)}
