"""Quick tests look at fewer made-up examples than those of `make test-all`."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("quick", max_examples=25)
settings.register_profile("all", max_examples=100)
settings.load_profile("quick")
