"""What is told to whoever waits for a page of a host that was given up."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Request
from scrapy.exceptions import CannotResolveHostError, DownloadTimeoutError, IgnoreRequest

from middlewares.givenup import GivenUpMiddleware, HostGivenUp
from sitecrawl.crawl.download_errors import IdleTimeout, NoTls
from sitecrawl.crawl.last_failures import MOST, LastFailures

URL = "http://a.example/x"


def told(failures: LastFailures) -> HostGivenUp:
    """What the errback gets of a request to a dead host."""
    fetch = SimpleNamespace(visit=SimpleNamespace(dead=True), failed=lambda _error: None)
    fetches: Any = SimpleNamespace(of=lambda _request: fetch)
    request = Request(URL)
    with pytest.raises(HostGivenUp) as caught:
        GivenUpMiddleware(fetches, failures).process_request(request)
    assert request.meta["dont_retry"]
    return caught.value


@pytest.mark.parametrize("kind", [CannotResolveHostError, IdleTimeout, NoTls])
def test_the_cause_is_told(kind: type[Exception]) -> None:
    """The error is also of the kind that the host failed with last, and says what that said."""
    failures = LastFailures()
    failures.note("http://a.example/other", DownloadTimeoutError("first"))
    failures.note("http://a.example/other", kind("no such name"))
    failures.note("http://b.example/", DownloadTimeoutError("another host"))
    error = told(failures)
    assert isinstance(error, kind)
    assert isinstance(error, IgnoreRequest)
    assert type(error.__cause__) is kind
    assert str(error) == f"{URL} was not asked for: its host has failed too often: no such name"


def test_without_a_cause_it_is_given_up_alone() -> None:
    """As in a run that has not asked the host itself."""
    assert type(told(LastFailures())) is HostGivenUp


def test_so_many_hosts_are_remembered() -> None:
    """Those that failed last."""
    failures = LastFailures()
    for number in range(MOST + 1):
        failures.note(f"http://h{number}.example/", DownloadTimeoutError())
    assert failures.of("http://h0.example/") is None
    assert failures.of(f"http://h{MOST}.example/") == (DownloadTimeoutError, "")
