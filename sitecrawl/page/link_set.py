"""The links of one page, one a target, each with what it leads to.

`sitecrawl/base/native/anchors.c` does the same for most of them.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import fields
from functools import lru_cache
from typing import Final

from sitecrawl.base.compiled import native
from sitecrawl.base.limits import SCHEMES, URL_LENGTH, AnyLimit
from sitecrawl.page import charset
from sitecrawl.page.items import Link
from sitecrawl.page.markup import Element
from sitecrawl.urls.url import BEGINNINGS, WEB, Schemes, Url, parse_or_none, path_start

_ANY_ORIGIN = "http://any.invalid"  # what an absolute URL is does not hang on its base

# A site's pages share most of their links, and what a link resolves to depends on the base's directory alone, so one
# parse serves many pages: 0.2 us instead of 2.5. Bounded in entries and in their length: 16 MB at most.
_REMEMBERED_LENGTH = 250
_FIELDS: Final = fields(Link)
MADE: Final = Link, tuple(vars(Link)[one.name] for one in _FIELDS), tuple(one.default for one in _FIELDS[5:])
"""What makes a link in C: its class, the slots of its fields, and what stands in those after the first five."""

# Nothing, a query, and what the parser first has to strip.
_NEEDS_THE_WHOLE_BASE = frozenset(["", "?", *map(chr, range(0x21))])


class LinkSet:
    """Collects the links of one page, one a target."""

    def __init__(
        self, base: str, query_charset: str | None, max_url_length: int, schemes: Schemes, met: Counter[AnyLimit]
    ) -> None:
        self._query_charset = query_charset
        self._max_url_length = max_url_length
        self._schemes = schemes
        self._targets: dict[str, Url | None] = {}
        self._links: dict[str, Link] = {}
        self.hrefs = 0
        """Number of links so far, repeated ones included."""
        self.met = met
        self.rebase(base)

    def rebase(self, base: str) -> None:
        """Resolve further links against `base`."""
        self._base = base
        self._origin = base[: path_start(base)]
        self._directory = base.partition("?")[0].rpartition("/")[0]
        self._targets.clear()

    def add(self, href: str, kind: str, text: str = "", nofollow: bool = False) -> str | None:  # noqa: FBT001, FBT002
        """Add the link and return its URL; None if it is invalid."""
        target = href.partition("#")[0]  # many links of a page differ in the fragment only
        if target in self._targets:
            url = self._targets[target]
        else:
            url = self._targets[target] = self._resolved(target)
            if url is None:
                self._skip(target)
        if url is None:
            return None
        self.hrefs += 1
        link = self._links.get(url.href)
        if link is None:
            self._links[url.href] = Link(url.href, url.host, text, kind, nofollow)
        elif not nofollow:
            link.nofollow = False
        return url.href

    def _skip(self, target: str) -> None:
        is_none = parse_or_none(target, self._base, max_length=sys.maxsize, schemes=self._schemes) is None
        self.met[SCHEMES if is_none else URL_LENGTH] += 1

    def read(self, found: list[Element], read_one: Callable[[Element], None]) -> None:
        """Add the links of all elements in order: by the C if available, others by `read_one`."""
        if native is None:
            for element in found:
                read_one(element)
            return
        places = _ANY_ORIGIN, self._origin, self._directory
        bounds = self._max_url_length, self._schemes, _REMEMBERED_LENGTH
        taken = native.anchors(found, read_one, self._targets, self._links, _remembered, MADE, places, *bounds)
        self.hrefs += taken  # `read_one` has counted as well meanwhile

    def all(self) -> list[Link]:
        return list(self._links.values())

    def __len__(self) -> int:
        return len(self._links)

    def _resolved(self, target: str) -> Url | None:
        if self._query_charset is not None and "?" in target and not target.isascii():
            target = charset.with_encoded_query(target, self._query_charset)
        if len(target) > _REMEMBERED_LENGTH or len(self._directory) > _REMEMBERED_LENGTH:
            return parse_or_none(target, self._base, max_length=self._max_url_length, schemes=self._schemes)
        if target.startswith(("http://", "https://")):
            return _remembered(target, _ANY_ORIGIN, self._max_url_length, self._schemes)
        if target.startswith("/"):
            return _remembered(target, self._origin, self._max_url_length, self._schemes)
        if target[:1] in _NEEDS_THE_WHOLE_BASE or ":" in target:  # `http:` alone is the page itself
            return parse_or_none(target, self._base, max_length=self._max_url_length, schemes=self._schemes)
        return _remembered(target, self._directory, self._max_url_length, self._schemes)


def absolute_url(href: str, max_length: int, schemes: Schemes = WEB) -> Url | None:
    """The URL of an absolute `href`; None if it is relative or of none of `schemes`."""
    if not href.startswith(BEGINNINGS[schemes]):
        return None
    if len(href) <= _REMEMBERED_LENGTH:
        return _remembered(href, _ANY_ORIGIN, max_length, schemes)
    return parse_or_none(href, _ANY_ORIGIN, max_length=max_length, schemes=schemes)


@lru_cache(maxsize=1 << 14)
def _remembered(target: str, directory: str, max_url_length: int, schemes: Schemes) -> Url | None:
    return parse_or_none(target, directory + "/", max_length=max_url_length, schemes=schemes)
