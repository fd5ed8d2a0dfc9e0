"""A release: what may be shared, and the questions that it answers at no further cost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.engines.condition import check_condition
from tamis.privacy.answer import Answer
from tamis.privacy.certificate import Certificate
from tamis.privacy.errors import BadData, InvalidInput, counted, shown
from tamis.privacy.guarantee import Guarantee
from tamis.releases import file, sums
from tamis.releases.about import About
from tamis.releases.condition import satisfying
from tamis.sampling.arrow import Tabular
from tamis.sampling.counted import distinct
from tamis.weighted import order
from tamis.weighted.estimators import MaximumLikelihood
from tamis.weighted.lookup import place
from tamis.weighted.plan import Plan
from tamis.weighted.sample import ADDED, PrivateSample, tabulate
from tamis.weighted.show import as_html, as_text

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Release(Tabular):
    """Keys that may be named, with token, estimate, low and high; and what is guaranteed.

    Guarantee: ``guarantee``, for everything in it together. All methods compute from what is
    released and cost nothing.
    """

    sample: PrivateSample
    about: About

    @property
    def guarantee(self) -> Guarantee:
        return self.about.guarantee

    @property
    def plan(self) -> Plan:
        return self.about.plan

    @property
    def certificate(self) -> Certificate:
        return self.about.certificate

    def __len__(self) -> int:
        return len(self.sample)

    # --- as a table ------------------------------------------------------------------------------

    @property
    def table(self) -> pa.Table:
        return self.sample.table

    def __str__(self) -> str:
        return as_text(self.to_arrow(), ADDED, self._closing())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return as_html(self.to_arrow(), ADDED, self._closing())

    def _closing(self) -> str:
        """What is promised, in a line."""
        g, bounds = self.guarantee, ""
        if g.keys_per_unit > 1 or g.elements_per_key > 1:
            bounds = f" with at most {counted(g.keys_per_unit, 'key')}"
        if g.elements_per_key > 1:
            bounds += f" and {counted(g.elements_per_key, 'element')} in each"
        return (
            f"{counted(len(self), 'key')}{', a part of what was' if self.about.part else ';'} "
            f"released with epsilon {g.epsilon:g}, delta {g.delta:g} for one {g.unit}{bounds}"
            + ("; a condition chose the rows" if self.about.filtered else "")
        )

    @property
    def digest(self) -> str:
        """SHA-256 over the rows and all that is said about them, as in the file that is saved."""
        return str(file.footer(self.to_arrow(), self.about)["digest"])

    def save(self, path: str | Path) -> None:
        """Write the release file: Parquet, with the guarantee and the certificate in its footer."""
        file.write(self.to_arrow(), self.about, path)

    def verify(self) -> str:
        """Re-check the certificate and that every row follows from its token; say what was checked.

        Raises `BadData` if the table does not fit, `verify.Refused` if the certificate does not.
        """
        said = self.certificate.verify()
        self.about.check()
        keys = self.to_arrow().select(list(self.about.key))
        if distinct(keys) < len(keys):
            raise BadData("the table was changed: a key stands in it more than once.")
        if pc.any(pc.less(pc.fill_null(self.to_arrow()["token"], 0), 1)).as_py():
            raise BadData("the table was changed: it holds tokens that no key can get.")
        again = tabulate(self.plan, keys, self.to_arrow()["token"].to_numpy())
        if not again.to_arrow().equals(self.to_arrow()):
            raise BadData(
                "the table was changed: estimates, intervals or order do not follow from tokens."
            )
        if len(self.about.parts) == 1:
            return said
        parts = " + ".join(f"{part.epsilon!r} for {part.purpose}" for part in self.about.parts)
        return f"epsilon {self.guarantee.epsilon!r} in all: {parts}. The keys: {said}"

    # --- questions -------------------------------------------------------------------------------

    def top(self, k: int) -> Release:
        """The k most frequent keys, by token."""
        return self._part(order.top(self._tokens(), k))

    def rank(self, *key: object) -> float:
        """The place of a key by token, from 1; keys with equal tokens share their mean place.

        None stands for the key NULL.
        """
        return order.rank(self._tokens(), self._place(key))

    def above(self, *key: object) -> Release:
        """The keys with a higher token than this one."""
        return self._part(order.above(self._tokens(), self._place(key)))

    def below(self, *key: object) -> Release:
        """The keys with a lower token than this one."""
        return self._part(order.below(self._tokens(), self._place(key)))

    def quantile(self, p: float) -> float:
        """The p-quantile of the estimates of the named keys."""
        return self.sample.quantile(p)

    def rows(self, where: str | None = None) -> Release:
        """The rows whose key satisfies a condition in SQL, such as ``"query LIKE 'weather%'"``."""
        return self if where is None else self._part(self._places(where))

    def sum(self, where: str | None = None) -> Answer:
        """The frequencies of all keys that satisfy a condition, also of those that are not named.

        Keys that are rarely named count more when they are. Keys too rare to be named at all are
        not in it: ``low`` is at most the sum over all keys, ``high`` at least that over the keys
        named half of the time. Without a condition, a release that spent a ``total_share`` knows
        the sum over all keys, and its interval is of that. Of a part of a release, such as
        ``release.top(10)``, it is the sum over the keys in it.
        """
        if self.about.part:
            return sums.of_these(self.rows(where).sample)
        if where is None and (total := self.about.total) is not None:
            return sums.of_all(*total, self.plan.coverage)
        return sums.over_keys(self.rows(where).sample, self.plan.estimator)

    def count(self, where: str | None = None) -> Answer:
        """How many keys satisfy a condition, also of those that are not named (as in `sum`).

        Of a part of a release, such as ``release.top(10)``: how many are in it.
        """
        if self.about.part:
            many = float(len(self.rows(where)))
            return Answer(many, 0.0, many, many, self.plan.coverage)
        occurs = MaximumLikelihood(self.plan.mechanism.law, _occurs)
        return sums.over_keys(self.rows(where).sample, occurs)

    def suppressed(self) -> Answer:
        """How many elements (after bounding) belong to keys that are not named.

        Needs a release that spent a ``total_share`` on the noisy number of all elements. From it
        the estimates of the named keys are taken off.
        """
        if self.about.part:
            raise InvalidInput("suppressed is asked of a whole release, not of a part of it.")
        if (total := self.about.total) is None:
            raise InvalidInput("the release has no total; make one with total_share=0.02, say.")
        return sums.not_named(self.sample, *total)

    def _part(self, places: Ints) -> Release:
        """The rows at these places."""
        return Release(self.sample.rows(places), replace(self.about, part=True))

    def _tokens(self) -> Ints:
        tokens: Ints = self.to_arrow()["token"].to_numpy()
        return tokens

    def _place(self, key: tuple[object, ...]) -> int:
        return place(self.to_arrow(), self.about.key, key, self.about.nulls == "keep")

    def _places(self, where: str) -> Ints:
        """Where the keys that satisfy a condition stand."""
        if not isinstance(where, str):
            raise InvalidInput(f"where must be a condition in SQL, as text, not {shown(where)}.")
        check_condition(where)
        keys = self.to_arrow().drop_columns([n for n in ADDED if n in self.to_arrow().column_names])
        return satisfying(keys, where, "key columns")


def _occurs(w: Any) -> Any:
    return np.minimum(w, 1.0)
