"""The links of a page, and its facts about itself.

Facts, not filters: a `nofollow` link is a link with a flag. The frontier decides what to fetch.

docs/urls.md says what is a link. `sitecrawl/base/native/anchors.c` does the same for most links of most pages, in a
third of the time (`link_set`).
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from sitecrawl.base.limits import LINKS, REQUISITES, AnyLimit
from sitecrawl.page import budget, charset, requisites
from sitecrawl.page import media_type as media
from sitecrawl.page.budget import Budget, within
from sitecrawl.page.charset import without_bom
from sitecrawl.page.directives import (
    Robots,
    declared_language,
    header_links,
    refresh_target,
    robots_of_headers,
    robots_of_meta,
)
from sitecrawl.page.items import Headers, Link, PageItem
from sitecrawl.page.link_set import LinkSet
from sitecrawl.page.markup import DEFAULT, Element, Elements, TreeOptions, collapsed, elements
from sitecrawl.page.requisites import Part
from sitecrawl.page.shingles import is_sampled, shingles
from sitecrawl.page.simhash import simhash
from sitecrawl.page.xhtml import TYPES as XML
from sitecrawl.page.xhtml import as_html
from sitecrawl.urls.url import CRAWLED, MAX_URL_LENGTH, WEB, parse, parse_or_none

AGENT: Final = "sitecrawl"

# Each says that the page's author does not vouch for the target: the first to everyone, the others to search engines.
_NOT_VOUCHED = frozenset({"nofollow", "ugc", "sponsored"})
# Relations whose target is a page of its own. Of the others, most are resources, services or people.
_PAGE_RELATIONS = ("canonical", "alternate", "next", "prev")
_OF_FRAMES = frozenset({"a", "area", "frame", "iframe", "object", "embed"})
KINDS: Final = frozenset({*_OF_FRAMES, "refresh", "header", *_PAGE_RELATIONS})
"""What a `Link` can be."""
_HEADERS: Final = (b"content-type", b"x-robots-tag", b"refresh", b"link", b"content-language")
"""Those that say something about a page or its links."""
_UNICODE_CHARSETS = frozenset({"utf-8", "utf-16le", "utf-16be"})


@dataclass(frozen=True, slots=True)
class PageOptions:
    """How much of a page is read."""

    max_links: int = LINKS.value
    """Most elements read. 50,000: as many as a sitemap may list URLs (sitemaps.org)."""
    max_url_length: int = MAX_URL_LENGTH
    """Most characters of a link."""
    max_requisites: int = 0
    """Most requisites; 0 if they are not wanted."""
    ftp: bool = False
    """Whether links to FTP servers are links."""
    tree: TreeOptions = DEFAULT
    budget: Budget = budget.DEFAULT


def read_page(
    url: str,
    body: bytes,
    headers: Headers,
    *,
    options: PageOptions = PageOptions(),
    met: Counter[AnyLimit] | None = None,
) -> PageItem:
    """Read the headers and body of a response to a request for `url`.

    The rest of the `PageItem`, such as status and depth, is left to the caller. `body` is without content coding.
    `met` counts exceeded limits: `SCHEMES` and `URL_LENGTH` by distinct hrefs. Nothing in `body` or `headers` raises;
    an invalid `url` raises `InvalidUrl`.
    """
    document = parse(url, max_length=sys.maxsize, schemes=CRAWLED).href
    said = _said(headers)
    declared = media.declared_type(said[b"content-type"])
    content_type = media.actual_type(declared, body)
    page = PageItem(url.partition("#")[0], content_type=content_type, size=len(body), body=body)
    page.charset = _charset(content_type, declared.charset, body)
    met = Counter() if met is None else met
    robots = robots_of_headers(said[b"x-robots-tag"], AGENT)
    markup = _html_elements(page, options, met)
    found = markup.found
    facts = [element for element in found if element[0] != "a"]  # nearly all are, and by number it takes a third
    page.base = _base(facts, document)
    kept = options.max_url_length, CRAWLED if options.ftp else WEB
    query_charset = None if page.charset in _UNICODE_CHARSETS else page.charset
    links = LinkSet(document, query_charset, *kept, met)
    _read_headers(said, page, links)

    def read_one(element: Element) -> None:
        nonlocal robots
        if element.tag == "meta":
            robots |= _read_meta(element, links)
        elif element.tag in _READERS:
            _READERS[element.tag](element, page, links)

    left = options.max_links
    has_frames = any(element.tag == "iframe" for element in facts)
    for base, part in _with_frames(found, page.base, options) if has_frames else [(page.base, found)]:
        links.rebase(base)
        links.read(part[:left], read_one)
        left = max(0, left - len(part))
    page.noindex, page.nofollow = robots
    page.language = declared_language(facts, said[b"content-language"])
    page.links, page.hrefs = links.all(), links.hrefs
    if options.max_requisites:
        made_of = LinkSet(document, query_charset, *kept, met)
        page.requisites = _requisites(page, said[b"link"], markup.parts, made_of, options.max_requisites)
    return page


def unread_page(url: str, headers: Headers, reason: str) -> PageItem:
    """The page of a response that broke its reader because of `reason`: what headers declare, no body and no
    links.
    """
    page = read_page(url, b"", [pair for pair in headers if pair[0].lower() == b"content-type"])
    page.charset, page.quarantined = None, reason
    return page


def _said(headers: Headers) -> dict[bytes, list[str]]:
    """The values of each of `_HEADERS`."""
    said: dict[bytes, list[str]] = {name: [] for name in _HEADERS}
    for name, value in headers:
        if (lower := name.lower()) in said:
            said[lower].append(value.decode("utf-8", "replace"))
    return said


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
            url = parse_or_none(href, document, schemes=CRAWLED)
            return url.href if url is not None else document
    return document


def _read_headers(said: Mapping[bytes, Sequence[str]], page: PageItem, links: LinkSet) -> None:
    """Read headers. Their links are relative to the document, not to its `<base>` (RFC 8288, section 3)."""
    for value in said[b"refresh"]:
        if target := refresh_target(value):
            links.add(target, "refresh")
    for value in said[b"link"]:
        for target, parameters in header_links(value):
            relation, nofollow = _relation(parameters.get("rel"), parameters.get("type"))
            if relation is None or "anchor" in parameters:  # RFC 8288, section 3.2: another page's link
                continue
            url = links.add(target, "header", text=collapsed(parameters.get("title", "")), nofollow=nofollow)
            if relation == "canonical":
                page.canonical = page.canonical or url


def _requisites(
    page: PageItem, headers: Iterable[str], markup: Iterable[Element], links: LinkSet, most: int
) -> list[Link]:
    """Requisites of the page or style sheet, at most `most`, those with requisites of their own first. `headers` are
    the values of `Link`.
    """
    for value in headers:
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


def _read_meta(element: Element, links: LinkSet) -> Robots:
    """Add a refresh's link; return robots directives for us, if any."""
    content = element.attributes.get("content") or ""
    if (element.attributes.get("http-equiv") or "").lower() == "refresh" and (target := refresh_target(content)):
        links.add(target, "refresh")
    if (element.attributes.get("name") or "").strip().lower() in {"robots", AGENT.lower()}:
        return robots_of_meta(content)
    return Robots()


