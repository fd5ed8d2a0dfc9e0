"""The sections of the page of a summary."""

from __future__ import annotations

from tamis.privacy.noise import beyond
from tamis.releases.report import advice, summary_advice, summary_promise
from tamis.releases.report.blocks import Blocks, blocks
from tamis.releases.report.heatmap import bars, heat_map
from tamis.releases.report.summary_rows import domain_table, largest, marginals
from tamis.releases.report.text import frequency, safe
from tamis.releases.summary.summary import Summary


def sections(summary: Summary) -> dict[str, str]:
    """Ready HTML by title."""
    about = summary.about
    return {
        "What this is": summary_promise.facts(summary) + summary_promise.plainly(summary),
        "The guarantee, formally": summary_promise.formally(summary),
        **({} if about.recipe.sketched else _looked_at(summary)),
        "How to read it": summary_advice.reading(summary),
        "How it was made, and what was spent": summary_advice.made(about) + advice.spent(about),
        "The domain": domain_table(summary),
        "How to verify": summary_advice.verifying(summary),
        "What is not protected": advice.limits(about),
        "How to cite": advice.citing(about, summary_advice.PAPER),
    }


def _looked_at(summary: Summary) -> dict[str, str]:
    """What is in it, to be looked at: of a sketch nothing can be."""
    found, cells = blocks(summary), "cells" if summary.about.recipe.flat else "blocks"
    return {
        "The table as a picture": _picture(summary, found),
        f"The largest {cells}": largest(summary, found),
        "Attribute by attribute": marginals(summary),
    }


def _picture(summary: Summary, found: Blocks) -> str:
    draw = heat_map if len(found.sides) == 2 else bars
    return f"""{summary_advice.left_out(summary.about)}
<figure class="heat">{draw(found)}
<figcaption>{_caption(summary, found)}</figcaption></figure>
"""


def _caption(summary: Summary, found: Blocks) -> str:
    others = len(summary.domain) - len(found.sides)
    wide = [side for side in found.sides if side.width > 1]
    said = ["Estimated counts" + (", summed over the other attributes." if others else ".")]
    if wide:
        each = [f"{side.width:,} values of <code>{safe(side.name)}</code>" for side in wide]
        said.append(f"Each block is {' by '.join(each)}, side by side.")
    rule = summary.ranges.levels[-1].rule
    alone = rule.theta + beyond(rule.rate, 0.025) if summary.about.recipe.flat else 0
    least = max(2 * found.typical, alone)  # a cell of noise that passed a filter is above theta
    typical, twice = (frequency(float(f"{n:.2g}")) for n in (found.typical, least))
    said.append(f"A typical standard error is {typical}: what is below {twice} may be noise alone.")
    if len(found.sides) == 2:
        said.append(
            "The numbers under the shades say from where to where each goes; what is not above 0 "
            "has no shade."
        )
    else:
        said.append("Lines go two standard errors to both sides.")
    return " ".join(said)
