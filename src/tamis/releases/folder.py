"""A release too large for one file: a folder of Parquet files that Spark writes.

The rows are in the order of all releases, over the files in the order of their names. What a file
says about itself in its footer is here in a text file of its own, in the folder ``_tamis``, which
readers of Parquet leave alone. It holds a digest of the rows of every file, in their order, and the
digest of the release is that of all it says, these among it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tamis.engines.protocol import Counted, Draw, Encode, Frequencies, Ints, Request
from tamis.engines.spark import engine as spark
from tamis.engines.spark.frames import named_table
from tamis.engines.spark.work import Batches, gathered
from tamis.privacy.certificate import Certificate
from tamis.privacy.errors import BadData, InvalidInput, shown
from tamis.privacy.guarantee import Guarantee
from tamis.releases.about import About, read_about
from tamis.releases.digest import json_text, lines_of, type_in_words
from tamis.releases.make import release
from tamis.releases.release import Release
from tamis.sampling.arrow import quoted
from tamis.weighted.plan import Plan
from tamis.weighted.sample import ADDED, PrivateSample, completed

INSIDE = "_tamis"


@dataclass(frozen=True)
class Folder:
    """A release in a folder: what is guaranteed, and where its rows are.

    Guarantee: ``guarantee``, for everything in it together. Open it with `tamis.open` where it fits
    into memory.
    """

    path: str
    about: About
    digest: str
    session: Any

    @property
    def guarantee(self) -> Guarantee:
        return self.about.guarantee

    @property
    def certificate(self) -> Certificate:
        return self.about.certificate

    def to_spark(self) -> Any:
        """The rows as a DataFrame of Spark: key columns, token, estimate, low and high."""
        return self.session.read.parquet(self.path)

    def top(self, n: int = 10) -> pa.Table:
        """The keys with the largest estimates."""
        names = [quoted(name) for name in self.about.key]
        return spark.run(lambda: _ordered(self.to_spark(), names).limit(n).toArrow())

    def __str__(self) -> str:
        g = self.guarantee
        return (
            f"a release in {self.path!r}, with epsilon {g.epsilon:g}, delta {g.delta:g} for one "
            f"{g.unit}; digest {self.digest}"
        )

    __repr__ = __str__


def release_folder(data: Any, folder: str | Path, **options: Any) -> Folder:
    """Release which keys occur and how often, into a folder that Spark writes.

    ``data`` is a DataFrame of Spark, or paths of Parquet files that it can reach; ``folder`` any
    place that it can write to, where nothing is yet. All else is as in `tamis.release`.

    Guarantee: as of `tamis.release`. Tokens are drawn once, on the executors, and kept there until
    all is written; what is named never comes to the driver.
    """
    if options.pop("engine", "spark") != "spark":
        raise InvalidInput('a folder is written by Spark: leave out engine, or give "spark".')
    memory, threads = options.pop("memory", None), options.pop("threads", None)
    with spark.Spark(memory, threads) as engine:
        session = engine.session_of(data)
        path = _empty(session, folder)
        staying = _Staying(engine)
        about = release(data, engine=staying, **options).about
        return _written(staying, about, path, session)


def _empty(session: Any, folder: object) -> str:
    """The place, if nothing is there; looked at before anything is read or charged."""
    if not isinstance(folder, (str, Path)) or not str(folder):
        raise InvalidInput(f"folder must be a path or an address, not {shown(folder)}.")
    path = str(folder)
    there = "://" not in path and Path(path).exists()
    if there or _readable(session, path):
        raise InvalidInput(f"{path!r} exists already; name another folder.")
    return path if "://" in path else str(Path(path).absolute())


def _readable(session: Any, path: str) -> bool:
    """Whether Spark finds anything there."""
    try:
        spark.run(lambda: session.read.text(path).limit(1).collect())
    except BadData:
        return False
    return True


class _Staying:
    """The Spark engine, with draws that stay on the executors."""

    def __init__(self, engine: spark.Spark) -> None:
        self._engine = engine
        self.drawn: Any = None
        self.request: Request | None = None

    def count(self, data: Any, request: Request, table: str | None = None) -> Counted:
        self.request = request
        return _StayingCounted(self, self._engine.count(data, request, table))

    def close(self) -> None:
        self._engine.close()


class _StayingCounted:
    def __init__(self, staying: _Staying, counted: Counted) -> None:
        self._staying, self._counted = staying, counted

    def spread(self) -> Ints:
        return self._counted.spread()

    def join(self, encode: Encode) -> None:
        self._counted.join(encode)

    def frequencies(self, keys_per_unit: int | None = None) -> Frequencies:
        return _StayingFrequencies(self._staying, self._counted.frequencies(keys_per_unit))


class _StayingFrequencies:
    def __init__(self, staying: _Staying, frequencies: Frequencies) -> None:
        self._staying, self._frequencies = staying, frequencies

    @property
    def total(self) -> int:
        return self._frequencies.total

    @property
    def largest(self) -> int:
        return self._frequencies.largest

    def named(self, draw: Draw) -> tuple[pa.Table, Ints]:
        """Draw, and let the result stay: nothing of it comes here."""
        found = self._frequencies
        assert isinstance(found, spark.SparkFrequencies)
        # computed once, and never again: a block that is lost later is an error, not a new draw
        self._staying.drawn = spark.run(found.drawn(draw).localCheckpoint)
        empty = spark.run(self._staying.drawn.limit(0).drop("token").toArrow)
        assert self._staying.request is not None
        return named_table(empty, self._staying.request), np.empty(0, dtype=np.int64)

    def cells(self) -> tuple[Ints, Ints]:
        return self._frequencies.cells()


# --- writing ------------------------------------------------------------------------------------


def _written(staying: _Staying, about: About, path: str, session: Any) -> Folder:
    drawn, key = staying.drawn, list(about.key)
    fields = [f for f in drawn.schema.fields if f.name != "token"]
    kinds = [field.dataType.simpleString() for field in fields]
    names = [quoted(name) for name in key]
    schema = ", ".join(f"{name} {kind}" for name, kind in zip(names, kinds, strict=True))
    plan = replace(about.plan, mechanism=replace(about.plan.mechanism))  # without what it has found
    call = partial(_completed, names=key, plan=plan)
    schema += ", token bigint, estimate double, low bigint, high bigint"
    rows = spark.run(lambda: drawn.mapInArrow(call, schema))
    ordered = spark.run(lambda: _ordered(rows, names).persist())
    try:
        spark.run(lambda: ordered.write.option("compression", "zstd").parquet(path))
        parts = spark.run(lambda: _digests(ordered).collect())
        empty = spark.run(rows.limit(0).toArrow)
        types = [type_in_words(kind) for kind in empty.schema.types[: len(key)]]
        said = about.describe() | {"types": types, "parts": _listed(parts)}
        said |= {"digest": _digest(said)}
        text = session.createDataFrame([(json_text(said).decode(),)], "text string")
        spark.run(lambda: text.coalesce(1).write.text(f"{path}/{INSIDE}"))
    finally:
        ordered.unpersist()
    return Folder(path, about, str(said["digest"]), session)


def _completed(batches: Batches, names: list[str], plan: Plan) -> Batches:
    """Estimates and intervals beside tokens."""
    for table in gathered(batches):
        tokens = table.column("token").to_numpy()
        keys = table.drop_columns("token").rename_columns(names)
        yield from completed(plan, keys, tokens).to_batches()


def _ordered(rows: Any, names: list[str]) -> Any:
    from pyspark.sql import functions as f

    ways = [f.desc("estimate"), f.desc("token"), *(f.asc_nulls_last(name) for name in names)]
    return rows.orderBy(*ways)


def _digests(ordered: Any) -> Any:
    """The digest of the rows of each partition, which is written as a file."""
    from pyspark.sql import functions as f

    marked = ordered.withColumn("_part", f.spark_partition_id())
    return marked.mapInArrow(_hashed, "part int, digest string")


def _hashed(batches: Batches) -> Batches:
    part, hashed = None, hashlib.sha256()
    for batch in batches:
        if batch.num_rows:
            part = batch.column("_part")[0].as_py()
            for lines in lines_of(pa.Table.from_batches([batch]).drop_columns("_part")):
                hashed.update(lines)
    if part is not None:
        columns = {"part": pa.array([part], pa.int32()), "digest": [hashed.hexdigest()]}
        yield from pa.table(columns).to_batches()


def _listed(parts: list[Any]) -> list[str]:
    return [digest for _, digest in sorted((row["part"], row["digest"]) for row in parts)]


def _digest(said: dict[str, Any]) -> str:
    return hashlib.sha256(json_text(said)).hexdigest()


# --- reading ------------------------------------------------------------------------------------


def open_folder(path: str | Path) -> Release:
    """A release from a folder, all of it in memory; what was changed is refused."""
    said = _said(Path(path))
    digest = said.pop("digest", None)
    if digest != _digest(said):
        raise BadData("what the release says about itself does not fit its digest: it was changed.")
    parts, types = said.pop("parts", None), said.pop("types", None)
    about = read_about(said)
    tables = list(_tables(Path(path), about, types))
    if [_digest_of(table) for table in tables] != parts:
        raise BadData("the rows do not fit the digest: the folder was changed.")
    whole = pa.concat_tables(tables) if tables else _no_rows(about)
    return Release(PrivateSample(whole, about.plan), about)


def digest_of(path: str | Path) -> str:
    """The digest of a release in a folder, as it says itself; `open_folder` checks it."""
    return str(_said(Path(path)).get("digest"))


def _said(folder: Path) -> dict[str, Any]:
    try:
        (text,) = sorted((folder / INSIDE).glob("part-*.txt"))
        said = json.loads(text.read_text(encoding="utf-8"))
        if isinstance(said, dict):
            return said
    except (OSError, ValueError, RecursionError):
        pass
    raise BadData(f"{str(folder)!r} holds no release, or one that is damaged.")


def _tables(folder: Path, about: About, types: Any) -> Iterator[pa.Table]:
    """The files in the order of their names, each with the columns of a release."""
    for path in sorted(folder.glob("part-*.parquet")):
        try:
            table = pq.read_table(path, partitioning=None, coerce_int96_timestamp_unit="us")
        except (pa.ArrowException, OSError):
            raise BadData(f"{path.name!r} cannot be read as Parquet; it may be damaged.") from None
        plain = pa.table([*map(_moments, table.columns, [*types, *ADDED])], table.column_names)
        added = plain.schema.types[len(about.key) :]
        found = [type_in_words(kind) for kind in plain.schema.types[: len(about.key)]]
        known = plain.column_names == [*about.key, *about.added]
        if not known or added != [*about.added.values()] or found != types:
            raise BadData(f"{path.name!r} has other columns than a release: it was changed.")
        if plain.num_rows:
            yield plain


def _moments(column: pa.ChunkedArray, word: str) -> pa.ChunkedArray:
    """Spark may write moments in a form of its own, which has no time zone."""
    if word.startswith("instant") and pa.types.is_timestamp(column.type):
        return column.cast(pa.timestamp("us", "UTC"))
    return column


def _digest_of(table: pa.Table) -> str:
    hashed = hashlib.sha256()
    for lines in lines_of(table):
        hashed.update(lines)
    return hashed.hexdigest()


def _no_rows(about: About) -> pa.Table:
    kinds = dict.fromkeys(about.key, pa.string()) | about.added
    return pa.schema(kinds).empty_table()
