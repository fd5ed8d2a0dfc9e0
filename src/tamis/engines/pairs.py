"""Who has which key: all rows as pairs of a unit and the hash of a key, read before any draw."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.engines.bounding import bounded_counts, spread_of_units
from tamis.engines.codes import Cells, Collision, Keys, NumberedKeys, Secret
from tamis.engines.columns import Columns
from tamis.engines.database import Database
from tamis.engines.protocol import Ints

Part = tuple[npt.NDArray[Any], npt.NDArray[np.uint64]]


class Pairs:
    """The pairs of one data set. Its keys are in temp.named, in the order of their frequencies.

    The data is read when it is made. After that only memory and tables of the engine's own are, so
    that nothing about the data can be wrong any more when a budget is charged.
    """

    def __init__(self, database: Database, rows: str, columns: Columns, at_once: int) -> None:
        self._database, self._columns, self._rows = database, columns, rows
        keys = ", ".join(columns.keys)
        named = f"SELECT {keys}, hash({keys}) AS code, count(*) AS many"
        database.step("listing keys", 45)
        database.make("named", f"{named} FROM {rows} GROUP BY {keys}")
        database.step("reading units", 65)
        self._names: npt.NDArray[np.uint64] | None = None
        self._cells: Cells | None = None
        self._units: Keys | None = None
        self._known, pairs = self._told_apart() or self._numbered()
        self._listed = self._known
        self._keep(pairs, at_once)

    def join(self, cells: Ints) -> Ints:
        """Count keys as one that share a cell, a column each; all cells, as they are counted."""
        self._cells = Cells.of(cells)
        self._known = self._cells.keys()
        return self._cells.cells

    @property
    def joined(self) -> bool:
        return self._cells is not None

    def spread(self) -> Ints:
        """How many units have 1, 2, 3 to 4, 5 to 8, ..., 65 to 128, and more keys."""
        parts = self._parts("counting keys", 65, 75)
        each = [spread_of_units(*part, self._known, self._units) for part in parts]
        total: Ints = np.sum(each, axis=0)
        return total

    def frequencies(self, keys_per_unit: int, elements_per_key: int) -> Ints:
        """The frequency of every key, of what a fresh secret leaves of each unit."""
        secret, total = Secret.fresh(), np.zeros(len(self._known.hashes), dtype=np.int64)
        for part in self._parts("bounding units", 75, 90):
            total += bounded_counts(
                *part,
                self._known,
                keys_per_unit,
                elements_per_key,
                secret,
                self._names,
                self._units,
                self._database.threads,
            )
        return total

    @property
    def _owner(self) -> str:
        """What a unit is known by: itself, or a hash if it is no number."""
        return "owner::BIGINT" if self._columns.numbered else "hash(owner)"

    def _told_apart(self) -> tuple[Keys, str] | None:
        """The keys by their hashes, and the pairs in SQL; None if keys or units share a hash."""
        distinct = f"SELECT DISTINCT owner, {self._owner} AS name FROM {self._rows}"
        try:
            known = Keys(self._database.column("named", "code"))
            if not self._columns.numbered:
                units = self._database.run(f"SELECT name FROM ({distinct})", "fetchnumpy")
                self._units = Keys(units["name"])
        except Collision:
            return None
        code = f"hash({', '.join(self._columns.keys)})"
        return known, f"SELECT {self._owner} AS owner, {code} AS code FROM {self._rows}"

    def _numbered(self) -> tuple[Keys, str]:
        """The same where hashes are shared: keys and units are numbered, which takes longer."""
        database, keys = self._database, self._columns.keys
        database.make("named", f"SELECT * FROM temp.named ORDER BY {', '.join(keys)}")
        units = f"SELECT DISTINCT owner, {self._owner} AS name FROM {self._rows}"
        database.make("units", units)
        self._names = database.column("units", "name").astype(np.uint64)
        same = " AND ".join(f"r.{key} IS NOT DISTINCT FROM k.{key}" for key in keys)
        pairs = (
            f"SELECT u.rowid AS owner, k.rowid AS code FROM {self._rows} AS r "
            f"JOIN temp.named AS k ON {same} JOIN temp.units AS u ON r.owner = u.owner"
        )
        return NumberedKeys(database.column("named", "code")), pairs

    def _keep(self, pairs: str, at_once: int) -> None:
        """Keep the pairs: in memory if they fit into one part, and in a table each otherwise.

        Tables may be on disk, and are slow to read from there: so each is read once.
        """
        rows = self._database.number("SELECT coalesce(sum(many), 0) FROM temp.named")
        self._many = -(-rows // at_once) or 1
        self._whole = self._fetch(pairs) if self._many == 1 else None
        for n in range(self._many if self._whole is None else 0):
            where = f"hash(owner) % {self._many} = {n}"
            self._database.make(f"pairs_{n}", f"SELECT * FROM ({pairs}) WHERE {where}")

    def _parts(self, what: str, start: int, end: int) -> Iterator[Part]:
        """The pairs in parts that fit into memory; all rows of a unit are in one part."""
        for n in range(self._many):
            self._database.step(what, start + (end - start) * (n + 1) / self._many)
            owner, code = self._whole or self._fetch(f"SELECT * FROM temp.pairs_{n}")
            if self._cells is not None:
                code = self._cells.place[self._listed.places(code)].astype(np.uint64)
            yield owner, code

    def _fetch(self, pairs: str) -> Part:
        found = self._database.run(f"SELECT owner, code FROM ({pairs})", "fetchnumpy")
        return found["owner"], found["code"]
