"""Which pages count as empty shells."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from database_files import database_at
from pagestore_helpers import exchange, page
from scrapy import Request
from scrapy.statscollectors import StatsCollector
from scrapy.utils.test import get_crawler

from sitecrawl.crawl.fetch import Fetch
from sitecrawl.crawl.refusals import Refusals
from sitecrawl.frontier.urls.host import Host
from sitecrawl.frontier.urls.record import UrlRecord
from sitecrawl.frontier.urls.visit import Visit
from sitecrawl.page.refusals import RefusalKind

SHELL = b'<!doctype html><title>App</title><div id="root"></div><script src="/app.js"></script>'


def shell() -> Fetch:
    came = exchange(body=SHELL)
    visit = Visit(bytes(16), UrlRecord(came.url, host=bytes(8)), Host(bytes(8), "site.example"), None)
    fetch = Fetch(visit, Request(came.url))
    fetch.arrived(200, came)
    fetch.page = page(came)
    return fetch


@pytest.mark.parametrize(("failed", "found"), [(False, {RefusalKind.EMPTY_SHELL: 1}), (True, {})])
def test_a_shell_that_a_browser_could_not_show(
    tmp_path: Path, *, failed: bool, found: dict[RefusalKind, int]
) -> None:
    """It says nothing of its site, and nobody is told to have it rendered."""
    with closing(database_at(tmp_path, "h")) as database:
        refusals = Refusals(database, StatsCollector(get_crawler()))
        fetch = shell()
        if failed:
            fetch.is_unrendered = True
        refusals.finished(fetch)
        assert {row.kind: row.times for row in refusals.run.rows()} == found
