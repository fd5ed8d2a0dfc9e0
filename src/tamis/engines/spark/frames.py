"""What users give as data, as a DataFrame with columns of the engine's own."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from tamis.engines.columns import Columns, Types
from tamis.engines.condition import check_condition, unknown
from tamis.engines.protocol import Request
from tamis.engines.source import (
    check_collected,
    check_schemas,
    files_of,
    kind_of,
    names_of,
    paths_of,
)
from tamis.engines.spark.addresses import unread
from tamis.engines.spark.conditions import condition
from tamis.engines.spark.parts import KINDS
from tamis.privacy.errors import BadData, InvalidInput, shown
from tamis.sampling.arrow import quoted
from tamis.sampling.attempt import attempt
from tamis.sampling.spark import asked, at_rest, is_frame, run, setting

# those that only keys and units have, too
_KINDS = KINDS | {
    "decimal": "DECIMAL",
    "char": "VARCHAR",
    "varchar": "VARCHAR",
    "binary": "BLOB",
    "array": "LIST",
}
_SIGNED = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.string_view(): pa.string(),
    pa.binary_view(): pa.binary(),
}
_PARQUET = (".parquet", ".pq")
# what settles a filter for rows that are not looked at
_BY_STATISTICS = (
    "parquet.filterPushdown",
    "orc.filterPushdown",
    "inMemoryColumnarStorage.partitionPruning",
)
# such a filter in a plan, of numbers with a point or of parts of a second
_SETTLED = re.compile(r"(?:PushedFilters: |InMemoryTableScan \[[^\]]*\], )\[[^\]]*\d\.\d")
_ASCII = r"^[\t-\r -~]*$"
_RETAIN = "spark.sql.retainGroupColumns"
_FILE = re.compile(r"^file:(//)?(?=/[^/])")
_SIGNS = r"[*?\[\]{}]" if os.name == "nt" else r"[*?\[\]{}\\:]"
_ODD = re.compile(_SIGNS + r"|[/\\][_.][^/\\]*$")  # in the name of a file that is there


def check_there(
    data: Any, table: str | None, names: Sequence[str], where: str | None = None
) -> None:
    """Refuse what can be refused without Spark, which takes seconds to start."""
    if table is not None:
        raise InvalidInput(
            "table is for DuckDB databases: read it with Spark, and give the DataFrame."
        )
    paths, there = _paths_of(data), None
    if paths is None:
        if not is_frame(data):
            check_collected(data)
    else:
        files = _files(paths)
        if not _far(paths):
            check_schemas(files)
            there = names_of(files[0])
    lost = [] if there is None else [name for name in names if name not in there]
    if lost:
        raise InvalidInput(unknown(lost[0], there or ()))
    if where is not None:
        check_condition(where, there)


def frame_of(session: Any, data: Any, exact: Sequence[str]) -> Any:
    """Data as a DataFrame: one of Spark, Parquet files, or a table of Arrow, pandas or polars.

    Of a table, no two values of the columns that are to be ``exact`` become one.
    """
    if is_frame(data):
        return at_rest(data)
    paths = _paths_of(data)
    if paths is not None:
        return _parquet(session, paths)
    if not hasattr(data, "__arrow_c_stream__"):
        raise InvalidInput(
            "data must be a DataFrame of Spark, paths of Parquet files, or a table of Arrow, "
            f"pandas or polars, not {type(data).__name__}."
        )
    made = attempt(lambda: _shown(session, pa.table(data), exact), Exception)
    if isinstance(made, BadData):
        raise made
    if isinstance(made, Exception):
        kind = type(made).__name__
        del made  # as in `run`
        raise BadData(
            f"data cannot be read as a table ({kind}); each column must hold values "
            "of one type that Spark knows."
        )
    return made


def _far(paths: list[str]) -> bool:
    """Whether paths are elsewhere."""
    return "://" in paths[0]


def _paths_of(data: Any) -> list[str] | None:
    """Paths, if data is given by paths; those of this machine without file:."""
    paths = paths_of(data)
    return None if paths is None else [plain(path) for path in paths]


def plain(path: str) -> str:
    """A path of this machine without file:."""
    return _FILE.sub("", path)


def _files(paths: list[str]) -> list[str]:
    """The Parquet files that paths name, as Spark wants to be told."""
    far = _far(paths)
    if any(_far([path]) != far for path in paths):
        raise InvalidInput("paths are all on this machine, or all elsewhere, such as s3a://...")
    # Java has a working folder of its own, in which Spark would look
    files = paths if far else [str(Path(file).absolute()) for file in files_of(paths)]
    if not far and (odd := next(filter(_ODD.search, files), None)):
        raise InvalidInput(
            f"{odd!r} has a sign in it that Spark takes for a pattern or an address, or begins "
            "with _ or . and is hidden from it: rename it, or leave out engine."
        )
    if kind_of(paths) not in (*_PARQUET, "" if far else ".parquet"):  # a folder elsewhere has none
        raise InvalidInput(
            f"{Path(paths[0]).name!r} is no Parquet file: read other formats with Spark, and give "
            "the DataFrame, or leave out engine."
        )
    return files


def _parquet(session: Any, paths: list[str]) -> Any:
    files = _files(paths)
    # folders are no columns
    reader = session.read.option("recursiveFileLookup", "true")
    made = asked(lambda: analysed(reader.parquet(*files)))
    if isinstance(made, Exception):
        why = unread(made, paths)
        del made
        raise why
    return made


def _shown(session: Any, rows: pa.Table, exact: Sequence[str]) -> Any:
    """An Arrow table, in types that Spark has."""
    from pyspark.sql.pandas.types import from_arrow_schema

    known = pa.table([_known(column) for column in rows.columns], names=rows.column_names)
    for name, column in zip(known.column_names, known.columns, strict=True):
        if name in exact and not _in_micros(column):
            raise BadData(
                f"{shown(name)} holds nanoseconds, which Spark has not: moments that differ would "
                "become one. Round them to microseconds, or leave out engine (DuckDB has them)."
            )
    return session.createDataFrame(known, from_arrow_schema(known.schema, True))


def _known(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Dictionaries are what they stand for, and whole numbers without a sign get one."""
    if pa.types.is_dictionary(column.type):
        values = _SIGNED.get(column.type.value_type, column.type.value_type)
        parts = [part.dictionary.cast(values).take(part.indices) for part in column.chunks]
        return pa.chunked_array(parts, values)
    if isinstance(column.type, pa.UuidType):
        return _known(column.cast(pa.binary(16)).cast(pa.binary()))
    return column.cast(_SIGNED.get(column.type, column.type))


