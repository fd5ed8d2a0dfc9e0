"""The checker and k-means: what the parts spend, and what a weighted sample makes of it."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.importance.kmeans.estimator import PrivateKMeans
from tamis.privacy.certificate import Certificate
from tamis.privacy.verify import Refused, check

KINDS = ["full", "optimal", "coreset", "uniform"]
Change = Callable[[dict[str, Any]], object]


def certificate(kind: str, epsilon: float = 1.0) -> dict[str, Any]:
    return dict(json.loads(fitted(kind, epsilon)))


@cache
def fitted(kind: str, epsilon: float) -> str:
    rows = np.random.default_rng(1).normal(0, 0.3, (400, 2))
    made = PrivateKMeans(3, epsilon=epsilon, bounds=(-1, 1), sampler=kind, max_iter=4)  # type: ignore[arg-type]
    return str(made.fit(rows).certificate_.text)


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 30.0, 1000.0])
@pytest.mark.parametrize("kind", KINDS)
def test_what_was_fitted_is_verified(kind: str, epsilon: float) -> None:
    said = Certificate(json.dumps(certificate(kind, epsilon))).verify()
    assert said.startswith(f"epsilon {epsilon} when one unit ('row') is added or removed")
    assert "the middle, the norms and the centres, in 4 steps, spend 1 of it" in said
    assert ("all rows are used" in said) == (kind == "full")


def more(place: str, by: str = "1/1000000") -> Change:
    def change(content: dict[str, Any]) -> None:
        parts = content["rule"]["parts"]
        parts[place] = str(Fraction(parts[place]) + Fraction(by))

    return change


def put(*path: str) -> Callable[[object], Change]:
    def to(value: object) -> Change:
        def change(content: dict[str, Any]) -> None:
            for name in path[:-1]:
                content = content[name]
            content[path[-1]] = value

        return change

    return to


def promised(name: str) -> Callable[[object], Change]:
    return put("guarantee", name)


def ruled(name: str) -> Callable[[object], Change]:
    return put("rule", name)


def searched(name: str, by: Fraction) -> Change:
    def change(content: dict[str, Any]) -> None:
        search = content["rule"]["search"]
        search[name] = str(Fraction(search[name]) + by)

    return change


WRONG: dict[str, Change] = {
    "a smaller epsilon": promised("epsilon")("0.999999"),
    "no epsilon": promised("epsilon")("0"),
    "an epsilon beyond 1000": promised("epsilon")("1000.1"),
    "an epsilon that is a number": promised("epsilon")(1.0),
    "an epsilon that is no number": promised("epsilon")("nan"),
    "a negative epsilon": promised("epsilon")("-1"),
    "a delta": promised("delta")("1e-6"),
    "other neighbours": promised("neighbours")("replace one unit"),
    "two rows for a unit": promised("keys_per_unit")(2),
    "two elements for a unit": promised("elements_per_key")(2),
    "more for the middle": more("middle"),
    "more for the norms": more("norms"),
    "more for the centres": more("centres"),
    "a part that spends nothing": put("rule", "parts", "norms")("0"),
    "a part as a float": put("rule", "parts", "norms")(0.02),
    "a part too many": put("rule", "parts", "labels")("1/1000"),
    "a part too few": lambda c: c["rule"]["parts"].pop("norms"),
    "no parts": ruled("parts")({}),
    "parts in a list": ruled("parts")(["1/50", "1/50", "24/25"]),
    "another rule": ruled("name")("k-medians"),
    "more for the seeds": searched("seeds", Fraction(1, 10**6)),
    "more for the steps": searched("lloyd", Fraction(1, 10**6)),
    "seeds that take back": searched("seeds", Fraction(-2)),
    "seeds that spend nothing": put("rule", "search", "seeds")("0"),
    "steps that spend nothing": put("rule", "search", "lloyd")("0"),
    "no steps at all": lambda c: c["rule"]["search"].update(
        seed_steps=0, seeds="0", steps=0, lloyd="0"
    ),
    "steps below 0": put("rule", "search", "steps")(-1),
    "half a step": put("rule", "search", "steps")(1.5),
    "more than a thousand steps": put("rule", "search", "steps")(1001),
    "no search": lambda c: c["rule"].pop("search"),
    "all for the counts": ruled("count_share")("1"),
    "nothing for the counts": ruled("count_share")("0"),
    "no word of a sample": lambda c: c["rule"].pop("sample"),
    "no promise": lambda c: c.pop("guarantee"),
    "another version": lambda c: c.update(version=2),
    "another format": lambda c: c.update(format="certificate"),
}


@pytest.mark.parametrize("kind", ["full", "coreset"])
@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG)
def test_a_changed_promise_is_refused(kind: str, change: Change) -> None:
    content = certificate(kind)
    check(copy.deepcopy(content))
    change(content)
    with pytest.raises(Refused):
        check(content)


WRONG_SAMPLE: dict[str, Change] = {
    "half of the noise": lambda c: c["rule"]["sample"].update(
        steps=str(2 * Fraction(c["rule"]["sample"]["steps"]))
    ),
    "no steps": lambda c: c["rule"]["sample"].pop("steps"),
    "odds of 0": put("rule", "sample", "far")("0"),
    "odds above 1": put("rule", "sample", "far")("1.000001"),
    "odds in words": put("rule", "sample", "far")("half"),
    "odds as a float": put("rule", "sample", "far")(0.5),
    "no odds": lambda c: c["rule"]["sample"].pop("far"),
    "a tenth of the odds": lambda c: c["rule"]["sample"].update(
        far=str(Fraction(c["rule"]["sample"]["far"]) / 10)
    ),
    "a sample that is none": put("rule", "sample")("uniform"),
    "an empty sample": put("rule", "sample")({}),
}


@pytest.mark.parametrize("kind", ["optimal", "coreset", "uniform"])
@pytest.mark.parametrize("change", WRONG_SAMPLE.values(), ids=WRONG_SAMPLE)
def test_a_changed_sample_is_refused(kind: str, change: Change) -> None:
    content = certificate(kind)
    change(content)
    with pytest.raises(Refused):
        check(content)


@pytest.mark.parametrize("kind", ["coreset", "uniform"])
def test_odds_of_points_in_the_middle_are_checked_too(kind: str) -> None:
    content = certificate(kind)
    for wrong in ("0", "1.1", "1/1000"):
        with pytest.raises(Refused):
            check(
                {
                    **content,
                    "rule": {
                        **content["rule"],
                        "sample": {**content["rule"]["sample"], "near": wrong},
                    },
                }
            )


def written(epsilon: Fraction, share: Fraction, steps: Fraction, near: float, far: float) -> Any:
    """A certificate of our own, of which only the sample matters."""
    ends = {"near": str(Fraction(near)), "far": str(Fraction(far))}
    parts = {"middle": "1/1000000", "norms": "1/1000000", "centres": str(epsilon)}
    promise = {
        "epsilon": str(epsilon + Fraction(2, 10**6)),
        "delta": "0.0",
        "keys_per_unit": 1,
        "elements_per_key": 1,
        "unit": "row",
        "neighbours": "add or remove one unit",
    }
    sample = {"sampler": "coreset", "steps": str(steps), **ends}
    search = {"seed_steps": 1, "seeds": str(steps), "widths": "0", "steps": 0, "lloyd": "0"}
    rule = {"name": "k-means", "parts": parts, "count_share": str(share), "sample": sample}
    rule |= {"search": search}
    return {"format": "tamis certificate", "version": 1, "guarantee": promise, "rule": rule}


odds = st.floats(0.01, 1)


@given(
    st.fractions(Fraction(1, 100), 20, max_denominator=1000),
    st.fractions(Fraction(1, 100), Fraction(99, 100), max_denominator=1000),
    odds,
    odds,
    st.floats(0.3, 1.5),
)
def test_the_checker_agrees_with_the_formula(
    epsilon: Fraction, share: Fraction, near: float, far: float, times: float
) -> None:
    """log(1 + q (e^(c/q) - 1)), at both ends, computed in floats away from equality."""
    most = min(
        q * math.log1p(math.expm1(float(epsilon)) / q) / c
        for q, c in ((near, float(share)), (far, 1.0))
    )
    steps, clear = Fraction(most * times), abs(times - 1) > 1e-9
    if times < 1 and clear:
        check(written(epsilon, share, steps, near, far))
    elif clear:
        with pytest.raises(Refused, match="the sample spends too much"):
            check(written(epsilon, share, steps, near, far))
