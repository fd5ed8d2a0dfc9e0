"""Private k-means beside its peers: costs at equal true epsilon, on the same data, in one run.

.venv/bin/python -m benchmarks.kmeans_peers --google path/to/differential-privacy
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans

from benchmarks import kmeans_worker
from benchmarks.kmeans_data import Case, Floats, absent, cases, cost
from benchmarks.peers import files
from benchmarks.peers.environments import Missing, install
from tamis import PrivateKMeans

EPSILONS = (0.5, 1.0, 2.0, 5.0)
REPEATS = 5
PLAIN_STARTS = 3
TAMIS = "tamis"
PACKAGES = ("diffprivlib==0.6.6", "scikit-learn<1.8")  # later ones have taken away what it uses
GOOGLE_PACKAGES = ("absl-py", "dp-accounting")
CLUSTERING = Path("learning")  # in a checkout: the folder that holds the package `clustering`
_SHOWN = {
    TAMIS: "tamis",
    "diffprivlib": "diffprivlib",
    "google": "Google",
    "google-centred": "Google, centred for free",
}

# A method: the centres of some runs with these points, clusters and epsilon.
Method = Callable[[Case, float, int], list[Floats]]


@dataclass(frozen=True)
class Peers:
    """Those that can be run, by name, and why the others cannot."""

    methods: dict[str, Method]
    missing: tuple[str, ...]


def peers(
    google: Path | None = None,
    python: Path | None = None,
    repeats: int = REPEATS,
    only: Sequence[str] = (),
) -> str:
    """The table: the cost over that of plain k-means, median and worst."""
    with found(google, python) as known:
        methods = {TAMIS: ours, **known.methods}
        heads = " | ".join(_SHOWN[name] for name in methods)
        lines = [
            f"Cost over that of plain k-means (scikit-learn, best of {PLAIN_STARTS}), at equal "
            f"true epsilon for one row that is added or removed: median of {repeats} runs (the "
            "worst). Google's has delta = 1e-6 too.",
            *(f"Not run: {reason}" for reason in known.missing),
            *(f"Not run: {name}: {files.missing(f'{name}.csv.gz')}." for name in absent()),
            "",
            f"| data | rows | columns | k | epsilon | {heads} |",
            "|---" * (5 + len(methods)) + "|",
        ]
        for case in cases(only):
            lines += table_rows(case, methods, repeats)
    return "\n".join(lines)


def table_rows(case: Case, methods: dict[str, Method], repeats: int) -> Iterator[str]:
    """A row for each epsilon; they are told as they are found, for all of it takes long."""
    plain = KMeans(case.clusters, n_init=PLAIN_STARTS, random_state=1).fit(case.points)
    best = cost(case.points, np.asarray(plain.cluster_centers_))
    rows, columns = case.points.shape
    for epsilon in EPSILONS:
        cells = []
        for method in methods.values():
            ratios = [cost(case.points, c) / best for c in method(case, epsilon, repeats)]
            cells.append(f"{np.median(ratios):.2f} ({max(ratios):.2f})")
        start = f"| {case.name} | {rows:,} | {columns} | {case.clusters} | {epsilon:g} |"
        row = f"{start} {' | '.join(cells)} |"
        print(row, file=sys.stderr, flush=True)
        yield row


def ours(case: Case, epsilon: float, repeats: int) -> list[Floats]:
    """With default settings: pure, in the box."""
    model = PrivateKMeans(case.clusters, epsilon=epsilon, bounds=(-1, 1))
    return [np.asarray(model.fit(case.points).cluster_centers_) for _ in range(repeats)]


@contextmanager
def found(google: Path | None, python: Path | None) -> Iterator[Peers]:
    """Peers in an environment that is made for them in a temporary folder, unless one is given."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        packages = PACKAGES if google is None else (*PACKAGES, *GOOGLE_PACKAGES)
        try:
            ready = python or install(sys.executable, place / "environment", packages)
        except Missing as reason:
            yield Peers({}, (f"diffprivlib and Google's clustering: {reason}",))
            return
        methods = {"diffprivlib": _peer(ready, "diffprivlib", place, None)}
        missing = []
        if google is None:
            missing.append("Google's clustering: it is not on PyPI; give --google a checkout.")
        elif not (google / CLUSTERING / "clustering").is_dir():
            missing.append(f"Google's clustering: {google} has no {CLUSTERING / 'clustering'}.")
        else:
            for name in ("google", "google-centred"):
                methods[name] = _peer(ready, name, place, google / CLUSTERING)
        yield Peers(methods, tuple(missing))


def _peer(python: Path, name: str, folder: Path, checkout: Path | None) -> Method:
    """One process for all repeats, with one thread."""

    def run(case: Case, epsilon: float, repeats: int) -> list[Floats]:
        source, output = folder / f"{case.name}.npy", folder / "centres.npy"
        if not source.exists():
            np.save(source, case.points)
        asked = [name, source, case.clusters, epsilon, repeats, output]
        asked += [] if checkout is None else [checkout]
        alone = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        command = [str(python), kmeans_worker.__file__, *map(str, asked)]
        subprocess.run(command, check=True, env=alone)
        return [centres[~np.isnan(centres).any(axis=1)] for centres in np.load(output)]

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--google", type=Path, help="a checkout of google/differential-privacy")
    parser.add_argument("--python", type=Path, help="of an environment that has the peers")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--only", nargs="+", default=[], help="words that names of data begin with")
    chosen = parser.parse_args()
    print(peers(chosen.google, chosen.python, chosen.repeats, chosen.only))


if __name__ == "__main__":
    main()
