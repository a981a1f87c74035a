"""Where a site's sitemaps may be, and whether a response is one. Without network: see `crawl.live_sitemaps`.

In this order: those that robots.txt names; links of the front page that are called so; the usual addresses, the
likeliest first (`addresses.txt`). All are tried, as a site may have several.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cache
from importlib.resources import files
from typing import Final

from sitecrawl.base.expressions import expression
from sitecrawl.crawl.sitemaps.entry import Form, ParseReport
from sitecrawl.page import charset
from sitecrawl.page.items import PageItem
from sitecrawl.page.links import html_of
from sitecrawl.page.markup import elements
from sitecrawl.page.simhash import distance, simhash
from sitecrawl.urls.url import Url, parse, parse_or_none

_MAX_NAMED: Final = 10_000
"""Most sitemaps taken from one robots.txt or front page."""
GUESSES: Final = 12
"""Usual addresses tried in 24 hours on a host with a known sitemap."""
_MIN_LINKS: Final = 5
"""Least links of an HTML site map, on a host that answers every address with a page."""
_NEAR: Final = 8
"""Bits of 64 in which the SimHashes of two pages that say an address is missing differ at most: such a page is short,
so a word that changes, as the address does, turns about eight bits. Texts that have nothing in common differ in 20.
"""
_NO_PAGES: Final = (".atom", ".gz", ".json", ".rss", ".txt", ".xml")
"""Endings of addresses at which a page of HTML means that nothing is there."""
_WORDS_AROUND: Final = 2
"""Longest text of a link that names a site map, as a multiple of the words' length."""
_MAX_ELEMENTS: Final = 20_000

_LINE = expression(r"\s*+site-?map\s*+:\s*+(\S++)", re.IGNORECASE)
_BARE = expression(r"\s*+(https?://\S*?sitemap\S*+)\s*+(?:#.*)?", re.IGNORECASE)
_SEPARATOR = expression(r"[\W_]+")
_FEEDS: Final = frozenset(
    {"application/rss+xml", "application/atom+xml", "application/feed+json", "application/rdf+xml"}
)
_MISSING_TITLE = expression(
    r"\b40[34]\b|not found|no encontrad|introuvable|nicht gefunden|не найден|找不到|不存在", re.IGNORECASE
)


class How(Enum):
    """How a sitemap was found."""

    ROBOTS = "robots"
    """A robots.txt names it."""
    LINK = "link"
    """A front page links to it."""
    USUAL = "usual"
    """It is at a usual address."""
    INDEX = "index"
    """Another sitemap names it."""
    HAND = "hand"
    """A person named it."""


def in_robots(body: bytes, url: str) -> list[Url]:
    """Addresses in the `Sitemap:` lines of the robots.txt at `url`, each once.

    Relative addresses count, and lines that are only the address of a sitemap.
    """
    text = charset.without_bom(body).decode(charset.of_body(body, None, prescan=False, default="utf-8"), "replace")
    found: dict[str, Url] = {}
    for line in re.split(r"[\r\n]", text):
        match = _LINE.match(line) or _BARE.fullmatch(line)
        if match and (target := parse_or_none(match[1], url)):
            found.setdefault(target.href, target)
            if len(found) == _MAX_NAMED:
                break
    return list(found.values())


def on_page(body: bytes, page: PageItem) -> list[Url]:
    """Site maps and feeds that `page` (with the full `body`) links to, each once."""
    found: dict[str, Url] = {}
    for element in elements(html_of(body, page.content_type, page.charset), _MAX_ELEMENTS).found:
        href = element.attributes.get("href") or ""
        is_one = href and _names_one(element.tag, element.attributes, element.text)
        if is_one and (url := parse_or_none(href, page.base)):
            found.setdefault(url.href, url)
            if len(found) == _MAX_NAMED:
                break
    return list(found.values())


def _names_one(tag: str, attributes: dict[str, str | None], text: str) -> bool:
    if tag == "a":
        return _is_name(text) or _is_name(attributes.get("title") or "")
    relations = (attributes.get("rel") or "").lower().split()
    media_type = (attributes.get("type") or "").lower().strip()
    return tag == "link" and ("sitemap" in relations or ("alternate" in relations and media_type in _FEEDS))


def _is_name(text: str) -> bool:
    """Whether a link's text calls its target a site map, in one of many languages."""
    plain = _SEPARATOR.sub("", text.casefold())
    return any(word in plain and len(plain) <= len(word) * _WORDS_AROUND for word in _names())


def usual(site: Url) -> Iterator[Url]:
    """The usual addresses on the host of `site`, the likeliest first."""
    return (parse(site.origin + path) for path in _lines("addresses.txt"))


@dataclass(frozen=True, slots=True)
class SitemapAnswer:
    """An answer, reduced to what distinguishes a sitemap from a soft 404."""

    url: str
    """Where the answer came from, after redirects."""
    status: int
    title: str = ""
    text_hash: int = 0
    """SimHash of a page's readable text; 0 for anything else."""

    @classmethod
    def of(cls, url: str, status: int, body: bytes, page: PageItem) -> SitemapAnswer:
        text_hash = simhash(body.decode("utf-8", "replace")) if page.text_hash is None else page.text_hash
        return cls(url, status, page.title or "", text_hash)


def is_sitemap(answer: SitemapAnswer, report: ParseReport, *, missing: SitemapAnswer | None) -> bool:
    """Whether there is a sitemap at an address for which nobody vouches, or a page at one that is named.

    `report` says what its body is. `missing` is what the host says of an address that cannot exist; None if that is
    not known. A page is a sitemap if the host tells right from wrong addresses, or it has several links and does not
    look like what is at the wrong ones.
    """
    if answer.status != 200 or not report.entries:
        return False
    if report.form != Form.HTML:
        return True
    path = parse(answer.url).path
    if path == "/" or path.endswith(_NO_PAGES) or _MISSING_TITLE.search(answer.title):
        return False
    if missing is None or missing.status >= 400:
        return True
    is_another = missing.url != answer.url and distance(missing.text_hash, answer.text_hash) > _NEAR
    return is_another and report.entries >= _MIN_LINKS


def may_list(sitemap: str, vouchers: frozenset[str] | set[str], host: str) -> bool:
    """Whether a sitemap on the host `sitemap` speaks for URLs of `host`.

    It does for its own host, with or without `www.` and whatever the port, and for `vouchers`: hosts whose robots.txt
    names it, or the index that it is part of (sitemaps.org, "Sitemaps & Cross Submits"). The protocol's rule that it
    speaks only for the folder it is in is not kept: hardly any site does.
    """
    return _plain(host) == _plain(sitemap) or host in vouchers


def _plain(host: str) -> str:
    return host.partition(":")[0].removeprefix("www.")


@cache
def _names() -> tuple[str, ...]:
    return tuple(dict.fromkeys(_SEPARATOR.sub("", line.casefold()) for line in _lines("words.txt")))


def _lines(name: str) -> list[str]:
    text = (files("sitecrawl.crawl.sitemaps") / name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]
