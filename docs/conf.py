"""How the documentation is built: `make docs`. Nothing is fetched, at build time or by a reader."""

from __future__ import annotations

import sys
from importlib.metadata import version as installed_version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "tamis"
author = "The tamis authors"
version = release = installed_version("tamis")

extensions = [
    "myst_parser",
    "sphinx.ext.apidoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "bars",
    "mathml",
]
html_theme = "furo"
html_title = "tamis"
html_show_copyright = False
html_math_renderer = "mathml"
highlight_language = "none"  # indented blocks are formulas; code says which language it is in

myst_enable_extensions = ["dollarmath", "amsmath", "deflist"]
myst_heading_anchors = 3

# One page per folder, found by walking the package: a new folder needs no change here. The package
# itself is left out, because reference.md documents the public names.
exclude_patterns = ["_build", "api/modules.rst", "api/tamis.rst"]
apidoc_modules = [
    {
        "path": "../src/tamis",
        "destination": "api",
        "module_first": True,
        "automodule_options": {"members", "show-inheritance", "ignore-module-all"},
    }
]

default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
napoleon_custom_sections = ["Guarantee", "Edge cases"]
# A public name is documented twice: under tamis, and under the module that defines it.
suppress_warnings = ["ref.python"]
