"""Re-check a tamis certificate: one file, standard library only, no binary floating point.

    python verify.py certificate.json

A certificate states a *rule* that yields the integers of a mechanism, and the guarantee they meet.
This program rebuilds the integers and re-checks the guarantee from the definition of differential
privacy; it believes nothing that the certificate says about itself. Proofs: docs/proofs.md.

U = 2^128 stands for probability one. A key of frequency i is reported with a token above x for
T_i(x) of the U words that can be drawn, and reported at all for P_i = T_i(0) of them. The rule has
a growth g = M / 2^k <= exp(epsilon0) and a gift D, the integer form of delta0.
"""

from __future__ import annotations

import json
import re
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterator
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal, Inexact
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, pairwise, repeat
from math import comb
from operator import mul, sub
from typing import Any

U = 1 << 128
CELLS = 10_000_000  # a table of up to this many cells is checked row by row
FREQUENCIES = 1 << 64  # no frequency is as high
STEPS = 200_000  # of a custom scheme
_PRECISE = Context(prec=48, rounding=ROUND_HALF_EVEN, Emin=-999999, Emax=999999)
_LONG = Context(prec=MAX_PREC, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[Inexact])
_F = 256  # fractional bits in composition


class Refused(ValueError):
    """The certificate is malformed, or its integers do not meet its guarantee."""


def need(condition: bool, sentence: str) -> None:
    if not condition:
        raise Refused(sentence)


def number(text: object) -> Fraction:
    """A short decimal number or fraction, written as text so that nothing has rounded it."""
    short = isinstance(text, str) and re.fullmatch(
        r"\d{1,40}(\.\d{1,40})?(e[+-]?\d{1,3})?|\d{1,400}/[1-9]\d{0,399}", text, re.ASCII
    )
    need(bool(short), "numbers are short decimals or fractions, written as text")
    return Fraction(str(text))


def integer(text: object) -> int:
    short = isinstance(text, str) and re.fullmatch(r"0x[0-9a-f]{1,80}", text, re.ASCII)
    need(bool(short), "integers are written in base 16, as text")
    return int(str(text), 16)


def whole(value: object, most: int, least: int = 1) -> int:
    if type(value) is int and least <= value <= most:
        return value
    raise Refused(f"a whole number from {least} to {most} is missing")


