"""The durable record of budgets and of what each release spent.

>>> import tempfile
>>> from tamis.privacy.guarantee import Guarantee
>>> with tempfile.TemporaryDirectory() as folder, open_ledger(f"{folder}/ledger.sqlite") as ledger:
...     budget = ledger.create("visits 2024", epsilon=2.0, delta=1e-6, unit="user_id")
...     entry = ledger.charge(
...         "visits 2024", Guarantee(0.5, 1e-8, keys_per_unit=4, unit="user_id"), "top pages"
...     )
...     ledger.show("visits 2024").spent_epsilon
0.5
"""

from __future__ import annotations

from tamis.privacy.errors import BudgetRefused, LedgerDamaged, LedgerUnavailable
from tamis.privacy.ledger.budget import Budget, Entry
from tamis.privacy.ledger.ledger import Ledger
from tamis.privacy.ledger.open import open_ledger

__all__ = [
    "Budget",
    "BudgetRefused",
    "Entry",
    "Ledger",
    "LedgerDamaged",
    "LedgerUnavailable",
    "open_ledger",
]
