"""What a page says: its links, and what it says of itself (title, address, whether to index and to follow).

Parsing is lexbor's, which builds a browser's tree. Its cost is quadratic in the depth of block elements, as the HTML
standard's is, so a page that nests deeper than `MAX_DEPTH` is read up to there.

`nofollow` and `noindex` are facts about a link or a page; what follows from them is the frontier's to decide.
Links are those that lead a reader to another page; images, scripts and style sheets are not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from selectolax.lexbor import LexborHTMLParser

from sitecrawl.charset import charset_of, decode
from sitecrawl.errors import InvalidUrl
from sitecrawl.url import parse

MAX_LINKS: Final = 10_000
"""Distinct links of a page that are read; a page of more is a trap or a dump."""
MAX_DEPTH: Final = 5_000
"""Open elements after which a page is read no further; Chrome stops at 512, and lexbor takes 30 ms for these."""
MAX_TEXT: Final = 200
"""Characters of an anchor's text or a title that are kept."""

_HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
_UNKNOWN_TYPES = frozenset({"", "unknown/unknown", "application/unknown", "*/*"})
_BINARY = (b"%PDF-", b"\x89PNG", b"GIF8", b"\xff\xd8\xff", b"PK\x03\x04", b"\x1f\x8b", b"RIFF", b"\x7fELF", b"Rar!")
_NOFOLLOW = frozenset({"nofollow", "ugc", "sponsored"})
_FOLLOWED_RELATIONS = frozenset({"canonical", "next", "prev", "previous"})
_INTERESTING = "a[href],area[href],frame[src],iframe[src],link[rel][href],meta[content],base[href],title"


@dataclass(slots=True)
class Link:
    """A link to another page."""

    url: str
    """Absolute, as `Url.href` is."""
    host: str
    text: str = ""
    """The anchor's text, white space folded, at most `MAX_TEXT` characters."""
    kind: str = "a"
    """The element (`a`, `area`, `frame`, `iframe`), or `refresh`, `canonical`, `next`, `prev`."""
    nofollow: bool = False
    """The author does not vouch for the target: rel=nofollow, ugc or sponsored."""


@dataclass(slots=True)
class PageFacts:
    """What `read_page` found."""

    content_type: str = ""
    """The media type that the headers declare, lower case, without parameters."""
    charset: str | None = None
    """None for what is not text."""
    title: str | None = None
    base: str = ""
    """Against what links are resolved."""
    canonical: str | None = None
    """The page's own idea of its address."""
    noindex: bool = False
    nofollow: bool = False
    mislabelled: bool = False
    """The body is not what its type says, so nothing was read."""
    links: list[Link] = field(default_factory=list)


def read_page(
    url: str,
    body: bytes,
    headers: Sequence[tuple[bytes, bytes]],
    *,
    agent: str = "sitecrawl",
    max_links: int = MAX_LINKS,
) -> PageFacts:
    """Read the page that was fetched from `url`; `body` has no content coding left.

    `agent` is the name under which a robots meta tag or X-Robots-Tag may speak to this crawler alone.
    """
    content_type = _header(headers, b"content-type")
    facts = PageFacts(content_type=content_type.partition(";")[0].strip().lower(), base=url)
    reader = _Reader(facts, agent.lower(), max_links)
    reader.read_headers(headers)
    if _is_html(facts, body):
        facts.charset = charset_of(body, content_type)
        reader.read_tree(decode(_shallow(body), facts.charset))
    elif facts.content_type.startswith("text/") and not facts.mislabelled:
        facts.charset = charset_of(body, content_type)
    return facts


def _is_html(facts: PageFacts, body: bytes) -> bool:
    """Whether to read the body as HTML (WHATWG MIME Sniffing §7: a declared type is believed, unless it lies)."""
    declared = facts.content_type in _HTML_TYPES
    if not declared and facts.content_type not in _UNKNOWN_TYPES:
        return False
    start = body[:512].lstrip()
    is_utf16 = body.startswith((b"\xff\xfe", b"\xfe\xff"))
    looks_binary = start.startswith(_BINARY) or (b"\0" in start and not is_utf16)
    facts.mislabelled = looks_binary and declared
    return not looks_binary and (declared or start.startswith(b"<"))


