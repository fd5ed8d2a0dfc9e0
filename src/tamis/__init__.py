"""tamis: which keys occur and how often, as far as differential privacy allows."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tamis import federated
    from tamis.engines.spark.session import session as spark_session
    from tamis.importance.kmeans.estimator import PrivateKMeans
    from tamis.privacy.certificate import Certificate
    from tamis.privacy.errors import (
        AggregatorBusy,
        BadData,
        BudgetRefused,
        EngineMissing,
        InvalidInput,
        LedgerDamaged,
        LedgerUnavailable,
        ReleaseFailed,
        StoreUnavailable,
    )
    from tamis.privacy.guarantee import Guarantee
    from tamis.privacy.verify import Refused
    from tamis.releases.clusters.clusters import Clusters
    from tamis.releases.clusters.make import kmeans
    from tamis.releases.collected.collected import Collected
    from tamis.releases.folder.folder import Folder
    from tamis.releases.folder.make import release_folder
    from tamis.releases.make import release
    from tamis.releases.opening import open_release as open
    from tamis.releases.release import Release
    from tamis.releases.summary.make import summarize
    from tamis.releases.summary.summary import Summary
    from tamis.sampling.schemes import Custom, Everything, Pps, Ppswor
    from tamis.sparse.attributes import Bins, Dates, Hierarchy, Labels, Whole
    from tamis.sparse.domain import Domain
    from tamis.weighted.plan import Plan, plan
    from tamis.weighted.sample import PrivateSample, sanitize

# Where each name comes from. Modules are loaded when a name of theirs is first used, so that
# `import tamis` and the command line start quickly.
_FROM = {
    "AggregatorBusy": "privacy.errors",
    "BadData": "privacy.errors",
    "Bins": "sparse.attributes",
    "BudgetRefused": "privacy.errors",
    "Certificate": "privacy.certificate",
    "Clusters": "releases.clusters.clusters",
    "Collected": "releases.collected.collected",
    "Custom": "sampling.schemes",
    "Dates": "sparse.attributes",
    "Domain": "sparse.domain",
    "EngineMissing": "privacy.errors",
    "Everything": "sampling.schemes",
    "Folder": "releases.folder.folder",
    "Guarantee": "privacy.guarantee",
    "Hierarchy": "sparse.attributes",
    "InvalidInput": "privacy.errors",
    "Labels": "sparse.attributes",
    "LedgerDamaged": "privacy.errors",
    "LedgerUnavailable": "privacy.errors",
    "Plan": "weighted.plan",
    "Pps": "sampling.schemes",
    "Ppswor": "sampling.schemes",
    "PrivateKMeans": "importance.kmeans.estimator",
    "PrivateSample": "weighted.sample",
    "Refused": "privacy.verify",
    "Release": "releases.release",
    "ReleaseFailed": "privacy.errors",
    "StoreUnavailable": "privacy.errors",
    "Summary": "releases.summary.summary",
    "Whole": "sparse.attributes",
    "kmeans": "releases.clusters.make",
    "open": "releases.opening:open_release",
    "plan": "weighted.plan",
    "release": "releases.make",
    "release_folder": "releases.folder.make",
    "sanitize": "weighted.sample",
    "spark_session": "engines.spark.session:session",
    "summarize": "releases.summary.make",
}

__all__ = [
    "AggregatorBusy",
    "BadData",
    "Bins",
    "BudgetRefused",
    "Certificate",
    "Clusters",
    "Collected",
    "Custom",
    "Dates",
    "Domain",
    "EngineMissing",
    "Everything",
    "Folder",
    "Guarantee",
    "Hierarchy",
    "InvalidInput",
    "Labels",
    "LedgerDamaged",
    "LedgerUnavailable",
    "Plan",
    "Pps",
    "Ppswor",
    "PrivateKMeans",
    "PrivateSample",
    "Refused",
    "Release",
    "ReleaseFailed",
    "StoreUnavailable",
    "Summary",
    "Whole",
    "federated",
    "kmeans",
    "open",
    "plan",
    "release",
    "release_folder",
    "sanitize",
    "spark_session",
    "summarize",
]


def __getattr__(name: str) -> Any:
    if name == "federated":
        return import_module("tamis.federated")
    if name not in _FROM:
        raise AttributeError(f"module 'tamis' has no attribute {name!r}")
    module, _, other = _FROM[name].partition(":")
    value = getattr(import_module(f"tamis.{module}"), other or name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
