"""Link graphs of real sites, as they were recorded: a line a URL, with status, class, meta robots, an id of the body,
an id of the text, and the links in their order.

A page is made up from that: the same text id gives the same title and words, the same body id the same bytes but for
the links. URLs that were linked to and never recorded stand with status 404; of these a trap is answered with a page
as the site's other traps are, with the links that all pages have. Contents are the texts of pages of class `content`.
"""

from __future__ import annotations

import gzip
import hashlib
import random
import urllib.parse
from collections import Counter
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from webs import MISSING, Anchor, Page, host_of

from sitecrawl.base.errors import InvalidUrl
from sitecrawl.page.directives import robots_of_meta
from sitecrawl.urls.url import parse, site_of

SEEDS = {
    "drupal-cz": "http://www.drupal.cz/",
    "phpbb-cfnet": "http://www.computer-forum.net/index.php",
    "dokuwiki-tc39": "http://wiki.ecmascript.org/",
    "phpbb-dostips": "http://www.dostips.com/forum/",
}
_STARTS = ("/", "/index.php", "/forum/")
"""From where what can be reached is counted."""
_NAVIGATION = 40
_ALPHABET = str.maketrans("0123456789", "ghijklmnop")
_WORDS = [hashlib.md5(str(i).encode()).hexdigest()[: 3 + i % 7].translate(_ALPHABET) for i in range(4000)]

Key = tuple[str, str, tuple[tuple[str, str], ...]]


class Line(NamedTuple):
    """What was recorded of a URL."""

    status: str
    kind: str
    robots: str
    body: str
    text: str
    links: tuple[Anchor, ...]


def key(url: str) -> Key:
    """Host, path, query: however the URL is quoted and its query ordered."""
    parts = urllib.parse.urlsplit(url)
    query = tuple(sorted(urllib.parse.parse_qsl(parts.query, keep_blank_values=True)))
    return parts.netloc.lower().removeprefix("www."), urllib.parse.unquote(parts.path) or "/", query


def _bare(host: str, path: str) -> Key:
    return host, path, ()


def words(seed: str, number: int) -> str:
    return " ".join(random.Random(seed).choices(_WORDS, k=number))


@lru_cache(maxsize=1 << 15)
def _prose(text: str) -> tuple[str, str]:
    """The title and the words of a page, by its text's id."""
    title = words(text, 5)
    return title, f"{title} {words(text + 'body', 60 + int(hashlib.md5(text.encode()).hexdigest()[:2], 16))}"


def _anchor(link: str) -> Anchor | None:
    url, _, mark = link.partition("|")
    try:
        return Anchor(parse(url.replace("https://", "http://", 1)).href, bool(mark))
    except InvalidUrl:
        return None


class Recorded:
    """The site in `path`. A page is kept once it was asked for."""

    place = ""

    def __init__(self, path: Path) -> None:
        self.name = path.name.partition(".")[0]
        self._lines: dict[Key, Line] = {}
        self._pages: dict[Key, Page] = {}
        self._anchors: dict[str, Anchor | None] = {}
        counted: Counter[str] = Counter()
        recorded = 0
        with gzip.open(path, "rt", encoding="utf8") as lines:
            for line in lines:
                links = self._read(line)
                recorded += links is not None
                counted.update(links or ())
        often = [link for link, number in counted.most_common(_NAVIGATION) if number > recorded / 2]
        self._navigation = self._anchored(often)
        self.seed = SEEDS.get(self.name) or f"http://{next(iter(self._lines))[0]}/"
        self._contents = self._reachable()

    def _read(self, line: str) -> list[str] | None:
        """Keep the line; its links as they stand there, None where no page was recorded or one is known."""
        url, status, kind, robots, body, text, links = [*line.rstrip("\n").split("\t"), ""][:7]
        place = key(url)
        if place in self._lines and self._lines[place].status == "200":
            return None
        found = links.split(" ") if links else []
        self._lines[place] = Line(status, kind, robots, body, text, self._anchored(found))
        return found if status == "200" else None

    def _anchored(self, links: list[str]) -> tuple[Anchor, ...]:
        known = self._anchors
        known.update((link, _anchor(link)) for link in links if link not in known)
        return tuple(anchor for link in links if (anchor := known[link]) is not None)

    def _reachable(self) -> set[str]:
        """The texts of content pages that links lead to."""
        host = next(iter(self._lines))[0]
        todo: list[Key] = [place for path in _STARTS if (place := _bare(host, path)) in self._lines]
        seen: set[Key] = set(todo)
        of_url = {anchor.url: key(anchor.url) for anchor in self._anchors.values() if anchor is not None}
        for place in todo:
            for near in {of_url[anchor.url] for anchor in self._lines[place].links} - seen:
                if near in self._lines and self._lines[near].status == "200":
                    seen.add(near)
                    todo.append(near)
        return {self._lines[place].text for place in seen if self._lines[place].kind == "content"}

    def contents(self) -> int:
        return len(self._contents)

    def admits(self, url: str) -> bool:
        return site_of(host_of(url)) == site_of(host_of(self.seed))

    def page(self, url: str) -> Page:
        place = key(url)
        line = self._lines.get(place)
        if line is None:
            return MISSING
        if line.status != "200":
            return self._unrecorded(url, place) if line.kind == "trap" else MISSING
        page = self._pages.get(place)
        if page is None:
            page = self._pages[place] = self._made(line)
        return page

    def _made(self, line: Line) -> Page:
        robots = robots_of_meta(line.robots)
        content = line.text if line.text in self._contents else ""
        trap = line.kind == "trap"
        title, text = _prose(line.text)
        body = f"{line.text} {line.body} {line.robots} {line.links}"
        return Page(
            title,
            _shown(text, line.links),
            line.links,
            noindex=robots.noindex,
            nofollow=robots.nofollow,
            content=content,
            trap=trap,
            body=body,
        )

    def _unrecorded(self, url: str, place: Key) -> Page:
        title, text = _prose(place[0] + place[1])
        return Page(title, _shown(text, self._navigation), self._navigation, trap=True, body=url)


def _shown(text: str, links: tuple[Anchor, ...]) -> str:
    """A page's text: its words, and those of its links."""
    return " ".join([text, *((urllib.parse.urlsplit(anchor.url).path[-30:] or "/") for anchor in links)])
