"""A stored page to look at, inert: it is somebody else's, and would do there what it likes.

The answer's own Content-Security-Policy puts it into a sandbox without any right: no script runs, no form is sent,
nothing is loaded or connected to, its origin is none, so it sees nothing of the dashboard; and only the dashboard may
frame it. The frame has the attribute `sandbox` besides, and the dashboard's policy lets it lead nowhere else. What is
no text and no picture is not shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Final, NamedTuple

from sitecrawl.base.errors import InvalidUrl, OptionError
from sitecrawl.page.media_type import HTML
from sitecrawl.pagestore.capture import Capture
from sitecrawl.pagestore.lookup import url_key
from sitecrawl.pagestore.reader import PageReader
from sitecrawl.pagestore.record import RENDERED, SCREENSHOT
from sitecrawl.urls.url import CRAWLED, parse

MOST: Final = 2_000_000
"""Bytes of a body that are shown: the crawl waits while they are unpacked."""
_PICTURES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"})
"""Those that are no documents; SVG is one."""
HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": (
        "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'self'"
    ),
    "X-DNS-Prefetch-Control": "off",
    "X-Frame-Options": "SAMEORIGIN",
}
"""Instead of those of all other answers."""


class Preview(NamedTuple):
    """What is shown."""

    body: bytes
    content_type: str


def preview(pages: Callable[[], AbstractContextManager[PageReader | None]], url: str) -> Preview:
    """The newest page that is stored of `url`: its picture or else its DOM, if a browser has made one. Raises
    `OptionError` where there is none to show, `StorageError`.
    """
    try:
        key = url_key(parse(url, schemes=CRAWLED).href)
    except InvalidUrl as error:
        raise OptionError(str(error)) from error
    with pages() as reader:
        if reader is None:
            raise OptionError("This crawl stores no pages")
        captures = [one for one in reader.versions(key) if one.payload_size]
        if not captures:
            raise OptionError("Nothing is stored of this URL here")
        made = (reader.rendered(captures[0], kind) for kind in (SCREENSHOT, RENDERED))
        shown = next((one for one in made if one is not None), captures[0])
        return Preview(_body(reader, shown), _shown_as(shown))


def _body(reader: PageReader, capture: Capture) -> bytes:
    if max(capture.size or 0, capture.payload_size) > MOST:
        raise OptionError(f"It is larger than is shown here: `scrapy page {capture.url}` has it")
    return reader.read(capture).body[:MOST]


def _shown_as(capture: Capture) -> str:
    """The type under which a browser gets it. Raises `OptionError` for what is not shown."""
    charset = capture.charset if capture.charset and capture.charset.replace("-", "").isalnum() else "utf-8"
    if capture.content_type in HTML:
        return f"text/html; charset={charset}"
    if capture.content_type in _PICTURES:
        return capture.content_type
    if capture.content_type.startswith("text/") or capture.content_type in {"", "application/json"}:
        return f"text/plain; charset={charset}"
    raise OptionError(f"What is {capture.content_type} is not shown here")
