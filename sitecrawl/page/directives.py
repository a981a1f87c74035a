"""Directives in headers and `<meta>` elements: for robots, redirects, refreshes, and the links of a `Link`
header.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from typing import Final, NamedTuple

from sitecrawl.base.expressions import expression
from sitecrawl.page.items import Headers
from sitecrawl.page.markup import Element
from sitecrawl.urls.url import Url, parse_or_none

# Values of these contain a colon, or follow one: they do not name a crawler.
_WITH_VALUE = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})


class Robots(NamedTuple):
    """Whether a page may be indexed, and its links followed, by its author."""

    noindex: bool = False
    nofollow: bool = False

    def __or__(self, other: Robots) -> Robots:
        return Robots(self.noindex or other.noindex, self.nofollow or other.nofollow)


def robots_of_meta(content: str) -> Robots:
    """The directives of `<meta name=robots content=...>`."""
    return _robots(content.lower().split(","))


def robots_of_headers(values: Iterable[str], agent: str) -> Robots:
    """Robots directives of X-Robots-Tag headers for everyone or `agent`."""
    return _robots(directives_of_headers(values, agent))


def directives_of_headers(values: Iterable[str], agent: str) -> list[str]:
    """The directives of X-Robots-Tag headers that address everyone or `agent`; `name:` addresses from there on."""
    tokens: list[str] = []
    for value in values:
        addressee = ""
        for part in value.lower().split(","):
            name, colon, rest = part.partition(":")
            if colon and name.strip() not in _WITH_VALUE:
                addressee, part = name.strip(), rest  # noqa: PLW2901 - the rest of the part is the directive
            if addressee in {"", "*", agent.lower()}:
                tokens.append(part)
    return tokens


def _robots(tokens: Iterable[str]) -> Robots:
    found = {token.strip() for token in tokens}
    none = "none" in found
    return Robots(none or "noindex" in found, none or "nofollow" in found)


def redirect_target(headers: Headers, base: str) -> Url | None:
    """Target of a redirect of `base`; None if it is no web address, or ambiguous (Fetch, section 2.2.6).

    Bytes beyond ASCII are kept, in whatever charset.
    """
    places = {value.strip() for name, value in headers if name.lower() == b"location"}
    if len(places) != 1 or not (place := places.pop()):
        return None
    text = "".join(chr(byte) if byte < _BEYOND_ASCII else f"%{byte:02X}" for byte in place)
    return parse_or_none(text, base, max_length=sys.maxsize)


_BEYOND_ASCII: Final = 0x80
_REFRESH_TIME = expression(r"\s*+(?:[0-9]++|(?=\.))[0-9.]*+(?=[;,\s])\s*+[;,]?+\s*+")
_REFRESH_URL = expression(r"url\s*+=\s*+", re.IGNORECASE)


def refresh_target(content: str) -> str | None:
    """Target of `<meta http-equiv=refresh content=...>` or a Refresh header (HTML, section 4.2.5.3)."""
    time = _REFRESH_TIME.match(content)
    if time is None:
        return None
    rest = content[time.end() :]
    if prefix := _REFRESH_URL.match(rest):
        rest = rest[prefix.end() :]
    if rest[:1] in {'"', "'"}:
        rest = rest[1:].partition(rest[0])[0]
    return rest.strip() or None


class _HeaderLink(NamedTuple):
    target: str
    parameters: dict[str, str]
    """Parameters by lower-case name, the first of each."""


_PARAMETER = r'\s*+;\s*+([^\s=;,"<]*+)(?:\s*+=\s*+(?:"((?:[^"\\]|\\.)*+)"|([^\s;,"]*+)))?+'
_PARAMETERS = expression(_PARAMETER)
_HEADER_LINK = expression(rf"<([^<>]*+)>((?:{re.sub(r'[(](?![?])', '(?:', _PARAMETER)})*+)")
_ESCAPED = expression(r"\\(.)")


def header_links(value: str) -> list[_HeaderLink]:
    """The links of a `Link` header (RFC 8288, section 3); invalid parts are skipped."""
    return [_HeaderLink(match[1].strip(), _parameters(match[2])) for match in _HEADER_LINK.finditer(value)]


def _parameters(text: str) -> dict[str, str]:
    parameters: dict[str, str] = {}
    for name, quoted, token in _PARAMETERS.findall(text):
        parameters.setdefault(name.lower(), _ESCAPED.sub(r"\1", quoted) or token)
    return parameters


_PRIMARY: Final = expression(r"\s*+([A-Za-z]{2,3})(?![A-Za-z0-9])")


def is_language(value: str) -> bool:
    """Whether it is one that `declared_language` can give."""
    return value.isascii() and value.isalpha() and value.islower() and 2 <= len(value) <= 3


def declared_language(markup: Iterable[Element], headers: Iterable[str]) -> str | None:
    """The primary subtag (RFC 5646), lower case: of `<html lang>`, of `<meta http-equiv=content-language>`, or of the
    Content-Language `headers`; the first of these that is there counts (HTML, section 3.2.6.2). None where it names
    no language, or several.
    """
    pragma = None
    for element in markup:
        if element.tag == "html":
            return primary_language(element.attributes["lang"] or "")
        if pragma is None and element.tag == "meta" and _is_pragma(element):
            pragma = element.attributes.get("content") or ""
    return primary_language(",".join(headers) if pragma is None else pragma)


def _is_pragma(element: Element) -> bool:
    return (element.attributes.get("http-equiv") or "").lower() == "content-language"


def primary_language(tag: str) -> str | None:
    """The primary subtag of one `tag`, lower case; None where it is none, or a list of several."""
    found = _PRIMARY.match(tag)
    return found[1].lower() if found is not None and "," not in tag else None
