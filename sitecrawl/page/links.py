"""The links of a page, and its facts about itself.

Facts, not filters: a `nofollow` link is a link with a flag. The frontier decides what to fetch.

docs/urls.md says what is a link. `sitecrawl/compiled/anchors.c` does the same for most links of most pages, in a
third of the time.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Protocol

from sitecrawl.base.errors import InvalidUrl
from sitecrawl.base.limits import LINKS, REQUISITES, SCHEMES, URL_LENGTH, AnyLimit
from sitecrawl.compiled import native
from sitecrawl.page import budget, charset, requisites
from sitecrawl.page import media_type as media
from sitecrawl.page.beginning import html_of, is_markup
from sitecrawl.page.budget import Budget
from sitecrawl.page.directives import Robots, header_links, refresh_target, robots_of_headers, robots_of_meta
from sitecrawl.page.items import Headers, Link, PageItem
from sitecrawl.page.language import declared_language
from sitecrawl.page.markup import DEFAULT, Element, Elements, TreeOptions, collapsed, elements
from sitecrawl.page.requisites import Part
from sitecrawl.page.shingles import is_sampled, shingles
from sitecrawl.page.simhash import simhash
from sitecrawl.page.xhtml import TYPES as XML
from sitecrawl.urls.url import BEGINNINGS, CRAWLED, MAX_URL_LENGTH, WEB, Schemes, Url, parse, path_start

AGENT: Final = "sitecrawl"

# Each says that the page's author does not vouch for the target: the first to everyone, the others to search engines.
_NOT_VOUCHED = frozenset({"nofollow", "ugc", "sponsored"})
# Relations whose target is a page of its own. Of the others, most are resources, services or people.
_PAGE_RELATIONS = ("canonical", "alternate", "next", "prev")
_OF_FRAMES = frozenset({"a", "area", "frame", "iframe", "object", "embed"})
KINDS: Final = frozenset({*_OF_FRAMES, "refresh", "header", *_PAGE_RELATIONS})
"""What a `Link` can be."""
_UNICODE_CHARSETS = frozenset({"utf-8", "utf-16le", "utf-16be"})


@dataclass(frozen=True, slots=True)
class PageOptions:
    """How much of a page is read."""

    max_links: int = LINKS.default
    """Most elements read. 50,000: as many as a sitemap may list URLs (sitemaps.org)."""
    max_url_length: int = MAX_URL_LENGTH
    """Most characters of a link."""
    max_requisites: int = 0
    """Most requisites; 0 if they are not wanted."""
    ftp: bool = False
    """Whether links to FTP servers are links."""
    tree: TreeOptions = DEFAULT
    budget: Budget = budget.DEFAULT


class PageReader(Protocol):
    """`read_page`, or a function that has it done in another process."""

    def __call__(
        self, url: str, body: bytes, headers: Headers, *, met: Counter[AnyLimit] | None = None
    ) -> PageItem: ...


class _Links:
    """Collects the links of one page, one a target."""

    def __init__(self, base: str, query_charset: str | None, options: PageOptions, met: Counter[AnyLimit]) -> None:
        self._query_charset = query_charset
        self._max_url_length = options.max_url_length
        self._schemes = CRAWLED if options.ftp else WEB
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
        is_none = _parsed(target, self._base, sys.maxsize, self._schemes) is None
        self.met[SCHEMES if is_none else URL_LENGTH] += 1

    def read(self, found: list[Element], read_one: Callable[[Element], None]) -> None:
        """Add the links of all elements in order: by the C if available, others by `read_one`."""
        if native is None:
            for element in found:
                read_one(element)
            return
        places = _ANY_ORIGIN, self._origin, self._directory
        bounds = self._max_url_length, self._schemes, _REMEMBERED_LENGTH
        taken = native.anchors(found, read_one, self._targets, self._links, _remembered, Link, places, *bounds)
        self.hrefs += taken  # `read_one` has counted as well meanwhile

    def all(self) -> list[Link]:
        return list(self._links.values())

    def __len__(self) -> int:
        return len(self._links)

    def _resolved(self, target: str) -> Url | None:
        if self._query_charset is not None and "?" in target and not target.isascii():
            target = charset.with_encoded_query(target, self._query_charset)
        if len(target) > _REMEMBERED_LENGTH or len(self._directory) > _REMEMBERED_LENGTH:
            return _parsed(target, self._base, self._max_url_length, self._schemes)
        if target.startswith(("http://", "https://")):
            return _remembered(target, _ANY_ORIGIN, self._max_url_length, self._schemes)
        if target.startswith("/"):
            return _remembered(target, self._origin, self._max_url_length, self._schemes)
        if target[:1] in _NEEDS_THE_WHOLE_BASE or ":" in target:  # `http:` alone is the page itself
            return _parsed(target, self._base, self._max_url_length, self._schemes)
        return _remembered(target, self._directory, self._max_url_length, self._schemes)


def _parsed(target: str, base: str, max_url_length: int, schemes: Schemes) -> Url | None:
    try:
        return parse(target, base, max_length=max_url_length, schemes=schemes)
    except InvalidUrl:
        return None


def absolute_url(href: str, max_length: int, schemes: Schemes = WEB) -> Url | None:
    """The URL of an absolute `href`; None if it is relative or of none of `schemes`."""
    if not href.startswith(BEGINNINGS[schemes]):
        return None
    if len(href) <= _REMEMBERED_LENGTH:
        return _remembered(href, _ANY_ORIGIN, max_length, schemes)
    return _parsed(href, _ANY_ORIGIN, max_length, schemes)


_ANY_ORIGIN = "http://any.invalid"  # what an absolute URL is does not hang on its base

# A site's pages share most of their links, and what a link resolves to depends on the base's directory alone, so one
# parse serves many pages: 0.2 us instead of 2.5. Bounded in entries and in their length: 16 MB at most.
_REMEMBERED_LENGTH = 250
# Nothing, a query, and what the parser first has to strip.
_NEEDS_THE_WHOLE_BASE = frozenset(["", "?", *map(chr, range(0x21))])


@lru_cache(maxsize=1 << 14)
def _remembered(target: str, directory: str, max_url_length: int, schemes: Schemes) -> Url | None:
    return _parsed(target, directory + "/", max_url_length, schemes)


def read_page(
    url: str,
    body: bytes,
    headers: Headers,
    *,
    options: PageOptions = PageOptions(),
    agent: str = AGENT,
    met: Counter[AnyLimit] | None = None,
) -> PageItem:
    """Read the headers and body of a response to a request for `url`.

    The rest of the `PageItem`, such as status and depth, is left to the caller. `body` is without content coding;
    `agent` is the name by which robots directives address us. `met` counts exceeded limits: `SCHEMES` and
    `URL_LENGTH` by distinct hrefs. Nothing in `body` or `headers` raises; an invalid `url` raises `InvalidUrl`.
    """
    document = parse(url, max_length=sys.maxsize, schemes=CRAWLED).href
    declared = media.declared_type(_values(headers, b"content-type"))
    content_type = media.actual_type(declared, body)
    page = PageItem(url.partition("#")[0], content_type=content_type, size=len(body), body=body)
    page.charset = _charset(content_type, declared.charset, body)
    met = Counter() if met is None else met
    robots = robots_of_headers(_values(headers, b"x-robots-tag"), agent)
    markup = _html_elements(page, options, met)
    found = markup.found
    facts = [element for element in found if element[0] != "a"]  # nearly all are, and by number it takes a third
    page.base = _base(facts, document)
    query_charset = None if page.charset in _UNICODE_CHARSETS else page.charset
    links = _Links(document, query_charset, options, met)
    _read_headers(headers, page, links)

    def read_one(element: Element) -> None:
        nonlocal robots
        if element.tag == "meta":
            robots |= _read_meta(element, links, agent)
        elif element.tag in _READERS:
            _READERS[element.tag](element, page, links)

    left = options.max_links
    has_frames = any(element.tag == "iframe" for element in facts)
    for base, part in _with_frames(found, page.base, options) if has_frames else [(page.base, found)]:
        links.rebase(base)
        links.read(part[:left], read_one)
        left = max(0, left - len(part))
    page.noindex, page.nofollow = robots
    page.language = declared_language(facts, _values(headers, b"content-language"))
    page.links, page.hrefs = links.all(), links.hrefs
    if options.max_requisites:
        made_of = _Links(document, query_charset, options, met)
        page.requisites = _requisites(page, headers, markup.parts, made_of, options.max_requisites)
    return page


def unread_page(url: str, headers: Headers, reason: str) -> PageItem:
    """The page of a response that broke its reader because of `reason`: what headers declare, no body and no
    links.
    """
    page = read_page(url, b"", [pair for pair in headers if pair[0].lower() == b"content-type"])
    page.charset, page.quarantined = None, reason
    return page


def _values(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> list[str]:
    return [value.decode("utf-8", "replace") for key, value in headers if key.lower() == name]


def _charset(content_type: str, declared: str | None, body: bytes) -> str | None:
    if content_type.endswith("xml"):
        return charset.of_xml(body, declared)
    if content_type in media.HTML:
        return charset.of_body(body, declared)
    if content_type.endswith(("json", "javascript")):
        return charset.of_body(body, declared, prescan=False, default="utf-8")
    if content_type.startswith("text/"):
        return charset.of_body(body, declared, prescan=False)
    return None


def _html_elements(page: PageItem, options: PageOptions, met: Counter[AnyLimit]) -> Elements:
    if not is_markup(page.content_type):
        return Elements([], cut=False, no_tree=None, text="")
    plain = page.content_type not in XML  # making HTML of XML takes as long as making lines of text does
    allowed = options.budget.of_links if plain else options.budget
    body = html_of(page.body, page.content_type, page.charset, allowed)
    if (limit := budget.exceeded(page.body, options.budget)) is not None:
        met[limit] += 1
    found = elements(body, options.max_links, options.tree, parts=options.max_requisites > 0)
    if found.cut:
        met[LINKS] += 1
    if found.no_tree is not None:
        met[found.no_tree] += 1
    if found.text:
        page.text_hash = simhash(found.text)
        page.says(shingles(found.text) if is_sampled(page.body) else None)
    return found


def _with_frames(
    found: Iterable[Element], base: str, options: PageOptions, depth: int = 0
) -> Iterator[tuple[str, list[Element]]]:
    """Parts of `found`, with the elements of each `<iframe srcdoc>` in place of that frame, each part with its
    base.
    """
    part: list[Element] = []
    for element in found:
        document = element.attributes.get("srcdoc") if element.tag == "iframe" else None
        if document is None:
            part.append(element)
            continue
        yield base, part
        part = []
        if depth < _MOST_FRAMES:
            inside = elements(document.encode("utf-8", "replace"), options.max_links, options.tree).found
            of_frame = [one for one in inside if one.tag in _OF_FRAMES]
            yield from _with_frames(of_frame, _base(inside, base), options, depth + 1)
    yield base, part


_MOST_FRAMES: Final = 4
"""Most nested frames of that kind."""


def _base(found: Iterable[Element], document: str) -> str:
    """The document base URL (HTML, section 2.4.3): the first `<base href>` of the page counts, wherever it is."""
    for element in found:
        if element.tag == "base" and (href := element.attributes.get("href")) is not None:
            try:
                return parse(href, document, schemes=CRAWLED).href
            except InvalidUrl:
                return document
    return document


def _read_headers(headers: Sequence[tuple[bytes, bytes]], page: PageItem, links: _Links) -> None:
    """Read headers. Their links are relative to the document, not to its `<base>` (RFC 8288, section 3)."""
    for value in _values(headers, b"refresh"):
        if target := refresh_target(value):
            links.add(target, "refresh")
    for value in _values(headers, b"link"):
        for target, parameters in header_links(value):
            relation, nofollow = _relation(parameters.get("rel"), parameters.get("type"))
            if relation is None or "anchor" in parameters:  # RFC 8288, section 3.2: another page's link
                continue
            url = links.add(target, "header", text=collapsed(parameters.get("title", "")), nofollow=nofollow)
            if relation == "canonical":
                page.canonical = page.canonical or url


def _requisites(page: PageItem, headers: Headers, markup: Iterable[Element], links: _Links, most: int) -> list[Link]:
    """Requisites of the page or style sheet, at most `most`, those with requisites of their own first."""
    for value in _values(headers, b"link"):
        for target, parameters in header_links(value):
            kind = requisites.relation_of(parameters.get("rel"), parameters.get("as"))
            if kind is not None and "anchor" not in parameters:
                links.add(target, kind)
    links.rebase(page.base)
    for kind, address in _parts(page, markup):
        links.add(address, kind)
        if len(links) > _LOOKED_AT * most:  # what is beyond is not even counted
            break
    found = sorted(links.all(), key=lambda link: link.kind not in requisites.HOLDERS)
    if len(found) > most:
        links.met[REQUISITES] += 1
    return found[:most]


_LOOKED_AT = 2
"""Factor: elements looked at for each wanted one, to find style sheets among them."""


def _parts(page: PageItem, markup: Iterable[Element]) -> Iterable[Part]:
    if page.content_type == media.CSS:
        return requisites.parts_of_style(page.text)
    return (part for element in markup for part in requisites.parts_of(element))


def _relation(rel: str | None, media_type: str | None) -> tuple[str | None, bool]:
    """Relation by which a `<link>` or a `Link` leads to a page, if it does; and whether it is nofollow."""
    tokens = (rel or "").lower().split()
    nofollow = not _NOT_VOUCHED.isdisjoint(tokens)
    if "stylesheet" in tokens or (media_type or "text/html").strip().lower() not in media.HTML:
        return None, nofollow
    return next((relation for relation in _PAGE_RELATIONS if relation in tokens), None), nofollow


def _read_meta(element: Element, links: _Links, agent: str) -> Robots:
    """Add a refresh's link; return robots directives for us, if any."""
    content = element.attributes.get("content") or ""
    if (element.attributes.get("http-equiv") or "").lower() == "refresh" and (target := refresh_target(content)):
        links.add(target, "refresh")
    if (element.attributes.get("name") or "").strip().lower() in {"robots", agent.lower()}:
        return robots_of_meta(content)
    return Robots()


