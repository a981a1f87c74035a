"""A span for each fetch that is sampled: from the frontier until its page is stored.

What goes back into the frontier (a retry, a network that is down) leaves no span of that attempt.
"""

from __future__ import annotations

from typing import Any, Final
from weakref import WeakKeyDictionary

from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer
from scrapy import Request

from sitecrawl.crawl.build import Crawl
from sitecrawl.crawl.fetch import Fetch

_NOWHERE: Final = Context()
"""No span of anybody else is above ours."""


class FetchSpans:
    """See the module. `connect` has it told of fetches."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._begun: WeakKeyDictionary[Request, Span] = WeakKeyDictionary()

    def connect(self, crawl: Crawl) -> None:
        crawl.fetches.on_begin.append(self.begun)
        crawl.fetches.on_finish.append(self.finished)

    def begun(self, fetch: Fetch) -> None:
        about: dict[str, Any] = {"http.request.method": fetch.request.method, "url.full": fetch.visit.url}
        span = self._tracer.start_span("fetch", _NOWHERE, SpanKind.CLIENT, about)
        if span.is_recording():
            self._begun[fetch.request] = span

    def finished(self, fetch: Fetch) -> None:
        span = self._begun.pop(fetch.request, None)
        if span is None:
            return
        span.set_attribute("sitecrawl.depth", fetch.visit.depth)
        span.set_attribute("sitecrawl.state", fetch.state.name.lower())
        if fetch.excluded:
            span.set_attribute("sitecrawl.excluded", fetch.excluded)
        if fetch.status:
            span.set_attribute("http.response.status_code", fetch.status)
        if fetch.exchange is not None:
            span.set_attribute("http.response.body.size", len(fetch.exchange.body))
        if kind := fetch.error or (str(fetch.status) if fetch.status >= 400 else ""):
            span.set_attribute("error.type", kind)
            span.set_status(Status(StatusCode.ERROR))
        span.end()
