"""Points, weights and what a profile says of them, checked before anything is made of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from tamis.importance.profiles import Floats, Profile
from tamis.privacy.errors import InvalidInput, shown
from tamis.privacy.guarantee import as_float


def as_points(points: npt.ArrayLike) -> Floats:
    """A table of finite numbers, one row for each point, or a sentence."""
    rows = _numbers("points", points)
    if rows.ndim != 2 or not rows.shape[1]:
        raise InvalidInput("points must be a table: a row for each point, a column or more.")
    with np.errstate(over="ignore", invalid="ignore"):
        surely = np.isfinite(rows.sum())  # one that is not finite makes the sum so
    if not surely and not np.isfinite(rows).all():
        raise InvalidInput("points must be finite: leave out rows with NaN or infinite numbers.")
    return rows


def as_weights(weights: npt.ArrayLike, many: int) -> Floats:
    """One finite weight of at least 1 for each point, or a sentence."""
    known = _numbers("weights", weights)
    if known.shape not in ((), (many,)):
        raise InvalidInput("weights must be one number for each point, or one for all.")
    if not np.all((known >= 1) & np.isfinite(known)):
        raise InvalidInput(
            "weights must be finite and at least 1: one over the probability to be kept."
        )
    return np.broadcast_to(known, (many,))


def _numbers(name: str, given: npt.ArrayLike) -> Floats:
    try:
        found = np.asarray(given)
    except (TypeError, ValueError):  # rows of different lengths
        found = np.array("")
    if found.size and found.dtype.kind not in "iuf":
        raise InvalidInput(f"{name} must be an array of numbers.")
    return found.astype(np.float64, copy=False)


def check_profile(profile: object) -> None:
    if not isinstance(profile, Profile):
        raise InvalidInput(
            "profile must be a Profile, such as Lloyd(...), or a subclass of your own."
        )


def epsilons(profile: Profile, weights: Floats, points: Floats) -> Floats:
    """The profile's epsilon, checked."""
    check_profile(profile)
    found = _said(profile, "epsilon", lambda: profile.epsilon(weights, points), len(points))
    if not np.all(found >= 0):
        raise InvalidInput(f"{_name(profile)}.epsilon must be 0 or more everywhere, never NaN.")
    return found


def slopes(profile: Profile, weights: Floats, points: Floats) -> Floats:
    """The profile's slope, checked."""
    check_profile(profile)
    found = _said(profile, "slope", lambda: profile.slope(weights, points), len(points))
    if np.any(np.isnan(found)):
        raise InvalidInput(f"{_name(profile)}.slope must be a number everywhere, never NaN.")
    return found


def convexities(profile: Profile, points: Floats) -> Floats:
    """The profile's convexity, checked."""
    check_profile(profile)
    found = _said(profile, "convexity", lambda: profile.convexity(points), len(points))
    if not np.all(found >= 0):
        raise InvalidInput(
            f"{_name(profile)}.convexity must be 0 or more everywhere, never NaN: exp(epsilon) "
            "must be convex in the weight, or the optimal weights cannot be found."
        )
    return found


def _said(profile: Profile, what: str, asked: Callable[[], object], many: int) -> Floats:
    with np.errstate(over="ignore"):  # what is too large is infinite
        found = np.asarray(asked())
    if found.shape != (many,) or found.dtype.kind not in "iuf":
        raise InvalidInput(
            f"{_name(profile)}.{what} must give an array with one number for each row of points; "
            "if that is the same everywhere, np.full(len(points), number)."
        )
    return found.astype(np.float64, copy=False)


def _name(profile: Profile) -> str:
    return type(profile).__name__


def share(value: object, name: str, above: bool = False) -> float:
    """A number from 0 to 1, without 0 where that makes no sense, or a sentence."""
    number = as_float(value)
    if 0 < number <= 1 or (number == 0 and not above):
        return number
    least = "above 0, up" if above else "from 0"
    raise InvalidInput(f"{name} must be a number {least} to 1, not {shown(value)}.")
