"""The files of real data, which are not shipped: where they are looked for, and what they are."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "TAMIS_BENCH_DATA"
_USUAL = Path(__file__).resolve().parents[3] / "shared" / "data"
SHARED = Path(os.environ.get(VARIABLE) or _USUAL)
ORIGINS = {
    "abc_headlines.csv.gz": "the first year of the public table A Million News Headlines",
    "covtype.csv.gz": "Covertype of the UCI Machine Learning Repository",
    "letter.csv.gz": "Letter Recognition of the UCI Machine Learning Repository",
    "msweb.csv.gz": "Anonymous Microsoft Web Data of the UCI Machine Learning Repository",
    "online_retail.csv.gz": "Online Retail of the UCI Machine Learning Repository",
    "shuttle.csv.gz": "Statlog (Shuttle) of the UCI Machine Learning Repository",
}


def there(file: str, folder: Path | None = None) -> bool:
    """Whether a file can be read, in the usual folder or another."""
    return ((folder or SHARED) / file).is_file()


def missing(file: str) -> str:
    """What is said of a file that is not there."""
    return f"`{file}` is not in the folder that `{VARIABLE}` names: it is {ORIGINS[file]}"
