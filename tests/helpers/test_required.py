"""What a machine lacks skips a test, or fails it."""

from __future__ import annotations

import pytest
from required import lacking


@pytest.mark.parametrize(
    ("value", "outcome"), [("1", pytest.fail.Exception), ("0", pytest.skip.Exception), (None, pytest.skip.Exception)]
)
def test_only_what_has_to_be_there_fails(
    value: str | None, outcome: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the variable is 1 it has to be; the reason is told either way."""
    if value is None:
        monkeypatch.delenv("REQUIRE_CHROMIUM", raising=False)
    else:
        monkeypatch.setenv("REQUIRE_CHROMIUM", value)
    with pytest.raises(outcome, match="there is none"):
        lacking("CHROMIUM", "there is none")