def _in_micros(column: pa.ChunkedArray) -> bool:
    """Whether all moments are whole microseconds, if there are any."""
    coarse = _coarse(column.type)
    found = coarse == column.type or attempt(lambda: column.cast(coarse), pa.ArrowException)
    return not isinstance(found, Exception)


def _coarse(kind: pa.DataType) -> pa.DataType:
    """The type with microseconds for nanoseconds, inside of others too."""
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        return pa.timestamp("us", kind.tz)
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_coarse(field.type)) for field in kind])
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(kind.value_field.with_type(_coarse(kind.value_type)), kind.list_size)
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_coarse(kind.value_type)))
    if pa.types.is_large_list(kind):
        return pa.large_list(kind.value_field.with_type(_coarse(kind.value_type)))
    return kind


def check_session(session: Any) -> None:
    """Refuse a setting with which what is counted would come without its keys."""
    if run(lambda: session.conf.get(_RETAIN)).lower() == "false":
        raise InvalidInput(f"the session's {_RETAIN} is false: keys would be lost; set it to true.")


@contextmanager
def row_by_row(frame: Any) -> Iterator[None]:
    """While it is read, every row is looked at, whatever statistics files and caches have of them.

    These leave NaN out, and have moments, days and text in other forms or orders than those in
    which Spark compares them, so that whether a row counts would be a matter of those beside it.
    """
    with ExitStack() as settings:
        for name in _BY_STATISTICS:
            settings.enter_context(setting(frame, f"spark.sql.{name}", "false"))
        yield


def types_of(frame: Any) -> Types:
    """The columns and their types, in the words of `Columns`."""
    return {name: _kind(kind) for name, kind in frame.dtypes}


def _kind(kind: str) -> str:
    plain = re.split(r"[ (<]", kind, maxsplit=1)[0]
    return _KINDS.get(plain, plain.upper())


def check_unit(frame: Any, unit: str | None) -> None:
    """Units are hashed, which Spark does with all that it can group by but maps."""
    if unit is not None and "map<" in dict(frame.dtypes)[unit]:
        raise InvalidInput(
            f"unit {unit!r} holds maps, which cannot be told apart here: convert it to text first."
        )


def chosen(frame: Any, where: str | None, types: Types) -> Any:
    """The rows with a condition, which are those that other engines would choose."""
    if where is None:
        return frame
    check_condition(where, types)
    made = attempt(lambda: analysed(frame.where(condition(frame, where))), Exception)
    if isinstance(made, InvalidInput):
        raise made
    if isinstance(made, Exception):
        del made
        raise InvalidInput(
            "where is not a condition on single rows of this data: check its functions and types."
        )
    return made


