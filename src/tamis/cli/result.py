"""What a command has drawn, a release or a summary: saved, told of, and shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tamis.cli import files, streams
from tamis.cli.failures import Failed
from tamis.privacy.errors import counted

if TYPE_CHECKING:
    from tamis.privacy.guarantee import Guarantee
    from tamis.releases.clusters.clusters import Clusters
    from tamis.releases.release import Release
    from tamis.releases.summary.summary import Summary


def save(made: Release | Summary | Clusters, target: files.Target | None) -> None:
    if target is None:
        return
    try:
        target.save(made)
    except Failed as error:
        raise Failed(f"{error} The release had been drawn: what it cost is spent.") from None


def tell(
    made: Release | Summary | Clusters,
    target: files.Target | None,
    promised: str,
    free: str | None = None,
) -> None:
    """What was guaranteed, in a line or two; ``free`` is an option that costs nothing."""
    from tamis.weighted.show import printable

    streams.say(printable(promised))
    tell_charge(made.about.entry)
    files.tell_written(target)
    if target is None:
        streams.say(
            "nothing is saved: name a file with -o to keep a release; each run draws anew, and "
            f"what all of them cost adds up{f' ({free} costs nothing)' if free else ''}"
        )
    elif target.kind != "parquet":
        streams.say("only a Parquet file holds the guarantee and can be verified")


def tell_charge(entry: Mapping[str, Any] | None) -> None:
    """Which entry of which budget was made, if any."""
    if entry is not None:
        streams.say(f"charged to budget {entry['budget']!r} as entry {entry['entry']}")


def promise(g: Guarantee, key: str = "key") -> str:
    """What is promised for one unit; ``key`` is the word for what it may contribute to."""
    from tamis.privacy.guarantee import REPLACED

    bounds = "" if g.unit == "element" else f" with at most {counted(g.keys_per_unit, key)}"
    if g.elements_per_key > 1:
        bounds += f" and {counted(g.elements_per_key, 'element')} in each"
    happens = "replaced by another" if g.neighbours == REPLACED else "added or removed"
    return f"epsilon {g.epsilon:g}, delta {g.delta:g} when one {g.unit}{bounds} is {happens}"


def show(
    made: Release | Summary | Clusters,
    target: files.Target | None,
    document: dict[str, Any],
    told: Sequence[str],
    rows: bool,
    json: bool,
) -> None:
    """The first rows for a person, on request or if there is no file; a document for a program.

    It begins with ``document`` and has what the file says of itself under the names ``told``; and
    all rows if there is no file.
    """
    table, about = made.to_arrow(), made.about.describe()
    if json:
        document = {**document, "file": target.name if target else None}
        document |= {name: about[name] for name in told}
        if target is None or rows:
            document["rows"] = streams.records(
                table if target is None else table.slice(0, streams.FIRST)
            )
        streams.put_json(document)
    elif rows or target is None:
        streams.put(streams.table_text(table, streams.FIRST, list(made.about.added)))
