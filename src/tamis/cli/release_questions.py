"""Questions to a release."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tamis.cli.questions import Kind, Question
from tamis.privacy.errors import InvalidInput, counted

if TYPE_CHECKING:
    import pyarrow as pa

    from tamis.privacy.answer import Answer
    from tamis.releases.collected.collected import Collected
    from tamis.releases.release import Release

NAME = "release"


def _suppressed(release: Release, words: Sequence[str], where: str | None) -> Answer:
    if where is not None:
        raise InvalidInput("suppressed is about all keys; leave out --where.")
    return release.suppressed()


def key_of(release: Release | Collected, words: Sequence[str]) -> list[pa.Scalar]:
    """The words of a key as values of its columns."""
    names = release.about.key
    if len(words) != len(names):
        raise InvalidInput(f"a key has {counted(len(names), 'part')}: {', '.join(names)}.")
    return [_value(word, release.to_arrow()[n]) for n, word in zip(names, words, strict=True)]


def _value(word: str, column: pa.ChunkedArray) -> pa.Scalar:
    import pyarrow as pa

    try:
        return pa.scalar(word).cast(column.type)
    except (pa.ArrowException, ValueError):
        raise InvalidInput(
            f"{word!r} is not a key of this release: those are {column.type}."
        ) from None


def how_many(word: str) -> int:
    """The number of rows that ``top`` is asked for."""
    try:
        return int(word)
    except ValueError:
        raise InvalidInput(f"top takes a whole number, not {word!r}.") from None


def share(word: str) -> float:
    """Which quantile is asked for."""
    try:
        return float(word)
    except ValueError:
        raise InvalidInput(f"quantile takes a number from 0 to 1, not {word!r}.") from None


def _quantile(release: Release, words: Sequence[str], where: str | None) -> dict[str, float]:
    return {"quantile": release.rows(where).quantile(share(words[0]))}


RELEASE = Kind(
    NAME,
    NAME,
    ("token", "estimate", "low", "high"),
    {
        "top": Question(
            lambda r, words, where: r.rows(where).top(how_many(words[0])).to_arrow(), 1
        ),
        "rows": Question(lambda r, _, where: r.rows(where).to_arrow(), 0),
        "above": Question(
            lambda r, words, where: r.rows(where).above(*key_of(r, words)).to_arrow()
        ),
        "below": Question(
            lambda r, words, where: r.rows(where).below(*key_of(r, words)).to_arrow()
        ),
        "rank": Question(lambda r, words, where: {"rank": r.rows(where).rank(*key_of(r, words))}),
        "quantile": Question(_quantile, 1),
        "sum": Question(lambda r, _, where: r.sum(where), 0),
        "count": Question(lambda r, _, where: r.count(where), 0),
        "suppressed": Question(_suppressed, 0),
    },
)
