"""The page: sections put together, and written whole or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from tamis.releases.clusters.clusters import Clusters
from tamis.releases.collected.collected import Collected
from tamis.releases.release import Release
from tamis.releases.report import advice, clusters_page, collected_page, promise
from tamis.releases.report.figures import error_figure, naming_figure, numbers, sizes
from tamis.releases.report.rows import top_keys
from tamis.releases.report.summary_page import sections as summary_sections
from tamis.releases.report.text import safe, several
from tamis.releases.report.ways import Way, ways
from tamis.releases.summary.summary import Summary
from tamis.releases.writing import whole_file

Opened = Release | Summary | Collected | Clusters


def write_report(opened: Opened, path: str | Path) -> None:
    """Write a release, or a summary, as one page that needs nothing else: no network, no script.

    It says what is guaranteed, what to expect of the method, which keys are the most frequent, what
    was spent, and how to read, verify and cite the release. Everything in it comes from the
    release, so it is as private, and the same release always gives the same bytes. The page of a
    summary has a heat map of its first two attributes, and those of quantiles and of clusters a
    picture of them.
    """
    with whole_file(path) as file:
        file.write(page(opened).encode())


def page(opened: Opened) -> str:
    """The whole page."""
    library = opened.about.library
    if isinstance(opened, Summary):
        return _whole("summary", several(opened.domain.names), summary_sections(opened), library)
    if isinstance(opened, Collected):
        told = collected_page.sections(opened)
        return _whole("release", collected_page.title(opened), told, library)
    if isinstance(opened, Clusters):
        names = f"clusters in {several(opened.about.columns)}"
        return _whole("release", names, clusters_page.sections(opened), library)
    return _whole("release", several(opened.about.key), _sections(opened), library)


def _whole(kind: str, names: str, told: dict[str, str], library: str) -> str:
    parts = "\n".join(
        f'<section aria-labelledby="part-{n}">\n<h2 id="part-{n}">{title}</h2>\n{text}\n</section>'
        for n, (title, text) in enumerate(told.items(), start=1)
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<link rel="icon" href="data:,">
<title>Private {kind}: {names}</title>
<style>
{files("tamis.releases.report").joinpath("style.css").read_text(encoding="utf-8")}</style>
</head>
<body>
<header>
<h1>Private {kind} of {names}</h1>
<p class="soft">What it says, what it guarantees, and how to check it.</p>
</header>
<main>
{parts}
</main>
<footer>
<p class="soft">Made with tamis {safe(library)} from the {kind} alone.</p>
</footer>
</body>
</html>
"""


def _sections(release: Release) -> dict[str, str]:
    about, compared = release.about, ways(release.plan)
    return {
        "What this is": promise.facts(release) + promise.plainly(release),
        "The guarantee, formally": promise.formally(release),
        "The most frequent keys": top_keys(release),
        "How to read estimates and intervals": advice.reading(release, compared[0]),
        "What to expect of the method": _expected(release, compared),
        "What was spent": advice.spent(about),
        "How to verify": advice.verifying(release),
        "What is not protected": advice.limits(about),
        "How to cite": advice.citing(about),
    }


def _expected(release: Release, compared: Sequence[Way]) -> str:
    known = sizes(release.plan, compared)
    return f"""
<p>These figures follow from the parameters alone. They would be the same for any data.</p>
<div class="figures">
<figure>{naming_figure(compared)}
<figcaption>How likely a key is to be named, by its frequency; beside it, the two usual methods with
the same budget. Further to the left is better: rarer keys are named.</figcaption></figure>
<figure>{error_figure(compared, known)}
<figcaption>How far off a key is in a sum over keys, as the root of the mean square: if it is not
named it adds 0, and if it is, it also stands for others like it that are not. And how wide the
interval of a named key is.</figcaption></figure>
</div>
{numbers(compared, known)}
"""
