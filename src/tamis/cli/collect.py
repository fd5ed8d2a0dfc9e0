"""`tamis collect`: ask devices, and release what enough of them have answered."""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from tamis.cli import files, queries, streams
from tamis.cli import options as o
from tamis.privacy.errors import InvalidInput

if TYPE_CHECKING:
    from tamis.collect.collector import Collector, Status
    from tamis.collect.enquiry import Asked

EXAMPLES = """Examples:
  tamis collect create --kind histogram --longest 20 --window 7d \\
      --question "Which language do you use?" --epsilon 1 --delta 1e-6
  tamis collect serve --port 8000
  tamis collect tokens QUERY 1000 -o tokens.txt
  tamis collect status
  tamis collect release QUERY -o collected.parquet --wait
  tamis collect simulate --clients 1000"""
SERVE_EXAMPLES = """Examples:
  tamis collect serve
  tamis collect serve --store reports.sqlite --port 8080"""
CREATE_EXAMPLES = """Examples:
  tamis collect create --kind histogram --longest 20 --window 7d \\
      --question "Which language do you use?" --epsilon 1 --delta 1e-6
  tamis collect create --kind heavy-hitters --longest 40 --window 1d \\
      --question "Which word did you type last?" --rounds 5 --depth 10 \\
      --epsilon 1 --delta 1e-6
  tamis collect create --kind quantiles --domain 1440 --window 12h \\
      --question "How many minutes today?" --at 0.5 --at 0.9 --clients 100000 \\
      --epsilon 1 --delta 1e-6 --budget devices"""
TOKENS_EXAMPLES = """Examples:
  tamis collect tokens QUERY 1000 -o tokens.txt
  tamis collect tokens QUERY 10 --json"""
STATUS_EXAMPLES = """Examples:
  tamis collect status
  tamis collect status QUERY --json"""
CLOSE_EXAMPLES = """Examples:
  tamis collect close QUERY
  tamis collect close QUERY --abandon"""
RELEASE_EXAMPLES = """Examples:
  tamis collect release QUERY -o collected.parquet
  tamis collect release QUERY -o collected.parquet --wait"""

