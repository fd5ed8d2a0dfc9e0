"""Conditions for Spark, which must choose the very rows that DuckDB would.

Spark is not given the words of a condition, which it would read in its own way, but the tree that
DuckDB has parsed, part by part and with the types that DuckDB would use. What is not listed here,
or in `parts`, `meanings` and `casts`, is refused: it was not tested, or means something else to
Spark.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

from tamis.engines.condition import tree_of
from tamis.engines.spark.casts import converted
from tamis.engines.spark.meanings import called, matched
from tamis.engines.spark.parts import (
    FLOAT_KINDS,
    WHOLE_KINDS,
    Part,
    column_part,
    common,
    literal,
    refused,
    together,
)

_COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "COMPARE_EQUAL": lambda a, b: a == b,
    "COMPARE_NOTEQUAL": lambda a, b: a != b,
    "COMPARE_LESSTHAN": lambda a, b: a < b,
    "COMPARE_LESSTHANOREQUALTO": lambda a, b: a <= b,
    "COMPARE_GREATERTHAN": lambda a, b: a > b,
    "COMPARE_GREATERTHANOREQUALTO": lambda a, b: a >= b,
    "COMPARE_DISTINCT_FROM": lambda a, b: ~a.eqNullSafe(b),
    "COMPARE_NOT_DISTINCT_FROM": lambda a, b: a.eqNullSafe(b),
}
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
}
_LIKE = ("~~", "!~~", "like_escape", "not_like_escape")
_WORDS = {
    "OPERATOR_TRY": "TRY (write try_cast)",
    "ARRAY_EXTRACT": "parts of a value",
    "COLLATE": "COLLATE",
}


def condition(frame: Any, where: str) -> Any:
    """What a condition means, as a column of a frame; refused if Spark may mean something else."""
    return _Reader(frame).truth(tree_of(where)[0])


class _Reader:
    """Reads the nodes of a condition on one frame."""

    def __init__(self, frame: Any) -> None:
        self._frame, self._types = frame, dict(frame.dtypes)

    def truth(self, node: dict[str, Any]) -> Any:
        """A part that must be true or false."""
        part = self.part(node)
        if part.kind not in ("BOOLEAN", "NULL"):
            raise refused(f"{part.kind} for true or false")
        return part.to("BOOLEAN")

    def part(self, node: dict[str, Any]) -> Part:
        node = node.get("expression", node)
        read = getattr(self, f"_{node['class'].lower()}", None)
        if read is None:
            raise refused(_WORDS.get(node["type"], node["type"].lower().replace("_", " ")))
        made: Part = read(node)
        return made

    def _column_ref(self, node: dict[str, Any]) -> Part:
        name = str(node["column_names"][0])
        if name in self._types:
            return column_part(self._frame, name, self._types[name])
        same = [other for other in self._types if other.lower() == name.lower()]
        if not same:  # `check_condition` has let it pass
            raise refused(name)
        return column_part(self._frame, same[0], self._types[same[0]])

    def _constant(self, node: dict[str, Any]) -> Part:
        return literal(node["literal"]["kind"], node["literal"].get("text", ""))

    def _conjunction(self, node: dict[str, Any]) -> Part:
        every = [self.truth(child) for child in node["children"]]
        if node["type"] == "CONJUNCTION_AND":
            return Part(reduce(lambda a, b: a & b, every), "BOOLEAN")
        return Part(reduce(lambda a, b: a | b, every), "BOOLEAN")

    def _comparison(self, node: dict[str, Any]) -> Part:
        compare = _COMPARED.get(node["type"])
        if compare is None:
            raise refused(node["type"].lower())
        left, right = together([self.part(node["left"]), self.part(node["right"])])
        return Part(compare(left, right), "BOOLEAN")

    def _between(self, node: dict[str, Any]) -> Part:
        if node["type"] != "COMPARE_BETWEEN":
            raise refused(node["type"].lower())
        value, low, high = together([self.part(node[n]) for n in ("input", "lower", "upper")])
        return Part((value >= low) & (value <= high), "BOOLEAN")

    def _operator(self, node: dict[str, Any]) -> Part:
        kind, children = node["type"], node["children"]
        if kind == "OPERATOR_NOT":
            return Part(~self.truth(children[0]), "BOOLEAN")
        parts = [self.part(child) for child in children]
        if kind == "OPERATOR_IS_NULL":
            return Part(parts[0].column.isNull(), "BOOLEAN")
        if kind == "OPERATOR_IS_NOT_NULL":
            return Part(parts[0].column.isNotNull(), "BOOLEAN")
        if kind == "COMPARE_IN":
            return _among(parts)
        if kind == "OPERATOR_COALESCE":
            from pyspark.sql import functions as f

            return Part(f.coalesce(*together(parts)), common(parts))
        raise refused(_WORDS.get(kind, kind.lower().replace("_", " ")))

    def _case(self, node: dict[str, Any]) -> Part:
        from pyspark.sql import functions as f

        checks = node["case_checks"]
        parts = [self.part(one["then_expr"]) for one in checks] + [self.part(node["else_expr"])]
        *values, otherwise = together(parts)
        made: Any = f
        for one, value in zip(checks, values, strict=True):
            made = made.when(self.truth(one["when_expr"]), value)
        return Part(made.otherwise(otherwise), common(parts))

    def _cast(self, node: dict[str, Any]) -> Part:
        kind = node["type_expr"]
        if kind.get("class") != "TYPE" or kind.get("children"):
            raise refused("a cast to a type with parameters")
        part = self.part(node["child"])
        return converted(part, str(kind["type_name"]), bool(node["try_cast"]), self._strict)

    def _function(self, node: dict[str, Any]) -> Part:
        name = str(node["function_name"]).lower()
        given = node["arguments"]
        if node.get("distinct") or node.get("filter") or any(one.get("name") for one in given):
            raise refused(f"{name} in this way")
        parts = [self.part(one) for one in given]
        if name in _LIKE:
            return matched(name, parts)
        if name in ("+", "-", "*", "/", "%"):
            return self._computed(name, parts)
        return called(name, parts)

    def _computed(self, name: str, parts: list[Part]) -> Part:
        """Arithmetic: of whole numbers it fails where DuckDB's would, and does not wrap around."""
        self._strict()
        if len(parts) == 1 and name in ("+", "-"):
            (part,) = parts
            if name == "+":
                return part
            if part.kind in FLOAT_KINDS:  # 0 - 0.0 is not -0.0
                return Part(-part.column, part.kind)
            parts = [literal("INTEGER", "0"), part]
        if name == "/":
            return _divided(*parts)
        kind = common(parts)
        if kind not in (*WHOLE_KINDS, *FLOAT_KINDS):
            raise refused(f"{name} of {kind}")
        if name == "%":
            return _rest(kind, *parts)
        left, right = (part.to("BIGINT" if kind in WHOLE_KINDS else kind) for part in parts)
        return Part(_ARITHMETIC[name](left, right), "BIGINT").narrowed(kind)

    def _strict(self) -> None:
        """Casts and sums must fail, and not go wrong in silence."""
        if str(self._frame.sparkSession.conf.get("spark.sql.ansi.enabled")).lower() != "true":
            raise refused("casts and arithmetic in a session whose spark.sql.ansi.enabled is false")


def _among(parts: list[Part]) -> Part:
    """IN. Spark would tell 0.0 and -0.0 apart in a long list."""
    value, *values = together(parts)
    if common(parts) in FLOAT_KINDS:
        return Part(reduce(lambda a, b: a | b, [value == one for one in values]), "BOOLEAN")
    return Part(value.isin(*values), "BOOLEAN")


def _divided(above: Part, below: Part) -> Part:
    """Division by a number that is written down and not 0: of others, engines differ on 0."""
    if below.said is None or not below.number:
        raise refused("/ by what is not a number other than 0")
    left, right = together([above, below, literal("NUMERIC", "0e0")])[:2]
    return Part(left / right, "DOUBLE")


def _rest(kind: str, above: Part, below: Part) -> Part:
    if below.said is None or below.number <= 0 or kind not in WHOLE_KINDS:
        raise refused("% of what is not a whole number, or by what is not a number above 0")
    return Part(above.to("BIGINT") % below.to("BIGINT"), "BIGINT").narrowed(kind)
