"""Fine tokens under a sampling scheme."""

from __future__ import annotations

from tamis.privacy.verify import Survival


class Pieces:
    """Every token is cut where the slope of some row changes (docs/proofs.md, section 8).

    Token number = (whole token - 1) stride + 1 + piece. All in whole numbers, key by key: for
    samples of some thousand keys.
    """

    def __init__(self, law: Survival, stride: int) -> None:
        self.law, self.stride = law, stride
        self._places: dict[int, list[int]] = {}

    def token(self, frequency: int, word: int) -> int:
        whole, place = self.law.walk(frequency, word)
        if whole not in self._places:
            found = self.law.pieces(whole, whole + self.law.width())
            self._places[whole] = found.get(whole, [])
        above = sum(place < p for p in self._places[whole])
        return (whole - 1) * self.stride + 1 + above
