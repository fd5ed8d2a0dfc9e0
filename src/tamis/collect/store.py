"""The collector's database, alike in every kind: queries, their rounds, sealed reports, releases.

A report is taken, a round ended and a release made each in one transaction that is on the disk when
it ends. No address, no time of arrival and no name of a program is kept.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import astuple, fields
from typing import ClassVar, Self

from tamis.collect.records import Outcome, Query, QueryState, Report, Round
from tamis.privacy.databases.database import Row
from tamis.privacy.errors import AggregatorBusy, InvalidInput, StoreUnavailable

VERSION = 1
PAGE = 1000  # reports that are read at once

TABLES = (
    "CREATE TABLE {collector} (version BIGINT NOT NULL)",
    "CREATE TABLE {queries} (query TEXT PRIMARY KEY, token_key {bytes} NOT NULL, "
    "created BIGINT NOT NULL, state TEXT NOT NULL)",
    "CREATE TABLE {rounds} (query TEXT NOT NULL REFERENCES {queries} (query), "
    "round BIGINT NOT NULL, envelope TEXT NOT NULL, opens BIGINT NOT NULL, "
    "closes BIGINT NOT NULL, body_size BIGINT NOT NULL, state TEXT NOT NULL, "
    "PRIMARY KEY (query, round))",
    "CREATE TABLE {reports} (query TEXT NOT NULL, round BIGINT NOT NULL, token {bytes} NOT NULL, "
    "report {bytes} NOT NULL, body {bytes} NOT NULL, "
    "PRIMARY KEY (query, round, token), UNIQUE (query, round, report))",
    "CREATE TABLE {releases} (query TEXT PRIMARY KEY REFERENCES {queries} (query), "
    "file {bytes} NOT NULL)",
)
_NAMES = ("collector", "queries", "rounds", "reports", "releases")

_QUERY = ", ".join(each.name for each in fields(Query))
_ROUND = ", ".join(each.name for each in fields(Round))


class Store(ABC):
    """A connection to the collector's database, for one thread at a time."""

    schema: ClassVar[str] = ""  # what stands before a table's name
    bytes_type: ClassVar[str]
    shared: ClassVar[str] = ""  # keeps a row that was read as it is until the transaction ends

    @abstractmethod
    def run(self, sql: str, values: Row = ()) -> list[Row]:
        """Runs one statement; values stand for question marks."""

    @abstractmethod
    def writing(self) -> AbstractContextManager[None]:
        """A transaction that is durable when it ends."""

    @abstractmethod
    def alone(self) -> AbstractContextManager[None]:
        """Shuts out other aggregators, until it ends or the process dies."""

    @abstractmethod
    def scrub(self) -> None:
        """Leaves nothing of deleted reports in the files, as far as that can be done."""

    @abstractmethod
    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- queries and rounds ---

    def add_query(self, query: Query, first: Round) -> None:
        with self.writing():
            if self._ask("SELECT 1 FROM {queries} WHERE query = ?", query.query):
                raise InvalidInput(f"There is a query {query.query} already; take another id.")
            self._insert("queries", [astuple(query)])
            self._insert("rounds", [astuple(first)])

    def queries(self) -> list[Query]:
        rows = self._ask(f"SELECT {_QUERY} FROM {{queries}} ORDER BY created, query")
        return [Query(*row) for row in rows]

    def query(self, query: str) -> Query | None:
        rows = self._ask(f"SELECT {_QUERY} FROM {{queries}} WHERE query = ?", query)
        return Query(*rows[0]) if rows else None

    def rounds(self, query: str) -> list[Round]:
        return self._rounds("query = ? ORDER BY round", query)

    def newest(self, query: str) -> Round | None:
        found = self._rounds("query = ? ORDER BY round DESC LIMIT 1", query)
        return found[0] if found else None

    def open_rounds(self, now: float) -> list[Round]:
        """The rounds that take reports now, in the order of their queries."""
        where = "state = 'open' AND opens <= ? AND ? < closes ORDER BY query"
        return self._rounds(where, int(now), int(now))

    def close_round(self, query: str, number: int) -> None:
        """No report is taken after this has returned, whatever the clocks say."""
        with self.writing():
            self._ask(
                "UPDATE {rounds} SET state = 'closed' "
                "WHERE query = ? AND round = ? AND state = 'open'",
                *(query, number),
            )

    # --- reports ---

    def take(self, reports: Sequence[Report], now: float) -> list[Outcome]:
        """Takes what may be taken, in one transaction, and says what became of each."""
        outcomes: dict[int, Outcome] = {}
        with self.writing():
            for place in sorted({(report.query, report.round) for report in reports}):
                there = [i for i, r in enumerate(reports) if (r.query, r.round) == place]
                outcomes |= self._take_round(place, {i: reports[i] for i in there}, now)
        return [outcomes[i] for i in range(len(reports))]

    def _take_round(
        self, place: tuple[str, int], reports: dict[int, Report], now: float
    ) -> dict[int, Outcome]:
        found = self._rounds(f"query = ? AND round = ?{self.shared}", *place)
        refused = _refusal(found[0], now) if found else Outcome.WRONG_ROUND
        if refused:
            return dict.fromkeys(reports, refused)
        fits = {i: r for i, r in reports.items() if len(r.body) == found[0].body_size}
        first = _first_of_each(fits)
        taken = self._insert_new(list(first.values()))
        outcomes = {i: Outcome.TAKEN for i, report in first.items() if report.token in taken}
        outcomes |= {i: self._take_one(r) for i, r in fits.items() if i not in outcomes}
        return dict.fromkeys(reports, Outcome.WRONG_SIZE) | outcomes

    def _insert_new(self, reports: Sequence[Report]) -> set[bytes]:
        """The tokens of those that were neither there by their token nor by their id."""
        rows = self._insert("reports", reports, "ON CONFLICT DO NOTHING RETURNING token")
        return {bytes(row[0]) for row in rows}

    def _take_one(self, sent: Report) -> Outcome:
        """One that could not be inserted together with the others, and mostly cannot at all."""
        if self._insert_new([sent]):
            return Outcome.TAKEN
        sql = "SELECT report, body FROM {reports} WHERE query = ? AND round = ? AND token = ?"
        held = self._ask(sql, sent.query, sent.round, sent.token)
        if not held:
            return Outcome.ID_TAKEN
        same = tuple(map(bytes, held[0])) == (sent.report, sent.body)
        return Outcome.AGAIN if same else Outcome.REPORTED

    def reports(self, query: str, number: int) -> Iterator[tuple[bytes, bytes]]:
        """The tokens and bodies of a round's reports, in the order of their ids, page by page.

        Ids are drawn at random, so the order says nothing of who came first.
        """
        sql = (
            "SELECT report, token, body FROM {reports} "
            "WHERE query = ? AND round = ? AND report > ? "
            f"ORDER BY report LIMIT {PAGE}"
        )
        last = b""
        while True:
            page = self._ask(sql, query, number, last)
            yield from ((bytes(token), bytes(body)) for _, token, body in page)
            if len(page) < PAGE:
                return
            last = bytes(page[-1][0])

    # --- the end of a round ---

    def next_round(self, following: Round) -> None:
        """Ends the round before, deletes its reports and opens this one, all or nothing."""
        with self.writing():
            self._end_round(following.query, following.round - 1)
            self._insert("rounds", [astuple(following)])
        self.scrub()

    def release(self, query: str, number: int, file: bytes) -> None:
        """Ends the query with its release file, and deletes the reports, all or nothing."""
        with self.writing():
            self._end_round(query, number)
            self._end_query(query, "released")
            self._insert("releases", [(query, file)])
        self.scrub()

    def abandon(self, query: str, number: int) -> None:
        """Ends the query without a release, and deletes the reports, all or nothing."""
        with self.writing():
            self._end_round(query, number)
            self._end_query(query, "closed without release")
        self.scrub()

    def release_file(self, query: str) -> bytes | None:
        rows = self._ask("SELECT file FROM {releases} WHERE query = ?", query)
        return bytes(rows[0][0]) if rows else None

    def _end_round(self, query: str, number: int) -> None:
        sql = (
            "UPDATE {rounds} SET state = 'done' "
            "WHERE query = ? AND round = ? AND state = 'closed' RETURNING round"
        )
        if not self._ask(sql, query, number):
            raise AggregatorBusy(
                f"Round {number} of the query {query} is not closed, or has been dealt with; "
                "nothing was changed. See the query's status, and close the round first."
            )
        self.delete_reports(query, number)

    def delete_reports(self, query: str, number: int) -> None:
        self._ask("DELETE FROM {reports} WHERE query = ? AND round = ?", query, number)

    def _end_query(self, query: str, state: QueryState) -> None:
        sql = "UPDATE {queries} SET state = ? WHERE query = ? AND state = 'running' RETURNING query"
        if not self._ask(sql, state, query):
            raise AggregatorBusy(
                f"The query {query} has ended before; nothing was changed. See its status."
            )

    # --- tables ---

    def make_tables(self) -> None:
        for sql in TABLES:
            self._ask(sql)
        self._insert("collector", [(VERSION,)])

    def check_version(self) -> None:
        found = self._ask("SELECT version FROM {collector}")
        if [tuple(row) for row in found] != [(VERSION,)]:
            raise StoreUnavailable(
                "The collector's database was made by another version of tamis; use the version "
                "that made it, or name a new place."
            )

    def _rounds(self, where: str, *values: object) -> list[Round]:
        rows = self._ask(f"SELECT {_ROUND} FROM {{rounds}} WHERE {where}", *values)
        return [Round(*row) for row in rows]

    def _insert(self, into: str, rows: Sequence[Row], then: str = "") -> list[Row]:
        if not rows:
            return []
        marks = ", ".join(["(" + ", ".join("?" * len(rows[0])) + ")"] * len(rows))
        values = [value for row in rows for value in row]
        return self._ask(f"INSERT INTO {{{into}}} VALUES {marks} {then}", *values)

    def _ask(self, sql: str, *values: object) -> list[Row]:
        tables = {name: self.schema + name for name in _NAMES}
        return self.run(sql.format(bytes=self.bytes_type, **tables), values)


def _refusal(found: Round, now: float) -> Outcome | None:
    if found.state != "open" or now >= found.closes:
        return Outcome.CLOSED
    return Outcome.EARLY if now < found.opens else None


def _first_of_each(reports: dict[int, Report]) -> dict[int, Report]:
    """Of reports with the same token or the same id, the first; in the order of tokens.

    All who insert go in the same order, so that they do not wait for each other in a circle.
    """
    tokens: set[bytes] = set()
    ids: set[bytes] = set()
    first = {}
    for i, report in reports.items():
        if report.token not in tokens and report.report not in ids:
            first[i] = report
            tokens.add(report.token)
            ids.add(report.report)
    return dict(sorted(first.items(), key=lambda pair: pair[1].token))