def _read_anchor(element: Element, page: PageItem, links: LinkSet) -> None:
    href = element.attributes.get("href")
    if href is not None:
        rel = element.attributes.get("rel")
        nofollow = rel is not None and not _NOT_VOUCHED.isdisjoint(rel.lower().split())
        text = element.text if element.tag == "a" else collapsed(element.attributes.get("alt") or "")
        links.add(href, element.tag, text=text, nofollow=nofollow)


def _read_frame(element: Element, page: PageItem, links: LinkSet) -> None:
    if source := element.attributes.get("src"):
        links.add(source, element.tag, text=collapsed(element.attributes.get("title") or ""))


def _read_object(element: Element, page: PageItem, links: LinkSet) -> None:
    """Add an embedded page; media are parts of the page itself."""
    kind = (element.attributes.get("type") or "").strip().lower()
    source = element.attributes.get("data" if element.tag == "object" else "src")
    if source and not kind.startswith(_MEDIA):
        links.add(source, element.tag, text=collapsed(element.attributes.get("title") or ""))


_MEDIA: Final = ("audio/", "font/", "image/", "video/", "application/x-")


def _read_link(element: Element, page: PageItem, links: LinkSet) -> None:
    attributes = element.attributes
    relation, nofollow = _relation(attributes.get("rel"), attributes.get("type"))
    if relation is None or not (href := attributes.get("href")):
        return
    url = links.add(href, relation, text=collapsed(attributes.get("title") or ""), nofollow=nofollow)
    if relation == "canonical":
        page.canonical = page.canonical or url


def _read_title(element: Element, page: PageItem, links: LinkSet) -> None:
    if page.title is None:
        page.title = element.text


_READERS: dict[str, Callable[[Element, PageItem, LinkSet], None]] = {
    "a": _read_anchor,
    "area": _read_anchor,
    "frame": _read_frame,
    "iframe": _read_frame,
    "object": _read_object,
    "embed": _read_object,
    "link": _read_link,
    "title": _read_title,
}


def is_markup(content_type: str) -> bool:
    """Whether bodies of that type have links."""
    return content_type in media.HTML or content_type in XML


def html_of(body: bytes, content_type: str, name: str | None, most: Budget = budget.DEFAULT) -> bytes:
    """A page in the charset `name` as HTML in UTF-8, cut at the limit for reading."""
    body = without_bom(within(body, most))
    if name in {"utf-8", None} and content_type not in XML:
        return body
    text = as_html(body.decode(name or "utf-8", "replace"), content_type)
    return text.encode("utf-8", "replace")


DIGEST_SIZE: Final = 16


def text_digest(content_type: str, charset: str | None, body: bytes, options: PageOptions = PageOptions()) -> bytes:
    """Of what a reader sees of a page: neither a token in the markup nor another charset is a change."""
    is_html = content_type in media.HTML
    text = elements(html_of(body, content_type, charset, options.budget), 1, options.tree).text if is_html else ""
    return blake2b(text.encode("utf-8", "replace") or body, digest_size=DIGEST_SIZE).digest()
