"""Mending a frontier's families by themselves: no crawl is run."""

from __future__ import annotations

from frontier_helpers import Bench, all_credit, digest

from sitecrawl.crawldir.overlay import Overlay
from sitecrawl.frontier.hosts.host import Host
from sitecrawl.frontier.urls.counts import Counts
from sitecrawl.plugins.checking.frontier import mend_frontier
from sitecrawl.plugins.checking.survey import Survey


def test_a_pool_that_is_lost(tmp_path, monkeypatch):
    """It is made again as the pool that it was, and not as one of its names."""
    monkeypatch.setattr("sitecrawl.frontier.hosts.sites.UNPROVEN", 1)
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


def test_credit_on_the_account_of_a_host_that_waits_for_nothing(tmp_path):
    """The lambda page gets it: the first URL that waits there again would not be paid it, and it would be lost."""
    crawl = Bench(tmp_path / "db", "aopic")
    crawl.add("1", "2", "3")
    crawl.drain()
    crawl.commit()
    total = crawl.frontier.link_credit.ledger.total
    key = digest("a.example", 8)
    host = Host.unpack(key, crawl.database.get("hosts", key) or b"")
    host.rest = 14
    crawl.frontier.link_credit.ledger.reserve -= 14
    crawl.commit()
    batch = crawl.database.batch()
    batch.put("hosts", key, host.pack())
    crawl.database.write(batch)
    found = [str(problem) for problem in mend_frontier(crawl.database, Survey(crawl.database), dry=False)]
    assert "1 hosts hold credit for pages that wait, and none does" in found[0]
    assert not list(mend_frontier(crawl.database, Survey(crawl.database), dry=True))
    crawl.crash()
    crawl.add("4", "5", depth=1)
    crawl.commit()
    assert all_credit(crawl.frontier) == total
    crawl.database.close()


def test_the_serial_is_never_set_back(tmp_path):
    """Numbers that were given to URLs are not given again, though there are fewer records than numbers."""
    crawl = Bench(tmp_path / "db")
    crawl.add("1", "2", "3")
    crawl.commit()
    meta, batch = Overlay(crawl.database, "meta"), crawl.database.batch()
    counts = Counts(meta)
    counts.queued, counts.serial = 7, 99
    counts.store(meta)
    meta.flush(batch)
    crawl.database.write(batch)
    found = [str(problem) for problem in mend_frontier(crawl.database, Survey(crawl.database), dry=False)]
    assert "counts 7 URLs queued" in found[0]
    mended = Counts(Overlay(crawl.database, "meta"))
    assert (mended.queued, mended.serial) == (3, 99)
    crawl.database.close()
