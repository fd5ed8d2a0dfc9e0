"""The distributed engine: rows are bounded and counted on Spark, and keys are drawn for there.

A task may run twice, because a machine failed or was slow. Nothing that is published may depend on
which of the two was looked at:

* Which keys of a unit survive is a function of the unit, the key and a secret of this run: a task
  that runs again finds the same. The secret is fresh; the guarantee would hold for any.
* Tokens are drawn in the last stage of a job, so that Spark takes the result of one attempt of each
  task, whole, and drops the others unseen. Nothing is ever computed from that stage a second time.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from functools import partial
from typing import Any
from weakref import WeakSet

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.engines.columns import Columns, no_text
from tamis.engines.database import check_limits
from tamis.engines.numbers import Numbers
from tamis.engines.protocol import (
    Choose,
    Counted,
    Draw,
    Encode,
    Engine,
    Frequencies,
    Ints,
    Progress,
    Request,
)
from tamis.engines.spark import frames, work
from tamis.engines.spark.numbers import SparkNumbers, numbers
from tamis.engines.spark.session import session
from tamis.privacy import randomness
from tamis.privacy.errors import BadData, EngineMissing, InvalidInput
from tamis.sampling import executors
from tamis.sampling.arrow import column_of
from tamis.sampling.attempt import attempt
from tamis.sampling.executors import checked
from tamis.sampling.spark import guarded, is_frame, run, setting

_LIMITS = [2**n for n in range(8)]  # of the numbers of keys that a spread tells apart
_MOST = 2**62
_PLAIN = ("spark.sql.inMemoryColumnarStorage.compressed", "false")
_DIRECT = ("spark.sql.adaptive.enabled", "false")  # one job, where there is nothing to adapt
_AT_ONCE = ("spark.sql.execution.arrow.maxRecordsPerBatch", str(1 << 16))  # to and from Python
_READY: WeakSet[Any] = WeakSet()  # sessions whose executors have tamis


class Spark:
    """An `Engine` on a Spark session: that of the data, the one that is active, or a new one."""

    def __init__(
        self,
        memory: str | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
        session: Any = None,
    ) -> None:
        check_limits(memory, threads)
        self._memory, self._threads, self._session = memory, threads, session
        self._progress, self._held, self._turn = progress, list[Any](), 0

    def close(self) -> None:
        """Give back what is kept on the executors. The session stays."""
        for frame in self._held:
            attempt(frame.unpersist, Exception)
        self._held = []

    def __enter__(self) -> Spark:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @guarded
    def count(self, data: Any, request: Request, table: str | None = None) -> Counted:
        """Read and check all of the data, and count its keys, or the pairs of units and keys."""
        asked = (*request.key, request.unit, request.count)
        named = [name for name in asked if name is not None]
        frame = self._begun(data, table, named, request.where)
        columns = Columns(request, frames.types_of(frame), nan="isnan({})")
        frames.check_unit(frame, request.unit)
        rows = frames.chosen(frame, request.where, columns.types)
        there = run(lambda: frames.named_columns(rows, columns))
        frames.check_same(there)
        frames.check_kept(there)
        self.step("counting", 30)
        with frames.row_by_row(frame):
            if request.unit is not None:
                return _Units(self, columns, there)
            return _Elements(self, columns, there)

    @guarded
    def numbers(
        self,
        data: Any,
        names: Sequence[str],
        where: str | None = None,
        table: str | None = None,
    ) -> SparkNumbers:
        """These columns of all rows, as floats that stay; refused if one is not finite."""
        frame = self._begun(data, table, names, where)
        types = frames.types_of(frame)
        wanted = Numbers(tuple(names), types, finite="abs({}) < 1e308")
        rows = frames.chosen(frame, where, types)
        frames.check_kept(rows)
        with frames.row_by_row(frame):
            return numbers(rows, wanted, self.keep)

    def session_of(self, data: Any) -> Any:
        """The session of the data, if it has one."""
        if is_frame(data):
            return data.sparkSession
        if self._session is None:
            self._session = session(self._threads, self._memory)
        return self._session

    def _begun(self, data: Any, table: str | None, names: Sequence[str], where: str | None) -> Any:
        """The data, with these columns, in the place of what was counted before.

        It is a frame of a session whose executors have tamis.

        Those that come later are looked at by the tasks that run there, before they draw.
        """
        self.close()
        self._turn += 1
        self.step("reading", 0)
        frames.check_there(data, table, names, where)
        there = self.session_of(data)
        frames.check_session(there)
        frame = frames.frame_of(there, data, names)
        if there not in _READY:  # now, and not when a budget has been charged
            found = run(lambda: there.range(1).mapInArrow(work.ready, "code string").collect())
            if {code for (code,) in found} != {executors.code()}:  # from each part of the range
                raise EngineMissing(executors.OTHER)
            _READY.add(there)
        return frame

    def step(self, what: str, percent: float) -> None:
        if self._progress is not None:
            self._progress(what, percent)

    def keep(self, frame: Any) -> Any:
        """The frame, which is computed when it is first looked at and stays until `close`.

        Spark would keep equal frames once, and give all of them back with one: the condition, which
        holds for every row, is on a word that only this one has.
        """
        from pyspark.sql import functions as f

        word = uuid.uuid4().hex
        kept = run(lambda: frame.where(f.lit(word).isNotNull()).persist())  # or looked at now
        self._held.append(kept)
        return kept

    def keep_keys(self, frame: Any) -> Any:
        """The same for a frame of keys that are there once each: there is little to compress."""
        with setting(frame, *_PLAIN):
            return self.keep(frame)

    def row(self, frame: Any, asked: dict[str, str]) -> dict[str, Any]:
        """What these expressions over all rows of a frame that is kept give."""
        wanted = [f"{expression} AS {name}" for name, expression in asked.items()]
        with setting(frame, *_DIRECT):
            found = run(lambda: frame.selectExpr(*wanted).collect())
        return dict(found[0].asDict())


class _Counted:
    """Keys of some data. What is asked for once is not asked for again."""

    def __init__(self, engine: Spark, columns: Columns) -> None:
        self._engine, self._columns, self._turn = engine, columns, engine._turn
        self._keys, self._joined = columns.keys, False
        self._found: SparkFrequencies | None = None

    @guarded
    def frequencies(self, keys_per_unit: int | None = None) -> Frequencies:
        self._check()
        if self._found is None:
            self._found = self._frequencies(keys_per_unit)
        return self._found

    def _frequencies(self, keys_per_unit: int | None) -> SparkFrequencies:
        raise NotImplementedError

    def _encoded(self, frame: Any, encode: Encode) -> Any:
        """The frame with cells in the place of keys; refused if a key has none."""
        self._check()
        if self._found is not None or self._joined:
            raise InvalidInput("only keys that are not bounded yet can be joined.")
        names, keys = list(self._columns.request.key), len(self._keys)
        empty = frames.named_table(
            run(lambda: frame.select(*self._keys).limit(0).toArrow()), self._columns.request
        )
        width = work.width_of(encode, empty, names)
        cells = [f"c{n}" for n in range(width)]
        rest = [field for field in frame.schema.fields if field.name not in self._keys]
        schema = frames.schema_of(cells, rest, work.WRONG)
        ordered = frame.select(*self._keys, *(field.name for field in rest))
        call = checked(partial(work.encoded, encode=encode, names=names, keys=keys))
        made = self._engine.keep(run(lambda: ordered.mapInArrow(call, schema)))
        why = self._engine.row(made, {"why": f"max({work.WRONG})"})["why"]
        if why:
            kind, _, sentence = why.partition(":")
            raise BadData(sentence) if kind == "data" else InvalidInput(sentence)
        self._keys, self._joined = cells, True
        return made.drop(work.WRONG)

    def _check(self) -> None:
        if self._turn != self._engine._turn:
            raise InvalidInput("this engine has counted other data since; use an engine for each.")


class _Elements(_Counted):
    """Rows that stand for themselves, or counts."""

    def __init__(self, engine: Spark, columns: Columns, rows: Any) -> None:
        super().__init__(engine, columns)
        self._bad = list(columns.bad_counts().items()) if columns.request.count else []
        self._counts = engine.keep_keys(self._grouped(rows))
        self._sizes = self._checked()

    def _grouped(self, rows: Any) -> Any:
        """Frequencies, and whether counts are bad in any of the ways that there are."""
        from pyspark.sql import functions as f

        if not self._bad:
            return rows.groupBy(*self._keys).agg(f.count("*").alias("n"))
        wrong = f.lit(False)
        for condition, _ in self._bad:
            wrong = wrong | f.expr(f"coalesce({condition}, true)")
        many = f.when(~wrong, f.expr("cast(many AS decimal(28, 0))")).otherwise(f.lit(0))
        found = [f.max(f.expr(condition)).alias(f"bad{n}") for n, (condition, _) in self._listed()]
        return rows.groupBy(*self._keys).agg(f.sum(many).alias("n"), *found)

    @property
    def _sought(self) -> dict[str, str]:
        """Sums of counts may be beyond 64 bits; as many rows there cannot be."""
        return _SIZES | _LARGE if self._bad else _SIZES

    def _listed(self) -> list[tuple[int, tuple[str, str]]]:
        return list(enumerate(self._bad))

    def _checked(self) -> dict[str, Any]:
        asked = {f"bad{n}": f"max(bad{n})" for n, _ in self._listed()} | self._sought
        sizes = self._engine.row(self._counts, asked | frames.unreadable(self._columns))
        if sizes.pop("unreadable"):
            raise no_text()
        name = self._columns.request.count
        for n, (_, what) in self._listed():
            if sizes[f"bad{n}"]:
                raise BadData(f"{name} holds {what}.")
        if sizes["largest"] >= _MOST:
            raise BadData(f"{name} adds up to 2^62 or more for some key; divide it.")
        return sizes

    def spread(self) -> Ints:
        raise InvalidInput("only units that are not bounded yet have a spread.")

    @guarded
    def join(self, encode: Encode) -> None:
        from pyspark.sql import functions as f

        cells = self._encoded(self._counts.select(*self._keys, "n"), encode)
        self._counts = self._engine.keep_keys(cells.groupBy(*self._keys).agg(f.sum("n").alias("n")))
        self._sizes = self._engine.row(self._counts, self._sought)

    def _frequencies(self, keys_per_unit: int | None) -> SparkFrequencies:
        frame = self._counts
        if self._bad:  # without what was looked for, and in 64 bits
            frame = frame.selectExpr(*self._keys, "cast(n AS bigint) AS n")
        return SparkFrequencies(self._columns.request, frame, self._keys, self._sizes)


class _Units(_Counted):
    """Pairs of units and keys, and how often each occurs."""

    def __init__(self, engine: Spark, columns: Columns, rows: Any) -> None:
        from pyspark.sql import functions as f

        super().__init__(engine, columns)
        grouped = rows.groupBy("owner", *self._keys).agg(f.count("*").alias("many"))
        self._pairs = engine.keep(grouped)
        asked = {"lost": f"max({columns.no_unit()})"} | frames.unreadable(columns)
        found = engine.row(self._pairs, asked)
        if found["lost"]:
            raise columns.lost()
        if found["unreadable"]:
            raise no_text()
        run(lambda: frames.analysed(self._counted(1, _NO_SECRET)))  # before a budget is charged

    @guarded
    def spread(self) -> Ints:
        from pyspark.sql import functions as f

        self._check()
        if self._found is not None:
            raise InvalidInput("only units that are not bounded yet have a spread.")
        over = "+".join(f"cast(many > {limit} AS int)" for limit in _LIMITS)
        units = self._pairs.groupBy("owner").agg(f.count("*").alias("many"))
        spread = units.groupBy(f.expr(over).alias("place")).count()
        found = np.zeros(len(_LIMITS) + 1, dtype=np.int64)
        for place, many in run(spread.collect):
            found[place] = many
        return found

    @guarded
    def join(self, encode: Encode) -> None:
        from pyspark.sql import functions as f

        cells = self._encoded(self._pairs, encode)
        self._pairs = cells.groupBy("owner", *self._keys).agg(f.sum("many").alias("many"))

    def _frequencies(self, keys_per_unit: int | None) -> SparkFrequencies:
        self._engine.step("bounding units", 60)
        asked = self._columns.request
        counted = run(lambda: self._counted(keys_per_unit or asked.keys_per_unit, _secret()))
        frame = self._engine.keep_keys(counted)
        return SparkFrequencies(asked, frame, self._keys, self._engine.row(frame, _SIZES))

    def _counted(self, most: int, secret: Ints) -> Any:
        """Keys with their frequencies, of at most so many keys for each unit."""
        from pyspark.sql import functions as f

        many = f.sum(f.expr(f"least(many, {self._columns.request.elements_per_key})")).alias("n")
        return self._kept(most, secret).groupBy(*self._keys).agg(many)

    def _kept(self, most: int, secret: Ints) -> Any:
        """Of each unit a run of its keys in the order of their hashes, as `engines.bounding` does.

        Where it starts is a matter of the unit alone: of what is one unit to Spark it is one place,
        even if the same unit can be written in several ways. Equal hashes are in the order of keys.
        """
        from pyspark.sql import Window
        from pyspark.sql import functions as f

        order, start = ([f.lit(int(word)) for word in pair] for pair in secret)
        hashed = f.xxhash64(*order, *map(f.col, self._keys))
        ordered = Window.partitionBy("owner").orderBy(hashed, *self._keys)
        unit = ordered.rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
        numbered = self._pairs.select(
            *self._pairs.columns,
            (f.row_number().over(ordered) - 1).alias("place"),
            f.count("*").over(unit).alias("all"),
            f.min(f.xxhash64(*start, f.col("owner"))).over(unit).alias("start"),
        )
        first = f.pmod(f.col("start"), f.col("all"))
        return numbered.where(f.pmod(f.col("place") - first, f.col("all")) < most)


def _secret() -> npt.NDArray[np.int64]:
    """Two words for the order of keys, and two for where a unit starts."""
    return randomness.words(4).view(np.int64).reshape(2, 2)


_NO_SECRET = np.zeros((2, 2), dtype=np.int64)  # with which nothing is computed
_SIZES = {
    "total": "coalesce(sum(n), 0)",
    "largest": "coalesce(max(n), 0)",
    "many": "count(*)",
}
_LARGE = {"total": "coalesce(sum(cast(n AS decimal(28, 0))), 0)"}


class SparkFrequencies:
    """`ScatteredFrequencies` that stay on the executors. Cells are there once each, too."""

    def __init__(
        self, request: Request, frame: Any, keys: list[str], sizes: dict[str, Any]
    ) -> None:
        self._request, self._frame, self._keys = request, frame, keys
        self.total, self.largest = int(sizes["total"]), int(sizes["largest"])
        self.many = int(sizes["many"])

    @guarded
    def named(self, draw: Draw) -> tuple[pa.Table, Ints]:
        with setting(self._frame, *_AT_ONCE):
            found = run(self.drawn(draw).toArrow)
        tokens = found.column("token").to_numpy()
        return frames.named_table(found.drop_columns("token"), self._request), tokens

    @guarded
    def drawn(self, draw: Draw) -> Any:
        """A frame of the key columns and their tokens, **which is drawn anew at every look**."""
        from pyspark.sql.types import LongType, StructType

        fields = [field for field in self._frame.schema.fields if field.name in self._keys]
        schema = StructType(fields).add("token", LongType())
        call = checked(partial(work.named, draw=draw))
        return run(lambda: self._few.mapInArrow(call, schema))

    @guarded
    def cells(self) -> tuple[Ints, Ints]:
        return self._numbers(run(self._cells.toArrow))

    @guarded
    def stayed(self, choose: Choose) -> tuple[Ints, Ints]:
        call, cells = checked(partial(work.stayed, choose=choose)), self._few
        with setting(self._frame, *_AT_ONCE):
            found = run(lambda: cells.mapInArrow(call, cells.schema).toArrow())
        return self._numbers(found)

    @guarded
    def absent(self, cells: Ints) -> Ints:
        wanted = pa.table([column_of(codes) for codes in cells], names=self._keys)
        numbered = wanted.append_column("place", column_of(np.arange(cells.shape[1])))

        def looked_up() -> pa.Table:
            from pyspark.sql import functions as f

            few = self._frame.sparkSession.createDataFrame(numbered)
            held = self._frame.select(*self._keys).join(f.broadcast(few), self._keys)
            return few.select("place").join(held.select("place"), "place", "left_anti").toArrow()

        return np.sort(work.columns_of(run(looked_up), ["place"])[0])

    @property
    def _cells(self) -> Any:
        return self._frame.select(*self._keys, "n")

    @property
    def _few(self) -> Any:
        """In no more parts than there are keys for: to start on one takes longer than to draw."""
        return self._cells.coalesce(max(1, -(-self.many // work.AT_ONCE)))

    def _numbers(self, found: pa.Table) -> tuple[Ints, Ints]:
        return work.columns_of(found, self._keys), work.columns_of(found, ["n"])[0]


_: type[Engine] = Spark
