"""Runs a peer in an environment of its own: numpy and the peer are all that it imports.

python kmeans_worker.py method points.npy clusters epsilon repeats centres.npy [checkout]
"""

from __future__ import annotations

import importlib
import sys
import warnings
from typing import Any

import numpy as np

DELTA = 1e-6  # of Google's clustering; the others are pure
_RHO = 0.225


def overspent(dimensions: int) -> float:
    """How many times its nominal epsilon diffprivlib's KMeans spends, if a row is added or removed.

    It gives counts what was computed for each coordinate, and each coordinate what was computed
    for counts, which is c = (4 d rho^2)^(1/3) times as much: d c + 1 in place of d + c, for a row
    that is replaced. One that is added moves a sum by half of the range at most, not by all of it:
    d c / 2 + 1.
    """
    ratio = float(np.cbrt(4 * dimensions * _RHO**2))
    return (dimensions * ratio / 2 + 1) / (dimensions + ratio)


def diffprivlib(points: Any, clusters: int, epsilon: float) -> Any:
    """As it is, but for distances, which are found with a product of matrices: that is faster."""
    models = importlib.import_module("diffprivlib.models")

    def distances_labels(self: Any, rows: Any, centres: Any) -> Any:
        scores = (centres * centres).sum(axis=1) - 2 * rows @ centres.T
        return scores + (rows * rows).sum(axis=1)[:, None], np.argmin(scores, axis=1)

    model_class = type("KMeans", (models.KMeans,), {"_distances_labels": distances_labels})
    nominal = epsilon / overspent(points.shape[1])
    model = model_class(clusters, epsilon=nominal, bounds=(-1, 1))
    return model.fit(points).cluster_centers_


def google(points: Any, clusters: int, epsilon: float) -> Any:
    """In the ball around the box: that is all that is known of the data."""
    return _lsh(points, clusters, epsilon, float(np.sqrt(points.shape[1])))


def google_centred(points: Any, clusters: int, epsilon: float) -> Any:
    """With the mean and the radius taken from the data, which is not paid for."""
    middle = points.mean(axis=0)
    around = points - middle
    radius = float(np.sqrt((around * around).sum(axis=1).max()))
    return _lsh(around, clusters, epsilon, radius) + middle


def _lsh(points: Any, clusters: int, epsilon: float, radius: float) -> Any:
    """As it is, but for the labels of all rows, which it finds one by one: they are not needed."""
    algorithm: Any = importlib.import_module("clustering.clustering_algorithm")
    params = importlib.import_module("clustering.clustering_params")
    algorithm.ClusteringResult = lambda data, centres: centres
    promise = params.DifferentialPrivacyParam(epsilon, DELTA)
    return algorithm.private_lsh_clustering(clusters, params.Data(points, radius), promise)


METHODS = {"diffprivlib": diffprivlib, "google": google, "google-centred": google_centred}


def main() -> None:
    method, source, clusters, epsilon, repeats, output, *checkout = sys.argv[1:]
    sys.path[:0] = checkout
    warnings.simplefilter("ignore")
    points = np.load(source)
    found = []
    for _ in range(int(repeats)):
        centres = np.full((int(clusters), points.shape[1]), np.nan)
        drawn = METHODS[method](points.copy(), int(clusters), float(epsilon))
        centres[: len(drawn)] = drawn  # Google's may give fewer
        found.append(centres)
    np.save(output, np.array(found))


if __name__ == "__main__":
    main()
