"""Private samples: keys that may be named, with tokens, estimates and intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.privacy import verify
from tamis.privacy.certificate import Certificate
from tamis.privacy.errors import InvalidInput, counted
from tamis.privacy.guarantee import Guarantee
from tamis.sampling.arrow import Tabular, column_of
from tamis.sampling.counted import counted_table
from tamis.sampling.schemes import Pps, Ppswor, Scheme
from tamis.weighted import order, show
from tamis.weighted.estimators import Estimator
from tamis.weighted.intervals import intervals
from tamis.weighted.lookup import place
from tamis.weighted.mechanism import Tokens
from tamis.weighted.plan import Plan, make_plan
from tamis.weighted.tokens import draw

ADDED = ("token", "estimate", "low", "high")
_HIGHEST = 2**62  # above it, arithmetic with tokens could overflow


@dataclass(frozen=True)
class PrivateSample(Tabular):
    """What may be shared: key columns, token, estimate, low, high; by estimate, then by key.

    Guarantee: ``guarantee``. The certificate says by which integers, and can be re-checked.
    Everything below is computed from the table alone and costs nothing.
    """

    table: pa.Table
    plan: Plan

    @property
    def guarantee(self) -> Guarantee:
        return self.plan.guarantee

    @property
    def certificate(self) -> Certificate:
        return self.plan.certificate

    @property
    def keys(self) -> list[str]:
        """The names of the key columns."""
        return [name for name in self.table.column_names if name not in ADDED]

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def top(self, k: int) -> PrivateSample:
        """The k most frequent keys, by token."""
        return self.rows(order.top(self._tokens(), k))

    def rank(self, *key: object) -> float:
        """The place of a key by token, from 1; keys with equal tokens share their mean place."""
        return order.rank(self._tokens(), self._find(key))

    def above(self, *key: object) -> PrivateSample:
        """The keys with a higher token than this one."""
        return self.rows(order.above(self._tokens(), self._find(key)))

    def below(self, *key: object) -> PrivateSample:
        """The keys with a lower token than this one."""
        return self.rows(order.below(self._tokens(), self._find(key)))

    def quantile(self, p: float) -> float:
        """The p-quantile of the estimates of the named keys."""
        return order.quantile(self.table["estimate"].to_numpy(), p)

    def sum(
        self, weights: npt.ArrayLike | None = None, estimator: Estimator | None = None
    ) -> float:
        """The estimate of sum L(x) g(w_x), where ``weights`` are the L(x) of the rows (default 1).

        g is the estimator's (default: the frequency itself). Keys that are not named count as 0;
        to make up for them, a named key counts more than its estimate where being named is rare.
        """
        values = (estimator or self.plan.estimator).values(self.whole_tokens())
        if weights is None:
            return float(np.sum(values))
        factors = np.asarray(weights, dtype=np.float64)
        if factors.shape != values.shape or not np.isfinite(factors).all():
            raise InvalidInput(f"weights must be one number for each of the {len(self):,} rows.")
        return float(values @ factors)

    def whole_tokens(self) -> npt.NDArray[np.int64]:
        """Tokens on the scale of frequencies, also when they are fine."""
        return -(-self._tokens() // self.plan.mechanism.stride)

    def _tokens(self) -> npt.NDArray[np.int64]:
        tokens: npt.NDArray[np.int64] = self.table["token"].to_numpy()
        return tokens

    def rows(self, where: npt.NDArray[np.int64]) -> PrivateSample:
        """The rows at these places."""
        return replace(self, table=self.table.take(column_of(where)))

    def _find(self, key: tuple[object, ...]) -> int:
        return place(self.table, self.keys, key, nulls=True)

    def __str__(self) -> str:
        return show.as_text(self.table, ADDED, self._closing())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return show.as_html(self.table, ADDED, self._closing())

    def _closing(self) -> str:
        """One line that is true of a whole release and of a part of it."""
        g, many = self.guarantee, counted(len(self), "key")
        return f"{many}; released with epsilon {g.epsilon:g}, delta {g.delta:g} for one {g.unit}"


def sanitize(
    sample: Any,
    *,
    key: str | Sequence[str],
    frequency: str,
    epsilon: float,
    delta: float,
    scheme: Scheme | None = None,
    keys_per_unit: int = 1,
    elements_per_key: int = 1,
    unit: str = "element",
    tokens: Tokens = "whole",
    coverage: float = 0.95,
    sampler_error: float | None = None,
    before_draw: Callable[[], object] | None = None,
) -> PrivateSample:
    """Make a weighted sample private: which keys may be named, and how often they occur.

    ``sample`` holds each sampled key once, with its exact frequency, and was drawn with the
    probabilities of ``scheme`` independently for each key (tau chosen beforehand, or privately).
    The default scheme is `Everything`: the sample is the whole histogram.

    Guarantee: sampling and sanitising together satisfy (epsilon, delta)-differential privacy when
    one unit is added or removed that touches at most ``keys_per_unit`` keys and adds at most
    ``elements_per_key`` to each. That the sample was drawn with ``scheme`` and that units keep the
    bounds is for the caller to ensure: never give a whole histogram together with a scheme that
    did not sample it (`private_sample` samples and sanitises). When one unit touches one key, no
    private mechanism with the same scheme names any key with a higher probability.

    ``sampler_error`` is how far the sampler's probabilities may have been from those of ``scheme``;
    it is charged to delta. The default suits a sampler that computes with 64-bit floats: 2^-50, or
    2^-45 for powers other than 1 and 2. Give 0 for what `threshold_sample` drew, and
    ``stream.sampler_error`` for a `PpsworStream`: that matters when delta is below 1e-9.

    ``before_draw`` is called when all is checked and nothing is drawn yet: the place to charge a
    budget, by a function that raises if it cannot.

    Edge cases: an empty sample gives an empty result. Bad input is refused before any draw.

    Reference: Cohen, Geri, Sarlos, Stemmer (2021), Algorithms 2 to 5; docs/proofs.md.

    >>> import tamis
    >>> words = {"word": ["the", "rare"], "n": [1000, 1]}
    >>> private = tamis.sanitize(words, key="word", frequency="n", epsilon=1.0, delta=1e-9)
    >>> private.to_arrow()["word"].to_pylist()
    ['the']
    """
    guarantee = Guarantee(epsilon, delta, keys_per_unit, elements_per_key, unit)
    error = _sampler_error(sampler_error, scheme)
    made = make_plan(guarantee, scheme, tokens, coverage, sampler_error=error)
    return _release(made, sample, key, frequency, before_draw)


def _sampler_error(error: object, scheme: Scheme | None) -> float:
    if error is None:
        rough = isinstance(scheme, (Pps, Ppswor)) and scheme.power not in (1, 2)
        return 2.0**-45 if rough else 2.0**-50
    if isinstance(error, bool) or not isinstance(error, (int, float)) or not 0 <= error < 1:
        raise InvalidInput(
            f"sampler_error must be a probability in [0, 1), not {error!r}; give 0 if the sampler "
            "was exact."
        )
    return float(error)


def _sampled(scheme: Scheme, frequencies: pa.ChunkedArray) -> bool:
    """Whether the scheme samples every one of these frequencies, in whole numbers."""
    least = pc.min(frequencies).as_py()
    return least is None or verify.Scheme(scheme.rule()).units(least) > 0


def private_sample(
    plan: Plan, histogram: Any, *, key: str | Sequence[str], frequency: str
) -> PrivateSample:
    """Sample a histogram with the plan's scheme and sanitise it, in one draw per key.

    Guarantee: as planned. What is returned has the law of a weighted sample that was made with the
    scheme and sanitised afterwards, and no sample is ever made that is not private.

    >>> import tamis
    >>> plan = tamis.plan(epsilon=1.0, delta=1e-9, scheme=tamis.Ppswor(0.5))
    >>> private_sample(plan, {"word": ["the"], "n": [1000]}, key="word", frequency="n").keys
    ['word']
    """
    if plan.mechanism.elsewhere:
        raise InvalidInput(
            "This plan is for a sample that was made elsewhere; use one that tamis.plan gives."
        )
    return _release(plan, histogram, key, frequency)


def _release(
    plan: Plan,
    data: Any,
    key: str | Sequence[str],
    frequency: str,
    before_draw: Callable[[], object] | None = None,
) -> PrivateSample:
    """Draw for every key of checked data and keep what may be named, in canonical order."""
    table = counted_table(data, key, frequency)
    if (pc.max(table[frequency]).as_py() or 0) > _HIGHEST // plan.mechanism.stride:
        raise InvalidInput(
            f"{frequency} holds values above {_HIGHEST // plan.mechanism.stride:,}; divide them."
        )
    keys = [name for name in table.column_names if name != frequency]
    check_names(keys)
    if plan.mechanism.elsewhere and not _sampled(plan.scheme, table[frequency]):
        raise InvalidInput(
            f"{frequency} holds a frequency that the scheme never samples; give the scheme with "
            "which the sample was drawn."
        )
    plan.certificate  # noqa: B018  everything that can fail does so before the first draw
    if before_draw is not None:
        before_draw()
    tokens = draw(plan.mechanism, table[frequency].to_numpy())
    named = np.flatnonzero(tokens)
    return tabulate(plan, table.select(keys).take(column_of(named)), tokens[named])


def tabulate(plan: Plan, keys: pa.Table, tokens: npt.NDArray[np.int64]) -> PrivateSample:
    """Named keys and their tokens as a private sample, in canonical order."""
    check_names(keys.column_names)
    table = completed(plan, keys, tokens)
    ways = [("estimate", "descending"), ("token", "descending")]
    ways += [(name, "ascending") for name in keys.column_names]
    return PrivateSample(table.take(pc.sort_indices(table, sort_keys=ways)), plan)


def completed(plan: Plan, keys: pa.Table, tokens: npt.NDArray[np.int64]) -> pa.Table:
    """Keys with the columns that a release adds, in the order in which they come."""
    distinct, place = np.unique(-(-tokens // plan.mechanism.stride), return_inverse=True)
    low, high = intervals(plan.mechanism.law, distinct, plan.coverage)
    estimate = np.clip(plan.estimator.frequencies(distinct), low, high)
    added = (tokens, estimate[place], low[place], high[place])
    table = keys
    for name, column in zip(ADDED, added, strict=True):
        table = table.append_column(name, column_of(column))
    return table


def check_names(keys: Sequence[str]) -> None:
    """Refuse key columns that are called like others, or like what a release adds, in any case.

    SQL does not tell names apart that differ only in upper and lower case.
    """
    if clash := [key for key in keys if key.lower() in ADDED]:
        raise InvalidInput(f"A key column may not be called {clash[0]!r}; rename it.")
    if len({key.lower() for key in keys}) < len(set(keys)):
        raise InvalidInput("Key columns may not differ only in upper and lower case; rename one.")
