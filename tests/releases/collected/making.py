"""Releases of devices' reports, made without any draw."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tamis.federated import Histogram, QuantileTable, SampleAndThreshold
from tamis.federated.mechanism import Neighbours
from tamis.releases.collected.about import AboutCollected
from tamis.releases.collected.collected import Collected, rows_of
from tamis.releases.digest import digest, json_text, type_in_words

QUERY = "0123456789abcdef0123456789abcdef"
ENTRY = {"ledger": "a1", "budget": "devices", "entry": 3, "digest": "f" * 64}
LANGUAGES = {"en": 400, "fr": 120, "de": 120, "sv": 15, "fi": 14}
DECILES = [(0.1, 12, 10, 14), (0.5, 40, 38, 45), (0.9, 200, 190, 200)]
QUESTION = "Which language do you use?"


@lru_cache
def mechanism(rounds: int = 1, neighbours: Neighbours = "add or remove") -> SampleAndThreshold:
    """The best for one round; for more, one that need not be looked for."""
    if rounds == 1:
        return SampleAndThreshold(1.0, 1e-6, neighbours=neighbours)
    return SampleAndThreshold(1.0, 1e-6, 0.05, 14, neighbours, rounds)


def items(
    tokens: Mapping[Any, int] = LANGUAGES,
    *,
    kind: str = "histogram",
    domain: int = 0,
    rounds: int = 1,
    coverage: float = 0.95,
    neighbours: Neighbours = "add or remove",
    **more: Any,
) -> Collected:
    """With these items and tokens."""
    made = mechanism(rounds, neighbours)
    held = pa.array(list(tokens), pa.int64() if domain else pa.large_string())
    counts = np.array(list(tokens.values()), dtype=np.int64)
    rows = rows_of(Histogram.of(made, held, counts, coverage))
    return Collected(rows, about(made, kind, domain, coverage, **more))


def quantiles(
    rows: Sequence[tuple[float, int, int, int]] = DECILES, domain: int = 256, **more: Any
) -> Collected:
    """With these quantiles: at, estimate, low, high."""
    made = mechanism(max(1, (domain - 1).bit_length()))
    table = QuantileTable.of([q for q, *_ in rows], [(v, a, b) for _, v, a, b in rows], made).table
    return Collected(table, about(made, "quantiles", domain, **more))


def about(
    made: SampleAndThreshold, kind: str, domain: int = 0, coverage: float = 0.95, **more: Any
) -> AboutCollected:
    said: dict[str, Any] = {"question": QUESTION, "query": QUERY, "day": "2026-02-03"} | more
    return AboutCollected(
        made, kind, domain=domain, coverage=coverage, **({"library": "9.8.7"} | said)
    )


Said = dict[str, Any]


def loaded(path: Path) -> tuple[pa.Table, Said]:
    """The rows of a file, and what it says about itself."""
    return pq.read_table(path), json.loads(pq.read_metadata(path).metadata[b"tamis"])


def written(table: pa.Table, said: Said, path: Path, forged: bool) -> None:
    """A file by somebody else, with a digest that fits if it is ``forged``."""
    rest = {name: value for name, value in said.items() if name != "digest"}
    if forged:
        rest["types"] = [type_in_words(table.schema.types[0])]
        said = rest | {"digest": digest(rest, table)}
    pq.write_table(table.replace_schema_metadata({b"tamis": json_text(said)}), path)
