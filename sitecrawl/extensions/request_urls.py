"""Parts of a request's URL, for each request.

Scrapy parses it by `urllib`, which takes 40,000 instructions. A request's URL is written as Scrapy has escaped it, so
most need no parser: they have a host in ASCII, and neither a login nor parameters.
"""

from __future__ import annotations

from scrapy import Request
from scrapy.utils.httpobj import urlparse_cached

from sitecrawl.base.expressions import expression

_PLAIN = expression(r"https?://([a-z0-9.-]+)(?::\d+)?(/[^?#;]*)(?:\?([^#;]*))?")


def hostname(request: Request) -> str:
    """`urlparse_cached(request).hostname`; empty without one."""
    found = _PLAIN.fullmatch(request.url)
    return found[1] if found is not None else urlparse_cached(request).hostname or ""


def host_and_target_lengths(request: Request) -> tuple[int, int]:
    """Characters of the host, and of path and query as they are sent."""
    found = _PLAIN.fullmatch(request.url)
    if found is not None:
        return len(found[1]), len(found[2]) + (1 + len(found[3]) if found[3] else 0)
    url = urlparse_cached(request)
    parts = sum([1 + len(part) for part in (url.params, url.query) if part])
    return len(url.hostname or ""), (len(url.path) or 1) + parts
