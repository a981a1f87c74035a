"""What a URL becomes before the crawl knows it: which parts of what a person typed choose no page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from sitecrawl.urls.url import Url


def changes(text: str, url: Url, canonical: str) -> Iterator[str]:
    """In words, what became of `text`, which is parsed as `url`, on the way to the identity `canonical`."""
    typed = text.strip()
    href, mark, fragment = typed.partition("#")
    if mark:
        yield f"without the fragment #{fragment}"
    if "://" not in typed:
        yield f"with the scheme {url.scheme}://"
    elif href != url.href:
        yield "spelt as a browser spells it"
    gone = Counter(_parameters(url.href)) - Counter(_parameters(canonical))
    for name in dict.fromkeys(parameter.partition("=")[0] for parameter in gone):
        if _left(name, canonical) < _left(name, url.href):
            yield f"without the parameter {name}, which names a session or a campaign"
    if _order(url.href, gone) != _order(canonical, Counter()):
        yield "with its parameters in the order of their names, and its escapes in one spelling"


def _parameters(href: str) -> list[str]:
    """Those of the query, and those of path segments."""
    path, _, query = href.partition("?")
    inside = (part for segment in path.split("/") for part in segment.split(";")[1:])
    return [*inside, *(part for part in query.split("&") if part)]


def _left(name: str, href: str) -> int:
    return sum(parameter.partition("=")[0] == name for parameter in _parameters(href))


def _order(href: str, without: Counter[str]) -> list[str]:
    return [parameter for parameter in _parameters(href) if not without[parameter]]
