"""Crawls by several workers with `max_pages`, as `benchmarks/limits.py`: under kills, pauses and a slow Redis."""

from __future__ import annotations

from pathlib import Path

import pytest
from drawn import SEED
from fleet import web_of
from limited import attack
from redis_servers import server

pytestmark = pytest.mark.deep


@pytest.mark.parametrize("seed", [6, 13, pytest.param(SEED, id="drawn")])
def test_a_limit_under_faults(seed: int, tmp_path: Path) -> None:
    """The crawl ends, and as many pages are stored as are wanted."""
    with server() as started, web_of(300) as web:
        result = attack(2, tmp_path, started, web.url(0), seed, faults=3, limits=(40, 120))
    assert result.ended, result
    assert set(result.codes) == {0}, result
    assert result.fetched == result.stored == result.limit, result
    assert set(result.reasons) == {"max_pages"}, result
