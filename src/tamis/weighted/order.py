"""Order statistics from tokens, and how well the order of tokens follows that of frequencies.

Ties: equal tokens say nothing about order. Where one key must come first, it is the one that comes
first in the array; a rank is the mean of the ranks that tied keys share; neither of two tied keys
is above the other; and a tied pair is half concordant.

Reference: Cohen, Geri, Sarlos, Stemmer (2021), section 6 and Appendix D.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.privacy.errors import InvalidInput, shown
from tamis.privacy.guarantee import as_float
from tamis.sampling.frequencies import check_frequencies, check_whole
from tamis.weighted import bands
from tamis.weighted.laws import Law, SurvivalLaw

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_HAIR = 1e-12  # relative: p n is a whole number if it is this close to one


def top(tokens: npt.ArrayLike, k: int) -> Ints:
    """Positions of the k highest tokens, highest first; all of them if there are fewer than k.

    >>> top([7, 9, 7, 3], 2).tolist()
    [1, 0]
    """
    values = _sortable(tokens)
    downwards = np.argsort(values[::-1], kind="stable")[::-1]
    return len(values) - 1 - downwards[: check_whole(k, "k", 0)]


def quantile(values: npt.ArrayLike, p: float) -> float:
    """The lowest of the tokens (or estimates) that at least a fraction p of them do not exceed.

    Always one of the values: tokens have an order, and no distances that could be interpolated.
    It is a quantile of the reported keys; keys that were not reported are not in it.

    >>> quantile([7, 9, 7, 3], 0.5), quantile([7, 9, 7, 3], 0.76)
    (7.0, 9.0)
    """
    ascending = np.sort(_sortable(values))
    if not 0 <= as_float(p) <= 1:
        raise InvalidInput(f"p must lie between 0 and 1, not {shown(p)}.")
    if not len(ascending):
        raise InvalidInput("there is no quantile of no keys; nothing was reported.")
    place = np.ceil(p * len(ascending) * (1 - _HAIR))
    return float(ascending[max(int(place), 1) - 1])


def rank(tokens: npt.ArrayLike, index: int) -> float:
    """The rank of the key at this position, 1 for the highest; tied keys share their mean rank.

    >>> [rank([7, 9, 7, 3], n) for n in range(4)]
    [2.5, 1.0, 2.5, 4.0]
    """
    values, chosen = _chosen(tokens, index)
    higher, tied = np.count_nonzero(values > chosen), np.count_nonzero(values == chosen)
    return float(higher + (tied + 1) / 2)


def above(tokens: npt.ArrayLike, index: int) -> Ints:
    """Positions of the keys with a higher token than the one at ``index``."""
    values, chosen = _chosen(tokens, index)
    return np.flatnonzero(values > chosen)


def below(tokens: npt.ArrayLike, index: int) -> Ints:
    """Positions of the keys with a lower token than the one at ``index``."""
    values, chosen = _chosen(tokens, index)
    return np.flatnonzero(values < chosen)


def concordance(law: Law, i1: int, i2: int, fine: bool = False) -> float:
    """The probability that two keys of frequencies i1 and i2 are put in their true order.

    Not being reported is below every token; a tie counts one half. With ``fine`` the tokens are
    real numbers (Algorithm 5 as corrected in the ERRATA): this is equation (39), where
    1 - T(alpha) is the survival map from frequency i2 to i1 at s = 1 - alpha, piecewise linear and
    integrated piece by piece. Under the same scheme no private mechanism orders any pair better
    (Corollary 6.1).

    >>> from tamis.sampling.schemes import Everything
    >>> round(concordance(SurvivalLaw(1.0, 1e-6, Everything()), 20, 18), 4)
    0.8655
    """
    low, high = sorted(check_whole(i, "frequency") for i in (i1, i2))
    if high == low:
        raise InvalidInput("concordance needs two different frequencies.")
    if not fine:
        return (1 + expected_kendall(law, [low, high])) / 2
    if not isinstance(law, SurvivalLaw):
        raise InvalidInput("fine tokens need a SurvivalLaw; leave out fine for other laws.")
    more, less = (float(law.reporting(i)) for i in (high, low))
    return (1 - less) * (1 + more) / 2 + _both_reported(law, high, low)


def expected_kendall(law: Law, frequencies: npt.ArrayLike) -> float:
    """The expected Kendall rank correlation of tokens and frequencies, from the rows.

    The mean of Pr[concordant] - Pr[discordant] over pairs of keys with different frequencies. Keys
    are counted by frequency, and pairs of equal frequency left out.
    """
    values, counts = np.unique(check_frequencies(frequencies), return_counts=True)
    if len(values) < 2:
        raise InvalidInput("a rank correlation needs at least two different frequencies.")
    lower = _Lower(law.width)
    score = pairs = 0.0
    for i, count, row in zip(values, counts, bands.rows(law, values), strict=True):
        lower.move(int(i) + law.head_start)
        score += count * lower.score(row)
        pairs += count * lower.keys
        lower.add(row, count)
    return float(score / pairs)


class _Lower:
    """The keys of all lower frequencies: how many of them are expected at each token."""

    def __init__(self, width: int) -> None:
        self.highest, self.keys, self.unreported, self.far = 0, 0.0, 0.0, 0.0
        self.near = np.zeros(width)  # the last tokens up to ``highest``; ``far``: all before

    def move(self, highest: int) -> None:
        step = min(highest - self.highest, len(self.near))
        self.far += self.near[:step].sum()
        self.near = np.append(self.near[step:], np.zeros(step))
        self.highest = highest

    def score(self, row: Floats) -> float:
        """Concordant minus discordant pairs of one key with this row and each of the lower keys."""
        padded = np.append(np.zeros(len(self.near) - len(row)), row)
        upto = np.cumsum(self.near)
        reported = self.far + upto[-1]
        lead = self.unreported + 2 * self.far + 2 * upto - self.near - reported
        return float(padded @ lead - (1 - row.sum()) * reported)

    def add(self, row: Floats, count: int) -> None:
        self.near[len(self.near) - len(row) :] += count * row
        self.unreported += count * (1 - row.sum())
        self.keys += count


def _both_reported(law: SurvivalLaw, high: int, low: int) -> float:
    """The integral of S_high as a function of s = S_low, over s from 0 to pi_low."""
    if high - low >= law.width:  # the rows share no token
        return float(law.reporting(high) * law.reporting(low))
    pi = law.reporting(np.arange(low, high + 1))
    s = image = np.array([0.0, pi[0]])
    for before, now in pairwise(pi):
        bends = _bends(law, before, now)
        bends = np.sort(bends[(bends > image[0]) & (bends < image[-1])])
        places = np.searchsorted(image, bends)
        s = np.insert(s, places, np.interp(bends, image, s))
        image = law._step(np.insert(image, places, bends), before, now)
    return float(np.trapezoid(image, s))


def _bends(law: SurvivalLaw, before: float, now: float) -> Floats:
    """Where two of the four terms of the survival map are equal."""
    e, d = np.exp(law.epsilon), law.delta
    third, fourth = 1 - (1 - d) / e, now - (before - d) / e
    return np.array(
        [(now - d) / e, (now - third) * e, before - d]
        + [(term - d) / (e - 1 / e) for term in (third, fourth)]
    )


def _sortable(values: npt.ArrayLike) -> npt.NDArray[Any]:
    array = np.asarray(values)
    if array.ndim != 1 or (array.dtype.kind not in "iuf" and array.size):
        raise InvalidInput("tokens must be one column of numbers.")
    if np.isnan(array.astype(np.float64)).any():
        raise InvalidInput("tokens holds missing values; drop or fill these rows first.")
    return array


def _chosen(tokens: npt.ArrayLike, index: int) -> tuple[npt.NDArray[Any], Any]:
    values = _sortable(tokens)
    if not -len(values) <= index < len(values):
        raise InvalidInput(f"index must be a position among the {len(values)} keys, not {index!r}.")
    return values, values[index]
