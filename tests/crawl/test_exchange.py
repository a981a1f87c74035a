"""A request and its response as an exchange."""

from __future__ import annotations

import time

import pytest
from scrapy import Request
from scrapy.http import Response

from sitecrawl.crawl.fetch import SentAt, exchange_of

YEAR = 31_536_000.0
URL = "http://a.example/"


@pytest.mark.parametrize("jump", [-YEAR, YEAR])
def test_a_clock_that_is_set_while_a_request_is_under_way(jump: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """The exchange has the time of day at which it began, and takes as long as it took."""
    sent, now = SentAt(), time.time()
    monkeypatch.setattr(time, "time", lambda: now + jump)
    exchange = exchange_of(Request(URL), Response(URL), sent)
    assert now - YEAR / 2 < exchange.started < now + YEAR / 2
    assert 0 <= exchange.seconds < YEAR / 2
