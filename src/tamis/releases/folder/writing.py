"""Rows that were drawn on the executors, written from there."""

from __future__ import annotations

import hashlib
from functools import partial
from typing import Any

import pyarrow as pa

from tamis.engines.spark.work import Batches, gathered
from tamis.releases.about import About
from tamis.releases.digest import json_text, lines_of, type_in_words
from tamis.releases.folder.filing import filed
from tamis.releases.folder.folder import Folder, digest_of
from tamis.releases.folder.place import Place
from tamis.sampling.executors import checked
from tamis.sampling.spark import setting
from tamis.weighted.plan import Plan
from tamis.weighted.sample import completed

# moments and days are written as they are, whatever a session has for old readers
_MICROS = ("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
_PLAIN_DAYS = ("spark.sql.parquet.datetimeRebaseModeInWrite", "CORRECTED")


def written(drawn: Any, about: About, place: Place) -> Folder:
    """A frame of keys and tokens, completed and in a folder."""
    key = list(about.key)
    call = checked(partial(_completed, names=key, plan=about.plan))
    rows = drawn.mapInArrow(call, _schema(drawn, key))
    with filed(rows, key, drawn.count()) as files:
        with setting(drawn, *_MICROS), setting(drawn, *_PLAIN_DAYS):
            writer = _one_file_each(files.write).option("compression", "zstd")
            writer.mode("append").parquet(place.path)  # into what was taken
        parts = _digests(files).collect()
        empty = rows.limit(0).toArrow()
        types = [type_in_words(kind) for kind in empty.schema.types[: len(key)]]
        said = about.describe() | {"types": types, "parts": _listed(parts)}
        said |= {"digest": digest_of(said)}
        place.say(json_text(said).decode())
    return Folder(place.path, about, str(said["digest"]), drawn.sparkSession)


def _schema(drawn: Any, key: list[str]) -> Any:
    """The columns of a release, its keys in their types and under their true names."""
    from pyspark.sql.types import DoubleType, LongType, StructField, StructType

    fields = [field for field in drawn.schema.fields if field.name != "token"]
    kinds = [field.dataType for field in fields] + [
        LongType(),
        DoubleType(),
        LongType(),
        LongType(),
    ]
    names = [*key, "token", "estimate", "low", "high"]
    return StructType([StructField(*pair) for pair in zip(names, kinds, strict=True)])


def _one_file_each(writer: Any) -> Any:
    """Partitions have a digest each, so that they must be a file each."""
    return writer.option("maxRecordsPerFile", 0)


def _completed(batches: Batches, names: list[str], plan: Plan) -> Batches:
    """Estimates and intervals beside tokens."""
    for table in gathered(batches):
        tokens = table.column("token").to_numpy()
        keys = table.drop_columns("token").rename_columns(names)
        yield from completed(plan, keys, tokens).to_batches()


def _digests(files: Any) -> Any:
    """The digest of the rows of each partition, which is written as a file."""
    from pyspark.sql import functions as f

    marked = files.select("*", f.spark_partition_id())
    plain = marked.toDF(*(f"c{n}" for n in range(len(marked.columns))))  # Spark has its own dots
    return plain.mapInArrow(checked(_hashed), "part int, digest string")


def _hashed(batches: Batches) -> Batches:
    part, hashed = None, hashlib.sha256()
    for batch in batches:
        if batch.num_rows:
            *columns, marks = batch.columns
            part = marks[0].as_py()
            for lines in lines_of(pa.table(columns, batch.schema.names[:-1])):
                hashed.update(lines)
    if part is not None:
        columns = {"part": pa.array([part], pa.int32()), "digest": [hashed.hexdigest()]}
        yield from pa.table(columns).to_batches()


def _listed(parts: list[Any]) -> list[str]:
    return [digest for _, digest in sorted((row["part"], row["digest"]) for row in parts)]
