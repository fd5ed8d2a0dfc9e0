"""From a DataFrame of Spark to a release in a folder, in one call."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tamis.engines.protocol import Counted, Draw, Encode, Frequencies, Ints, Request
from tamis.engines.spark import engine as spark
from tamis.engines.spark.frames import check_there, named_table
from tamis.privacy.errors import InvalidInput
from tamis.privacy.ledger.charge import REFUSALS, after_charge
from tamis.releases.checks import check_running, check_texts
from tamis.releases.folder.folder import Folder
from tamis.releases.folder.place import Place, tried
from tamis.releases.folder.writing import written
from tamis.releases.make import release
from tamis.releases.progress import bar
from tamis.sampling.spark import at_rest, guarded, is_frame, run


def release_folder(data: Any, folder: str | Path, **options: Any) -> Folder:
    """Release which keys occur and how often, into a folder that Spark writes.

    ``data`` is a DataFrame of Spark, or paths of Parquet files that it can reach; ``folder`` any
    place that it can write to, where nothing is yet. All else is as in `tamis.release`.

    Guarantee: as of `tamis.release`. Tokens are drawn once, on the executors, and kept there until
    all is written; what is named never comes to the driver.
    """
    memory, threads = options.pop("memory", None), options.pop("threads", None)
    choice, progress = options.pop("engine", None), options.pop("progress", None)
    check_texts(memory=memory)
    check_running(threads, progress, choice)
    if choice not in (None, "spark"):
        raise InvalidInput('a folder is written by Spark: leave out engine, or give "spark".')
    with bar(progress) as report, spark.Spark(memory, threads, report) as engine:
        check_there(data, options.get("table"), _names(options), options.get("where"))
        session = engine.session_of(at_rest(data) if is_frame(data) else data)
        place = Place(session, folder)
        staying = _Staying(engine, _once(session), place)
        try:
            about = release(data, engine=staying, progress=False, **options).about
        except BaseException:
            place.give_back()
            raise
        report("writing", 95)
        done = lambda: written(staying.drawn, about, place)  # noqa: E731
        try:
            made: Folder = run(done, "write the release")
        except REFUSALS as error:
            if about.entry is None:
                raise
            raise after_charge(error) from None
        return made


def _names(options: dict[str, Any]) -> list[str]:
    """The columns that are asked for, as far as they are names."""
    key = options.get("key")
    keys = [key] if isinstance(key, str) else key if isinstance(key, (list, tuple)) else []
    asked = [*keys, options.get("unit"), options.get("count")]
    return [name for name in asked if isinstance(name, str)]


@guarded
def _once(session: Any) -> Callable[[Any], Any]:
    """How to compute a frame once, and never again.

    Draws are kept on the executors, and one that is lost is an error, not a new draw. Where two
    attempts of a task may both keep theirs, a file is needed, which only the first can name.
    """
    classic = getattr(session, "_sc", None)
    files = session.conf.get("spark.checkpoint.dir", None) or (
        classic is not None and classic.getCheckpointDir()
    )
    if files:
        tried("use spark.checkpoint.dir", lambda: session.range(1).checkpoint())
        return lambda frame: frame.checkpoint()
    if session.conf.get("spark.speculation", "false").strip().lower() == "true":
        raise InvalidInput(
            "this Spark may run a task twice at once (spark.speculation), and which of two draws "
            "is kept must be settled: set spark.checkpoint.dir to a place that is not public."
        )
    return lambda frame: frame.localCheckpoint()


class _Staying:
    """The Spark engine, with draws that stay on the executors."""

    def __init__(self, engine: spark.Spark, once: Callable[[Any], Any], place: Place) -> None:
        self._engine, self.once, self._place = engine, once, place
        self.drawn: Any = None
        self.request: Request | None = None

    def count(self, data: Any, request: Request, table: str | None = None) -> Counted:
        """Read and check all of the data; then, before any charge, take the place."""
        self.request = request
        counted = self._engine.count(data, request, table)
        self._place.take()
        return _StayingCounted(self, counted)

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
        drawn = run(lambda: self._staying.once(found.drawn(draw)), "draw for the keys")
        self._staying.drawn = drawn
        empty = run(drawn.limit(0).drop("token").toArrow)
        assert self._staying.request is not None
        return named_table(empty, self._staying.request), np.empty(0, dtype=np.int64)

    def cells(self) -> tuple[Ints, Ints]:
        return self._frequencies.cells()
