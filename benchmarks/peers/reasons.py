"""Why another library is before ours, as far as mechanisms and results tell."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.peers import laws
from benchmarks.peers.laws import Error
from benchmarks.peers.results import Result
from benchmarks.peers.verdicts import ABSOLUTE, ENOUGH, MEMORY, SECONDS, Standing
from tamis.privacy.errors import counted
from tamis.weighted.mechanism import Tokens

_MOST = 0.5  # of what is seen; if less of it is in the noise of frequent keys, that is not why

_WORTH = 1.1  # by law: what is less is not worth a word, and could be chance in the results
_TOKENS: tuple[Tokens, Tokens] = ("whole", "fine")

_SECONDS = (
    "A release of ours enforces the bounds, opens a database of its own and writes down what is "
    "guaranteed, however little the data (what that takes stands with the main job); the other "
    "enforces no bound in this time."
)
_MEMORY = (
    "Ours has imported Arrow, DuckDB, NumPy and SciPy (what these take stands with the main job), "
    "and holds who has which key as arrays, to enforce the bounds."
)
_CURVE = (
    "The default call takes the Gaussian curve here, because it names most keys of our curves; its "
    "noise is wider than that of the other, and than that of fine tokens."
)
_PEAK = (
    "By the laws, too, its noise is less (see below), with its peak at the true count. Ours is the "
    "law that names most keys: whole steps, the likeliest of them on both sides of the true count."
)
_WHOLE = "By the laws (see below), its noise, in whole numbers, is less than that of fine tokens."
_ALIKE = (
    "By the laws (see below) the noise of a frequent key is as much there as here, or a small part "
    "of why. The rest comes from rare keys, which are named only if their noise is high."
)
_UNKNOWN = "Its noise has no law that is known here in a closed form."
_MISSED = "It names more of the most frequent keys, and one that is not named errs by all of it."
_KEYS = "Its threshold is lower."
_NARROWER = (
    "Its noise is Gaussian, too, and a little narrower. Ours has the head start (docs/proofs.md, "
    "section 7) with which most keys are named, which spends a part of delta, and is certified on "
    "a grid, which costs 0.1% of the noise."
)
_GAUSSIAN = "Its noise is Gaussian, which is less for so many keys; fine tokens have none such."


def reason(one: Standing) -> str:
    """A sentence or two."""
    if one.column == "keys named":
        return _KEYS
    if one.column == SECONDS:
        return _SECONDS
    if one.column == MEMORY:
        return _MEMORY
    return _of_error(one)


def _both_gaussian(one: Standing) -> bool:
    curve = laws.gaussian_curve(one.ours.asked.bound, _tokens(one))
    return curve and "Gaussian" in (laws.noise_of(one.other.asked.method) or "")


def _tokens(one: Standing) -> Tokens:
    return "fine" if "fine" in one.ours.asked.method else "whole"


def _of_error(one: Standing) -> str:
    keys, tokens = one.ours.asked.bound, _tokens(one)
    noise = laws.noise_of(one.other.asked.method)
    if noise is None:
        return _UNKNOWN
    theirs, ours = (
        _of(law, one.column) for law in (laws.others(keys, noise), laws.ours(keys, tokens))
    )
    seen = one.figures[1] / one.figures[0] - 1
    if ours / theirs - 1 > _MOST * seen:
        return _less(one, noise)
    if one.column not in ("error of named keys", ABSOLUTE) and _more(one):
        return _MISSED
    return _ALIKE


def _less(one: Standing, noise: laws.Noise) -> str:
    """Why the noise of the other is less by its law."""
    if _both_gaussian(one):
        return _NARROWER
    if laws.gaussian_curve(one.ours.asked.bound, _tokens(one)):
        return _CURVE
    if "Gaussian" in noise:
        return _GAUSSIAN
    return _PEAK if _tokens(one) == "whole" else _WHOLE


def _of(error: Error, column: str) -> float:
    return error.absolute if column == ABSOLUTE else error.root


def _more(one: Standing) -> bool:
    return one.other.keys.value > one.ours.keys.value


def trade(case: Sequence[Result], default: str, fine: str) -> tuple[int, str] | None:
    """The keys per unit, and what the default call gains and loses there beside fine tokens."""
    rows = {result.asked.method: result for result in case}
    if default not in rows or fine not in rows:
        return None
    one, other = rows[default], rows[fine]
    if one.named is None or other.named is None or one.keys.value <= other.keys.value:
        return None
    whole, fine_tokens = (laws.ours(one.asked.bound, tokens) for tokens in _TOKENS)
    if whole.root < _WORTH * fine_tokens.root or min(one.total, other.total) < ENOUGH:
        return None
    where = f"{one.asked.data} with {counted(one.asked.bound, 'key')}"
    gained = f"{one.keys.value:,.1f} keys with an error of {one.named.value:.3g}"
    return one.asked.bound, (
        f"{where}, {gained} for {other.keys.value:,.1f} with {other.named.value:.3g}"
    )
