"""What a web to replay is: pages that are known or made up when they are asked for, and what of them is wanted.

A *content* is what a crawl is for, such as an article. It is in when a page with it has come, under whatever URL.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple, Protocol

from generated import Site

from sitecrawl.page.items import sha1
from sitecrawl.page.shingles import is_sampled, shingles
from sitecrawl.page.simhash import simhash
from sitecrawl.urls.url import site_of

_TEXT = 8
"""Words from which on a text is one, and no label."""
_MADE_UP = 100
_text_hash = lru_cache(maxsize=1 << 15)(simhash)


@lru_cache(maxsize=1 << 15)
def _sample(text: str) -> bytes:
    words = text.split()
    return shingles(text if len(words) >= _TEXT else " ".join(f"{'x'.join(words)}x{at}" for at in range(_MADE_UP)))


class Anchor(NamedTuple):
    """A link to an absolute URL, which begins with `http://` and is normalised."""

    url: str
    nofollow: bool = False


class Page(NamedTuple):
    """What the crawl gets to see of a URL, and what it is in truth."""

    title: str = ""
    text: str = ""
    links: Sequence[Anchor] = ()
    status: int = 200
    noindex: bool = False
    nofollow: bool = False
    location: str = ""
    """Where a redirect leads."""
    canonical: str = ""
    """What the page calls its own address, if it says so."""
    content: str = ""
    """Which content it has; empty for none."""
    trap: bool = False
    """Whether a fetch of it is wasted, unless it brings content that was not in."""
    identity: str = ""
    """Which page it is, where there is one under many URLs: a fetch of the second one is wasted, too."""
    body: str = ""
    """Stands for its bytes; empty where they are no others than title, text and links."""

    @property
    def text_hash(self) -> int | None:
        return _text_hash(self.text) if self.text else None

    @property
    def sample(self) -> bytes | None:
        """Of the text of one page in a few, as in a crawl; of one that is but a label, of words made of that."""
        return (_sample(self.text) if is_sampled(self.sha1) else None) if self.text else b""

    @property
    def sha1(self) -> bytes:
        return sha1((self.body or f"{self.title}\n{self.text}\n{self.links}").encode())


class Web(Protocol):
    """One or several hosts, crawled from one seed."""

    @property
    def name(self) -> str: ...
    @property
    def place(self) -> str:
        """Where its trap is; empty for a web that has no choice."""
        ...

    @property
    def seed(self) -> str: ...
    def contents(self) -> int:
        """How many contents links lead to."""
        ...

    def page(self, url: str) -> Page: ...
    def admits(self, url: str) -> bool:
        """Whether `url` is in the crawl's scope."""
        ...


MISSING = Page("Not found", "Not found", status=404)


def to(urls: Iterable[str], *, nofollow: bool = False) -> list[Anchor]:
    return [Anchor(url, nofollow) for url in urls]


def host_of(url: str) -> str:
    return url[7:].partition("/")[0]


def path_of(url: str) -> str:
    """Path and query."""
    return "/" + url[7:].partition("/")[2]


class Generated:
    """A site of `generated.py`; its contents are its good pages."""

    place = ""

    def __init__(self, site: Site, root: str = "http://www.example.com") -> None:
        self._site = site
        self._root = root
        self._wanted = 0
        self.name = site.name
        self.seed = f"{root}/"

    def contents(self) -> int:
        self._wanted = self._wanted or self._site.wanted()
        return self._wanted

    def admits(self, url: str) -> bool:
        return site_of(host_of(url)) == site_of(host_of(self.seed))

    def page(self, url: str) -> Page:
        path = path_of(url)
        page = self._site.page(path)
        good = self._site.good(path) if page.status == 200 else None
        links = [Anchor(self._root + link.path, link.nofollow) for link in page.links]
        return Page(page.title, page.text, links, page.status, page.noindex, content=good or "", trap=good is None)
