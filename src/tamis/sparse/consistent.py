"""Dyadic ranges in which a node stays only if all nodes above it, in every dimension, stayed.

Nodes above a count that is not 0 are not 0 either, so a node that passes its filter under one that
does not is most likely noise. The filter comes first, then this, then the sample. Only nodes whose
parents all stayed are ever looked at: the law is that of noising everything, and the work that of
what stays.

Guarantee: that of `ranges`; dropping nodes by what became of others is post-processing
(docs/proofs.md, section 12).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from tamis.privacy.coins import coins
from tamis.privacy.errors import InvalidInput
from tamis.privacy.noise import two_sided
from tamis.sparse.flat import Flat, Table, in_order, keep
from tamis.sparse.hierarchy import Dyadic, Transform
from tamis.sparse.priorities import Priorities, largest
from tamis.sparse.ranges import Level, Ranges, Watch, check, combined, unwatched, whole
from tamis.sparse.rules import Rule

Ints = npt.NDArray[np.int64]
Levels = tuple[int, ...]


def summarize(
    table: Table,
    transforms: Sequence[Transform],
    rules: Sequence[Rule],
    watch: Watch = unwatched,
) -> Ranges:
    """As `ranges.summarize`, from the roots down."""
    check(table, transforms, rules)
    if not all(isinstance(t, Dyadic) or t.levels == 1 for t in transforms):
        raise InvalidInput(
            "Only dyadic ranges can be made consistent: what is under a wavelet that is small may "
            "be large; take Dyadic or Plain for every dimension."
        )
    stayed = dict[Levels, Flat]()
    for rule in rules:  # whatever is above comes before
        nodes = combined(table, transforms, rule.levels)
        stayed[rule.levels] = _passed(nodes, rule, stayed)
        watch(len(stayed) / len(rules))
    return together(transforms, [Level(r, sampled(stayed[r.levels], r)) for r in rules])


def together(transforms: Sequence[Transform], levels: Sequence[Level]) -> Ranges:
    """The levels as ranges, each with the rules that a node must have passed above."""
    rules = [level.rule for level in levels]
    known = (replace(level, above=_over(level.rule.levels, rules)) for level in levels)
    return Ranges(tuple(transforms), tuple(known), consistent=True)


def _over(below: Levels, rules: Sequence[Rule]) -> tuple[Rule, ...]:
    """The rules of all levels above one, in every dimension."""
    other = (rule for rule in rules if rule.levels != below)
    return tuple(r for r in other if all(a <= b for a, b in zip(r.levels, below, strict=True)))


def _passed(nodes: Table, rule: Rule, stayed: Mapping[Levels, Flat]) -> Flat:
    """The nodes that pass the filter and whose parents all stayed."""
    above = [(j, _up(rule.levels, j)) for j, level in enumerate(rule.levels) if level]
    if above:
        return _noisy(nodes, rule, _below(nodes.radices, above, stayed))
    return keep(nodes, rule.filter) if rule.theta else whole(nodes, rule.rate)


def _up(levels: Levels, dimension: int) -> Levels:
    return tuple(level - (j == dimension) for j, level in enumerate(levels))


def _below(
    radices: Sequence[int], above: Sequence[tuple[int, Levels]], stayed: Mapping[Levels, Flat]
) -> Ints:
    """The nodes whose parents all stayed: children of the shortest list, if on the others too."""
    first, *others = sorted(above, key=lambda parent: len(stayed[parent[1]].values))
    cells = _children(stayed[first[1]].codes, first[0], radices[first[0]])
    for j, levels in others:
        parents = cells.copy()
        parents[j] >>= 1
        cells = cells[:, positions(parents, stayed[levels].codes) >= 0]
    return cells


def _children(codes: Ints, dimension: int, radix: int) -> Ints:
    cells = np.repeat(codes, 2, axis=1)
    cells[dimension] = 2 * cells[dimension] + np.arange(cells.shape[1]) % 2
    return cells[:, cells[dimension] < radix]  # a last node may have one child only


def _noisy(nodes: Table, rule: Rule, cells: Ints) -> Flat:
    """Noise in these nodes, and the filter. Of those that hold nothing, only some get a value."""
    place = positions(cells, nodes.codes)
    held, free = cells[:, place >= 0], cells[:, place < 0]
    noisy = nodes.counts[place[place >= 0]] + two_sided(rule.rate, held.shape[1])
    if not rule.theta:
        others = two_sided(rule.rate, free.shape[1])
        return in_order(np.concatenate([held, free], axis=1), np.concatenate([noisy, others]))
    law = rule.filter
    passed = noisy >= law.theta if law.one_sided else np.abs(noisy) >= law.theta
    held, free = held[:, passed], free[:, coins(law.p, free.shape[1])]
    values = np.concatenate([noisy[passed], law.values(free.shape[1])])
    return in_order(np.concatenate([held, free], axis=1), values)


def positions(cells: Ints, among: Ints) -> Ints:
    """Where each cell stands in a list that has every cell at most once, or -1."""
    both = np.concatenate([among, cells], axis=1)
    order = np.lexsort(both[::-1])
    new = np.zeros(len(order), dtype=np.int64)
    new[1:] = (both[:, order[1:]] != both[:, order[:-1]]).any(axis=0)
    name = np.empty_like(new)
    name[order] = np.cumsum(new)
    place = np.full(len(order), -1)
    place[name[: among.shape[1]]] = np.arange(among.shape[1])
    return place[name[among.shape[1] :]]


def sampled(flat: Flat, rule: Rule) -> Flat:
    """The sample that a rule asks for, of nodes that have their values."""
    if rule.size is None and not rule.law.sampled:
        return flat
    some = flat.values != 0
    flat = replace(flat, codes=flat.codes[:, some], values=flat.values[some])
    drawn = Priorities.draw(np.abs(flat.values))
    if rule.size is None:
        chosen, tau = drawn.at_least(rule.tau), float(rule.tau)
    elif len(flat.values) <= rule.size:
        return flat
    else:
        (chosen,), tau = largest([drawn], rule.size)
    return Flat(flat.codes[:, chosen], flat.values[chosen], tau)
