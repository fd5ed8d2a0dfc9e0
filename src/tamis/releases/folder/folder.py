"""A release too large for one file: a folder of Parquet files that Spark writes.

The rows are in the order of all releases, over the files in the order of their numbers. What a file
says about itself in its footer is here in a text file of its own, in the folder ``_tamis``, which
readers of Parquet leave alone. It holds a digest of the rows of every file, in their order, and the
digest of the release is that of all it says, these among it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tamis.privacy.certificate import Certificate
from tamis.privacy.guarantee import Guarantee
from tamis.releases.about import About
from tamis.releases.digest import json_text
from tamis.sampling.arrow import quoted
from tamis.sampling.spark import run


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

    def count(self) -> int:
        """How many keys are named."""
        return int(run(lambda: self.to_spark().count()))

    def top(self, n: int = 10) -> pa.Table:
        """The keys with the largest estimates."""
        names = [quoted(name) for name in self.about.key]
        return run(lambda: in_order(self.to_spark(), names).limit(n).toArrow())

    def __str__(self) -> str:
        g = self.guarantee
        return (
            f"a release in {self.path!r}, with epsilon {g.epsilon:g}, delta {g.delta:g} for one "
            f"{g.unit}; digest {self.digest}"
        )

    __repr__ = __str__


def in_order(rows: Any, names: list[str]) -> Any:
    """In the order of all releases."""
    return rows.orderBy(*order(names))


def order(names: list[str]) -> list[Any]:
    """The order of all releases, by quoted names of the keys."""
    from pyspark.sql import functions as f

    return [f.desc("estimate"), f.desc("token"), *(f.asc_nulls_last(name) for name in names)]


def digest_of(said: dict[str, Any]) -> str:
    """The digest of a release that says this about itself."""
    return hashlib.sha256(json_text(said)).hexdigest()
