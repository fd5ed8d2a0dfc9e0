"""`tamis query`: questions to a release. They cost nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from tamis.cli import files, streams
from tamis.cli import options as o
from tamis.privacy.answer import Answer
from tamis.privacy.errors import InvalidInput, counted

if TYPE_CHECKING:
    import pyarrow as pa

    from tamis.releases.release import Release

EXAMPLES = """Examples:
  tamis query release.parquet top 10
  tamis query release.parquet sum --where "query LIKE 'weather%'"
  tamis query release.parquet rank maps --json
  tamis query release.parquet "SELECT count(*) FROM release WHERE low >= 100"

Questions:
  top N             the N most frequent keys
  sum, count        how often keys occur, how many there are: with those frequent
                    enough to be named that chance left out
  quantile P        the P-quantile of the estimates, such as 0.5
  rank KEY          the place of a key, from 1
  above KEY         the keys that are more frequent than this one
  below KEY         the keys that are less frequent than this one
  rows              all rows
  suppressed        how much is not named (if a share was spent on the total)
  "SELECT ..."      SQL on the table release"""

Answered = Answer | dict[str, float]
_SQL = ("select", "with", "from")


def query(
    release: Annotated[str, Parameter(help="A release file.")],
    question: Annotated[str, Parameter(help="One of the questions below, or SQL.")],
    /,
    *arguments: Annotated[str, Parameter(help="What the question is about.")],
    where: Annotated[
        str | None, Parameter(help="Only keys with this condition in SQL on the key columns.")
    ] = None,
    limit: Annotated[
        int | None, Parameter(help="Show so many rows at most.", converter=o.whole)
    ] = None,
    format: o.Format = None,
    json: o.Json = False,
) -> None:
    """Ask a release. The answers cost nothing.

    A key of several columns is given in several words. A key that begins with -
    comes after --.
    """
    words = [streams.unmarked(word) for word in arguments]
    if json and format is not None:
        raise InvalidInput("give --json or --format, not both.")
    if limit is not None and limit < 0:
        raise InvalidInput(f"--limit must be at least 0, not {limit}.")
    opened = _open(release)
    if question.split(None, 1)[:1] and question.split(None, 1)[0].lower() in _SQL:
        _show_table(_run_sql(opened, question, words, where), limit, format, json)
        return
    answer = _answer(opened, question, words, where)
    if isinstance(answer, (Answer, dict)):
        _show_answer(question, answer, format, json)
    else:
        _show_table(answer.to_arrow(), limit, format, json)


def _open(path: str) -> Release:
    if path == streams.STANDARD:
        raise InvalidInput("a release is a file; it cannot come from standard input.")
    import tamis

    return tamis.open(path)


def _answer(
    release: Release, question: str, words: list[str], where: str | None
) -> Release | Answered:
    known: dict[str, tuple[int, Callable[[], Release | Answered]]] = {
        "top": (1, lambda: release.rows(where).top(_whole(words[0]))),
        "rows": (0, lambda: release.rows(where)),
        "above": (-1, lambda: release.rows(where).above(*_key(release, words))),
        "below": (-1, lambda: release.rows(where).below(*_key(release, words))),
        "rank": (-1, lambda: {"rank": release.rows(where).rank(*_key(release, words))}),
        "quantile": (1, lambda: {"quantile": release.rows(where).quantile(_number(words[0]))}),
        "sum": (0, lambda: release.sum(where)),
        "count": (0, lambda: release.count(where)),
        "suppressed": (0, lambda: _suppressed(release, where)),
    }
    if question not in known:
        raise InvalidInput(f"{question!r} is no question; ask {', '.join(known)}, or SELECT ...")
    wanted, ask = known[question]
    if wanted >= 0 and len(words) != wanted:
        takes = counted(wanted, "argument") if wanted else "no argument"
        raise InvalidInput(f"{question} takes {takes}, not {len(words)}.")
    return ask()


def _suppressed(release: Release, where: str | None) -> Answer:
    if where is not None:
        raise InvalidInput("suppressed is about all keys; leave out --where.")
    return release.suppressed()


def _key(release: Release, words: Sequence[str]) -> list[pa.Scalar]:
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


def _whole(word: str) -> int:
    try:
        return int(word)
    except ValueError:
        raise InvalidInput(f"top takes a whole number, not {word!r}.") from None


def _number(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        raise InvalidInput(f"quantile takes a number from 0 to 1, not {word!r}.") from None


def _run_sql(release: Release, sql: str, words: list[str], where: str | None) -> pa.Table:
    if words or where is not None:
        raise InvalidInput("SQL is one argument: put it in quotes, with its own WHERE.")
    from tamis.cli.sql import run

    return run(release.to_arrow(), sql)


def _show_table(table: pa.Table, limit: int | None, format: Any, json: bool) -> None:
    shown = table if limit is None else table.slice(0, limit)
    if json:
        streams.put_json({"rows": streams.records(shown)})
    elif format is not None:
        streams.put_bytes(files.table_bytes(shown, format))
    else:
        streams.put(streams.table_text(table, limit))


def _show_answer(question: str, answer: Answered, format: Any, json: bool) -> None:
    if format is not None:
        raise InvalidInput(f"--format is for rows; the answer to {question} is not: use --json.")
    if json:
        streams.put_json(answer.describe() if isinstance(answer, Answer) else answer)
    elif isinstance(answer, Answer):
        streams.put(str(answer))
    else:
        streams.put(f"{answer[question]:,.12g}")
