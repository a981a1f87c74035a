"""A trace for each fetch that is sampled: from the frontier until its page is stored.

    fetch                      handed out by the frontier ... stored
      robots                   ... the request reaches the downloader: robots.txt, and what else is before it
      GET                      the request is sent ... the whole response is there
      parse                    decoded and handed to the spider ... its page is through the pipelines
      store                    ... and what came is in the page store

The times come by Scrapy's signals, and the spans within are made when the fetch is over: so a fetch that is not
sampled costs one question to the sampler. What goes back into the frontier (a retry, a network that is down) leaves
no trace of that attempt: a URL has one, of the attempt with which its visit was over.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer, set_span_in_context
from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.http import Response

from sitecrawl.crawl.build import Crawl
from sitecrawl.crawl.fetch import Fetch

_PORTS: Final = {"http": 80, "https": 443, "ftp": 21}
_NOWHERE: Final = Context()
"""No span of anybody else is above ours."""


@dataclass(slots=True)
class _Traced:
    """A fetch under way that is sampled. Times are Unix times in nanoseconds; 0 before there is one."""

    span: Span
    begun: int
    left: int = 0
    """The request reached the downloader."""
    arrived: int = 0
    """The response did, or an error."""
    handed: int = 0
    """The response to the spider."""
    scraped: int = 0
    """The last item was through the pipelines."""


class FetchSpans:
    """See the module. `connect` has it told of fetches."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._traced: WeakKeyDictionary[Request, _Traced] = WeakKeyDictionary()

    def connect(self, crawler: Crawler, runtime: Crawl) -> None:
        runtime.fetches.on_begin.append(self.begun)
        runtime.fetches.on_finish.append(self.finished)
        for receiver, signal in (
            (self._left, signals.request_reached_downloader),
            (self._arrived, signals.request_left_downloader),
            (self._handed, signals.response_received),
            (self._scraped, signals.item_scraped),
        ):
            crawler.signals.connect(receiver, signal)

    def begun(self, fetch: Fetch) -> None:
        now = time.time_ns()
        about = {**_of_url(fetch.visit.url), "sitecrawl.depth": fetch.visit.depth}
        span = self._tracer.start_span("fetch", _NOWHERE, attributes=about, start_time=now)
        if span.is_recording():
            self._traced[fetch.request] = _Traced(span, now)

    def _left(self, request: Request) -> None:
        self._note(request, "left")

    def _arrived(self, request: Request) -> None:
        self._note(request, "arrived")

    def _handed(self, request: Request) -> None:
        self._note(request, "handed")

    def _scraped(self, response: Response | None) -> None:
        self._note(None if response is None else response.request, "scraped")

    def _note(self, request: Request | None, moment: str) -> None:
        if request is not None and (traced := self._traced.get(request)) is not None:
            setattr(traced, moment, time.time_ns())

    def finished(self, fetch: Fetch) -> None:
        traced = self._traced.pop(fetch.request, None)
        if traced is None:
            return
        now = time.time_ns()
        span = traced.span
        within = set_span_in_context(span, _NOWHERE)
        for name, start, end in _parts(traced, now):
            self._tracer.start_span(name, within, start_time=start).end(end)
        if traced.left:
            self._download(fetch, traced, within, now)
        span.set_attribute("sitecrawl.state", fetch.state.name.lower())
        if fetch.excluded:
            span.set_attribute("sitecrawl.excluded", fetch.excluded)
        _say_what_failed(span, fetch)
        span.end(now)

    def _download(self, fetch: Fetch, traced: _Traced, within: Context, now: int) -> None:
        method = fetch.request.method
        about: dict[str, Any] = {"http.request.method": method, **_of_url(fetch.visit.url), **_of_answer(fetch)}
        span = self._tracer.start_span(method, within, SpanKind.CLIENT, about, start_time=traced.left)
        _say_what_failed(span, fetch)
        span.end(traced.arrived or now)


def _parts(traced: _Traced, now: int) -> Iterator[tuple[str, int, int]]:
    """Name, begin and end of what is known, but for the download."""
    if traced.left:
        yield "robots", traced.begun, traced.left
    if traced.handed:
        yield "parse", traced.handed, traced.scraped or now
    if traced.scraped:
        yield "store", traced.scraped, now


def _of_url(url: str) -> Mapping[str, Any]:
    parts = urlsplit(url)
    port = parts.port or _PORTS.get(parts.scheme, 0)
    return {"url.full": url, "server.address": parts.hostname or "", "server.port": port}


def _of_answer(fetch: Fetch) -> Mapping[str, Any]:
    if not fetch.status:
        return {}
    about: dict[str, Any] = {"http.response.status_code": fetch.status}
    if (exchange := fetch.exchange) is not None:
        about["http.response.body.size"] = len(exchange.body)
        if exchange.ip:
            about["network.peer.address"] = exchange.ip
    return about


def _say_what_failed(span: Span, fetch: Fetch) -> None:
    """By the conventions for clients: a status from 400 on is an error, whoever is to blame."""
    kind = fetch.error or (str(fetch.status) if fetch.status >= 400 else "")
    if kind:
        span.set_attribute("error.type", kind)
        span.set_status(Status(StatusCode.ERROR))
