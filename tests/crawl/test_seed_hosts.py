"""The hosts that the user has named."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from sitecrawl.base.hashing import HASH_NAME
from sitecrawl.crawl.found_urls import SeedHosts
from sitecrawl.crawldir.database import Database


@pytest.mark.parametrize("host", ["a.example", "a.example:8080", "[::1]", "[::1]:80", "10.0.0.1:80"])
def test_a_host_is_its_name(tmp_path: Path, host: str) -> None:
    """The port does not matter, whoever has one; another name does."""
    with closing(Database(tmp_path / "db", hash_name=HASH_NAME)) as database:
        hosts = SeedHosts(database)
        hosts.add(host)
        assert host in hosts
        assert f"{host.removesuffix(':80').removesuffix(':8080')}:9" in hosts
        assert f"x.{host}" not in hosts
        assert "[::2]" not in hosts


def test_a_checkpoint_keeps_them(tmp_path: Path) -> None:
    """What was named before a checkpoint is known when the database is opened again, and is not held in memory."""
    with closing(Database(tmp_path / "db", hash_name=HASH_NAME)) as database:
        hosts = SeedHosts(database)
        hosts.add("kept.example")
        batch = database.batch()
        hosts.prepare(batch)
        database.write(batch)
        hosts.committed()
        hosts.add("lost.example")
        assert "kept.example" in hosts
        assert hosts._new == {"lost.example"}
    with closing(Database(tmp_path / "db", hash_name=HASH_NAME)) as database:
        hosts = SeedHosts(database)
        assert "kept.example" in hosts
        assert "lost.example" not in hosts
