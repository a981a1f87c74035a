"""What was read off a page, as a JSON object, and back again.

Whoever wrote the object has read hostile bytes, and may not be what it was any more. So nothing of it is believed:
every value has to be one that `read_page` can give, and every address goes through the URL parser once more.
"""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any, Final

from sitecrawl.base.limits import (
    LINKS,
    READ_ELEMENTS,
    READ_SIZE,
    REQUISITES,
    SCHEMES,
    TREE_ELEMENTS,
    TREE_SIZE,
    URL_LENGTH,
    AnyLimit,
)
from sitecrawl.page import charset, requisites
from sitecrawl.page.directives import is_language
from sitecrawl.page.items import Link, PageItem, Reading
from sitecrawl.page.link_set import absolute_url
from sitecrawl.page.links import KINDS, PageOptions
from sitecrawl.page.markup import TEXT_KEPT
from sitecrawl.page.media_type import is_media_type
from sitecrawl.page.process_serving import BadAnswer
from sitecrawl.page.shingles import MAX_BYTES, is_sample
from sitecrawl.page.simhash import BITS
from sitecrawl.urls.url import CRAWLED, WEB, Schemes, Url

_OF_PAGES: Final = (LINKS, READ_ELEMENTS, READ_SIZE, REQUISITES, SCHEMES, TREE_ELEMENTS, TREE_SIZE, URL_LENGTH)
_MET: Final = {limit.stat: limit for limit in _OF_PAGES}
"""The limits that a page can go beyond."""
_HEADER_LINKS: Final = 1 << 20
"""Links that headers can add to those of the markup: more than bytes of headers are let in."""


def facts_of(reading: Reading) -> dict[str, Any]:
    page = reading.page
    return {
        "content_type": page.content_type,
        "charset": page.charset,
        "language": page.language,
        "title": page.title,
        "canonical": page.canonical,
        "base": page.base,
        "noindex": page.noindex,
        "nofollow": page.nofollow,
        "text_hash": page.text_hash,
        "sample": page.sample.hex() if page.sample is not None else None,
        "links": [[link.url, link.text, link.kind, link.nofollow] for link in page.links],
        "hrefs": page.hrefs,
        "requisites": [[link.url, link.kind] for link in page.requisites],
        "met": {limit.stat: times for limit, times in reading.met.items()},
    }


def reading_of(facts: object, url: str, body: bytes, options: PageOptions) -> Reading:
    """The page at `url` with the content `body`, as `facts` describe it. Raises `BadAnswer`."""
    if not isinstance(facts, dict):
        raise BadAnswer("no facts")
    longest, schemes = options.max_url_length, CRAWLED if options.ftp else WEB
    page = PageItem(
        url.partition("#")[0],
        content_type=_content_type(facts.get("content_type")),
        charset=_charset(facts.get("charset")),
        language=_language(facts.get("language")) if facts.get("language") is not None else None,
        title=_text(facts.get("title")) if facts.get("title") is not None else None,
        canonical=_url(facts.get("canonical"), longest, schemes).href if facts.get("canonical") is not None else None,
        base=_url(facts.get("base"), sys.maxsize, CRAWLED).href,
        noindex=_flag(facts.get("noindex")),
        nofollow=_flag(facts.get("nofollow")),
        size=len(body),
        body=body,
        text_hash=_number(facts.get("text_hash"), 1 << BITS) if facts.get("text_hash") is not None else None,
    )
    page.says(_sample(facts.get("sample")))
    links, most = facts.get("links"), options.max_links + _HEADER_LINKS
    if not isinstance(links, list) or len(links) > most:
        raise BadAnswer("no list of links")
    page.links = [_link(link, longest, schemes) for link in links]
    page.hrefs = _number(facts.get("hrefs"), most + 1)
    made_of = facts.get("requisites")
    if not isinstance(made_of, list) or len(made_of) > options.max_requisites:
        raise BadAnswer("no list of what the page is made of")
    page.requisites = [_requisite(part, longest, schemes) for part in made_of]
    return Reading(page, _met(facts.get("met")))


def _requisite(values: object, longest: int, schemes: Schemes) -> Link:
    match values:
        case [url, kind] if isinstance(kind, str) and kind in requisites.KINDS:
            found = _url(url, longest, schemes)
            return Link(found.href, found.host, kind=kind)
    raise BadAnswer("no part of a page")


def _link(values: object, longest: int, schemes: Schemes) -> Link:
    match values:
        case [url, text, kind, nofollow] if isinstance(kind, str) and kind in KINDS:
            found = _url(url, longest, schemes)
            return Link(found.href, found.host, _text(text), kind, _flag(nofollow))
    raise BadAnswer("no link")


def _url(value: object, longest: int, schemes: Schemes) -> Url:
    """It becomes a request: it has to be one of `schemes`."""
    url = absolute_url(value, longest, schemes) if isinstance(value, str) else None
    if url is None:
        raise BadAnswer("no URL")
    return url


def _text(value: object) -> str:
    if not isinstance(value, str) or len(value) > TEXT_KEPT:
        raise BadAnswer("no text of a link or title")
    return value


def _content_type(value: object) -> str:
    if not isinstance(value, str) or (value and not is_media_type(value)):
        raise BadAnswer("no media type")
    return value


def _charset(value: object) -> str | None:
    """It chooses a codec: `rot13` must not."""
    if value is None:
        return None
    if not isinstance(value, str) or value not in charset.NAMES:
        raise BadAnswer("no charset")
    return value


def _language(value: object) -> str:
    if not isinstance(value, str) or not is_language(value):
        raise BadAnswer("no language")
    return value


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise BadAnswer("no flag")
    return value


def _number(value: object, end: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < end:
        raise BadAnswer("no number")
    return value


def _sample(value: object) -> bytes | None:
    if not value:
        return None if value is None else b""
    try:
        sample = bytes.fromhex(value) if isinstance(value, str) and len(value) <= 2 * MAX_BYTES else b""
    except ValueError as error:
        raise BadAnswer("no sample of a text") from error
    if not is_sample(sample):
        raise BadAnswer("no sample of a text")
    return sample


def _met(value: object) -> Counter[AnyLimit]:
    if not isinstance(value, dict) or not value.keys() <= _MET.keys():
        raise BadAnswer("no counts of limits")
    return Counter({_MET[stat]: _number(times, 1 << 32) for stat, times in value.items()})
