"""Keys of the page index for URLs, also as typed by a person."""

from __future__ import annotations

from sitecrawl.base.errors import InvalidUrl
from sitecrawl.urls.url import CRAWLED, Canonicalizer, guess_url, parse

# The key is only a key: it is the same for every crawl, whatever parameters a crawl was told to strip from its URLs.
_CANONICALIZER = Canonicalizer()


def url_key(url: str) -> str:
    """Canonical form of `url`; `url` itself if it is invalid."""
    try:
        return _CANONICALIZER.canonical(parse(url, schemes=CRAWLED))
    except InvalidUrl:
        return url


def candidate_keys(text: str) -> list[str]:
    """Possible keys of `text`: of a URL, or of one without its scheme."""
    text = text.strip()
    if "://" in text:
        return [url_key(text)]
    try:
        rest = guess_url(text).href.partition("://")[2]
    except InvalidUrl:
        return []
    return [url_key(f"{scheme}://{rest}") for scheme in ("https", "http")]


def with_slash(keys: list[str]) -> list[str]:
    """Keys of the folders that `keys` may mean, because people omit the last slash."""
    return [f"{key}/" for key in keys if "?" not in key and not key.endswith("/")]


def host_of(key: str) -> str:
    """Host and, unless it is the scheme's own, port of a canonical URL."""
    return key.partition("://")[2].partition("/")[0].rpartition("@")[2]
