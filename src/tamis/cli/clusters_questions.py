"""Questions to a release of clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tamis.cli.questions import Kind, Question
from tamis.cli.release_questions import NAME, how_many
from tamis.privacy.errors import InvalidInput

if TYPE_CHECKING:
    import pyarrow as pa

    from tamis.releases.clusters.clusters import Clusters

SIZES = ("size",)  # written as 1,234.5; all other numbers are coordinates


def _nearest(release: Clusters, words: Sequence[str], where: str | None) -> pa.Table:
    if where is not None:
        raise InvalidInput("nearest is about all clusters; leave out --where.")
    names = release.about.columns
    given = dict(word.rpartition("=")[::2] for word in words)
    if len(given) < len(words) or set(given) != set(names):
        asked = " ".join(f"{name}=..." for name in names)
        raise InvalidInput(f"nearest takes a number for each column: {asked}")
    try:
        return release.nearest([float(given[name]) for name in names])
    except ValueError:
        raise InvalidInput("nearest takes finite numbers, such as a=0.5.") from None


def _rounded(table: pa.Table) -> pa.Table:
    from tamis.weighted.show import rounded

    return rounded(table, SIZES)


CLUSTERS = Kind(
    "release of clusters",
    NAME,
    SIZES,
    {
        "top": Question(lambda r, words, where: r.top(how_many(words[0]), where), 1),
        "rows": Question(lambda r, _, where: r.rows(where), 0),
        "nearest": Question(_nearest),
    },
    _rounded,
)
