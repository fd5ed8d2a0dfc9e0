"""Attributes of a table: public lists of values, and codes for them.

`Labels` lists values, `Whole` and `Bins` are of numbers, `Dates` of days to years, and `Hierarchy`
is a tree. `attribute` makes one from its description.
"""

from tamis.sparse.attributes.base import Attribute
from tamis.sparse.attributes.dates import Dates
from tamis.sparse.attributes.described import attribute
from tamis.sparse.attributes.labels import Labels
from tamis.sparse.attributes.numbers import Bins, Whole
from tamis.sparse.attributes.tree import Hierarchy

__all__ = ["Attribute", "Bins", "Dates", "Hierarchy", "Labels", "Whole", "attribute"]
