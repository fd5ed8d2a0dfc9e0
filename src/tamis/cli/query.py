"""`tamis query`: questions to a release or a summary. They cost nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from tamis.cli import files, streams
from tamis.cli import options as o
from tamis.cli.clusters_questions import CLUSTERS
from tamis.cli.collected_questions import ITEMS, QUANTILES
from tamis.cli.release_questions import RELEASE
from tamis.cli.summary_questions import SUMMARY
from tamis.privacy.answer import Answer
from tamis.privacy.errors import InvalidInput

if TYPE_CHECKING:
    import pyarrow as pa

    from tamis.cli.questions import Kind

EXAMPLES = """Examples:
  tamis query release.parquet top 10
  tamis query release.parquet sum --where "query LIKE 'weather%'"
  tamis query release.parquet rank maps --json
  tamis query release.parquet "SELECT count(*) FROM release WHERE low >= 100"
  tamis query summary.parquet point home=17 work=3999
  tamis query summary.parquet range home=0..10
  tamis query summary.parquet subset --where "home = work"

Questions to a release:
  top N             the N most frequent keys
  sum, count        how often keys occur, and how many there are; keys that are
                    seldom named count more when they are
  quantile P        the P-quantile of the estimates, such as 0.5
  rank KEY          the place of a key, from 1
  above KEY         the keys that are more frequent than this one
  below KEY         the keys that are less frequent than this one
  rows              all rows
  suppressed        how much is not named (if a share was spent on the total)
  "SELECT ..."      SQL on the table release

Questions to a release of what devices have reported:
  top N, rank ITEM  as above
  sum               how many clients hold the items that are named
  quantile P        the row of this quantile, if quantiles were asked for
  rows              all rows
  "SELECT ..."      SQL on the table release

Questions to a release of clusters:
  top N             the N largest clusters
  rows              all clusters
  nearest A=V B=W   the cluster whose centre is nearest to a point
  "SELECT ..."      SQL on the table release

Questions to a summary:
  point A=V B=W     how much is in one cell: a value for each attribute
  range A=V..W      how much has A from V to W (or one value: A=V); attributes
                    that are not named are free. A=V A=W is the same
  subset --where C  how much is in the cells with a condition
  marginal A B      all cells of these attributes alone
  rows              all rows
  "SELECT ..."      SQL on the table summary"""

_SQL = ("select", "with", "from")


def query(
    file: Annotated[str, Parameter(help="A release file, or a summary.")],
    question: Annotated[str, Parameter(help="One of the questions below, or SQL.")],
    /,
    *arguments: Annotated[str, Parameter(help="What the question is about.")],
    where: Annotated[
        str | None,
        Parameter(help="Only keys with this condition in SQL on the key columns (or attributes)."),
    ] = None,
    limit: Annotated[
        int | None, Parameter(help="Show so many rows at most.", converter=o.whole)
    ] = None,
    format: o.Format = None,
    json: o.Json = False,
) -> None:
    """Ask a release or a summary. The answers cost nothing.

    A key of several columns is given in several words. A key that begins with -
    comes after --.
    """
    words = [streams.unmarked(word) for word in arguments]
    if json and format is not None:
        raise InvalidInput("give --json or --format, not both.")
    if limit is not None and limit < 0:
        raise InvalidInput(f"--limit must be at least 0, not {limit}.")
    opened = _open(file)
    kind, others = _kinds(opened)
    sql = question.split(None, 1)[:1] and question.split(None, 1)[0].lower() in _SQL
    if sql:
        answer = _run_sql(opened.to_arrow(), question, words, where, kind.table)
    else:
        answer = kind.ask(opened, question, words, where, others)
    if isinstance(answer, (Answer, dict)):
        _show_answer(question, answer, format, json)
    else:
        numbers = [name for name in kind.numbers if name not in opened.about.key]
        if not (sql or json or format):
            answer = kind.shown(answer)
        _show_table(answer, limit, format, json, numbers)


def _open(path: str) -> Any:
    if path == streams.STANDARD:
        raise InvalidInput("a release is a file; it cannot come from standard input.")
    import tamis

    return tamis.open(path)


def _kinds(opened: Any) -> tuple[Kind, tuple[Kind, ...]]:
    """Of which kind it is, and which others people may take it for, the likeliest first."""
    from tamis.releases.clusters.clusters import Clusters
    from tamis.releases.collected.collected import Collected
    from tamis.releases.summary.summary import Summary

    if isinstance(opened, Summary):
        return SUMMARY, (RELEASE, ITEMS, QUANTILES, CLUSTERS)
    if isinstance(opened, Clusters):
        return CLUSTERS, (RELEASE, SUMMARY, ITEMS, QUANTILES)
    if not isinstance(opened, Collected):
        return RELEASE, (SUMMARY, ITEMS, QUANTILES, CLUSTERS)
    if opened.about.kind == "quantiles":
        return QUANTILES, (ITEMS, RELEASE, SUMMARY, CLUSTERS)
    return ITEMS, (QUANTILES, RELEASE, SUMMARY, CLUSTERS)


def _run_sql(table: pa.Table, sql: str, words: list[str], where: str | None, name: str) -> pa.Table:
    if words or where is not None:
        raise InvalidInput("SQL is one argument: put it in quotes, with its own WHERE.")
    from tamis.cli.sql import run

    return run(table, sql, name)


def _show_table(
    table: pa.Table, limit: int | None, format: Any, json: bool, numbers: Sequence[str]
) -> None:
    shown = table if limit is None else table.slice(0, limit)
    if json:
        streams.put_json({"rows": streams.records(shown)})
    elif format is not None:
        streams.put_bytes(files.table_bytes(shown, format))
    else:
        streams.put(streams.table_text(table, limit, numbers))


def _show_answer(question: str, answer: Answer | dict[str, float], format: Any, json: bool) -> None:
    if format is not None:
        raise InvalidInput(f"--format is for rows; the answer to {question} is not: use --json.")
    if json:
        streams.put_json(answer.describe() if isinstance(answer, Answer) else answer)
    elif isinstance(answer, Answer):
        streams.put(str(answer))
    else:
        streams.put(f"{answer[question]:,.12g}")