def check_same(frame: Any) -> None:
    """Refuse a frame that is drawn anew whenever it is computed, where Spark can tell.

    A part that is lost would be computed again, and be another than the one that was counted. So
    what is cached does not count as written down, and columns that are not used do not count.
    """
    if not hasattr(frame, "_jdf"):  # Connect has no such thing
        return

    def same() -> bool:
        asked = frame._jdf.queryExecution()
        used = asked.sparkSession().sessionState().optimizer().execute(asked.analyzed())
        return bool(used.deterministic())

    if attempt(same, Exception) is False:
        raise InvalidInput(
            "data is drawn at random whenever it is computed (by rand(), uuid() or "
            "monotonically_increasing_id(), say; input_file_name() counts as such), and must be "
            "the same each time: write it down first, or use checkpoint()."
        )


def check_kept(frame: Any) -> None:
    """Refuse what was cached behind a filter that statistics may have settled, where it is seen.

    What is told to be cached follows the settings of that moment, and not those of `row_by_row`.
    """
    if not hasattr(frame, "_jdf"):  # Connect has no such thing
        return
    plan = attempt(lambda: frame._jdf.queryExecution().withCachedData().toString(), Exception)
    if isinstance(plan, str) and _SETTLED.search(plan):
        raise InvalidInput(
            "data is cached behind a filter, which Spark settles by statistics that leave NaN and "
            "parts of a second out, so that rows may be missing: unpersist() it, and cache what "
            "comes before the filter, or give the condition as where."
        )


def unreadable(columns: Columns) -> dict[str, str]:
    """Whether some key is text that is not in UTF-8, which no reader of a release could read."""
    texts = [
        key
        for key, name in zip(columns.keys, columns.request.key, strict=True)
        if columns.kind(name) == "VARCHAR"
    ]
    wrong = " OR ".join(f"NOT is_valid_utf8({key})" for key in texts)
    return {"unreadable": f"coalesce(max({wrong}), false)" if texts else "false"}


def schema_of(cells: list[str], rest: list[Any], more: str) -> Any:
    """Cells, other columns as they are, and a column of text."""
    from pyspark.sql import types

    codes = [types.StructField(cell, types.LongType()) for cell in cells]
    return types.StructType([*codes, *rest, types.StructField(more, types.StringType())])


def analysed(frame: Any) -> Any:
    """The frame, if Spark can make sense of it: Connect asks the server only for new columns."""
    _ = frame.select("*").schema
    return frame


def named_columns(frame: Any, columns: Columns) -> Any:
    """The columns of a request under the names k0, k1, ..., owner and many."""
    from pyspark.sql import functions as f

    asked = columns.request
    names = [*zip(asked.key, columns.keys, strict=True)]
    if asked.unit is not None:
        names.append((asked.unit, "owner"))
    picked = [_plain(frame, old).alias(new) for old, new in names]
    if asked.count is not None:
        many = f.col(quoted(asked.count))
        if columns.count_kind() == "VARCHAR":
            # of digits in other scripts, and of control signs, engines make different numbers
            many = f.when(many.rlike(_ASCII), many.try_cast("decimal(38, 9)"))
        picked.append(many.alias("many"))
    made = frame.select(*picked)
    for key in columns.keys if asked.nulls == "drop" else ():
        made = made.where(f"{key} IS NOT NULL")
    return made


def _plain(frame: Any, name: str) -> Any:
    """Text that is equal is the same text, whatever collation it has, and wherever it is inside."""
    from pyspark.sql import functions as f

    column, kind = f.col(quoted(name)), frame.schema[name].dataType
    plain = _without_collation(kind)
    return column if plain == kind else column.cast(plain)


def _without_collation(kind: Any) -> Any:
    """The type with text as it is, of any length, inside of others too."""
    from pyspark.sql import types

    if isinstance(kind, (types.StringType, types.CharType, types.VarcharType)):
        return types.StringType()
    if isinstance(kind, types.ArrayType):
        return types.ArrayType(_without_collation(kind.elementType), kind.containsNull)
    if isinstance(kind, types.StructType):
        fields = (
            types.StructField(one.name, _without_collation(one.dataType), one.nullable)
            for one in kind.fields
        )
        return types.StructType(list(fields))
    return kind


def named_table(found: pa.Table, request: Request) -> pa.Table:
    """Key columns under their true names; moments in no one's local time."""
    made = found.rename_columns(list(request.key))
    fields = (field.with_type(_usual(field.type)) for field in made.schema)
    return made.cast(pa.schema([field.remove_metadata() for field in fields]))


def _usual(kind: pa.DataType) -> pa.DataType:
    """The type that a release has, whatever a session is set to."""
    if pa.types.is_timestamp(kind) and kind.tz:
        return pa.timestamp("us", "UTC")
    return {pa.large_string(): pa.string(), pa.large_binary(): pa.binary()}.get(kind, kind)
