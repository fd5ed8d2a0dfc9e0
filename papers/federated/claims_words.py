"""Claims about figure 5: heavy hitters."""

from __future__ import annotations

from papers.federated.claims import Claim
from papers.federated.data import Words
from papers.federated.settings import RECALL
from papers.federated.words import LEAF, TRIE, recall


def figure_5(words: Words) -> list[Claim]:
    """Words found by each method."""
    found = recall(words, RECALL)
    tops = " and ".join(f"{k}" for k in RECALL)
    told = {name: " and ".join(f"{r:.2f}" for r in share) for name, share in found.items()}
    better = all(found[LEAF] > found[TRIE])
    poster = "heavy hitters by a histogram at leaf level, where TrieHH [4] searches a hierarchy"
    ours = f"found of the top {tops}: {told[LEAF]}; TrieHH: {told[TRIE]}"
    named = "; ".join(f"{name} {shares}" for name, shares in told.items())
    details = f"At (1, 10⁻⁶), the share of the top {tops} words that is found: {named}."
    verdict = "holds, and finds many more" if better else "does not hold"
    return [Claim("5a", poster, ours, verdict, details)]
