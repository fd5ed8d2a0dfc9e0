"""How far the aggregator has come with a query, in its own words: the database is not believed."""

from __future__ import annotations

import base64
import json
from dataclasses import asdict, dataclass, replace

from tamis.collect.records import Round
from tamis.privacy.errors import BadData


@dataclass(frozen=True)
class Progress:
    """The newest round that was published, or is about to be, and what is known before it.

    It is written beside the keys before the database hears of it. So a round is counted once: an
    aggregator that died in between is followed by one that publishes what was found, and whoever
    puts an older state of the database back gets the same again, not a second count of the same
    coins with some reports left out. The ``file`` is there when the last round has been counted.

    Before a round is charged and counted, it is kept that this has ``begun``. So an older copy of
    all this from before the first round was counted, put back beside an older database, is told
    apart from one that was never used: by a budget that has been charged already, or a release that
    is known. A later copy is not.
    """

    round: int
    envelope: str  # the signed specification, as JSON text
    known: str  # as JSON text
    file: bytes | None = None
    begun: bool = False

    def counted(self, newest: Round) -> bool:
        """Whether the newest round of the database has been counted; refused if it is not ours."""
        if self.round == newest.round and self.envelope == newest.envelope:
            return self.file is not None
        if self.round == newest.round + 1 and self.file is None:
            return True
        raise BadData(
            "The collector's database was changed by something other than the aggregator: nothing "
            "was counted. Abandon the query, and find out who can write there."
        )

    def counting(self) -> Progress:
        return replace(self, begun=True)

    def ended(self, file: bytes) -> Progress:
        return replace(self, file=file)

    # --- as text, for the folder of keys ---

    def text(self) -> str:
        file = None if self.file is None else base64.b64encode(self.file).decode()
        return json.dumps(asdict(self) | {"file": file})

    @classmethod
    def read(cls, text: str) -> Progress:
        found = json.loads(text)
        file = found.pop("file")
        return cls(**found, file=None if file is None else base64.b64decode(file))
