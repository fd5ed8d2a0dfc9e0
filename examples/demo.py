"""Plan a release, make it, look at it and check it: `make demo`."""

from __future__ import annotations

import numpy as np

import tamis

EPSILON, DELTA, KEYS = 1.0, 1e-6, 20_000


def main() -> None:
    """Sanitise a Zipf histogram and show each step."""
    ranks = np.arange(1, KEYS + 1)
    names = [f"key-{rank:05d}" for rank in ranks]
    frequencies = 50_000 // ranks

    print(f"A histogram of {KEYS:,} keys; the key of rank r occurs floor(50000 / r) times.\n")

    print(f"1. Plan, without touching the data: epsilon = {EPSILON}, delta = {DELTA}")
    plan = tamis.plan(epsilon=EPSILON, delta=DELTA)
    print(f"   probability that a key of frequency 25 is named: {plan.reporting(25):.4%}")
    print("   interval for its frequency:", plan.interval(25))
    print(f"   keys of this histogram to expect: {plan.expected(frequencies):,.0f} of {KEYS:,}")

    print("\n2. Sanitise")
    result = tamis.sanitize(
        {"key": names, "n": frequencies.tolist()},
        key="key",
        frequency="n",
        scheme=tamis.Everything(),
        epsilon=EPSILON,
        delta=DELTA,
    )
    table = result.to_arrow()
    print(f"   {len(result):,} of {KEYS:,} keys are named; columns:", ", ".join(table.column_names))
    print("   the ten most frequent:\n")
    print(result.top(10))

    # Only possible here because the data is made up: a real release has nothing to compare with.
    true = dict(zip(names, frequencies.tolist(), strict=True))
    rows = table.select(["key", "low", "high"]).to_pylist()
    inside = sum(row["low"] <= true[row["key"]] <= row["high"] for row in rows)
    print(f"\n   the interval holds the true frequency for {inside:,} of {len(rows):,} named keys")

    print("\n3. Check the certificate, from the definition of differential privacy")
    print("  ", result.certificate.verify())


if __name__ == "__main__":
    main()
