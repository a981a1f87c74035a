"""What a machine need not have: a test that needs it is skipped there, with the reason.

Where CI says that it is there (`REQUIRE_CHROMIUM=1`, see .ci/run), such a test fails.
"""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def lacking(what: str, reason: str) -> NoReturn:
    """Ends the test, for want of `what`: CHROMIUM, MARIADB, COMPILED or PROGRAMS."""
    if os.environ.get(f"REQUIRE_{what}") == "1":
        pytest.fail(reason)
    pytest.skip(reason)
