"""`PrivateKMeans` as scikit-learn knows estimators, and what it refuses, charges and keeps."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, clone
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

import tamis
from tamis.importance.kmeans import estimator as estimators
from tamis.importance.kmeans.estimator import PrivateKMeans
from tamis.importance.kmeans.grid import MOST_ROWS, Floats, Grid
from tamis.importance.sample import poisson
from tamis.privacy import randomness
from tamis.privacy.errors import BudgetRefused, InvalidInput
from tamis.privacy.ledger import Entry, open_ledger
from tests.errors import told
from tests.sources import Forbidden, Stream

KINDS = ["full", "optimal", "coreset", "uniform"]


def made(**settings: Any) -> PrivateKMeans:
    return PrivateKMeans(**{"n_clusters": 3, "bounds": (-1, 1), **settings})


def blobs(many: int = 3000, d: int = 2, k: int = 3, spread: float = 0.03) -> Floats:
    generator = np.random.default_rng(7)
    centres = generator.uniform(-0.8, 0.8, (k, d))
    which = generator.integers(0, k, many)
    return np.asarray(centres[which] + generator.normal(0, spread, (many, d)))


# --- scikit-learn -------------------------------------------------------------------------------


def declared(estimator: BaseEstimator) -> dict[str, str]:
    return {
        "check_clustering": "there is no labels_: the labels of training rows are not private",
        "check_fit_idempotent": "each fit draws new noise, and spends epsilon again; no seed",
    }


@parametrize_with_checks(
    [
        PrivateKMeans(n_clusters=3, bounds=(-10, 10)),
        PrivateKMeans(n_clusters=2, radius=20.0, max_iter=3, init="random"),
        PrivateKMeans(n_clusters=3, bounds=(-10, 10), sampler="optimal"),
    ],
    expected_failed_checks=declared,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_it_is_an_estimator_of_scikit_learn(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


def test_settings_are_kept_as_they_are_given_and_can_be_changed() -> None:
    bounds = ([0.0, 1.0], [1.0, 2.0])
    estimator = PrivateKMeans(5, epsilon=2, bounds=bounds, sampler="coreset", rate=0.2)
    known = estimator.get_params()
    assert known["bounds"] is bounds
    assert (known["n_clusters"], known["epsilon"], known["rate"]) == (5, 2, 0.2)
    assert clone(estimator).get_params() == known
    estimator.set_params(n_clusters=7, max_iter=3)
    assert (estimator.n_clusters, estimator.max_iter) == (7, 3)
    assert "n_clusters=7" in repr(estimator)


def test_a_fitted_one_can_be_pickled() -> None:
    rows = blobs()
    fitted = made().fit(rows)
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.predict(rows), fitted.predict(rows))
    assert again.certificate_ == fitted.certificate_
    assert again.guarantee_ == fitted.guarantee_


def test_it_works_in_a_pipeline_that_looks_at_no_data() -> None:
    halved = FunctionTransformer(lambda x: x / 2)
    pipeline = make_pipeline(halved, made()).fit(blobs())
    assert pipeline.transform(blobs()).shape == (3000, 3)
    assert set(pipeline.predict(blobs())) <= {0, 1, 2}
    assert pipeline.score(blobs()) <= 0


def test_names_of_columns_are_remembered_and_given() -> None:
    table = pd.DataFrame(blobs(), columns=["height", "width"])
    estimator = made().set_output(transform="pandas").fit(table)
    assert estimator.feature_names_in_.tolist() == ["height", "width"]
    names = ["privatekmeans0", "privatekmeans1", "privatekmeans2"]
    assert estimator.get_feature_names_out().tolist() == names
    assert estimator.transform(table).columns.tolist() == names
    with pytest.raises(ValueError, match="feature names"):
        estimator.predict(table[["width", "height"]])


def test_it_is_a_public_name() -> None:
    assert tamis.PrivateKMeans is PrivateKMeans


# --- what there is after a fit ------------------------------------------------------------------


@pytest.mark.parametrize("sampler", KINDS)
def test_what_is_known_after_a_fit(sampler: str) -> None:
    fitted = made(sampler=sampler, epsilon=0.5).fit(blobs())
    assert fitted.cluster_centers_.shape == (3, 2)
    assert np.abs(fitted.cluster_centers_).max() <= 1
    assert fitted.cluster_sizes_.shape == (3,)
    assert (fitted.cluster_sizes_ >= 0).all()
    assert fitted.n_iter_ in (1, 2, 4)
    assert (fitted.guarantee_.epsilon, fitted.guarantee_.delta) == (0.5, 0.0)
    assert fitted.guarantee_.unit == "row"
    assert "epsilon 0.5" in fitted.certificate_.verify()
    assert fitted.entry_ is None


def test_nothing_that_is_not_private_is_kept() -> None:
    fitted = made().fit(blobs())
    kept = {name for name in vars(fitted) if name not in fitted.get_params()}
    assert kept == {
        "cluster_centers_",
        "cluster_sizes_",
        "n_iter_",
        "guarantee_",
        "certificate_",
        "entry_",
        "n_features_in_",
        "_n_features_out",
    }
    for name in ("labels_", "inertia_"):
        assert not hasattr(fitted, name)


def test_the_data_itself_is_not_changed() -> None:
    rows = blobs() * 3
    before = rows.copy()
    made(sampler="optimal").fit(rows)
    assert np.array_equal(rows, before)


def test_predict_transform_and_score_agree() -> None:
    rows = blobs()
    fitted = made(epsilon=10).fit(rows)
    away = fitted.transform(rows)
    true = np.linalg.norm(rows[:, None] - fitted.cluster_centers_, axis=2)
    assert away == pytest.approx(true, abs=1e-9)
    assert np.array_equal(fitted.predict(rows), true.argmin(axis=1))
    assert fitted.score(rows) == pytest.approx(-(true.min(axis=1) ** 2).sum())
    assert set(made().fit_predict(rows)) <= {0, 1, 2}


@pytest.mark.parametrize("method", ["predict", "transform"])
def test_what_is_said_of_a_row_does_not_depend_on_the_others(method: str) -> None:
    """scikit-learn skips its own checks of this for estimators that draw."""
    rows = blobs(200)
    ask = getattr(made().fit(rows), method)
    whole, order = ask(rows), np.random.default_rng(1).permutation(200)
    assert np.allclose(ask(rows[order]), whole[order])
    assert np.allclose(np.concatenate([ask(row[None]) for row in rows]), whole)


@pytest.mark.parametrize("method", ["predict", "transform", "score"])
def test_before_a_fit_there_is_nothing_to_ask(method: str) -> None:
    with pytest.raises(NotFittedError):
        getattr(made(), method)(blobs())


def test_n_iter_is_what_was_asked_for() -> None:
    for max_iter in (1, 3, np.int64(6)):
        assert made(max_iter=max_iter).fit(blobs(50)).n_iter_ == max_iter


def test_one_source_of_randomness_decides_everything() -> None:
    def fitted() -> Floats:
        with randomness.using(Stream(3)):
            return made(sampler="coreset").fit(blobs()).cluster_centers_

    assert np.array_equal(fitted(), fitted())


def test_two_fits_are_not_the_same() -> None:
    one, other = (made().fit(blobs()).cluster_centers_ for _ in range(2))
    assert not np.array_equal(one, other)


# --- what is refused, with nothing charged ------------------------------------------------------

ROWS = blobs(40)
NAN, ENDLESS = ROWS.copy(), ROWS.copy()
NAN[3, 1], ENDLESS[3, 1] = math.nan, math.inf

REFUSED: dict[str, tuple[dict[str, Any], Any, str]] = {
    "NaN in the data": ({}, NAN, "NaN"),
    "infinity in the data": ({}, ENDLESS, "infinity"),
    "text in the data": ({}, [["Ada", "b"], ["c", "d"]], "X must hold numbers only"),
    "numbers as text": ({}, [["1", "2"], ["3", "4"]], "X must hold numbers only"),
    "numbers as text in a table": ({}, pd.DataFrame({"a": ["1", "2"]}), "X must hold numbers"),
    "masked rows": ({}, [np.ma.masked_array([1.0, 2.0], mask=[False, True])] * 3, "X is masked"),
    "text in a table": ({}, pd.DataFrame({"a": ["Ada", "1"], "b": [1, 2]}), "numbers only"),
    "dates in a table": ({}, pd.DataFrame({"a": pd.to_datetime(["2020-01-01"] * 3)}), "only"),
    "nothing in the data": ({}, [[1.0, None], [2.0, 3.0]], "NaN"),
    "rows of different lengths": ({}, [[1.0, 2.0], [3.0]], "rows of one length"),
    "complex numbers": ({}, ROWS * 1j, "Complex data not supported"),
    "a masked array": ({}, np.ma.masked_array(ROWS, mask=ROWS > 0.5), "X is masked"),
    "a sparse array": ({}, csr_array(ROWS), "Sparse data"),
    "one row": ({"n_clusters": 1}, ROWS[:1], "minimum of 2"),
    "no rows": ({}, ROWS[:0], "minimum of 2"),
    "no columns": ({}, np.zeros((9, 0)), "0 feature"),
    "a list of numbers": ({}, [1.0, 2.0, 3.0, 4.0], "Reshape your data"),
    "progress that cannot be told": ({"progress": 5}, ROWS, "progress must be a function"),
    "more centres than rows": ({"n_clusters": 41}, ROWS, "n_clusters = 41 is more than"),
    "no centres": ({"n_clusters": 0}, ROWS, "n_clusters must be a whole number"),
    "half a centre": ({"n_clusters": 2.5}, ROWS, "n_clusters must be a whole number"),
    "both bounds and radius": ({"radius": 1.0}, ROWS, "give either bounds"),
    "neither bounds nor radius": ({"bounds": None}, ROWS, "give either bounds"),
    "no radius": ({"bounds": None, "radius": 0}, ROWS, "radius must be a number above 0"),
    "a radius below 0": ({"bounds": None, "radius": -1.0}, ROWS, "radius must be"),
    "bounds of another length": ({"bounds": ([0] * 3, [1] * 3)}, ROWS, "each of the 2 columns"),
    "bounds that are one number": ({"bounds": 1.0}, ROWS, "bounds must be a pair"),
    "bounds without width": ({"bounds": (1, 1)}, ROWS, "bounds must leave some width"),
    "bounds the wrong way around": ({"bounds": (1, -1)}, ROWS, "bounds must be finite"),
    "bounds that are NaN": ({"bounds": (math.nan, 1)}, ROWS, "bounds must be finite"),
    "no epsilon": ({"epsilon": 0}, ROWS, "epsilon must be a number above 0"),
    "an epsilon below 0": ({"epsilon": -1.0}, ROWS, "epsilon must be"),
    "an epsilon that is NaN": ({"epsilon": math.nan}, ROWS, "epsilon must be"),
    "an endless epsilon": ({"epsilon": math.inf}, ROWS, "epsilon must be"),
    "an epsilon as text": ({"epsilon": "1"}, ROWS, "epsilon must be"),
    "an epsilon for too much noise": ({"epsilon": 1e-9}, ROWS, "epsilon is too small"),
    "steps for too much noise": ({"epsilon": 1e-6, "max_iter": 1000}, ROWS, "smaller max_iter"),
    "a rate of 0": ({"sampler": "uniform", "rate": 0.0}, ROWS, "rate must be a number above 0"),
    "a rate above 1": ({"sampler": "optimal", "rate": 1.5}, ROWS, "rate must be a number"),
    "a rate below 0": ({"sampler": "coreset", "rate": -0.1}, ROWS, "rate must be a number"),
    "a rate that is NaN": ({"sampler": "coreset", "rate": math.nan}, ROWS, "rate must be"),
    "a rate of almost nothing": ({"sampler": "uniform", "rate": 1e-9}, ROWS, "rate must be at lea"),
    "a rate without a sampler": ({"rate": 0.5}, ROWS, "rate is for a sampler"),
    "no mixing": ({"sampler": "coreset", "mixing": 0}, ROWS, "mixing must be a number above 0"),
    "almost no mixing": ({"sampler": "coreset", "mixing": 1e-300}, ROWS, "mixing must be at least"),
    "mixing above 1": ({"sampler": "coreset", "mixing": 2}, ROWS, "mixing must be"),
    "no steps": ({"max_iter": 0}, ROWS, "max_iter must be a whole number"),
    "steps below 0": ({"max_iter": -1}, ROWS, "max_iter must be"),
    "half a step": ({"max_iter": 1.5}, ROWS, "max_iter must be"),
    "too many steps": ({"max_iter": 1001}, ROWS, "max_iter must be at most 1000"),
    "a sampler misspelt": ({"sampler": "optimum"}, ROWS, "sampler must be one of full, optimal"),
    "no sampler": ({"sampler": None}, ROWS, "sampler must be one of"),
    "a start from the data": ({"init": "k-means++"}, ROWS, "init must be 'private' or 'random'"),
}


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    path = tmp_path / "ledger.sqlite"
    with open_ledger(path) as opened:
        opened.create("rows", 2.0, 1e-6, "row")
    return path


def history(path: Path) -> list[Entry]:
    with open_ledger(path) as opened:
        return opened.history("rows")


@pytest.mark.parametrize(("settings", "rows", "said"), REFUSED.values(), ids=REFUSED)
def test_bad_input_is_refused_in_a_sentence_and_nothing_is_charged_or_drawn(
    settings: dict[str, Any], rows: Any, said: str, ledger: Path
) -> None:
    estimator = made(budget="rows", ledger=ledger, **settings)
    with randomness.using(Forbidden()), pytest.raises(ValueError, match=said):
        estimator.fit(rows)
    assert history(ledger) == []


def test_no_error_holds_what_is_in_the_data() -> None:
    private: list[Any] = [
        "Ada Lovelace",
        123456.789,
        1j * 123456.789,
        {"name": "Ada"},
        b"Ada",
        None,
    ]
    for value in private:
        given: list[Any] = [[[value, 1.0], [2.0, math.nan]], [value, 2.0, 3.0], value]
        for rows in given:
            with pytest.raises(ValueError, match="X") as refused:
                made(n_clusters=2, bounds=(-1, 1)).fit(rows)
            assert not any(word in told(refused.value) for word in ("Ada", "123456"))


def test_nan_is_refused_even_if_scikit_learn_is_told_not_to_look(ledger: Path) -> None:
    with sklearn.config_context(assume_finite=True), pytest.raises(InvalidInput, match="NaN"):
        made(budget="rows", ledger=ledger).fit(NAN)
    assert history(ledger) == []


def test_what_we_refuse_ourselves_is_invalid_input() -> None:
    for settings, rows, said in REFUSED.values():
        if said.split(" ")[0] in settings:
            with pytest.raises(InvalidInput, match=said):
                made(**settings).fit(rows)


@dataclass(frozen=True)
class Far:
    """Very many rows on other machines, which nobody may ask for."""

    many: int

    @property
    def shape(self) -> tuple[int, int]:
        return self.many, 2

    def total(self, work: Any) -> Any:
        raise AssertionError("rows were looked at")

    gather = total


@pytest.mark.parametrize(
    ("settings", "many", "said"),
    [
        ({"sampler": "full"}, 1000, "are sampled there"),
        ({"sampler": "optimal"}, MOST_ROWS + 1, "choose a lower rate"),
        ({"sampler": "uniform", "rate": 0.01}, 101 * MOST_ROWS, "choose a lower rate"),
        ({"sampler": "coreset"}, 11 * MOST_ROWS, "choose a lower rate"),
        ({"sampler": "uniform", "rate": 0.001}, 2**37 + 1, "or there are more than"),
        ({"sampler": "uniform", "rate": 0.001}, 2, "is more than there are rows"),
    ],
)
def test_rows_elsewhere_are_refused_where_their_sample_would_not_fit_and_nothing_is_charged(
    settings: dict[str, Any], many: int, said: str, ledger: Path
) -> None:
    estimator = made(budget="rows", ledger=ledger, **settings)
    with randomness.using(Forbidden()), pytest.raises(InvalidInput, match=said) as refused:
        estimator.fit(Far(many))
    assert history(ledger) == []
    assert f" {many:,} " not in told(refused.value)


def test_rows_elsewhere_whose_sample_fits_are_asked_for_after_the_charge(ledger: Path) -> None:
    settings: dict[str, Any] = {"sampler": "uniform", "rate": 0.01}
    with pytest.raises(AssertionError, match="rows were looked at"):
        made(budget="rows", ledger=ledger, **settings).fit(Far(99 * MOST_ROWS))
    assert len(history(ledger)) == 1


def test_a_ledger_without_a_budget_is_refused(ledger: Path) -> None:
    with randomness.using(Forbidden()), pytest.raises(InvalidInput, match="name it with budget"):
        made(ledger=ledger).fit(ROWS)


# --- what is charged ----------------------------------------------------------------------------


@pytest.mark.parametrize("sampler", KINDS)
def test_a_fit_is_charged_once(sampler: str, ledger: Path) -> None:
    settings = {"budget": "rows", "ledger": ledger, "purpose": "shops of May"}
    fitted = made(epsilon=0.75, sampler=sampler, **settings).fit(blobs())
    (entry,) = history(ledger)
    assert (entry.epsilon, entry.delta, entry.purpose) == (0.75, 0.0, "shops of May")
    assert entry.unit == "row"
    assert fitted.entry_ == entry.describe()


def test_without_a_purpose_the_entry_says_k_means(ledger: Path) -> None:
    made(budget="rows", ledger=ledger).fit(ROWS)
    assert [entry.purpose for entry in history(ledger)] == ["k-means"]


def test_a_budget_that_is_too_small_is_refused_before_anything_is_drawn(ledger: Path) -> None:
    made(epsilon=1.5, budget="rows", ledger=ledger).fit(ROWS)
    again = made(epsilon=1.0, budget="rows", ledger=ledger)
    with randomness.using(Forbidden()), pytest.raises(BudgetRefused):
        again.fit(ROWS)
    assert [entry.epsilon for entry in history(ledger)] == [1.5]
    assert not hasattr(again, "cluster_centers_")


def test_an_unknown_budget_is_refused(ledger: Path) -> None:
    with randomness.using(Forbidden()), pytest.raises(ValueError, match="people"):
        made(budget="people", ledger=ledger).fit(ROWS)
    assert history(ledger) == []


def test_a_fit_that_fails_after_the_charge_stays_charged(ledger: Path) -> None:
    def fails(done: int, whole: int) -> None:
        raise RuntimeError("the window was closed")

    estimator = made(budget="rows", ledger=ledger, progress=fails)
    with pytest.raises(RuntimeError, match="the window was closed"):
        estimator.fit(ROWS)
    assert [entry.epsilon for entry in history(ledger)] == [1.0]
    assert not hasattr(estimator, "cluster_centers_")


def test_the_charge_stands_before_the_first_draw(ledger: Path) -> None:
    with randomness.using(Forbidden()), pytest.raises(AssertionError, match="a word was drawn"):
        made(budget="rows", ledger=ledger).fit(ROWS)
    assert len(history(ledger)) == 1


def test_the_charge_stands_before_any_row_is_put_on_the_grid(
    ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    place = Grid.place

    def watched(grid: Grid, points: Floats) -> Floats:
        seen.append(len(history(ledger)))
        return place(grid, points)

    monkeypatch.setattr(Grid, "place", watched)
    made(budget="rows", ledger=ledger).fit(ROWS)
    assert seen == [1]


def test_progress_is_told_to_the_last_step() -> None:
    told: list[tuple[int, int]] = []
    made(max_iter=3, progress=lambda *now: told.append(now)).fit(ROWS)
    assert told == [(1, 3), (2, 3), (3, 3)]


# --- rows that are far out, alike, or few -------------------------------------------------------


@pytest.mark.parametrize("sampler", KINDS)
def test_a_row_far_out_does_what_a_row_at_the_bound_does(sampler: str) -> None:
    def fitted(row: list[float]) -> Floats:
        with randomness.using(Stream(11)):
            return made(sampler=sampler).fit(np.vstack([blobs(), [row]])).cluster_centers_

    assert np.array_equal(fitted([1e300, -1e300]), fitted([1.0, -1.0]))


def test_a_row_far_out_moves_centres_no_more_than_its_share() -> None:
    rows = blobs(20_000)

    def fitted(data: Floats) -> Floats:
        with randomness.using(Stream(12)):
            return made(epsilon=100, radius=3.0, bounds=None).fit(data).cluster_centers_

    moved = fitted(np.vstack([rows, [[1e300, 1e300]]])) - fitted(rows)
    assert np.abs(moved).max() < 0.01


@pytest.mark.parametrize("sampler", KINDS)
@pytest.mark.parametrize(
    "rows",
    [
        np.zeros((50, 3)),
        np.full((50, 3), 0.5),
        np.full((50, 3), 1e300),
        np.repeat([[0.1, 0.2], [-0.3, 0.4]], 30, axis=0),
        np.linspace(-1, 1, 40)[:, None],
        np.array([[0.5], [-0.5]]),
        np.array([[5e-324, 0.0], [0.0, -5e-324]]),
        np.zeros((2, 200)),
    ],
    ids=[
        "zeros",
        "constant",
        "far out",
        "duplicates",
        "one column",
        "two rows",
        "denormal",
        "wide",
    ],
)
@pytest.mark.parametrize("epsilon", [0.1, 1000.0])
def test_rows_of_all_kinds_have_centres(rows: Floats, sampler: str, epsilon: float) -> None:
    for clusters in (1, 2):
        settings = {"n_clusters": clusters, "epsilon": epsilon, "sampler": sampler}
        fitted = made(**settings).fit(rows)
        assert fitted.cluster_centers_.shape == (clusters, rows.shape[1])
        assert np.isfinite(fitted.cluster_centers_).all()
        assert np.abs(fitted.cluster_centers_).max() <= 1


def test_a_sample_of_no_rows_is_not_noticed() -> None:
    for _ in range(3):
        fitted = made(sampler="uniform", rate=0.0001).fit(ROWS)
        assert np.isfinite(fitted.cluster_centers_).all()


def test_as_many_centres_as_rows_is_allowed() -> None:
    assert made(n_clusters=40).fit(ROWS).cluster_centers_.shape == (40, 2)


def test_a_hundred_thousand_columns_are_not_too_many() -> None:
    """Even of so many, a part of epsilon is left for counts."""
    fitted = made(n_clusters=1, max_iter=1, init="random").fit(np.full((3, 100_000), 0.5))
    assert np.isfinite(fitted.cluster_centers_).all()


@pytest.mark.parametrize("kind", [np.int8, np.uint64, np.float16, np.float32, np.bool_])
def test_numbers_of_any_kind_are_rows(kind: Any) -> None:
    rows = np.arange(60).reshape(30, 2).astype(kind)
    assert made(bounds=(0, 60)).fit(rows).cluster_centers_.dtype == np.float64


def test_constant_rows_are_found_where_they_are() -> None:
    fitted = made(n_clusters=1, epsilon=10).fit(np.full((5000, 3), 0.25))
    assert fitted.cluster_centers_ == pytest.approx(np.full((1, 3), 0.25), abs=0.01)
    assert fitted.cluster_sizes_ == pytest.approx([5000], abs=50)


# --- quality ------------------------------------------------------------------------------------


def cost(fitted: Any, rows: Floats) -> float:
    return -float(fitted.score(rows))


def test_clusters_that_are_well_apart_are_found_as_well_as_without_privacy() -> None:
    rows = blobs(20_000, d=5, k=4, spread=0.05)
    best = cost(KMeans(4, n_init=5, random_state=1).fit(rows), rows)
    found = []
    for seed in range(5):
        with randomness.using(Stream(seed)):
            found.append(cost(made(n_clusters=4, epsilon=1.0).fit(rows), rows))
    assert np.median(found) <= 1.5 * best


def test_more_epsilon_means_lower_cost() -> None:
    rows, costs = blobs(2000, d=4, k=3, spread=0.05), []
    for epsilon in (0.02, 0.3, 30.0):
        with randomness.using(Stream(1)):
            costs.append(np.mean([cost(made(epsilon=epsilon).fit(rows), rows) for _ in range(5)]))
    assert costs[0] > costs[1] > costs[2]


def test_an_optimal_sample_is_better_than_a_uniform_one_of_the_same_size() -> None:
    """On rows of which many are near the middle, and few far from it."""
    generator = np.random.default_rng(2)
    which = generator.choice(4, 20_000, p=[0.7, 0.1, 0.1, 0.1])
    centres = np.array([[0, 0, 0], [0.9, 0, 0], [0, 0.9, 0], [0, 0, 0.9]])
    rows = centres[which] + generator.normal(0, 0.02, (20_000, 3))
    looked, costs = dict[str, list[int]](), dict[str, list[float]]()

    def fitted(sampler: str, rate: float) -> None:
        sizes: list[int] = looked.setdefault(sampler, [])

        def counted(points: Any, chosen: Any) -> Any:
            sample = poisson(points, chosen)
            sizes.append(len(sample))
            return sample

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(estimators, "poisson", counted)
            settings = {"n_clusters": 4, "sampler": sampler, "rate": rate, "epsilon": 0.5}
            costs.setdefault(sampler, []).append(cost(made(**settings).fit(rows), rows))

    with randomness.using(Stream(4)):
        for _ in range(5):
            fitted("optimal", 0.1)
        for _ in range(5):
            fitted("uniform", float(np.mean(looked["optimal"])) / len(rows))
    assert np.mean(looked["uniform"]) == pytest.approx(np.mean(looked["optimal"]), rel=0.1)
    assert np.mean(costs["optimal"]) < 0.5 * np.mean(costs["uniform"])
