"""Private k-means beside its peers: costs at equal true epsilon, on the same data, in one run.

It is a part of `benchmarks.run`. Google's clustering is on no index of packages: with a checkout of
google/differential-privacy, this compares with it too, and prints the table:

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
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans

from benchmarks import kmeans_worker
from benchmarks.kmeans_data import Case, Floats, absent, cases, cost
from benchmarks.page import Extent, Section, table
from benchmarks.peers import files
from benchmarks.peers.environments import Missing, Peer, python_of
from tamis import PrivateKMeans

EPSILONS = (0.5, 1.0, 2.0, 5.0)
REPEATS = 3
PLAIN_STARTS = 3
TAMIS = "tamis"
# later versions of scikit-learn have taken away what it uses
DIFFPRIVLIB = Peer(
    "diffprivlib",
    "../kmeans_worker.py",
    {"diffprivlib": "diffprivlib"},
    ("diffprivlib==0.6.6", "scikit-learn<1.8"),
)
GOOGLE = replace(DIFFPRIVLIB, packages=(*DIFFPRIVLIB.packages, "absl-py", "dp-accounting"))
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


def clusters(extent: Extent) -> Section:
    """A part of the page."""
    only = extent.pick(("letter", "mixture, sigma 0.1"), ())
    return Section("Clusters beside other libraries", peers(only=only))


def peers(google: Path | None = None, repeats: int = REPEATS, only: Sequence[str] = ()) -> str:
    """The table: the cost over that of plain k-means, median and worst."""
    with found(google) as known:
        methods = {TAMIS: ours, **known.methods}
        said = (
            "Private k-means in the box [-1, 1], with default settings, beside "
            f"{DIFFPRIVLIB.packages[0].replace('==', ' ')}: the cost over that of plain k-means "
            f"(scikit-learn, best of {PLAIN_STARTS}), at equal *true* epsilon for one row that is "
            "added or removed, which is not the one that diffprivlib states; median of "
            f"{repeats} runs (the worst). Google's has delta = 1e-6 too. The paper's experiments, "
            "with every sampler, are in `papers/importance`. These are costs of clusters, and not "
            "times: there is no GROUP BY to compare them with."
        )
        reasons = [*known.missing]
        reasons += [f"{name}: {files.missing(f'{name}.csv.gz')}." for name in absent()]
        rows = [row for case in cases(only) for row in table_rows(case, methods, repeats)]
    heads = ("data", "rows", "columns", "k", "epsilon", *(_SHOWN[name] for name in methods))
    return "\n\n".join([said, *(f"Not run: {why}" for why in reasons), table(heads, rows)])


def table_rows(case: Case, methods: dict[str, Method], repeats: int) -> Iterator[tuple[str, ...]]:
    """A row for each epsilon; they are told as they are found, for all of it takes long."""
    plain = KMeans(case.clusters, n_init=PLAIN_STARTS, random_state=1).fit(case.points)
    best = cost(case.points, np.asarray(plain.cluster_centers_))
    rows, columns = case.points.shape
    for epsilon in EPSILONS:
        cells = []
        for method in methods.values():
            ratios = [cost(case.points, c) / best for c in method(case, epsilon, repeats)]
            cells.append(f"{np.median(ratios):.2f} ({max(ratios):.2f})")
        sizes = (f"{rows:,}", str(columns), str(case.clusters), f"{epsilon:g}")
        row = (case.name, *sizes, *cells)
        print("|".join(row), file=sys.stderr, flush=True)
        yield row


def ours(case: Case, epsilon: float, repeats: int) -> list[Floats]:
    """With default settings: pure, in the box."""
    model = PrivateKMeans(case.clusters, epsilon=epsilon, bounds=(-1, 1))
    return [np.asarray(model.fit(case.points).cluster_centers_) for _ in range(repeats)]


@contextmanager
def found(google: Path | None) -> Iterator[Peers]:
    """Peers in an environment of their own."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        try:
            ready = python_of(DIFFPRIVLIB if google is None else GOOGLE)
        except Missing as reason:
            yield Peers({}, (f"diffprivlib and Google's clustering: {reason}",))
            return
        methods = {"diffprivlib": _peer(ready, "diffprivlib", place, None)}
        missing = []
        if google is None:
            missing.append(
                "Google's clustering: it is not on PyPI; `.venv/bin/python -m "
                "benchmarks.kmeans_peers --google CHECKOUT` compares with it."
            )
        elif not (google / CLUSTERING / "clustering").is_dir():
            missing.append(f"Google's clustering: {google} has no {CLUSTERING / 'clustering'}.")
        else:
            for name in ("google", "google-centred"):
                methods[name] = _peer(ready, name, place, google / CLUSTERING)
        yield Peers(methods, tuple(missing))


def _peer(python: str, name: str, folder: Path, checkout: Path | None) -> Method:
    """One process for all repeats, with one thread."""

    def run(case: Case, epsilon: float, repeats: int) -> list[Floats]:
        source, output = folder / f"{case.name}.npy", folder / "centres.npy"
        if not source.exists():
            np.save(source, case.points)
        asked = [name, source, case.clusters, epsilon, repeats, output]
        asked += [] if checkout is None else [checkout]
        alone = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        command = [python, kmeans_worker.__file__, *map(str, asked)]
        subprocess.run(command, check=True, env=alone)
        return [centres[~np.isnan(centres).any(axis=1)] for centres in np.load(output)]

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--google", type=Path, help="a checkout of google/differential-privacy")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--only", nargs="+", default=[], help="words that names of data begin with")
    chosen = parser.parse_args()
    print(peers(chosen.google, chosen.repeats, chosen.only))


if __name__ == "__main__":
    main()
