"""Why hosts gave no page: the last cause counts, until a page comes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from database_files import database_at
from scrapy import Request

from middlewares.robots import _of_robots
from sitecrawl.base.hashing import HASH_NAME
from sitecrawl.console.summary import _in_short
from sitecrawl.crawl import traffic
from sitecrawl.crawl.fetch import Fetch
from sitecrawl.crawl.outcomes import OutcomeCounts, of_traffic
from sitecrawl.crawl.requests import GUESS
from sitecrawl.crawl.traffic import Traffic
from sitecrawl.crawldir.database import Database
from sitecrawl.crawldir.meta import OUTCOMES
from sitecrawl.crawldir.outcomes import CauseCount, Outcomes
from sitecrawl.frontier.urls.host import Host
from sitecrawl.frontier.urls.record import UrlRecord
from sitecrawl.frontier.urls.visit import Visit
from sitecrawl.page.items import Exchange


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = database_at(tmp_path / "db", HASH_NAME)
    yield database
    database.close()


def fetch(url: str = "http://a.example/", *, depth: int = 0, meta: dict[str, object] | None = None) -> Fetch:
    record = UrlRecord(url, host=bytes(8), depth=depth)
    return Fetch(Visit(bytes(16), record, Host(bytes(8), "a.example"), None), Request(url, meta=meta or {}))


def answered(
    status: int, url: str = "http://a.example/", *, depth: int = 0, meta: dict[str, object] | None = None
) -> Fetch:
    made = fetch(url, depth=depth, meta=meta)
    exchange = Exchange(url, 0.0, 0.0, status, [], [(b"Location", b"/next\x1b")], b"")
    made.arrived(status, exchange)
    return made


def failed(error: str, url: str = "http://a.example/") -> Fetch:
    made = fetch(url)
    made.failed(error)
    return made


def test_the_last_cause_counts(database: Database) -> None:
    """What is said later says nothing of a host that is given up for it."""
    counts = OutcomeCounts(database)
    counts.ended(failed("DownloadTimeoutError"))
    counts.ended(answered(503))
    counts.ended(failed("HostGivenUp"))
    assert counts.causes == [CauseCount("answers 503 Service Unavailable", 1, "a.example")]
    assert counts.are_none(0)


def test_a_page_ends_it(database: Database) -> None:
    """Whatever failed before, and fails after it."""
    counts = OutcomeCounts(database)
    page = answered(200)
    for one in (failed("DownloadTimeoutError"), page, answered(404)):
        counts.ended(one)
        counts.finished(one)
    assert not counts.causes
    assert not counts.are_none(3)


def test_hosts_are_counted_by_cause(database: Database) -> None:
    """With an example of each, those of the most hosts first; a rule and an unknown status have words, too."""
    counts = OutcomeCounts(database)
    for url in ("http://a.example/", "http://b.example:81/", "http://c.example/"):
        counts.ended(failed("DownloadConnectionRefusedError", url))
    excluded = fetch("http://d.example/")
    excluded.exclude("robots.txt")
    counts.ended(excluded)
    counts.ended(answered(799, "http://e.example/"))
    assert counts.causes == [
        CauseCount("connection refused", 3, "a.example"),
        CauseCount("robots.txt forbids it", 1, "d.example"),
        CauseCount("answers 799", 1, "e.example"),
    ]
    assert _in_short(counts.causes) == (
        "connection refused (a.example and 2 more); robots.txt forbids it (d.example); answers 799 (e.example)"
    )
    assert _in_short([*counts.causes, CauseCount("x", 1, "y")]).endswith("; and 1 more cause")


def test_redirects(database: Database) -> None:
    """One that leads on is no cause; of one that does not, the target is named as nothing that a terminal obeys."""
    counts = OutcomeCounts(database)
    on = answered(302, "http://on.example/")
    on.leads_on = True
    counts.ended(on)
    counts.ended(answered(302))
    counts.hindered(fetch("http://out.example/").visit, traffic.OUT_OF_SCOPE, "to http://x/")
    counts.ended(answered(301, "http://out.example/"))
    known = answered(302, "http://known.example/")
    known.visit.again = True  # so its target is known as well
    counts.ended(known)
    assert counts.causes == [
        CauseCount("redirects that end nowhere", 1, r"a.example, to /next\x1b"),
        CauseCount("redirects out of scope", 1, "out.example, to http://x/"),
    ]


def test_what_no_seed_leads_to(database: Database) -> None:
    """A dead link, a wrong guess, and what this machine could not ask for are no cause."""
    counts = OutcomeCounts(database)
    counts.ended(answered(404, depth=1))
    counts.ended(answered(404, meta={GUESS: True}))
    given_back = fetch()
    given_back.give_back()
    counts.ended(given_back)
    assert not counts.causes


def test_all_runs_count(database: Database) -> None:
    """A resume that finds nothing to do has the pages of the run before, and is no failure."""
    counts = OutcomeCounts(database)
    counts.finished(answered(200))
    counts.finished(answered(404))
    batch = database.batch()
    counts.prepare(batch)
    database.write(batch)
    assert not OutcomeCounts(database).are_none(2)
    assert Outcomes.unpack(database.get("meta", OUTCOMES)) == Outcomes(1, 1, [])
    assert Outcomes.unpack(b"\xff") == Outcomes.unpack(None) == Outcomes()


def test_a_certificate_is_told_of_once(database: Database) -> None:
    """That of a host that an earlier run has met is no news, and stays in what there is to say."""
    counts = OutcomeCounts(database)
    assert counts.distrusted("a.example", "it has expired")
    batch = database.batch()
    counts.prepare(batch)
    database.write(batch)
    again = OutcomeCounts(database)
    assert not again.distrusted("a.example", "it has expired")
    assert again.whole.certificates == {"a.example": "it has expired"}


def test_a_sitemap_is_no_page(database: Database) -> None:
    """Nor is what another worker has fetched this one's failure."""
    counts = OutcomeCounts(database)
    sitemap = answered(200)
    sitemap.is_worth_it = True
    counts.finished(sitemap)
    assert counts.are_none(1)
    assert not counts.are_none(2)


def test_under_another_scheduler() -> None:
    """Only the statistics know what came."""
    traffic = Traffic(Counter({301: 1, 403: 2}), Counter({"timed out": 3}), forbidden=1)
    assert [cause.why for cause in of_traffic(traffic)] == [
        "timed out", "answers 403 Forbidden", "redirects that end nowhere", "robots.txt forbids it",
    ]  # fmt: skip


def test_robots_txt() -> None:
    """A host that is not there is not there; else it is the robots.txt that is lacking."""
    assert _of_robots("connection refused") == "connection refused"
    assert _of_robots("timed out").startswith("robots.txt does not come (timed out), so ")
    assert _of_robots("answers 503").startswith("robots.txt answers 503, so ")
