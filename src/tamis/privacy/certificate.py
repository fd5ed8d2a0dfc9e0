"""A certificate: the parameters and the rule of a mechanism's integers, and what they guarantee."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from tamis.privacy import verify
from tamis.privacy.errors import InvalidInput
from tamis.privacy.guarantee import Guarantee


@dataclass(frozen=True)
class Certificate:
    """Data-independent: two data sets under the same plan get the same certificate.

    `verify` re-checks it with `privacy/verify.py`, which needs nothing but Python itself and can be
    copied and run on its own: ``python verify.py certificate.json``.
    """

    text: str

    @classmethod
    def of(cls, guarantee: Guarantee, rule: dict[str, Any]) -> Certificate:
        content = {
            "format": "tamis certificate",
            "version": 1,
            "guarantee": guarantee.describe(),
            "rule": rule,
        }
        return cls(json.dumps(content, indent=1, sort_keys=True))

    @classmethod
    def read(cls, text: str) -> Certificate:
        try:
            json.loads(text)
        except ValueError:
            raise InvalidInput("This is not a certificate: it is not valid JSON.") from None
        return cls(text)

    def verify(self) -> str:
        """Say what was checked, or raise `verify.Refused` with the reason."""
        return verify.check(json.loads(self.text, object_pairs_hook=verify.once))
