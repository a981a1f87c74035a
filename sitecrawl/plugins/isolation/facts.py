"""What was read off a page, as a JSON object, and back again.

Whoever wrote the object has read hostile bytes, and may not be what it was any more. So nothing of it is believed:
every value has to be one that `read_page` can give, and every address goes through the URL parser once more.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from sitecrawl.base import limits
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

_OF_PAGES: Final = (
    limits.LINKS, limits.READ_ELEMENTS, limits.READ_SIZE, limits.REQUISITES,
    limits.SCHEMES, limits.TREE_ELEMENTS, limits.TREE_SIZE, limits.URL_LENGTH,
)  # fmt: skip
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
        content_type=_string(facts.get("content_type"), "media type", lambda said: not said or is_media_type(said)),
        charset=_string_or_none(facts.get("charset"), "charset", _is_charset),
        language=_string_or_none(facts.get("language"), "language", is_language),
        title=_string_or_none(facts.get("title"), "title", _is_short),
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
            return Link(found.href, found.host, _string(text, "text of a link", _is_short), kind, _flag(nofollow))
    raise BadAnswer("no link")


def _url(value: object, longest: int, schemes: Schemes) -> Url:
    """It becomes a request: it has to be one of `schemes`."""
    url = absolute_url(value, longest, schemes) if isinstance(value, str) else None
    if url is None:
        raise BadAnswer("no URL")
    return url


def _string(value: object, what: str, is_right: Callable[[str], bool]) -> str:
    if not isinstance(value, str) or not is_right(value):
        raise BadAnswer(f"no {what}")
    return value


def _string_or_none(value: object, what: str, is_right: Callable[[str], bool]) -> str | None:
    return None if value is None else _string(value, what, is_right)


def _is_charset(name: str) -> bool:
    """It chooses a codec: `rot13` must not."""
    return name in charset.NAMES


def _is_short(text: str) -> bool:
    return len(text) <= TEXT_KEPT


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


def _met(value: object) -> Counter[limits.AnyLimit]:
    if not isinstance(value, dict) or not value.keys() <= _MET.keys():
        raise BadAnswer("no counts of limits")
    return Counter({_MET[stat]: _number(times, 1 << 32) for stat, times in value.items()})