def ceil_div(a: int, b: int) -> int:
    return -(-a // b)


def exp_bounds(x: Fraction, bits: int = 256) -> tuple[int, int]:
    """Integers low <= exp(x) 2^bits <= high for rational x >= 0: Taylor series, then squaring."""
    halvings = max(0, x.numerator.bit_length() - x.denominator.bit_length() + 8)
    y = x / (1 << halvings)
    low = high = down = up = 1 << bits
    n = 0
    while up > 1:
        n += 1
        down = down * y.numerator // (y.denominator * n)
        up = ceil_div(up * y.numerator, y.denominator * n)
        low, high = low + down, high + up
    high += 1  # what is left out is less than the last term kept, because y < 1/2
    for _ in range(halvings):
        low, high = low * low >> bits, ceil_div(high * high, 1 << bits)
    return low, high


def first(holds: Callable[[int], bool], start: int = 1) -> int:
    """The smallest i >= start at which a condition that stays true becomes true, up to 2^64."""
    low, high = start - 1, start
    while high < FREQUENCIES and not holds(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


class Scheme:
    """A sampling scheme in integers: units(i) = q_i U, rounded so that it never decreases."""

    def __init__(self, rule: dict[str, Any]) -> None:
        self.name = rule["name"]
        need(self.name in ("everything", "pps", "ppswor", "custom"), "the scheme is unknown")
        if self.name in ("pps", "ppswor"):
            need(number(rule["tau"]) > 0, "tau must be positive")
            need(0 < number(rule["power"]) <= 2, "power must lie in (0, 2]")
            self.tau, self.power = Decimal(rule["tau"]), Decimal(rule["power"])
        if self.name == "custom":
            need(0 < len(rule["steps"]) <= STEPS, "there are no steps, or too many")
            self.steps = [(whole(i, FREQUENCIES), int(number(q) * U)) for i, q in rule["steps"]]
            need(self.steps[0][0] == 1, "steps must start at frequency 1")
            need(
                all(a[0] < b[0] and a[1] <= b[1] for a, b in pairwise(self.steps)),
                "q must not decrease",
            )
            need(self.steps[-1][1] <= U, "q must lie in [0, 1]")

    def units(self, i: int) -> int:
        if i < 1 or self.name == "everything":
            return U if i > 0 else 0
        if self.name == "custom":
            return self.steps[bisect_right(self.steps, i, key=lambda step: step[0]) - 1][1]
        c, p = _PRECISE, self.power  # every operation is correctly rounded, so monotone
        grown = c.power(Decimal(i), p) if p in (1, 2) else c.exp(c.multiply(p, c.ln(Decimal(i))))
        z = c.multiply(self.tau, grown)
        if self.name == "pps":
            return min(U, int(c.multiply(z, Decimal(U))))
        return U - int(c.multiply(c.exp(c.minus(z)), Decimal(U)))

    def settled(self) -> int:
        """A frequency from which on q stays the same."""
        if self.name == "everything":
            return 1
        return self.steps[-1][0] if self.name == "custom" else first(lambda i: self.units(i) == U)

    def suspects(self, growth: Fraction, gift: int) -> list[tuple[int, int]]:
        """Ranges of i outside which q_i <= h(q_{i-1}) is certain (docs/proofs.md, section 6)."""
        if self.name in ("everything", "custom"):
            return [(i, i) for i, _ in (self.steps if self.name == "custom" else [(1, U)])]

        def drops(i: int) -> bool:  # 1 - q falls by more than the growth and half the gift
            return 2 * ((U - self.units(i - 1)) - growth * (U - self.units(i))) > gift

        early = first(lambda i: Fraction(i, i - 1) ** 2 <= growth, 2)
        if self.name == "pps":
            last = self.settled()
            return [(1, early), (first(lambda i: i >= last or drops(i), early), last)]
        if self.power <= 1:
            return [(1, max(early, first(lambda i: not drops(i))))]
        last = first(lambda i: 2 * (U - self.units(i - 1)) <= gift)
        steep = first(lambda i: i > last or U - self.units(i - 1) > growth * (U - self.units(i)))
        return [(1, early), (steep, last)]


class Survival:
    """The integers P_i and T_i(x) that one growth, gift and scheme define."""

    def __init__(self, growth: tuple[int, int], gift: int, scheme: Scheme) -> None:
        self.M, self.k = growth
        self.D, self.scheme = gift, scheme
        need(
            self.M >> self.k < 1 << 64 and self.M - (1 << self.k) << 16 > 1 << self.k,
            "growth must lie between 1 + 2^-16 and 2^64",
        )
        need(1 << 40 <= gift < U, "the gift must lie between 2^40 and 2^128")
        self._below: dict[int, int] | None = None
        self.reporting = lru_cache(1 << 14)(self._reporting)  # P_i

    def cap(self, p: int) -> int:
        """h(p): the most words for which the next frequency may be reported."""
        return min(
            U, self.D + (p * self.M >> self.k), U - ceil_div(U - self.D - p << self.k, self.M)
        )

    def draw(self) -> list[int]:
        """C[d] = Pr[D < d] U when nothing is sampled away: h applied d times to 0."""
        table = [0]
        while table[-1] < U:
            need(len(table) < 1 << 20, "the draw is too long")
            table.append(self.cap(table[-1]))
        return table

    def below(self) -> dict[int, int]:
        """The frequencies with P_i < q_i: from the suspects, followed until the two meet again."""
        if self._below is None:
            self._below, units, reached = {}, self.scheme.units, 0
            for start, last in self.scheme.suspects(Fraction(self.M, 1 << self.k), self.D):
                need(last - start < CELLS // 10, "too many frequencies must be looked at")
                i = max(start, reached + 1)
                while i <= last or i - 1 in self._below:
                    p = self.cap(self._below.get(i - 1) or units(i - 1))
                    if p < units(i):
                        self._below[i] = p
                    i += 1
                reached = i - 1
        return self._below

    def _reporting(self, i: int) -> int:
        p = self.below().get(i)
        return self.scheme.units(i) if p is None else p

    def back(self, i: int, u: int) -> int:
        """The largest s with T_i = u or less where T_{i-1} = s; -1 if there is none."""
        M, k, D, now, before = self.M, self.k, self.D, self.reporting(i), self.reporting(i - 1)
        return max(
            ((u - D + 1 << k) - 1) // M if u >= D else -1,
            ((u - U + 1) * M - 1 >> k) + U - D,
            ((u - now + 1) * M - 1 >> k) + before - D,
        )

    def walk(self, i: int, u: int) -> tuple[int, int]:
        """The token of a key of frequency i for a word u < P_i, and where in it the word ends."""
        while (s := self.back(i, u)) >= 0:
            i, u = i - 1, s
        return i, u

    def fine_draw(self) -> tuple[list[int], int]:
        """The draw in finer steps: h applied d times to every place where a slope changes."""
        far, places = 2 * len(self.draw()) + 2, {0}
        for s in self.kinks(far):
            places.add(self.walk(far - 1, s)[1])
        starts, fine = sorted(places), list[int]()
        while not fine or fine[-1] < U:
            fine += starts
            starts = [self.cap(s) for s in starts]
        return fine[: fine.index(U) + 1], len(places)

    def kinks(self, i: int) -> list[int]:
        """Where the slope of T_{i-1} -> T_i changes: from g to 1/g, and to 0."""
        M, k, D, now, before = self.M, self.k, self.D, self.reporting(i), self.reporting(i - 1)
        top, gap = min((U, U - D), (now, before - D), key=lambda c: c[0] * M - (c[1] << k))
        turn = (((top - D) * M << k) - (gap << 2 * k)) // (M * M - (1 << 2 * k))
        flat = max(gap - ((top - now) * M >> k), (now - D << k) // M)
        return [s for s in (turn, flat) if 0 < s < before]

    def pieces(self, start: int, stop: int) -> dict[int, list[int]]:
        """Fine tokens: {k: places inside token k, largest first} that the rows up to stop need."""
        found: dict[int, set[int]] = {}
        for i in range(start + 1, stop + 1):
            for s in self.kinks(i):
                k, t = self.walk(i - 1, s)
                found.setdefault(k, set()).add(t)
        return {k: sorted(places - {0}, reverse=True) for k, places in found.items()}

    def rows(
        self, start: int, pieces: dict[int, list[int]], every: int = 1
    ) -> Iterator[tuple[int, list[int], list[int]]]:
        """(i, [U, P_{i-1}, T_{i-1}(x)...], [U, P_i, T_i(x)...]) for i >= start, on equal columns x.

        Columns x < start - 1 are left out, and so are those that have reached P: begin early. With
        ``every`` only so many columns are kept: tokens between them count as one.
        """
        M, k, D, i = self.M, self.k, self.D, start
        before, old = self.reporting(start - 1), [0]
        while True:
            now, inside = self.reporting(i), pieces.get(i, [])
            new = [
                min(
                    now,
                    D + (s * M >> k),
                    U + ((s + D - U << k) // M),
                    now + ((s + D - before << k) // M),
                )
                for s in old
            ] + inside
            yield i, [U, before, *old, *repeat(0, len(inside))], [U, now, *new]
            reached = next((n for n, t in enumerate(new) if t < now), len(new))
            before, old, i = now, new[max(0, reached - 1) :] + [0] * (i % every == 0), i + 1

    def width(self) -> int:
        """A bound on the tokens of a row, whatever the scheme (docs/proofs.md, section 4)."""
        steps, t = 2, self.D
        while t < U:
            t, steps = t * self.M >> self.k, steps + 3
        return steps

    def slack(self) -> int:
        """Words that rounding can move from one side of the inequality to the other (section 5)."""
        return 8 * ((self.M >> self.k) + 2) * self.width()

    def charge(self, away: int) -> int:
        """Words for a sampler elsewhere that may be ``away`` words from q; -1 for none."""
        return 0 if away < 0 else 2 * ((self.M >> self.k) + 2) * (away + 1 + 5 * self.width())


def cells(cumulative: list[int]) -> list[int]:
    return list(map(sub, cumulative, [*cumulative[1:], 0]))


def hockey(p: list[int], q: list[int], M: int, k: int) -> int:
    """2^k times the sum of max(0, p - q M / 2^k): what p has beyond exp(epsilon) times q."""
    excess = map(sub, map((1 << k).__mul__, p), map(mul, q, repeat(M)))
    return sum(e for e in excess if e > 0)


def check_rows(law: Survival, M: int, k: int, allowed: int, away: int, fine: bool) -> str:
    """Both directions of (epsilon0, delta0) for neighbouring rows; allowed = delta0 U.

    ``away`` is how far, in words, the q of a sampler elsewhere may be from the stated one.
    """
    width, quiet = len(law.draw()), max([law.scheme.settled(), *law.below()])
    latest = quiet + 2 * law.width()

    def check_pair(i: int, old: list[int], new: list[int]) -> None:
        p, q = cells(new), cells(old)
        spent = 0 if away < 0 else (M + (1 << k)) * (away + len(p) + 1)
        for one, other in ((p, q), (q, p)):
            need(
                hockey(one, other, M, k) + spent <= allowed << k,
                f"frequencies {i - 1} and {i} can be told apart too well",
            )

    last, work = [0], (quiet + width) * (width * (12 if fine else 1) + 12)  # a row costs extra
    if work <= CELLS:
        for i, old, new in law.rows(1, law.pieces(0, quiet + 2 * width) if fine else {}):
            check_pair(i, old, new)
            if i > quiet + 1 and new == last:
                return f"all rows up to frequency {i} checked; every later one is a shift of it"
            need(i <= latest, "the rows do not settle")
            last = new
    need(law.M << k <= M << law.k, "growth exceeds exp(epsilon)")
    spent = law.slack() + law.charge(away)
    need(law.D + spent <= allowed, "the gift exceeds delta less the rounding slack")
    need(law.D >> 70 > law.M >> law.k, "the gift is too small for 128-bit words")
    spots = {quiet, *(max(law.below(), default=1) + n for n in (0, width // 2))}
    spots |= {quiet >> n for n in range(1, 64) if quiet >> n}
    few = min(4, 500_000 // law.width())
    spots = set(sorted(spots, reverse=True)[: max(1, few, 8_000_000 // law.width() ** 2)])
    cut = fine and law.width() < 500  # finding the pieces of wide rows takes too long
    every = 1 if cut else 1 + law.width() ** 2 // 2_000_000
    for spot in spots:
        begin = max(1, spot - law.width())
        for i, old, new in law.rows(begin, law.pieces(begin - 1, spot + 1) if cut else {}, every):
            if i >= spot:
                check_pair(i, old, new)
                break
    said = f"rounding lemma: its conditions hold; rows at {len(spots)} frequencies checked"
    said += f", tokens taken {every} at a time" if every > 1 else ""
    return said + (", whole in place of fine ones" if fine and not cut else "")


def optimal_composition(
    epsilon: Fraction, delta: Fraction, times: int, total: Fraction
) -> Fraction:
    """The least delta for which ``times`` (epsilon, delta) steps are (total, delta) private.

    Kairouz, Oh, Viswanath (2017), theorem 3.3, with exp(epsilon) rounded up, exp(total) down.
    """
    need(times <= 1000, "keys_per_unit is too large for optimal composition")
    z = exp_bounds(total)[0]  # of the bits below, 256 are left by binomials, exp(total) and delta
    bits = times + z.bit_length() + delta.denominator.bit_length()
    x, rest = (1 << 256 + bits) // exp_bounds(epsilon)[1], int((1 - delta) * (1 << bits))
    down, keep = [1 << bits], 1 << bits  # x^n is at most down[n] + n
    for _ in range(times):
        down.append(down[-1] * x >> bits)
        keep = keep * rest >> bits
    ways = [comb(times, n) for n in range(times + 1)]
    over = (max(0, d + n - (z * down[times - n] >> 256)) for n, d in enumerate(down))
    gain = Fraction(sum(map(mul, ways, over)), sum(map(mul, ways, down)))
    return 1 - Fraction(keep, 1 << bits) * (1 - gain)


def grid_composition(
    pair: tuple[list[int], list[int]],
    times: int,
    total: Fraction,
    base: Fraction,
    span: int,
    reach: int,
) -> Fraction:
    """A bound on delta at epsilon = total when ``times`` copies of a pair are composed.

    The hockey-stick curve of the worse direction is taken at powers of ``base`` and joined by
    straight lines: that lies above the curve, and is itself the curve of a privacy loss on the
    grid. Losses are added by multiplying polynomials, as long decimals (docs/proofs.md, section 7).
    """
    x, fall = powers(base, span, reach)
    return _excess(*_power(*_worse(pair, x), times, reach), total, fall)


def _worse(pair: tuple[list[int], list[int]], x: list[int]) -> tuple[list[int], int]:
    """The law on the grid of the worse direction of a pair."""
    curve = [v // U + 1 for v in map(max, _hockeys(*pair, x), _hockeys(*pair[::-1], x))]
    return _losses(curve, x)


def new_and_moved(
    pair: tuple[list[int], list[int]],
    named: int,
    keys: int,
    total: Fraction,
    base: Fraction,
    span: int,
    reach: int,
) -> Fraction:
    """A bound on delta at epsilon = total for a unit that has n of its keys alone, for every n.

    One of these is named for ``named`` of the U words, and never without the unit; each of the
    other keys is a pair, as in `grid_composition`. Of all and of all but one the law is computed;
    that of fewer has no larger delta, and none above a moment of the loss (docs/proofs.md, section
    7).
    """
    need(1 < keys <= 1000, "a head start is for 2 to 1,000 keys")
    x, fall = powers(base, span, reach)
    law = _worse(pair, x)
    others = _power(*law, keys - 1, reach)
    every = _sum([others, law], reach)
    fewer, most = (int(_excess(*one, total, fall) * (1 << _F)) for one in (others, every))
    moved = [min(fewer, bound) for bound in _moments(*law, x, keys - 1, total)] + [most]
    spent = max((n * named << _F - 128) + moved[keys - n] for n in range(keys + 1))
    return Fraction(spent, 1 << _F)


def _moments(mass: list[int], beyond: int, x: list[int], times: int, total: Fraction) -> list[int]:
    """Bounds on delta at epsilon = total of a sum of n losses, for n from 0 to ``times``.

    For every t, 1 - e^(total - loss) <= e^(t (loss - total)) t^t / (t + 1)^(t + 1).
    """
    one = 1 << _F
    bounds, fall = [0] + [one] * times, one * one // exp_bounds(total)[0] + 1
    for first in (1, 3):
        t, least, places = first, 0, _F * (first - 1)
        grown, fallen = [v**t >> places for v in x], (fall**t >> places) + 1
        while t <= 1 << 12 and least <= one:
            over = (m * (v + (v >> 100) + (1 << 20)) for m, v in zip(mass, grown, strict=True))
            each, least = (sum(over) >> _F) + 1, t**t * fallen // (t + 1) ** (t + 1) + 1
            for n in range(1, times + 1):
                least = (least * each >> _F) + 1
                bounds[n] = min(bounds[n], least + n * beyond)
                if least > one:
                    break
            t, grown, fallen = 2 * t, [v * v >> _F for v in grown], (fallen * fallen >> _F) + 1
    return bounds


def powers(base: Fraction, span: int, reach: int) -> tuple[list[int], list[int]]:
    """base^n for n from -span to span, and base^-n for n up to ``reach``, as parts of 2^-256."""
    one = 1 << _F
    up, down = (int(one * base), int(one / base))
    need(one >> 40 < up - one < one and span <= reach, "the grid is out of range")
    rise, fall = [one], [one]
    for _ in range(reach):
        rise.append(rise[-1] * up >> _F)
        fall.append(fall[-1] * down >> _F)
    need(fall[span] >> _F - 60 > 0, "the grid is out of range")
    return fall[span:0:-1] + rise[: span + 1], fall


def _losses(curve: list[int], x: list[int]) -> tuple[list[int], int]:
    """The law on the grid whose curve joins these values by straight lines, and infinity."""
    steps = zip([1 << _F, *curve], curve, [0, *x], x, strict=False)
    slopes, pad = [*((b - a << _F) // (d - c) for a, b, c, d in steps), 0], 1 << _F - 150
    mass = [max(0, (b - a) * v >> _F) + pad for (a, b), v in zip(pairwise(slopes), x, strict=True)]
    return mass, curve[-1]


def _excess(sums: list[int], beyond: int, total: Fraction, fall: list[int]) -> Fraction:
    """Delta at epsilon = total."""
    one, limit, half = 1 << _F, exp_bounds(total)[0] >> 256 - _F, len(sums) // 2
    over = (w * max(0, one - (limit * f >> _F)) for w, f in zip(sums[half:], fall, strict=False))
    return Fraction(beyond + (sum(over) >> _F) + 1, one)


def _hockeys(p: list[int], q: list[int], x: list[int]) -> list[int]:
    """hockey(p, q, v, _F) for all v in x: an outcome counts for every v up to its p / q."""
    ahead, behind = ([0] * (len(x) + 1) for _ in "pq")
    for a, b in zip(p, q, strict=True):
        n = len(x) - bisect_right(x, (a << _F) // b) if b else 0
        ahead[n], behind[n] = ahead[n] + a, behind[n] + b
    sums = zip(reversed(x), accumulate(ahead), accumulate(behind), strict=False)
    return [(a << _F) - v * b for v, a, b in sums][::-1]


def _power(mass: list[int], beyond: int, times: int, reach: int) -> tuple[list[int], int]:
    """The law of a sum of ``times`` losses; what leaves the grid goes up, never down."""
    if times == 1:
        return mass, beyond
    half, lost = _power(mass, beyond, times // 2, reach)
    law, lost = _convolve(half, half, reach, 2 * lost)
    return _convolve(law, mass, reach, lost + beyond) if times % 2 else (law, lost)


def _convolve(a: list[int], b: list[int], reach: int, beyond: int) -> tuple[list[int], int]:
    """Each law is one long number, 160 digits a mass: long decimals are multiplied quickly."""
    size, count = 160, len(a) + len(b) - 1  # no sum of products reaches 2^(2 _F + 1) < 10^155
    one, other = (Decimal("".join(f"{w:0{size}}" for w in law)) for law in (a, b))
    digits = str(_LONG.multiply(one, other)).zfill(size * count)
    sums = [(int(digits[n : n + size]) >> _F) + 1 for n in range(0, size * count, size)]
    cut = max(0, count // 2 - reach)
    kept = sums[cut : count - cut]
    kept[0] += sum(sums[:cut])
    return kept, beyond + sum(sums[count - cut :])


class Clients:
    """Each client is kept with probability parts / 2^32; items with tau kept clients are named.

    ``tails[n]`` is the probability that tau or more of tau - 1 + n clients are kept, in parts of
    2^-bits. The least that is not 0 has 512 of them, and each step loses one part at most, so all
    are too low by less than 2^-480 (docs/proofs.md, section 13).
    """

    def __init__(self, parts: int, tau: int) -> None:
        need(0 < parts < 1 << 32, "the rate must lie between 0 and 1")
        need(0 < tau <= 100_000, "the threshold is out of range")
        self.p, self.q, self.tau = parts, (1 << 32) - parts, tau
        self.most = min(200_000, 16 * (tau << 32) // parts)  # others in the worst case
        all_kept = parts ** (tau - 1)
        self.bits = 512 + 32 * (tau - 1) - all_kept.bit_length() + 1
        need(self.bits <= 20_000, "an item of tau clients is hardly ever named")
        self.tails, self.last = [0], (all_kept << self.bits) >> 32 * (tau - 1)

    def tail(self, k: int) -> int:
        """Pr[Bin(k, p) >= tau], for k <= most + 1."""
        while len(self.tails) <= k + 1 - self.tau:
            n = len(self.tails) + self.tau - 2
            self.tails.append(self.tails[-1] + (self.last * self.p >> 32))
            self.last = self.last * (n + 1) * self.q // (n + 2 - self.tau) >> 32
        return self.tails[max(0, k + 1 - self.tau)]

    def added(self, x: int) -> int:
        """The largest Pr[Bin(k+1, p) >= tau] - x Pr[Bin(k, p) >= tau], for x >= 1."""
        k = self.worst((x << 32) - (self.q << _F), x << 32)
        over = self.tail(k + 1) - (x * self.tail(k) >> _F) if k >= 0 else None
        return self.bound(over)

    def removed(self, x: int) -> int:
        """The largest Pr[Bin(k, p) < tau] - x Pr[Bin(k+1, p) < tau], for x >= 1."""
        share = (1 << _F + 32) - x * self.q
        if share <= 0:
            return 0
        k, one = self.worst(share, 1 << _F + 32), 1 << self.bits
        over = one - self.tail(k) - (x * (one - self.tail(k + 1)) >> _F) if k >= 0 else None
        return self.bound(over)

    def worst(self, share: int, whole: int) -> int:
        """The most telling k: k + 1 is (tau - 1) whole / share, rounded up; or -1 if too large."""
        k = max(1, ceil_div((self.tau - 1) * whole, share)) - 1
        return k if k <= self.most else -1

    def bound(self, value: int | None = None) -> int:
        """In parts of 2^-256; no difference is more than p."""
        most = self.p << _F - 32
        return 2 + (most if value is None else min(max(0, value) >> self.bits - _F, most))

    def losses(self, x: list[int], span: int) -> list[tuple[list[int], int]]:
        """The laws of one round on a grid, for a client that is added and for one removed."""
        up, down = [self.added(v) for v in x[span:]], [self.removed(v) for v in x[span:]]
        down = list(accumulate(down, min))  # it falls with x
        fall = list(enumerate(x[:span][::-1], 1))
        back = [[(1 << _F) - v + (v * c[n] >> _F) + 1 for n, v in fall][::-1] for c in (down, up)]
        return [_losses(below + above, x) for below, above in zip(back, (up, down), strict=True)]


def rounds_together(
    settings: list[tuple[int, int, int]],
    total: Fraction,
    replaced: bool,
    base: Fraction,
    span: int,
    reach: int,
) -> Fraction:
    """A bound on delta at epsilon = total for (parts, tau, times) rounds of the same clients.

    A client that is replaced is removed from one item and added to another in each of them.
    """
    x, fall = powers(base, span, reach)
    ways: list[list[tuple[list[int], int]]] = [[], []]
    for parts, tau, times in settings:
        for n, law in enumerate(Clients(parts, tau).losses(x, span)):
            ways[n].append(_power(*law, times, reach))
    found = [ways[0] + ways[1]] if replaced else ways
    return max(_excess(*_sum(laws, reach), total, fall) for laws in found)


def _sum(laws: list[tuple[list[int], int]], reach: int) -> tuple[list[int], int]:
    """The law of a sum of losses that have different laws."""
    mass, beyond = laws[0]
    for other, more in laws[1:]:
        mass, beyond = _convolve(mass, other, reach, beyond + more)
    return mass, beyond


def survival(rule: dict[str, Any]) -> Survival:
    growth = integer(rule["growth"]), whole(rule["shift"], 256)
    return Survival(growth, integer(rule["gift"]), Scheme(rule["scheme"]))


def draw_table(rule: dict[str, Any]) -> tuple[list[int], int]:
    """(C, stride): C[d] = Pr[D < d] U for a draw D in steps of 1 / stride of a frequency."""
    if "table" not in rule:
        law = survival(rule)
        return law.fine_draw() if rule["tokens"] == "fine" else (law.draw(), 1)
    need(len(rule["table"]) <= CELLS // 10, "the table is too long")
    table = [integer(c) for c in rule["table"]]
    need(table[0] == 0 and table[-1] == U, "the table must run from 0 to 2^128")
    need(all(a <= b for a, b in pairwise(table)), "the table must not decrease")
    return table, whole(rule["stride"], 1000)


def check_draw(
    rule: dict[str, Any], epsilon: Fraction, delta: Fraction, keys: int, elements: int
) -> str:
    """Nothing sampled away: every pair of rows is a coarsening of D against D + shift."""
    table, stride = draw_table(rule)
    law, accounting = [b - a for a, b in pairwise(table)], rule["accounting"]
    if accounting["name"] == "optimal":
        need("head_start" not in rule, "a head start is for composition on a grid")
        step, given = budget(accounting["element"])
        one, other = law + [0] * stride, [0] * stride + law
        M, words = exp_bounds(step)[0], int(given * U) << 256
        for p, q in ((one, other), (other, one)):
            need(hockey(p, q, M, 256) <= words, "neighbouring frequencies can be told apart")
        said = f"both directions checked for a draw of {len(law)} values"
        return f"{said}; {check_unit(accounting, epsilon, delta, keys, elements)}"
    pairs = zip(law, law[1:], law[2:], strict=False)
    need(all(law) and all(a * c <= b * b for a, b, c in pairs), "the draw must be log-concave")
    span, reach = whole(accounting["span"], 5000), whole(accounting["reach"], 15_000)
    few = keys <= 10_000 and stride * elements <= CELLS // 10
    need(few, "a unit has too many keys or elements for a grid")
    need("head_start" in rule, "it is not said which head start a key has")
    most, ahead = stride * elements, whole(rule["head_start"], CELLS // 10, least=0)
    shift = [0] * most  # the largest shift is the worst (section 7)
    pair, grid = (law + shift, shift + law), (epsilon, number(accounting["base"]), span, reach)
    if ahead:
        spent = new_and_moved(pair, table[min(most + ahead, len(law))], keys, *grid)
    else:
        spent = grid_composition(pair, keys, *grid)
    need(spent <= delta, "a unit spends more than is promised")
    return f"{keys} keys composed: a unit spends {decimals(spent / delta)} of delta"


def check_sampled(
    rule: dict[str, Any], epsilon: Fraction, delta: Fraction, keys: int, elements: int
) -> str:
    """A sampling scheme: neighbouring rows one by one, then what a unit changes in all."""
    need("head_start" not in rule, "a head start is for composition on a grid")
    step, given = budget(rule["accounting"]["element"])
    M, away = exp_bounds(step)[0] >> 128, integer(rule["away"]) if "away" in rule else -1
    said = check_rows(survival(rule), M, 128, int(given * U), away, rule["tokens"] == "fine")
    return f"{said}; {check_unit(rule['accounting'], epsilon, delta, keys, elements)}"


def check_unit(
    accounting: dict[str, Any], epsilon: Fraction, delta: Fraction, keys: int, elements: int
) -> str:
    """From one element to all elements of a key (group privacy), and to all keys of a unit."""
    (step, given), (key, lost) = budget(accounting["element"]), budget(accounting["key"])
    need(step * elements <= key, "a key spends more than is stated")
    if elements > 1:
        grown = Fraction(
            exp_bounds(step * elements)[1] - (1 << 256), exp_bounds(step)[0] - (1 << 256)
        )
        given, step = given * grown, step * elements
    need(step <= key and given <= lost, "a key spends more than is stated")
    if keys == 1:
        need(key <= epsilon, "a unit spends more than is promised")
    spent = lost if keys == 1 else optimal_composition(key, lost, keys, epsilon)
    need(spent <= delta, "a unit spends more than is promised")
    return f"a unit spends {decimals(spent / delta)} of delta"


def check_clients(
    promise: dict[str, Any], rule: dict[str, Any], epsilon: Fraction, delta: Fraction
) -> str:
    """Clients that are kept with a probability, and items that are named from tau of them on."""
    relations = {"add or remove one unit": "added or removed", "replace one unit": "replaced"}
    need(promise["neighbours"] in relations, "the neighbour relation is unknown")
    need(promise["keys_per_unit"] == promise["elements_per_key"] == 1, "a client holds one item")
    parts, tau = whole(rule["parts"], 1 << 32), whole(rule["tau"], 100_000)
    rounds, told = whole(rule["rounds"], 256), relations[promise["neighbours"]]
    league = whole(rule["colluding"], 100_000, least=0)
    need(league < tau, "clients in league with the reader reach the threshold alone")
    others = tau - league  # the threshold of the others, for a reader who knows what those report
    if rounds == 1 and told != "replaced":
        clients, x = Clients(parts, others), exp_bounds(epsilon)[0]
        spent = Fraction(max(clients.added(x), clients.removed(x)), 1 << _F)
    else:
        span, reach = whole(rule["span"], 5000), whole(rule["reach"], 15_000)
        base, settings = number(rule["base"]), [(parts, others, rounds)]
        spent = rounds_together(settings, epsilon, told == "replaced", base, span, reach)
    need(spent <= delta, "a client spends more than is promised")
    p = decimals(Fraction(parts, 1 << 32))
    to = f", also to a reader who controls {league} of them" if league else ""
    return (
        f"epsilon {promise['epsilon']}, delta {promise['delta']} when one unit "
        f"({promise['unit']!a}) is {told}; each is kept with probability {p} and items "
        f"of {tau} or more are named, in {rounds} round{'s' if rounds > 1 else ''}; "
        f"a client spends {decimals(spent / delta)} of delta{to}"
    )


def check_centres(promise: dict[str, Any], rule: dict[str, Any]) -> str:
    """k-means: parts that are run one after the other, the last perhaps on a weighted sample.

    A point at norm z (in parts of the radius) that is sampled with probability q counts 1/q times,
    and the steps spend c = steps (share + (1 - share) z) on a point that counts once. Then the part
    spends log(1 + q (exp(c/q) - 1)) on it, which is largest at z = 0 or z = 1.
    """
    epsilon, parts = number(promise["epsilon"]), rule["parts"]
    need(0 < epsilon <= 1000, "epsilon must lie in (0, 1000]")
    need(promise["delta"] == "0.0", "k-means needs no delta")
    need(promise["neighbours"] == "add or remove one unit", "the neighbour relation is unknown")
    need(promise["keys_per_unit"] == promise["elements_per_key"] == 1, "a unit is one row")
    spent = [number(parts[name]) for name in ("middle", "norms", "centres")]
    need(len(parts) == 3 and all(part > 0 for part in spent), "the parts are not as they should be")
    need(sum(spent) <= epsilon, "the parts spend more than is promised")
    share, sample, search = number(rule["count_share"]), rule["sample"], rule["search"]
    costs = [number(search[name]) for name in ("seeds", "widths", "lloyd")]
    many = [whole(search[name], 1000, least=0) for name in ("seed_steps", "steps")]
    steps = spent[2] if sample is None else number(sample["steps"])
    possible = 0 < share < 1 and steps > 0 and min(costs) >= 0 and 1 <= sum(many) <= 1000
    need(possible, "what the steps spend is not as it should be")
    need(sum(costs) <= steps, "the steps spend more than is stated")
    told = [(cost > 0, n > 0) for cost, n in zip(costs[::2], many, strict=True)]
    need(all(cost == n for cost, n in told), "steps that spend nothing would be without noise")
    need(costs[1] > 0 or sample is not None or not many[1], "the widths are without noise")
    how = "all rows are used"
    if sample is not None:
        need(costs[1] == 0, "widths of a weighted sample are not private")
        need(sample["sampler"] in ("optimal", "coreset", "uniform"), "the sampler is unknown")
        near = [] if sample["sampler"] == "optimal" else [(steps * share, number(sample["near"]))]
        most = exp_bounds(spent[2])[0] - (1 << 256)
        for c, q in [*near, (steps, number(sample["far"]))]:
            need(0 < q <= 1, "a probability must lie in (0, 1]")
            # c/q is at most the part's epsilon + ln(1/q), or e^(c/q) is more than e^epsilon/q
            enough = c <= q * (spent[2] + (q.denominator // q.numerator + 1).bit_length())
            need(enough, "the sample spends too much")
            grown = exp_bounds(Fraction(c, q))[1] - (1 << 256)
            need(q * grown <= most, "the sample spends too much")
        far = decimals(number(sample["far"]))
        how = f"rows are sampled ({sample['sampler']!a}), the farthest with probability {far}"
    return (
        f"epsilon {promise['epsilon']} when one unit ({promise['unit']!a}) is added or removed; "
        f"the middle, the norms and the centres, in {sum(many)} step{'s'[: sum(many) > 1]}, spend "
        f"{decimals(sum(spent) / epsilon)} of it; {how}"
    )


def budget(promise: dict[str, Any]) -> tuple[Fraction, Fraction]:
    epsilon, delta = number(promise["epsilon"]), number(promise["delta"])
    need(0 < epsilon <= 1000, "epsilon must lie in (0, 1000]")
    need(0 < delta < 1, "delta must lie strictly between 0 and 1")
    return epsilon, delta


def decimals(share: Fraction) -> Decimal:
    return Decimal(share.numerator * 10**6 // share.denominator) / 10**6


def check(certificate: dict[str, Any]) -> str:
    """Say what was checked, or raise `Refused`."""
    try:
        need(
            certificate["format"] == "tamis certificate" and certificate["version"] == 1,
            "this is not a certificate that this program knows",
        )
        promise, rule = certificate["guarantee"], certificate["rule"]
        if rule.get("name") == "k-means":
            return check_centres(promise, rule)
        epsilon, delta = budget(promise)
        if rule.get("name") == "sample and threshold":
            return check_clients(promise, rule, epsilon, delta)
        keys = whole(promise["keys_per_unit"], 1_000_000)
        elements = whole(promise["elements_per_key"], 1_000_000)
        need(promise["neighbours"] == "add or remove one unit", "the neighbour relation is unknown")
        need(rule["tokens"] in ("whole", "fine"), "tokens must be whole or fine")
        everything = rule["scheme"] == {"name": "everything"}
        said = (check_draw if everything else check_sampled)(rule, epsilon, delta, keys, elements)
        return (
            f"epsilon {promise['epsilon']}, delta {promise['delta']} when one unit "
            f"({promise['unit']!a}) is added or removed; keys per unit: {keys}, elements per key: "
            f"{elements}; {said}"
        )
    except Refused:
        raise
    except (KeyError, IndexError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        raise Refused(f"the certificate is malformed ({type(error).__name__})") from None


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object in which no name stands twice: reader and checker must see the same."""
    need(len(dict(pairs)) == len(pairs), "a name stands twice")
    return dict(pairs)


def main(arguments: list[str]) -> int:
    try:
        with open(arguments[0], encoding="utf-8") as file:
            print("verified:", check(json.load(file, object_pairs_hook=once)))
    except Refused as reason:
        print("refused:", reason, file=sys.stderr)
        return 1
    except (IndexError, OSError, ValueError, RecursionError):
        print("usage: python verify.py certificate.json", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
