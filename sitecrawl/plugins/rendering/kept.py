"""What pages share: scripts, style sheets, fonts and images that are stored already, for the pages that come next.

A browser has a cache for that; ours begins every page with none, so that no page knows of another. What is kept here
is asked for once in a run, as an archive wants it, and not for each page. It comes in when it has been stored: then
it may be left out of what later pages bring. Not kept is what its sender wants kept by nobody, and what differs from
page to page.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from sitecrawl.page.items import Exchange
from sitecrawl.plugins.rendering.proxy import Answer

MAX_SIZE: Final = 32 << 20
"""Bytes of all bodies."""
_MAX_BODY: Final = 4 << 20
_TYPES: Final = (
    "application/ecmascript",
    "application/font-",
    "application/javascript",
    "application/vnd.ms-fontobject",
    "application/wasm",
    "application/x-javascript",
    "font/",
    "image/",
    "text/css",
    "text/javascript",
)
_OWN_FOR_EACH: Final = (b"*", b"cookie", b"origin")
"""Values of Vary with which an answer is for one page, or one site."""


class Kept:
    """See the module; the longest unused go."""

    def __init__(self, max_size: int = MAX_SIZE) -> None:
        self._max_size = max_size
        self._answers: OrderedDict[str, Answer] = OrderedDict()
        self._size = 0

    def get(self, url: str) -> Answer | None:
        found = self._answers.get(url)
        if found is not None:
            self._answers.move_to_end(url)
        return found

    def add(self, exchange: Exchange) -> None:
        """What has been stored."""
        if exchange.url in self._answers or not _is_shared(exchange):
            return
        self._answers[exchange.url] = Answer(exchange.status, exchange.headers, exchange.body)
        self._size += len(exchange.body)
        while self._size > self._max_size:
            self._size -= len(self._answers.popitem(last=False)[1].body)


def _is_shared(exchange: Exchange) -> bool:
    if exchange.method != "GET" or exchange.status != 200 or len(exchange.body) > _MAX_BODY:
        return False
    types = _values(exchange, b"content-type")
    if not types or not types[0].decode("latin-1").startswith(_TYPES):
        return False
    if any(b"no-store" in value for value in _values(exchange, b"cache-control")):
        return False
    return not any(name in value for value in _values(exchange, b"vary") for name in _OWN_FOR_EACH)


def _values(exchange: Exchange, name: bytes) -> list[bytes]:
    return [value.strip().lower() for key, value in exchange.headers if key.lower() == name]
