"""Mending a frontier's families by themselves: no crawl is run."""

from __future__ import annotations

from frontier_helpers import Bench, digest

from sitecrawl.checking.frontier import mend_frontier
from sitecrawl.checking.survey import Survey


def test_a_pool_that_is_lost(tmp_path, monkeypatch):
    """It is made again as the pool that it was, and not as one of its names."""
    monkeypatch.setattr("sitecrawl.frontier.sites.UNPROVEN", 1)
    crawl = Bench(tmp_path / "db", "aopic")
    for host in ("x.b.com", "y.b.com", "z.b.com"):
        crawl.add("1", host=host, depth=1)
    crawl.commit()
    batch = crawl.database.batch()
    batch.delete("hosts", digest("*.b.com", 8))
    crawl.database.write(batch)
    assert list(mend_frontier(crawl.database, Survey(crawl.database), dry=False))
    assert not list(mend_frontier(crawl.database, Survey(crawl.database), dry=True))
    crawl.crash()
    found = crawl.frontier.hosts.find("z.b.com")
    assert found is not None
    assert (found.name, found.queued) == ("*.b.com", 2)
    crawl.database.close()