ASKED, PLACES = "What is asked", "Places"
Store = Annotated[
    str | None,
    Parameter(
        group=PLACES,
        help="Where reports are kept: a file, or postgresql://... By default TAMIS_COLLECTOR, or "
        "a file in your data folder.",
    ),
]
Keys = Annotated[
    str | None,
    Parameter(group=PLACES, help="The folder of your keys, which the server must not see."),
]
QueryId = Annotated[str, Parameter(help="The id of a query, as create has printed it.")]
_FEW = 0.05  # of the clients: a larger error of ranks is told
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def serve(
    *,
    host: Annotated[str, Parameter(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, Parameter(help="0 takes a free one.", converter=o.whole)] = 8000,
    store: Store = None,
    json: o.Json = False,
) -> None:
    """Take sealed reports from devices, until it is stopped.

    It cannot open them: the keys stay with whoever creates queries. It speaks plain
    HTTP; put a server with TLS before it.
    """
    from tamis.collect.open import default_store
    from tamis.collect.serve import serve as run

    def ready(address: str, chosen: int) -> None:
        place = f"http://{address}:{chosen}"
        if json:
            streams.put_json({"listening": place})
            streams.flush()
        else:
            streams.say(f"listening on {place}")

    run(default_store(store), host, port, ready)


def create(
    *,
    kind: Annotated[
        Literal["histogram", "heavy-hitters", "quantiles"],
        Parameter(group=ASKED, help="What is released of the answers."),
    ],
    question: Annotated[str, Parameter(group=ASKED, help="What devices are asked, in words.")],
    epsilon: o.Epsilon,
    delta: o.Delta,
    window: Annotated[str, Parameter(help="How long each round is open: 90s, 10m, 12h or 7d.")],
    longest: Annotated[
        int | None,
        Parameter(group=ASKED, help="Items are text of so many bytes.", converter=o.whole),
    ] = None,
    domain: Annotated[
        int | None,
        Parameter(group=ASKED, help="Items are whole numbers below this one.", converter=o.whole),
    ] = None,
    rounds: Annotated[
        int,
        Parameter(group=ASKED, help="Heavy hitters in so many rounds.", converter=o.whole),
    ] = 1,
    depth: Annotated[
        int | None,
        Parameter(group=ASKED, help="So many characters of an item count.", converter=o.whole),
    ] = None,
    at: Annotated[
        list[float] | None, Parameter(group=ASKED, help="Which quantile; repeat for more.")
    ] = None,
    clients: Annotated[
        int,
        Parameter(group=ASKED, help="For quantiles: about how many devices.", converter=o.whole),
    ] = 10_000,
    p: Annotated[
        float | None, Parameter(help="The share of devices that is kept, in each round.")
    ] = None,
    tau: Annotated[
        int | None,
        Parameter(help="How many of those kept must say the same.", converter=o.whole),
    ] = None,
    colluding: Annotated[
        int,
        Parameter(
            help="Hide devices from a reader, too, who controls so many of them.",
            converter=o.whole,
        ),
    ] = 0,
    neighbours: Annotated[
        Literal["add or remove", "replace"],
        Parameter(help="What is hidden: whether a device took part, or what it said."),
    ] = "add or remove",
    coverage: o.Coverage = 0.95,
    budget: o.Budget = None,
    ledger: o.Ledger = None,
    store: Store = None,
    keys: Keys = None,
    json: o.Json = False,
) -> None:
    """Publish a query to devices. Its id is printed.

    Nothing is spent now. A budget is looked at, and charged when the first round is
    counted.
    """
    from tamis.federated import SampleAndThreshold

    seconds = duration(window)
    chosen: dict[str, Any] = {"p": p, "tau": tau, "neighbours": neighbours, "colluding": colluding}
    if kind == "quantiles" and domain is None:
        raise InvalidInput("quantiles need --domain: items are whole numbers below it.")
    asked = _asked(kind, epsilon, delta, domain or 0, rounds, depth, at, clients, chosen)
    with _opened(store, keys, new=True) as collector:
        query = collector.create(
            asked,
            question,
            window=seconds,
            longest=longest,
            domain=None if kind == "quantiles" else domain,
            coverage=coverage,
            budget=budget,
            ledger=ledger,
        )
        (made,) = collector.status(query)
        signer = collector.signer
    mechanism = asked if isinstance(asked, SampleAndThreshold) else asked.mechanism
    for hint in filter(None, (mechanism.hint, _few(kind, clients, mechanism.needed))):
        streams.say(hint)
    if json:
        streams.put_json({**asdict(made), "signer": signer})
        return
    streams.put(query)
    each = f"in each of up to {made.rounds} rounds, " if made.rounds > 1 else ""
    streams.say(f"open until {made.closes}: {each}a device is kept with probability {made.p:.4g},")
    what = "ranges that" if kind == "quantiles" else "what"
    end = "are in are counted" if kind == "quantiles" else "say is released"
    streams.say(f"and {what} at least {made.tau} of those kept {end}")
    streams.say(f"devices check what they are asked with the signer {signer}")


def tokens(
    query: QueryId,
    count: Annotated[int, Parameter(help="How many.", converter=o.whole)],
    /,
    *,
    output: o.Output = None,
    force: o.Force = False,
    store: Store = None,
    keys: Keys = None,
    json: o.Json = False,
) -> None:
    """Make tokens, one on a line: each lets one device take part in the query."""
    files.check_output(output, force)
    with _opened(store, keys) as collector:
        made = collector.tokens(query, count)
    if json:
        streams.put_json(made)
    elif output is None or output == streams.STANDARD:
        streams.put("\n".join(made))
    else:
        files.write_file(output, ("\n".join(made) + "\n").encode(), private=True)
        streams.say(f"written: {output}")


def status(
    query: Annotated[str | None, Parameter(help="The id of a query; without it, all.")] = None,
    /,
    *,
    store: Store = None,
    keys: Keys = None,
    json: o.Json = False,
) -> None:
    """Show queries: what they ask, and until when. How many have answered is not told."""
    with _opened(store, keys) as collector:
        found, signer = collector.status(query), collector.keys.known_signer
    if json:
        streams.put_json([{**asdict(each), "signer": signer} for each in found])
    elif not found:
        streams.say("there is no query yet; how to make one: tamis collect create --help")
    else:
        streams.put(queries.text(found))
        for step in queries.next_steps(found):
            streams.say(step)
        for each in found:
            if each.signed is False:
                streams.say(
                    f"query {each.query} is not signed with the keys that are here: it was "
                    "changed in the database, or is another aggregator's"
                )
        if signer:
            streams.say(f"signer, for devices: {signer}")


def close(
    query: QueryId,
    /,
    *,
    abandon: Annotated[
        bool, Parameter(help="End the query, and delete its reports unseen.")
    ] = False,
    store: Store = None,
    keys: Keys = None,
    json: o.Json = False,
) -> None:
    """Close the round that is open, before its time."""
    with _opened(store, keys) as collector:
        if abandon:
            collector.abandon(query)
        else:
            collector.close_window(query)
        (found,) = collector.status(query)
    if json:
        streams.put_json(asdict(found))
    elif abandon:
        streams.say(f"the query {query} has ended, and its reports are deleted")
    else:
        streams.say(f"closed: tamis collect release {query} -o FILE counts what was reported")


def release(
    query: QueryId,
    /,
    *,
    output: o.Output,
    wait: Annotated[
        bool, Parameter(help="Wait for windows to close, and run all rounds unattended.")
    ] = False,
    force: o.Force = False,
    store: Store = None,
    keys: Keys = None,
    json: o.Json = False,
) -> None:
    """Count what was reported, and write the release: once, and always the same.

    Reports are opened here, and deleted with the key that opens them. For a query
    of several rounds, each call counts the round that has closed and opens the
    next; --wait does all of it.
    """
    files.check_output(output, force)
    _check_parquet(str(output), json)
    with _opened(store, keys) as collector:
        content = collector.release(query, wait=wait, progress=_told)
    files.write_file(str(output), content)
    digest = _digest(content)
    if json:
        streams.put_json({"query": query, "release": output, "digest": digest})
        return
    if output != streams.STANDARD:
        streams.say(f"written: {output}")
    streams.say(f"digest: {digest}")


def _digest(content: bytes) -> str:
    """What `tamis verify` prints, and others compare."""
    from io import BytesIO
    from json import loads

    import pyarrow.parquet as pq

    said = pq.read_metadata(BytesIO(content)).metadata
    return str(loads(said[b"tamis"])["digest"])


def _opened(store: str | None, keys: str | None, new: bool = False) -> Collector:
    """The collector; a file that is named must be there, if this is not to make a ``new`` one."""
    from tamis.collect.collector import Collector
    from tamis.collect.open import default_store

    where = default_store(store)
    if not new and store is not None and "://" not in where and not Path(where).exists():
        raise InvalidInput(
            f"There is no collector's database {where!r}; is that the name that was given to "
            "tamis collect create?"
        )
    return Collector(where, keys)


def _check_parquet(output: str, json: bool) -> None:
    if output == streams.STANDARD and json:
        raise InvalidInput("-o - writes the file to standard output: leave out --json.")
    if output != streams.STANDARD and Path(output).suffix.lower() != ".parquet":
        raise InvalidInput(
            f"a release of reports is a Parquet file: end {output!r} with .parquet. tamis query "
            "FILE rows gives its rows in other forms."
        )


def _few(kind: str, clients: int, needed: float) -> str:
    """What should be known of a search among too few clients; or nothing."""
    if kind != "quantiles" or needed <= clients * _FEW:
        return ""
    return (
        f"with {clients:,} clients a quantile can be off by {needed / clients:.0%} of them: ranges "
        f"with fewer than about {needed:.0f} look empty. --clients says how many there will be."
    )


def _asked(
    kind: str,
    epsilon: float,
    delta: float,
    domain: int,
    rounds: int,
    depth: int | None,
    at: list[float] | None,
    clients: int,
    chosen: dict[str, Any],
) -> Asked:
    from tamis.federated import HeavyHitters, Quantiles, SampleAndThreshold

    if kind != "heavy-hitters" and (rounds != 1 or depth is not None):
        raise InvalidInput("--rounds and --depth are for heavy hitters.")
    if kind != "quantiles" and (at is not None or clients != 10_000):
        raise InvalidInput("--at and --clients are for quantiles.")
    if kind == "quantiles":
        return Quantiles(epsilon, delta, domain, at or (0.5,), clients, **chosen)
    if kind == "heavy-hitters":
        return HeavyHitters(epsilon, delta, rounds, depth, **chosen)  # type: ignore[arg-type]
    return SampleAndThreshold(epsilon, delta, **chosen)


def duration(text: str) -> int:
    """Seconds, from a number and a letter.

    >>> duration("90s"), duration("12h")
    (90, 43200)
    """
    found = re.fullmatch(r"(\d{1,9})([smhd])", text.strip())
    if found is None:
        raise InvalidInput(
            f"--window takes a number and a letter, such as 90s, 10m, 12h or 7d, not {text!r}."
        )
    return int(found[1]) * _SECONDS[found[2]]


def _told(status: Status) -> None:
    if status.state == "released":
        streams.say(f"round {status.round} is counted; the release is made")
    else:
        streams.say(f"round {status.round} of {status.rounds} is open until {status.closes}")
