"""The command line: it reads options, calls the library and prints. No privacy is decided here."""

from tamis.cli.run import main

__all__ = ["main"]
