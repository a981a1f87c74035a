"""A request of Scrapy's and its response as an `Exchange`."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from scrapy import Request
from scrapy.http import Response

from sitecrawl.page.items import Exchange, Headers, pairs


@dataclass(frozen=True, slots=True)
class SentAt:
    """Time at which a request was sent; default: now."""

    at: float = field(default_factory=time.time)
    """Unix time in seconds."""
    _tick: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """Seconds since then by the monotonic clock."""
        return time.monotonic() - self._tick


def exchange_of(request: Request, response: Response, sent_at: SentAt, shown: Headers = ()) -> Exchange:
    """The exchange whose `response` has just come. `shown`: masked headers in the place of those added on sending."""
    names = {name.lower() for name, _ in shown}
    sent = pairs(request.headers)
    return Exchange(
        url=request.url.partition("#")[0],
        started=sent_at.at,
        seconds=sent_at.seconds,
        status=response.status,
        request_headers=[*(one for one in sent if one[0].lower() not in names), *shown] if names else sent,
        headers=pairs(response.headers),
        body=response.body,
        method=request.method,
        request_body=request.body,
        protocol=response.protocol or "HTTP/1.1",
        ip=None if "proxy" in request.meta else _ip(response),
    )


def _ip(response: Response) -> str | None:
    return str(response.ip_address) if response.ip_address is not None else None
