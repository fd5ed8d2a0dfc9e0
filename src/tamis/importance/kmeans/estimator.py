"""`tamis.PrivateKMeans`: k-means for those who know scikit-learn, with differential privacy."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from tamis.importance.checks import share
from tamis.importance.kmeans.elsewhere import Elsewhere, ScatteredRows
from tamis.importance.kmeans.grid import MOST_ROWS, Floats, Grid
from tamis.importance.kmeans.plan import USUAL, Schedule, Spending, check_noise, fitting_steps
from tamis.importance.kmeans.rows import rows_of
from tamis.importance.kmeans.run import Here, Middle, centre_around, middle_of, search
from tamis.importance.kmeans.sampled import RATES, Kind, Sampling, least_spent, sampling
from tamis.importance.kmeans.totals import Ints, Points
from tamis.importance.sample import poisson
from tamis.privacy.certificate import Certificate
from tamis.privacy.errors import InvalidInput, shown
from tamis.privacy.exact import exactly
from tamis.privacy.guarantee import Guarantee, check_bound
from tamis.privacy.ledger.charge import Charge

try:
    from sklearn.base import (
        BaseEstimator,
        ClassNamePrefixFeaturesOutMixin,
        ClusterMixin,
        TransformerMixin,
    )
    from sklearn.metrics.pairwise import euclidean_distances, pairwise_distances_argmin_min
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as missing:
    raise ImportError(
        "k-means needs scikit-learn: install tamis with its extra: pip install 'tamis[kmeans]'."
    ) from missing

_SAMPLERS = ("full", "optimal", "coreset", "uniform")
_LEAST_RATE = 1e-4  # with less, even many rows leave a sample of almost none
_MOST_STEPS = 1000
_MOST_ELSEWHERE = 1 << 37  # rows: sums of their coordinates, of 2^24 steps at most, fit 62 bits


class PrivateKMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """k-means whose centres are differentially private.

    Guarantee: ``cluster_centers_`` and ``cluster_sizes_`` are epsilon-differentially private (pure,
    delta = 0) for one row of the data that is added or removed, however far the row lies out. All
    that is public is what you give here; nothing is taken from the data. ``predict`` and ``score``
    say something of the rows that they are given: of the training rows, that is not private.

    n_clusters
        How many centres.
    epsilon
        What all of `fit` spends; each call spends it again.
    bounds
        The range of the data, known beforehand: (low, high), two numbers, or two arrays with a
        number for each column: all lows, and all highs. Rows beyond are moved to it.
    radius
        Instead of bounds: the largest l1 norm (sum of absolute values). Rows beyond are shortened.
    sampler
        "full" uses every row, and finds the best centres. The others look at fewer rows, by
        importance sampling: "optimal" takes the fewest that need no more noise, or at a lower
        ``rate`` the fewest for the noise it has; "coreset" and "uniform" are the paper's others.
    rate
        The share of rows that are sampled: of the farthest ones ("optimal"; 1 by default), of all
        ("uniform"), about, on average ("coreset"; both 0.1 by default). At least 0.0001.
    mixing
        Of "coreset": from 0.0001 (as likely as far out) to 1 (uniform).
    init
        "private" finds seeds privately; "random" starts anywhere, which is rarely good.
    max_iter
        Steps of Lloyd's algorithm in all. More steps mean more noise in each: "auto" takes 1 to 4,
        by the number of rows, which is estimated privately.
    budget, ledger, purpose
        A budget to charge, before anything of the data is looked at but its shape and range.
    progress
        Called with (steps done, steps in all).

    After `fit`: ``cluster_centers_``, ``cluster_sizes_`` (about how many rows each has; private),
    ``n_iter_``, ``guarantee_``, ``certificate_`` (what is spent on what; `verify` re-checks it) and
    ``entry_`` (in the ledger, or None).
    There is no ``labels_`` and no ``inertia_``: those of the training rows are not private.

    References: docs/proofs.md, sections 15 and 16; Su and others, "Differentially private k-means
    clustering" (2016); Fay, Mair and Sjölund, "Privacy amplification via importance sampling".

    >>> rows = np.repeat([[0.0, 0.0], [0.9, 0.9]], 5000, axis=0)
    >>> found = PrivateKMeans(n_clusters=2, epsilon=1.0, bounds=(-1, 1)).fit(rows)
    >>> np.sort(found.cluster_centers_.round(1) + 0, axis=0).tolist()
    [[0.0, 0.0], [0.9, 0.9]]
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        epsilon: float = 1.0,
        bounds: Any = None,
        radius: float | None = None,
        sampler: Kind = "full",
        rate: float | None = None,
        mixing: float = 0.5,
        init: Literal["private", "random"] = "private",
        max_iter: int | Literal["auto"] = "auto",
        budget: str | None = None,
        ledger: str | Path | None = None,
        purpose: str | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.epsilon = epsilon
        self.bounds = bounds
        self.radius = radius
        self.sampler = sampler
        self.rate = rate
        self.mixing = mixing
        self.init = init
        self.max_iter = max_iter
        self.budget = budget
        self.ledger = ledger
        self.purpose = purpose
        self.progress = progress

    def fit(self, X: npt.ArrayLike | ScatteredRows, y: None = None) -> Self:
        """Find the centres; **each call spends epsilon again**."""
        self._check_settings()
        guarantee = Guarantee(self.epsilon, 0.0, unit="row")
        rows = X if isinstance(X, ScatteredRows) else self._checked(X, reset=True)
        many, dimensions = rows.shape
        grid = self._grid(dimensions)
        self._check_noise(grid, dimensions, Spending.of(exactly(guarantee.epsilon)))
        most = _MOST_ELSEWHERE if isinstance(rows, ScatteredRows) else MOST_ROWS
        if not self.n_clusters <= many <= most:
            raise InvalidInput(
                f"n_clusters = {self.n_clusters} is more than there are rows (or there are more "
                f"than {most:,}); n_samples must be at least n_clusters."
            )
        if isinstance(rows, ScatteredRows):
            self._check_sample(many)
        with Charge(self.budget, self.ledger, self.purpose, guarantee, "k-means") as charge:
            self.entry_ = charge()
            self._search(grid, rows, guarantee)
        return self

    def _search(self, grid: Grid, rows: Floats | ScatteredRows, guarantee: Guarantee) -> None:
        spending = Spending.of(exactly(guarantee.epsilon))
        there: Here | Elsewhere = (
            Elsewhere(rows, grid) if isinstance(rows, ScatteredRows) else Here(grid.place(rows))
        )
        middle = middle_of(there, grid.steps, spending)
        if isinstance(there, Here):
            centre_around(there.places, middle)
        spent, rule = spending.search, None
        if self.sampler == "full":
            assert isinstance(there, Here)
            points = Points(there.places)
        else:
            chosen = self._sampling(spent, there.shape[1], middle)
            points, spent, rule = _sampled(there, middle, chosen), chosen.spent, chosen.rule()
        steps = self._steps(spent, points, middle)
        schedule = Schedule.of(spent, steps, self.init, sampled=rule is not None)
        found = search(points, self.n_clusters, middle, schedule, self.progress or _quiet)
        self.cluster_centers_ = grid.back(found.centres + middle.place)
        self.cluster_sizes_ = found.sizes
        self.n_iter_ = steps
        self.guarantee_ = guarantee
        said = spending.rule(points.dimensions, schedule, rule)
        self.certificate_ = Certificate.of(guarantee, said)
        self._n_features_out = len(self.cluster_centers_)

    def _sampling(self, budget: Fraction, dimensions: int, middle: Middle) -> Sampling:
        return sampling(self.sampler, self._rate, self.mixing, budget, dimensions, middle)

    @property
    def _rate(self) -> float:
        return RATES[self.sampler] if self.rate is None else self.rate

    def _steps(self, spent: Fraction, points: Points, middle: Middle) -> int:
        if self.max_iter != "auto":
            return int(self.max_iter)
        return fitting_steps(spent, self.n_clusters, points.dimensions, middle.norms.size)

    # --- what is done with the centres ---

    def predict(self, X: npt.ArrayLike) -> Ints:
        """Which centre is nearest to each row."""
        near, _ = self._nearest(X)
        return near

    def fit_predict(self, X: npt.ArrayLike, y: None = None) -> Ints:
        """`fit`, then `predict` of the same rows: what comes out is **not private**."""
        return self.fit(X).predict(X)

    def transform(self, X: npt.ArrayLike) -> Floats:
        """How far each row is from each centre."""
        rows = self._rows(X)
        return np.asarray(euclidean_distances(rows, self.cluster_centers_))

    def score(self, X: npt.ArrayLike, y: None = None) -> float:
        """Minus the sum of squared distances to the nearest centre; not private."""
        _, away = self._nearest(X)
        return -float(away @ away)

    def _nearest(self, X: npt.ArrayLike) -> tuple[Ints, Floats]:
        rows = self._rows(X)
        near, away = pairwise_distances_argmin_min(rows, self.cluster_centers_)
        return np.asarray(near), np.asarray(away)

    def _rows(self, X: npt.ArrayLike) -> Floats:
        check_is_fitted(self)
        return self._checked(X, reset=False)

    def _checked(self, X: npt.ArrayLike, reset: bool) -> Floats:
        rows = rows_of(X, least=2 if reset else 1)
        validate_data(
            self, X if hasattr(X, "columns") else rows, reset=reset, skip_check_array=True
        )
        return rows

    # --- settings ---

    def _check_settings(self) -> None:
        check_bound("n_clusters", self.n_clusters)
        if self.sampler not in _SAMPLERS:
            raise InvalidInput(
                f"sampler must be one of {', '.join(_SAMPLERS)}, not {shown(self.sampler)}."
            )
        if self.init not in ("private", "random"):
            raise InvalidInput(f"init must be 'private' or 'random', not {shown(self.init)}.")
        if self.max_iter != "auto" and check_bound("max_iter", self.max_iter) > _MOST_STEPS:
            raise InvalidInput(f"max_iter must be at most {_MOST_STEPS}; 'auto' takes 1 to 4.")
        if self.rate is not None:
            if self.sampler == "full":
                raise InvalidInput("rate is for a sampler; choose sampler='optimal', for example.")
            _large_enough(self.rate, "rate")
        _large_enough(self.mixing, "mixing")
        if self.progress is not None and not callable(self.progress):
            raise InvalidInput(
                f"progress must be a function of (steps done, steps in all), not "
                f"{shown(self.progress)}."
            )

    def _check_sample(self, many: int) -> None:
        """The sample of rows that are elsewhere has to fit here."""
        if self.sampler == "full":
            raise InvalidInput(
                "rows that are on many machines are sampled there: choose sampler='optimal', or "
                "'uniform' with a rate that leaves what fits into memory."
            )
        if self._rate * many > MOST_ROWS:
            raise InvalidInput(
                f"with a rate of {self._rate:g}, a sample of more than {MOST_ROWS:,} rows may come "
                "to one machine: choose a lower rate."
            )

    def _check_noise(self, grid: Grid, dimensions: int, spending: Spending) -> None:
        sampled, spent = self.sampler != "full", spending.search
        if sampled:
            spent = least_spent(self.sampler, self._rate, self.mixing, spent)
        steps = USUAL if self.max_iter == "auto" else int(self.max_iter)
        schedule = Schedule.of(spent, steps, self.init, sampled)
        check_noise(spending, schedule, grid.steps, dimensions)

    def _grid(self, dimensions: int) -> Grid:
        if (self.bounds is None) == (self.radius is None):
            raise InvalidInput(
                "give either bounds=(low, high) or radius, which must be known without looking at "
                "the data: taken from it, they would tell of its farthest row."
            )
        if self.radius is not None:
            return Grid.of_radius(self.radius, dimensions)
        return Grid.of_bounds(self.bounds, dimensions)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        return tags


def _large_enough(value: object, name: str) -> None:
    if share(value, name, above=True) < _LEAST_RATE:
        raise InvalidInput(f"{name} must be at least {_LEAST_RATE}, not {shown(value)}.")


def _sampled(there: Here | Elsewhere, middle: Middle, chosen: Sampling) -> Points:
    if isinstance(there, Elsewhere):
        return there.sampled(middle, chosen.sampler)
    sample = poisson(there.places, chosen.sampler)
    return Points.weighted(sample.points, sample.weights)


def _quiet(done: int, whole: int) -> None:
    """Nobody asked for progress."""
