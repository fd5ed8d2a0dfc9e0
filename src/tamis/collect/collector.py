"""The aggregator: makes queries, and releases what at least tau devices have reported."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tamis.collect.keys import Keys, put_back
from tamis.collect.open import open_store
from tamis.collect.progress import Progress
from tamis.collect.records import Query, Round
from tamis.collect.store import Store
from tamis.collect.tokens import issue, public_part
from tamis.federated.device import sign
from tamis.privacy.answer import check_coverage
from tamis.privacy.errors import AggregatorBusy, InvalidInput, meant, shown
from tamis.privacy.guarantee import as_float

if TYPE_CHECKING:  # what counts and releases is slow to load, and `tamis collect status` quick
    from tamis.collect.enquiry import Asked, Enquiry, Known
    from tamis.federated import Histogram

State = Literal["not open yet", "open", "closed", "released", "closed without release"]
_FAR = 366 * 24 * 3600  # seconds before a query opens, at most
Step = Literal["next round", "released"]


class WindowOpen(InvalidInput):
    """A round is still open, so nothing of it may be looked at."""


@dataclass(frozen=True)
class Status:
    """What anybody may know of a query. How many have reported is not among it."""

    query: str
    kind: str
    question: str
    epsilon: float
    delta: float
    p: float
    tau: int
    round: int
    rounds: int
    opens: str
    closes: str
    state: State
    signed: bool | None  # with the keys that are here; None if there are none


class Collector:
    """Queries to devices, in a database that a server (`tamis collect serve`) shares.

    Guarantee: of each query, one release leaves, which is private as its mechanism says, for every
    client that keeps one coin and has one token. A budget is charged once for it, before anything
    is made known of the reports, and raw reports are deleted with the key that opens them. Two
    aggregators at once do not release twice, and one that died is followed by one that goes on.

    ``store`` is a SQLite file or ``postgresql://...``; ``keys`` is the folder of the aggregator's
    keys, which the server must not see (the user's data folder, if it is not given).
    """

    def __init__(
        self,
        store: str | Path,
        keys: str | Path | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.keys = Keys(keys)
        self._clock = clock
        self._store: Store = open_store(store)

    def close(self) -> None:
        self._store.close()

    def __enter__(self) -> Collector:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def signer(self) -> str:
        """The public key that devices check specifications with, in base64."""
        return self.keys.public

    # --- queries ---------------------------------------------------------------------------------

    def create(
        self,
        asked: Asked,
        question: str,
        *,
        window: float,
        longest: int | None = None,
        domain: int | None = None,
        opens: float | None = None,
        coverage: float = 0.95,
        budget: str | None = None,
        ledger: str | Path | None = None,
    ) -> str:
        """Publish a query; its id. Each of its rounds is open for ``window`` seconds.

        ``asked`` is a `SampleAndThreshold` (with ``longest``, the most bytes of a text, or
        ``domain``, how many whole numbers there are), `HeavyHitters` (with ``longest``) or
        `Quantiles`. A ``budget`` that could not pay for it is refused now, and charged when the
        first round is counted.
        """
        from tamis.collect.enquiry import Enquiry

        where = None if ledger is None else str(ledger)
        if budget is None and where is not None:
            raise InvalidInput("ledger is for a budget: name it with budget=.")
        enquiry = Enquiry.of(
            asked,
            question,
            window,
            longest,
            domain,
            coverage=check_coverage(coverage),
            budget=budget,
            ledger=where,
        )
        if budget is not None:
            from tamis.privacy.ledger import open_ledger

            with open_ledger(where) as opened:
                opened.require(budget, enquiry.mechanism.guarantee)
        query, now = uuid.uuid4().hex, self._clock()
        begins = now if opens is None else as_float(opens)
        if not now - window < begins < now + _FAR:
            raise InvalidInput("opens must be a time in seconds since 1970, and not long past.")
        try:
            self.keys.new_opener(query)
            issuer = public_part(self.keys.new_issuer(query))
            self.keys.keep(query, "plan", enquiry.text())
            first = self._round(enquiry, query, 1, enquiry.start(), int(begins))
            self._store.add_query(Query(query, issuer, int(now)), first)
        except BaseException:
            self.keys.forget(query)
            raise
        return query

    def tokens(self, query: str, count: int) -> list[str]:
        """New tokens: each lets one client take part in the query. Hand out one to each."""
        self._running(query)
        return issue(self.keys.issuer(query), query, count)

    def status(self, query: str | None = None) -> list[Status]:
        """All queries, or one, the oldest first."""
        chosen = self._store.queries() if query is None else [self._find(query)]
        return [self._status(each) for each in chosen]

    def close_window(self, query: str) -> None:
        """End the round that is open, before its time."""
        newest = self._running(query)
        self._store.close_round(query, newest.round)

    def abandon(self, query: str) -> None:
        """End the query, and delete its reports unseen. What was charged stays charged.

        Of one that has ended, what a copy may have brought back of its keys is deleted.
        """
        with self._store.alone():
            if self._find(query).state != "running":
                self.keys.forget(query)
                return
            newest = self._running(query)
            self.keys.forget(query)  # first: an end in the database alone makes nobody forget keys
            self._store.close_round(query, newest.round)
            self._store.abandon(query, newest.round)

    # --- results ---------------------------------------------------------------------------------

    def release(
        self,
        query: str,
        *,
        wait: bool = False,
        progress: Callable[[Status], None] | None = None,
    ) -> bytes:
        """The release file of a query, made when its last round has closed; always the same one.

        With ``wait``, windows and other aggregators are waited for, and rounds follow each other
        unattended. Without it, each call goes as far as it can: `WindowOpen` says until when the
        next round is open.
        """
        while (file := self._store.release_file(query)) is None:
            try:
                self.advance(query)
            except (WindowOpen, AggregatorBusy):  # one that works on another query, perhaps
                if not wait:
                    raise
                time.sleep(min(1.0, max(0.05, self._left(query))))
                continue
            except InvalidInput:
                if self._store.release_file(query) is None:
                    raise
                continue  # another aggregator has just released it
            if progress is not None:
                progress(self._status(self._find(query)))
        self.keys.check_release(query, file)
        self._store.scrub()  # one that died may have left reports, and the key
        self.keys.forget(query)
        return file

    def advance(self, query: str) -> Step:
        """Count the round that has closed, and publish the next one or the release.

        Guarantee: whatever happens on the way, a round is counted and a release made once, and the
        budget charged once. All that leaves here is a function of counts of at least tau clients.
        """
        from tamis.collect.enquiry import Enquiry

        with self._store.alone(), self.keys.alone():
            newest, began = self._closed(query), int(self._clock())
            enquiry, progress = self.keys.read(query, "plan", Enquiry.read), self._progress(query)
            known = enquiry.read_known(progress.known)
            if not progress.counted(newest):
                self.keys.check_unreleased(query)
                entry = self._charge(query, enquiry, progress)
                known = known.after(self._counted(enquiry, newest))
                if known.done:
                    progress = progress.ended(_file(enquiry, query, known, entry))
                    self.keys.keep(query, "progress", progress.text())
            if progress.file is None:
                # Not when counting has ended: that would tell how many have reported.
                number = newest.round + 1
                self._store.next_round(self._round(enquiry, query, number, known, began))
                return "next round"
            self.keys.keep_release(query, progress.file)
            self._store.release(query, newest.round, progress.file)
            self.keys.forget(query)
            return "released"

    def _progress(self, query: str) -> Progress:
        return self.keys.read(query, "progress", Progress.read)

    def _counted(self, enquiry: Enquiry, newest: Round) -> Histogram:
        from tamis.collect.counting import counted

        query, m = newest.query, enquiry.mechanism
        reports, opener = self._store.reports(query, newest.round), self.keys.opener(query)
        issuer = self.keys.issuer(query)
        return counted(m, newest.asked, reports, opener, issuer, enquiry.coverage)

    def _charge(self, query: str, enquiry: Enquiry, progress: Progress) -> dict[str, Any] | None:
        """Once for a query: an entry that is there from an aggregator that died counts.

        One that is there though nothing has begun is from before an older copy was put back.
        """
        if enquiry.budget is None:
            self._begin(query, progress)
            return None
        from tamis.privacy.ledger import open_ledger
        from tamis.privacy.ledger.budget import cost_of

        purpose, guarantee = f"collected by query {query}", enquiry.mechanism.guarantee
        with open_ledger(enquiry.ledger) as ledger:
            for entry in ledger.history(enquiry.budget):
                if (entry.purpose, entry.cost) == (purpose, cost_of(guarantee)):
                    if progress.round == 1 and not progress.begun:
                        raise put_back(query)
                    return entry.describe()
            ledger.require(enquiry.budget, guarantee)
            self._begin(query, progress)
            return ledger.charge(enquiry.budget, guarantee, purpose).describe()

    def _begin(self, query: str, progress: Progress) -> None:
        if not progress.begun:
            self.keys.keep(query, "progress", progress.counting().text())

    # --- rounds ----------------------------------------------------------------------------------

    def _round(self, enquiry: Enquiry, query: str, number: int, known: Known, opens: int) -> Round:
        """A round to publish, of which it is kept that it will be."""
        from tamis.collect.enquiry import fitting, known_text

        known = fitting(known)
        asked = enquiry.specification(query, number, known, opens, self.keys.seal(query))
        made = Round.of(asked, sign(asked, self.keys.signer()))
        progress = Progress(number, made.envelope, known_text(known))
        self.keys.keep(query, "progress", progress.text())
        return made

    def _closed(self, query: str) -> Round:
        """The newest round, closed; refused while its window is open."""
        newest = self._running(query)
        if newest.state == "open":
            if self._clock() < newest.closes:
                raise WindowOpen(
                    f"Round {newest.round} of the query {query} is open until "
                    f"{_moment(newest.closes)}; wait for it, or close it before."
                )
            self._store.close_round(query, newest.round)
        return newest

    def _left(self, query: str) -> float:
        """Seconds until the newest window closes by the clock."""
        newest = self._store.newest(query)
        return newest.closes - self._clock() if newest else 0.0

    def _running(self, query: str) -> Round:
        found = self._find(query)
        newest = self._store.newest(query)
        if found.state != "running" or newest is None:
            raise InvalidInput(f"The query {query} has ended: it is {found.state}.")
        return newest

    def _find(self, query: str) -> Query:
        found = self._store.query(str(query))
        if found is None:
            known = [each.query for each in self._store.queries()]
            hint = meant(str(query), known) or " See which there are: tamis collect status."
            raise InvalidInput(f"There is no query {shown(query)}.{hint}")
        return found

    def _status(self, query: Query) -> Status:
        newest = self._store.newest(query.query)
        if newest is None:
            raise InvalidInput(f"The query {query.query} has no round: the database is damaged.")
        asked = newest.asked
        return Status(
            query.query,
            asked.kind,
            asked.question,
            asked.epsilon,
            asked.delta,
            asked.parts / (1 << 32),
            asked.tau,
            asked.round,
            asked.rounds,
            _moment(newest.opens),
            _moment(newest.closes),
            self._state(query, newest),
            self.keys.signed(json.loads(newest.envelope)) if self.keys.known_signer else None,
        )

    def _state(self, query: Query, newest: Round) -> State:
        if query.state != "running":
            return query.state
        now = self._clock()
        if newest.state != "open" or now >= newest.closes:
            return "closed"
        return "open" if now >= newest.opens else "not open yet"


def _file(enquiry: Enquiry, query: str, known: Known, entry: dict[str, Any] | None) -> bytes:
    from tamis.releases.collected.about import AboutCollected
    from tamis.releases.collected.collected import Collected

    about = AboutCollected(
        enquiry.mechanism,
        enquiry.kind,
        enquiry.question,
        query,
        enquiry.domain,
        enquiry.coverage,
        entry,
    )
    return Collected(enquiry.result(known), about).to_bytes()


def _moment(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
