"""Rounds that are read from a crawl's directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from sitecrawl.base.errors import StorageError
from sitecrawl.pagestore.rounds import rounds_in


def test_no_crawl(tmp_path: Path) -> None:
    """A folder that holds no crawl is named as such: a round could not be begun there."""
    with pytest.raises(StorageError, match=r"nosuch holds no crawl"):
        rounds_in(tmp_path / "nosuch")
