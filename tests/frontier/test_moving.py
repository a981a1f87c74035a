"""A partition in parts: every row once, and sites whole where they can be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from database_files import database_at, put_away
from hypothesis import given, settings
from hypothesis import strategies as st

from sitecrawl.base.hashing import HASH_NAME
from sitecrawl.crawldir.database import Database
from sitecrawl.frontier.moving import Row, parts_of
from sitecrawl.urls.fingerprint import REGION_SIZE

REGIONS = range(1 << 8 * REGION_SIZE)
MOST = 4


@contextmanager
def sites_of(folder: Path, sizes: Sequence[int]) -> Iterator[Database]:
    """Sites of so many URLs, one after the other, and as many digests of pages."""
    database = database_at(folder, HASH_NAME)
    batch = database.batch()
    for site, size in enumerate(sizes):
        for url in range(size):
            key = site.to_bytes(2, "big") + url.to_bytes(14, "big")
            batch.put("urls", key, b"")
            batch.put("content", b"D" + key[::-1], key)
    database.write(batch, sync=False)
    try:
        yield database
    finally:
        put_away(database)


def sites(part: Sequence[Row]) -> list[int]:
    """How many URLs of each site."""
    found = [key[:REGION_SIZE] for family, key, _ in part if family == "urls"]
    return [found.count(site) for site in sorted(set(found))]


def test_a_site_that_would_be_cut_begins_a_part(tmp_path: Path) -> None:
    """Unless it is larger than any part; small ones share one."""
    with sites_of(tmp_path / "db", [1, 2, 7, 3, 3, 20, 1]) as database:
        parts = [sites(part) for part in parts_of(database, REGIONS, MOST)]
    assert parts == [[1, 2], [7], [3, 3], [8], [8], [4], [1]]


@given(st.lists(st.integers(1, 20), max_size=12))
@settings(max_examples=12, deadline=None)
def test_every_row_is_in_one_part(tmp_path_factory: pytest.TempPathFactory, sizes: list[int]) -> None:
    """A page's digest in that of its URL; and a site is in several only if no part has room for it."""
    with sites_of(tmp_path_factory.mktemp("parts") / "db", sizes) as database:
        parts = list(parts_of(database, REGIONS, MOST))
    for part in parts:
        keys = {key for family, key, _ in part if family == "urls"}
        assert {value for family, _, value in part if family == "content"} == keys
        assert len(keys) <= 2 * MOST
    found = [key for part in parts for family, key, _ in part if family == "urls"]
    assert found == sorted(found)
    assert len(found) == sum(sizes)
    for site, size in enumerate(sizes):
        prefix = site.to_bytes(REGION_SIZE, "big")
        among = [part for part in parts if any(key.startswith(prefix) for family, key, _ in part if family == "urls")]
        assert len(among) == 1 or size > 2 * MOST
