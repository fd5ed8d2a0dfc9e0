"""A release as one page for people, and its guarantee as an entry for the public registry."""

from tamis.releases.report.page import write_report
from tamis.releases.report.registry import registry_yaml

__all__ = ["registry_yaml", "write_report"]
