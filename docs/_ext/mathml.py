"""A Sphinx math renderer that writes MathML, which browsers show without scripts or a network."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.util import logging

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.util.typing import ExtensionMetadata
    from sphinx.writers.html5 import HTML5Translator

_LOG = logging.getLogger(__name__)
_LEFT_OVER = re.compile(r"<mi>(\\\w+|&)</mi>")  # what the converter passes through unchanged


def mathml(node: nodes.math | nodes.math_block, display: str) -> str:
    """The formula of a node, with a warning (an error in strict builds) if a part is unknown."""
    text = convert(node.astext().replace("{aligned}", "{split}"), display=display)
    if unknown := _LEFT_OVER.search(text):
        _LOG.warning("this formula uses %s, which is not known", unknown[1], location=node)
    return text


def visit_inline(self: HTML5Translator, node: nodes.math) -> None:
    """Write a formula in a line of text."""
    self.body.append(mathml(node, "inline"))
    raise nodes.SkipNode


def visit_block(self: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula on lines of its own."""
    self.body.append(self.starttag(node, "div", CLASS="math", style="overflow-x: auto"))
    self.body.append(mathml(node, "block"))
    self.body.append("</div>")
    raise nodes.SkipNode


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register the renderer under the name ``mathml``."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