class _Reader:
    """Gathers facts and links; the first mention of a link gives its place and text."""

    def __init__(self, facts: PageFacts, agent: str, max_links: int) -> None:
        self._facts = facts
        self._agent = agent
        self._max_links = max_links
        self._links: dict[str, Link] = {}

    def read_headers(self, headers: Sequence[tuple[bytes, bytes]]) -> None:
        for name, value in headers:
            lower = name.lower()
            if lower == b"x-robots-tag":
                self._read_robots_header(value.decode("latin-1"))
            elif lower == b"link":
                for target, relations in _link_header(value.decode("latin-1")):
                    self._add_related(target, relations)
        self._facts.links = list(self._links.values())

    def read_tree(self, text: str) -> None:
        nodes = LexborHTMLParser(text).css(_INTERESTING)
        self._read_base(nodes)
        for node in nodes:
            self._read_node(node)
            if len(self._links) >= self._max_links:
                break
        self._facts.links = list(self._links.values())

    def _read_base(self, nodes: Sequence[Any]) -> None:
        """The first base element counts, wherever it stands (HTML §4.2.3)."""
        for node in nodes:
            if node.tag == "base":
                try:
                    self._facts.base = parse(node.attributes["href"] or "", self._facts.base).href
                except InvalidUrl:
                    return
                return

    def _read_node(self, node: Any) -> None:
        attributes, tag = node.attributes, node.tag
        if tag in ("a", "area"):
            relations = (attributes.get("rel") or "").lower().split()
            nofollow = not _NOFOLLOW.isdisjoint(relations)
            text = node.text() if tag == "a" else attributes.get("alt") or ""
            self._add(attributes["href"], tag, text=text, nofollow=nofollow)
        elif tag in ("frame", "iframe"):
            self._add(attributes["src"], tag)
        elif tag == "link":
            self._add_related(attributes["href"], (attributes.get("rel") or "").lower().split())
        elif tag == "meta":
            self._read_meta(attributes)
        elif tag == "title" and self._facts.title is None:
            self._facts.title = _folded(node.text()) or None

    def _read_meta(self, attributes: dict[str, str | None]) -> None:
        content = attributes["content"] or ""
        if (attributes.get("http-equiv") or "").lower() == "refresh":
            if target := _refresh_target(content):
                self._add(target, "refresh")
        elif (attributes.get("name") or "").lower() in ("robots", self._agent):
            self._read_robots(content)

    def _read_robots_header(self, value: str) -> None:
        """`X-Robots-Tag: noindex` speaks to everyone, `X-Robots-Tag: name: noindex` to one crawler."""
        name, colon, rules = value.partition(":")
        if colon and "," not in name and name.strip().lower() not in ("unavailable_after", "max-snippet"):
            if name.strip().lower() == self._agent:
                self._read_robots(rules)
        else:
            self._read_robots(value)

    def _read_robots(self, content: str) -> None:
        rules = {rule.strip() for rule in content.lower().split(",")}
        self._facts.noindex |= not rules.isdisjoint(("noindex", "none"))
        self._facts.nofollow |= not rules.isdisjoint(("nofollow", "none"))

    def _add_related(self, target: str | None, relations: Sequence[str]) -> None:
        for relation in _FOLLOWED_RELATIONS.intersection(relations):
            link = self._add(target, "prev" if relation == "previous" else relation)
            if relation == "canonical" and link is not None and self._facts.canonical is None:
                self._facts.canonical = link.url

    def _add(self, target: str | None, kind: str, *, text: str = "", nofollow: bool = False) -> Link | None:
        try:
            url = parse(target or "", self._facts.base)
        except InvalidUrl:
            return None
        link = self._links.get(url.href)
        if link is None:
            link = self._links[url.href] = Link(url.href, url.host, _folded(text), kind, nofollow)
        else:
            link.nofollow &= nofollow  # who links twice and vouches once, vouches
        return link


def _header(headers: Sequence[tuple[bytes, bytes]], wanted: bytes) -> str:
    return next((value.decode("latin-1") for name, value in headers if name.lower() == wanted), "")


def _folded(text: str) -> str:
    return " ".join(text[: 4 * MAX_TEXT].split())[:MAX_TEXT]


def _refresh_target(content: str) -> str:
    """The URL of `5; url=...` (HTML §4.2.5.3, the shared declarative refresh steps)."""
    match = re.match(r"\s*[0-9.]+\s*[;,\s]\s*(?:url\s*=\s*)?(.+)", content, re.IGNORECASE | re.DOTALL)
    if match is None:
        return ""
    target = match[1].strip()
    quote = target[:1]
    return target[1:].partition(quote)[0] if quote in ("'", '"') else target


_LINK_VALUE = re.compile(r'<([^<>]*)>((?:[^",<]|"(?:[^"\\]|\\.)*")*)')
_RELATION = re.compile(r';\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,"]+))', re.IGNORECASE)


def _link_header(value: str) -> Iterator[tuple[str, list[str]]]:
    """Targets and relations of a Link header (RFC 8288 §3)."""
    for match in _LINK_VALUE.finditer(value):
        relation = _RELATION.search(match[2])
        yield match[1], (relation[1] or relation[2] or "").lower().split() if relation else []


_TAG = re.compile(rb"<(/?)([a-zA-Z][a-zA-Z0-9]*)")
_VOID = frozenset(
    b"area base br col embed hr img input link meta param source track wbr p li td tr th dt dd option".split()
)


def _shallow(body: bytes) -> bytes:
    """The body up to where more than `MAX_DEPTH` elements are open. Few pages have tags enough to be looked at."""
    if body.count(b"<") <= MAX_DEPTH:
        return body
    depth = 0
    for match in _TAG.finditer(body):
        if match[2].lower() not in _VOID:
            depth = max(0, depth - 1) if match[1] else depth + 1
            if depth > MAX_DEPTH:
                return body[: match.start()]
    return body
