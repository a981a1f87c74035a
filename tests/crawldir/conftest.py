"""Databases of these tests are made as the product makes them."""

from __future__ import annotations

import pytest
from database_files import _make_families

from sitecrawl.crawldir import opening


@pytest.fixture(autouse=True)
def _databases_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "_make_families", _make_families)
