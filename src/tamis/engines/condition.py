"""Conditions in SQL that users write, on single rows."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from functools import cache
from typing import Any

import duckdb

from tamis.privacy.errors import InvalidInput, meant
from tamis.sampling.attempt import attempt

_AROUND = "tamis_condition"  # a condition is parsed as its one argument, so it cannot reach out
_BEFORE = "SELECT 1 FROM data WHERE "
_NOT_COLUMNS = {"current_date"}
_MACROS_REFUSED = r"\bselect\b|\bsleep_ms\b"
_REFUSED = {
    "SUBQUERY": "a subquery could look at other units",
    "WINDOW": "a window function looks at other rows",
    "LAMBDA": "lambda functions are not understood",
    "PARAMETER": "placeholders are not understood",
}


def check_condition(where: str, columns: Collection[str] | None = None, listed: bool = True) -> str:
    """A condition on single rows: nothing in it may look at other rows or tables, or at chance.

    With ``columns`` only these may be used (and they are named in an error if ``listed``). Without
    that, hidden columns, such as the number of a row, would let what happens to a row depend on
    the rows before it.
    """
    parts = list(_nodes(tree_of(where)))
    for node in parts:
        if reason := _REFUSED.get(node.get("class", "")):
            raise InvalidInput(f"where may only look at the row itself: {reason}.")
        if node.get("class") == "FUNCTION":
            _check_function(node)
        if node.get("class") == "COLUMN_REF" and columns is not None:
            if len(node["column_names"]) > 1:
                raise InvalidInput("where names columns by their plain names, without a table.")
            _check_column(str(node["column_names"][0]), columns, listed)
    return where


def columns_of(where: str | None) -> set[str]:
    """The names that a condition uses, if it is one."""
    parts = [] if where is None else _nodes(tree_of(where))
    names = {str(n["column_names"][-1]) for n in parts if n.get("class") == "COLUMN_REF"}
    return names - _NOT_COLUMNS


def conjuncts(where: str) -> list[str]:
    """The conditions that must all hold, in SQL.

    >>> conjuncts("a = 3 AND (b = 4 OR c > 5)")
    ['(a = 3)', '((b = 4) OR (c > 5))']
    """
    found, todo = list[str](), list(tree_of(where))
    with duckdb.connect() as parser:
        whole = parser.execute(f"SELECT json_serialize_sql('{_BEFORE}true')").fetchall()[0][0]
        while todo:
            node = todo.pop(0)
            node = node.get("expression", node)
            if node.get("type") == "CONJUNCTION_AND":
                todo = [*node["children"], *todo]
                continue
            query = json.loads(whole)
            query["statements"][0]["node"]["where_clause"] = node
            asked = parser.execute("SELECT json_deserialize_sql(?::JSON)", [json.dumps(query)])
            found.append(str(asked.fetchall()[0][0]).partition(" WHERE ")[2])
    return found


def tree_of(where: object) -> Any:
    """The parsed condition, if it is one: all else in the query must be as it was written here."""
    if not isinstance(where, str) or not where.strip():
        raise InvalidInput("where must be a condition in SQL, such as \"country = 'FR'\".")
    node, plain = _parse_query(where), _parse_query("true")
    if node is None or {**node, "where_clause": None} != {**plain, "where_clause": None}:
        raise InvalidInput("where is not a condition in SQL; write it like \"country = 'FR'\".")
    call, usual = node["where_clause"], plain["where_clause"]
    given = call.get("arguments", call.get("children", []))
    alike = all(call.get(name) == usual[name] for name in _fixed(usual))
    if not alike or len(given) != 1 or given[0].get("name"):
        raise InvalidInput("where is not one condition in SQL; write it like \"country = 'FR'\".")
    return given


@cache
def _parse_query(where: str) -> Any:
    query = f"SELECT 1 FROM data WHERE {_AROUND}({where}\n)"
    with duckdb.connect() as parser:
        rows = attempt(
            lambda: parser.execute("SELECT json_serialize_sql(?)", [query]).fetchall(), duckdb.Error
        )
    if isinstance(rows, Exception):  # it cannot even be written down
        return None
    parsed: dict[str, Any] = json.loads(rows[0][0])
    if parsed["error"] or len(parsed["statements"]) != 1:
        return None
    return parsed["statements"][0]["node"]


def _fixed(call: dict[str, Any]) -> list[str]:
    """What is the same for every condition: not the argument, nor where it stands."""
    return [n for n in call if n not in ("arguments", "children") and "location" not in n]


def _nodes(tree: object) -> Iterator[dict[str, Any]]:
    if isinstance(tree, dict):
        yield tree
    for part in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from _nodes(part)


def _check_function(node: dict[str, Any]) -> None:
    name = str(node["function_name"]).lower()
    if not node.get("schema") and name not in _functions(every=True) and name.isidentifier():
        hint = meant(name, _functions())
        raise InvalidInput(f"where uses {name}, and there is no such function.{hint}")
    if node.get("schema") or node.get("catalog") or name not in _functions():
        raise InvalidInput(
            f"where may not use {name}: a condition looks at one row, and says the same of it "
            "every time."
        )


@cache
def _functions(every: bool = False) -> frozenset[str]:
    """Functions of single rows that come with DuckDB and do not depend on chance or state; or all.

    That a function of tables has the same name, such as ``repeat``, does not matter: a condition
    cannot call it. Macros are left out if they ask tables, or call what is left out here.
    """
    with duckdb.connect() as database:
        of_rows = (
            "HAVING bool_or(function_type IN ('scalar', 'macro'))"
            " AND NOT bool_or(function_type IN ('aggregate', 'window')"
            " OR coalesce(stability, '') = 'VOLATILE'"
            f" OR regexp_matches(coalesce(macro_definition, ''), '{_MACROS_REFUSED}', 'i'))"
        )
        found = database.execute(
            "SELECT function_name FROM duckdb_functions() WHERE internal GROUP BY function_name "
            + ("" if every else of_rows)
        ).fetchall()
    return frozenset(str(name).lower() for (name,) in found)


def _check_column(name: str, columns: Collection[str], listed: bool) -> None:
    if name.lower() not in {c.lower() for c in columns} | _NOT_COLUMNS:
        raise InvalidInput(unknown(name, columns, listed))


def unknown(name: str, there: Collection[str], listed: bool = True) -> str:
    """What to say of a column that is not there.

    Where names may be data (``listed`` is False: the first line of a CSV file may be a row), none
    is shown, unless it is the very word that was given, written in another way.
    """
    if listed:
        return (
            f"data has no column {name!r}; its columns are: {', '.join(there)}.{meant(name, there)}"
        )
    same = [other for other in there if _letters(other) == _letters(name) != ""]
    known = "look at the names in the file (if it is CSV: is its first line a header?)."
    hint = f" Did you mean {same[0]!r}?" if same else ""
    return f"data has no column {name!r}; {known}{hint}"


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, name.casefold()))
