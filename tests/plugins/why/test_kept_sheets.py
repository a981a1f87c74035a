"""Sheets that a crawl keeps say which URLs it fetches."""

import json

import pytest

from sitecrawl.base.errors import CorruptFile
from sitecrawl.plugins.why.source import _kept_sheets


def test_what_was_kept_gives_the_same_answers() -> None:
    """Patterns and limits of a sheet come back, and only for its hosts."""
    found = _kept_sheets(json.loads(json.dumps([{"hosts": ("a.example",), "deny": ("/x",), "max_depth": 4}])))
    assert (found.of("a.example").deny, found.of("a.example").max_depth) == (("/x",), 4)
    assert found.of("b.example").max_depth is None


@pytest.mark.parametrize("stored", [[3], [{"hosts": 5}], 7])
def test_damage(stored: object) -> None:
    """What cannot be read is an error that says so."""
    with pytest.raises(CorruptFile, match="cannot be read"):
        _kept_sheets(stored).of("a.example")  # type: ignore[arg-type]