def _read_anchor(element: Element, page: PageItem, links: _Links) -> None:
    href = element.attributes.get("href")
    if href is not None:
        rel = element.attributes.get("rel")
        nofollow = rel is not None and not _NOT_VOUCHED.isdisjoint(rel.lower().split())
        text = element.text if element.tag == "a" else collapsed(element.attributes.get("alt") or "")
        links.add(href, element.tag, text=text, nofollow=nofollow)


def _read_frame(element: Element, page: PageItem, links: _Links) -> None:
    if source := element.attributes.get("src"):
        links.add(source, element.tag, text=collapsed(element.attributes.get("title") or ""))


def _read_object(element: Element, page: PageItem, links: _Links) -> None:
    """Add an embedded page; media are parts of the page itself."""
    kind = (element.attributes.get("type") or "").strip().lower()
    source = element.attributes.get("data" if element.tag == "object" else "src")
    if source and not kind.startswith(_MEDIA):
        links.add(source, element.tag, text=collapsed(element.attributes.get("title") or ""))


_MEDIA: Final = ("audio/", "font/", "image/", "video/", "application/x-")


def _read_link(element: Element, page: PageItem, links: _Links) -> None:
    attributes = element.attributes
    relation, nofollow = _relation(attributes.get("rel"), attributes.get("type"))
    if relation is None or not (href := attributes.get("href")):
        return
    url = links.add(href, relation, text=collapsed(attributes.get("title") or ""), nofollow=nofollow)
    if relation == "canonical":
        page.canonical = page.canonical or url


def _read_title(element: Element, page: PageItem, links: _Links) -> None:
    if page.title is None:
        page.title = element.text


_READERS: dict[str, Callable[[Element, PageItem, _Links], None]] = {
    "a": _read_anchor,
    "area": _read_anchor,
    "frame": _read_frame,
    "iframe": _read_frame,
    "object": _read_object,
    "embed": _read_object,
    "link": _read_link,
    "title": _read_title,
}
