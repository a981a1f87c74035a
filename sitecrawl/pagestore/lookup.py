"""From a URL, or from what a person types for one, to the key under which the page index has it."""

from __future__ import annotations

from sitecrawl.base.errors import InvalidUrl
from sitecrawl.urls.url import CRAWLED, Canonicalizer, guess_url, parse

# The key is only a key: it is the same for every crawl, whatever parameters a crawl was told to strip from its URLs.
_CANONICALIZER = Canonicalizer()


def url_key(url: str) -> str:
    """The canonical form of `url`; `url` itself if no browser would take it for one."""
    try:
        return _CANONICALIZER.canonical(parse(url, schemes=CRAWLED))
    except InvalidUrl:
        return url


def candidate_keys(text: str) -> list[str]:
    """The keys that `text` may mean: a URL, or one of the web whose scheme was left out."""
    text = text.strip()
    if "://" in text:
        return [url_key(text)]
    try:
        rest = guess_url(text).href.partition("://")[2]
    except InvalidUrl:
        return []
    return [url_key(f"{scheme}://{rest}") for scheme in ("https", "http")]


def with_slash(keys: list[str]) -> list[str]:
    """The keys of the folders that `keys` may mean: people leave out the last slash."""
    return [f"{key}/" for key in keys if "?" not in key and not key.endswith("/")]


def host_of(key: str) -> str:
    """Host and, unless it is the scheme's own, port of a canonical URL."""
    return key.partition("://")[2].partition("/")[0].rpartition("@")[2]
