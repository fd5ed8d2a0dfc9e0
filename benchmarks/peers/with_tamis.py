"""tamis itself, under the same conditions as its peers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tamis
from tamis.weighted.mechanism import Tokens

if TYPE_CHECKING:
    from benchmarks.peers.worker import Found, Method, main
else:  # run as a script, whose folder is where it looks
    from worker import main


def release(path: str, epsilon: float, delta: float, keys_per_unit: int) -> Found:
    """The main job, as anyone would call it: the curve that names most keys is chosen."""
    return _released(path, epsilon, delta, keys_per_unit, "whole")


def fine(path: str, epsilon: float, delta: float, keys_per_unit: int) -> Found:
    """With fine tokens: of the curves (epsilon0, delta0) the best, and no Gaussian one."""
    return _released(path, epsilon, delta, keys_per_unit, "fine")


def _released(path: str, epsilon: float, delta: float, keys: int, tokens: Tokens) -> Found:
    asked: dict[str, Any] = {"key": "key", "unit": "unit", "keys_per_unit": keys}
    made = tamis.release(path, epsilon=epsilon, delta=delta, tokens=tokens, **asked).to_arrow()
    return dict(zip(made["key"].to_pylist(), made["estimate"].to_pylist(), strict=True))


METHODS: dict[str, Method] = {"release": release, "fine": fine}

if __name__ == "__main__":
    main(METHODS)
