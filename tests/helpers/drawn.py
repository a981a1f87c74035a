"""From what a test of the deep tier draws."""

from __future__ import annotations

import os
from typing import Final

SEED: Final = int(os.environ.get("SEED", "1"))
"""`make test-deep` draws one for each run and prints it; `make test-deep SEED=7` draws the same again."""
