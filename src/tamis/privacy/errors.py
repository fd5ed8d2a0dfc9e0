"""Errors that users see: each is one sentence that says what to do."""

from __future__ import annotations


class InvalidInput(ValueError):
    """An argument or a data value was refused before anything was drawn or spent."""
