"""Let docstrings write |x| for an absolute value: reStructuredText takes it for a substitution."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from docutils import nodes
from docutils.parsers.rst.states import Inliner

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.util.typing import ExtensionMetadata

Parsed = tuple[str, list[nodes.Node], str, list[nodes.system_message]]


def plain_bar(_self: Inliner, match: re.Match[str], _line: int) -> Parsed:
    """Take the bar as text, and parse on after it."""
    end = match.end("start")
    return match.string[:end], [], match.string[end:], []


def setup(_app: Sphinx) -> ExtensionMetadata:
    """Treat bars as text in the whole documentation, which uses no substitutions."""
    Inliner.dispatch["|"] = plain_bar
    return {"parallel_read_safe": True, "parallel_write_safe": True}
