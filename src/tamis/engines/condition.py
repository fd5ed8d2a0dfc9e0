"""Conditions in SQL that users write, on single rows."""

from __future__ import annotations

import json
from typing import Any

import duckdb

from tamis.privacy.errors import InvalidInput


def check_condition(where: str) -> str:
    """A condition on single rows: nothing in it may look at other rows or tables."""
    if not str(where).strip():
        raise InvalidInput("where must be a condition in SQL, such as \"country = 'FR'\".")
    query = f"SELECT 1 FROM data WHERE ({where}\n)"
    with duckdb.connect() as parser:
        row = parser.execute("SELECT json_serialize_sql(?)", [query]).fetchone()
    parsed: dict[str, Any] = json.loads(row[0]) if row else {"error": True}
    if parsed["error"] or len(parsed["statements"]) != 1:
        raise InvalidInput("where is not a condition in SQL; write it like \"country = 'FR'\".")
    node = parsed["statements"][0]["node"]
    if _has_subquery(node["where_clause"]) or node["modifiers"] or node["type"] != "SELECT_NODE":
        raise InvalidInput(
            "where may only look at the row itself: a subquery could look at other units."
        )
    return where


def _has_subquery(node: object) -> bool:
    if isinstance(node, dict):
        return node.get("class") == "SUBQUERY" or any(map(_has_subquery, node.values()))
    return isinstance(node, list) and any(map(_has_subquery, node))
