"""Questions to a release of what devices have reported: of items, or of quantiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tamis.cli.questions import Kind, Question
from tamis.cli.release_questions import NAME, how_many, key_of, share
from tamis.privacy.errors import InvalidInput

if TYPE_CHECKING:
    import pyarrow as pa

    from tamis.releases.collected.collected import Collected


def _rank(release: Collected, words: Sequence[str], where: str | None) -> dict[str, float]:
    (item,) = key_of(release, words)
    return {"rank": release.rank(item, where)}


def _quantile(release: Collected, words: Sequence[str], where: str | None) -> pa.Table:
    if where is not None:
        raise InvalidInput("quantile is about one row; leave out --where.")
    return release.quantile(share(words[0]))


_ROWS = Question(lambda r, _, where: r.rows(where), 0)

ITEMS = Kind(
    "release of devices' items",
    NAME,
    ("token", "estimate", "low", "high"),
    {
        "top": Question(lambda r, words, where: r.top(how_many(words[0]), where), 1),
        "rows": _ROWS,
        "rank": Question(_rank),
        "sum": Question(lambda r, _, where: r.sum(where), 0),
    },
)

QUANTILES = Kind(
    "release of devices' quantiles",
    NAME,
    ("estimate", "low", "high"),
    {"quantile": Question(_quantile, 1), "rows": _ROWS},
)
