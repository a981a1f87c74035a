"""What is told to whoever waits for a page of a host that was given up."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Request
from scrapy.exceptions import CannotResolveHostError, DownloadTimeoutError, IgnoreRequest

from middlewares.outages import GivenUpMiddleware, HostGivenUp
from sitecrawl.crawl.download_errors import IdleTimeout, NoTls

URL = "http://a.example/x"


def told(**failures: tuple[type[Exception], str]) -> HostGivenUp:
    """What the errback gets of a request to a dead host."""
    fetch = SimpleNamespace(visit=SimpleNamespace(dead=True), failed=lambda _error: None)
    by_host = {f"{host}.example": failure for host, failure in failures.items()}
    fetches: Any = SimpleNamespace(of=lambda _request: fetch, failures=by_host)
    request = Request(URL)
    with pytest.raises(HostGivenUp) as caught:
        GivenUpMiddleware(fetches).process_request(request)
    assert request.meta["dont_retry"]
    return caught.value


@pytest.mark.parametrize("kind", [CannotResolveHostError, IdleTimeout, NoTls])
def test_the_cause_is_told(kind: type[Exception]) -> None:
    """The error is also of the kind that the host failed with last, and says what that said."""
    error = told(a=(kind, "no such name"), b=(DownloadTimeoutError, "another host"))
    assert isinstance(error, kind)
    assert isinstance(error, IgnoreRequest)
    assert type(error.__cause__) is kind
    assert str(error) == f"{URL} was not asked for: its host has failed too often: no such name"


def test_without_a_cause_it_is_given_up_alone() -> None:
    """As in a run that has not asked the host itself."""
    assert type(told()) is HostGivenUp
