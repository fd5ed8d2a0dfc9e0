"""`tamis collect simulate`: thousands of devices, a real server, and whether all of it holds."""

from __future__ import annotations

import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from tamis.cli import options as o
from tamis.cli import streams
from tamis.cli.collect import duration
from tamis.cli.failures import Failed

if TYPE_CHECKING:
    from tamis.collect.simulation.rehearsal import Rehearsal

EXAMPLES = """Examples:
  tamis collect simulate --clients 1000
  tamis collect simulate --clients 1000 --faults 0.1 --kills 1
  tamis collect simulate --kind heavy-hitters --clients 1000 --json"""


def simulate(
    *,
    clients: Annotated[int, Parameter(help="How many devices.", converter=o.whole)] = 5000,
    kind: Annotated[
        Literal["histogram", "heavy-hitters", "quantiles"],
        Parameter(help="What they are asked."),
    ] = "histogram",
    faults: Annotated[
        float,
        Parameter(
            help="How likely each thing goes wrong with a device: its report is duplicated, "
            "dropped, reordered, late or garbage, or comes with a token that is used or forged."
        ),
    ] = 0.0,
    kills: Annotated[
        int,
        Parameter(
            help="So many times in each round, the server is ended with kill -9 while devices "
            "report, and started again.",
            converter=o.whole,
        ),
    ] = 0,
    window: Annotated[
        str,
        Parameter(help="How long a round may take; it is closed when all have reported."),
    ] = "1h",
    store: Annotated[
        str | None,
        Parameter(
            help="Where reports are kept: a file, or postgresql://... By default a temporary file."
        ),
    ] = None,
    json: o.Json = False,
) -> None:
    """Let simulated devices report to a real server, and check what is released.

    Server, keys, query, budget and aggregator are made in a temporary folder. What
    is released is compared with what was accepted; if anything does not hold, the
    exit code is 1.
    """
    from tamis.collect.simulation.fleet import Faults
    from tamis.collect.simulation.rehearsal import rehearse
    from tamis.releases.progress import bar

    seconds, likely = duration(window), Faults.all(faults)
    with tempfile.TemporaryDirectory(prefix="tamis-") as folder, bar(None) as report:
        done = rehearse(
            kind,
            clients,
            Path(folder),
            kills=kills,
            faults=likely,
            window=seconds,
            store=store,
            report=report,
        )
    if json:
        streams.put_json(_document(done))
    else:
        streams.put("\n\n".join([_numbers(done), _checks(done), _top(done)]))
    if not done.holds:
        wrong = ", ".join(name for name, holds in done.checks.items() if not holds)
        raise Failed(f"this does not hold: {wrong}.")


def _document(done: Rehearsal) -> dict[str, Any]:
    made = done.simulated
    return {
        "clients": made.clients,
        "rounds": len(made.rounds),
        "seconds": made.seconds,
        "reports_a_second": made.rate,
        "accepted": made.accepted,
        "repeated": made.again,
        "dropped": made.dropped,
        "refused": made.refused,
        "kills": [asdict(kill) for kill in done.kills],
        "checks": done.checks,
        "holds": done.holds,
        "release": [{**row, "truth": _true(done, row)} for row in done.release.table.to_pylist()],
    }


def _numbers(done: Rehearsal) -> str:
    made = done.simulated
    rows = {
        "devices": made.clients,
        "rounds": len(made.rounds),
        "reports a second": round(made.rate),
        "reports accepted": made.accepted,
        "accepted before, and sent again": made.again,
        "refused, because late": made.refused["late"],
        "refused, because the token was used": made.refused["second"],
        "refused, because the token was forged": made.refused["forged"],
        "connections dropped by devices": made.dropped,
        "server killed": len(done.kills),
    }
    return _aligned({"what": list(rows), "number": list(rows.values())})


def _checks(done: Rehearsal) -> str:
    holds = ["yes" if held else "NO" for held in done.checks.values()]
    return _aligned({"what must hold": list(done.checks), "holds": holds})


def _top(done: Rehearsal) -> str:
    """The first rows of the release, and what is true."""
    rows = done.release.table.slice(0, streams.FIRST).to_pylist()
    if not rows:
        return "nothing is released: no item is held by enough devices"
    names = [name for name in rows[0] if name != "token"]
    columns = {name: [row[name] for row in rows] for name in names}
    return _aligned(columns | {"true": [_true(done, row) for row in rows]})


def _true(done: Rehearsal, row: dict[str, Any]) -> int:
    return done.truth[row[done.release.about.key[0]]]


def _aligned(columns: dict[str, list[Any]]) -> str:
    from tamis.weighted.show import column, side_by_side

    shown = [column(name, held, name != "quantile") for name, held in columns.items()]
    return side_by_side(shown)
