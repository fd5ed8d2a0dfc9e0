"""Attributes whose values are the leaves of a tree, such as towns in regions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tamis.privacy.errors import InvalidInput, meant, shown
from tamis.sparse.attributes.base import Attribute, Ints
from tamis.sparse.attributes.labels import Label, Labels
from tamis.sparse.attributes.public import check_distinct, check_public, listed


@dataclass(frozen=True)
class Branch:
    """An inner node of a tree, and what is below it."""

    name: str
    below: Tree


Tree = tuple[Label | Branch, ...]


@dataclass(frozen=True, repr=False)
class Hierarchy(Attribute):
    """Labels that are the leaves of a tree, in order: an inner node is a range of codes.

    The tree is a mapping from names to what is below them: a list of labels, or a mapping again.

    >>> place = Hierarchy({"North": ["Aberdeen", "Leeds"], "South": ["London", "Dover"]})
    >>> place.span("South", "South"), place.span("Leeds", "South")
    ((2, 3), (1, 3))
    """

    tree: Mapping[str, Any] | Sequence[Any]
    other: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "tree", _tree(self.tree))
        inner = [name for name, _ in _spans(self._branches, 0)]
        names = [*inner, *map(str, self.leaves.labels)]
        check_distinct(names if self.other is None else [*names, self.other], "names in a tree")
        self.check()

    @property
    def _branches(self) -> Tree:
        return tuple(self.tree)

    @cached_property
    def leaves(self) -> Labels:
        """The values."""
        return Labels(tuple(_leaves(self._branches)), self.other)

    @cached_property
    def nodes(self) -> dict[str, tuple[int, int]]:
        """The first and the last code below each inner node."""
        return dict(_spans(self._branches, 0))

    @property
    def values(self) -> int:
        return self.leaves.values

    @property
    def extent(self) -> str:
        return f"{self.leaves.extent}, in a tree"

    def find(self, column: Any, of: str) -> Ints:
        return self.leaves.find(column, of)

    def alike(self, column: Any) -> bool:
        return self.leaves.alike(column)

    def named(self, codes: Ints) -> Any:
        return self.leaves.named(codes)

    def ends(self, low: Any, high: Any, of: str) -> tuple[int, int]:
        (first, after), (before, last) = self._around(low, of), self._around(high, of)
        if first > before or after > last:
            raise InvalidInput(
                f"{of}: a range from {shown(low)} to {shown(high)} has its ends swapped, or one is "
                "within the other; give the one that comes first in the tree first."
            )
        return first, last

    def _around(self, name: Any, of: str) -> tuple[int, int]:
        if isinstance(name, str) and name in self.nodes:
            return self.nodes[name]
        code = self.place(name, of)
        return code, code

    def near(self, value: Any) -> str:
        return meant(value, [*self.nodes, *self.leaves.labels])

    def describe(self) -> dict[str, Any]:
        return self.described(tree=_written(self._branches))


def _tree(given: Any) -> Tree:
    """The tree in a form that cannot change."""
    check_public(given, "tree")
    if isinstance(given, Mapping):
        if not given:
            raise InvalidInput("Every node of a tree must have something below it.")
        return tuple(Branch(_name(name), _tree(below)) for name, below in given.items())
    found: list[Label | Branch] = []
    for node in listed(given, "A node of a tree"):
        if isinstance(node, Mapping):
            found.extend(_tree(node))
        else:
            found.append(node)
    return tuple(found)


def _name(given: Any) -> str:
    if type(given) is not str:
        raise InvalidInput(f"Inner nodes of a tree must have names of text, not {shown(given)}.")
    return given


def _leaves(tree: Tree) -> Iterator[Label]:
    for node in tree:
        if isinstance(node, Branch):
            yield from _leaves(node.below)
        else:
            yield node


def _spans(tree: Tree, start: int) -> Iterator[tuple[str, tuple[int, int]]]:
    for node in tree:
        many = len(tuple(_leaves(node.below))) if isinstance(node, Branch) else 1
        if isinstance(node, Branch):
            yield node.name, (start, start + many - 1)
            yield from _spans(node.below, start)
        start += many


def _written(tree: Tree) -> list[Any]:
    """The tree in lists, whose order no program changes."""
    return [
        {node.name: _written(node.below)} if isinstance(node, Branch) else node for node in tree
    ]
