"""Real sites as often as one likes: copies of recorded ones (`recorded.py`), each under hosts and words of its own.

A copy exchanges the letters from `g` to `z` in paths, titles and texts, vowels for vowels, so its URLs are as long
and as alike as the recorded ones, and none of their words stands in another copy. Numbers and percent-escapes stay.
No body of a page is that of a page of another copy: to a crawl it would repeat that.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

from recorded import Recorded
from webs import Anchor, Page, host_of

from sitecrawl.urls.url import site_of

_VOWELS, _CONSONANTS = "iouy", "ghjklmnpqrstvwxz"


class Target(NamedTuple):
    """Where a link leads."""

    host: str
    url: str
    nofollow: bool


class Copy:
    """The `number`th copy of a site; 0 is the site itself."""

    def __init__(self, site: Recorded, number: int) -> None:
        self._site = site
        self.number = number
        self._suffix = f"-{number}" if number else ""
        random = Random(number)
        vowels, consonants = ("".join(random.sample(of, len(of))) for of in (_VOWELS, _CONSONANTS))
        if not number:
            vowels, consonants = _VOWELS, _CONSONANTS
        plain, changed = _VOWELS + _CONSONANTS, vowels + consonants
        self._there = str.maketrans(plain + plain.upper(), changed + changed.upper())
        self._back = str.maketrans(changed + changed.upper(), plain + plain.upper())

    def contents(self) -> int:
        return self._site.contents()

    @property
    def name(self) -> str:
        """That of the recorded site."""
        return self._site.name

    @property
    def seed(self) -> Target:
        return self._target(self._site.seed, nofollow=False)

    def copy(self, number: int) -> Copy:
        """The `number`th copy of the same site."""
        return Copy(self._site, number)

    def page(self, url: str) -> Page:
        host, slash, path = url[7:].partition("/")
        page = self._site.page(f"http://{self._recorded_host(host)}{slash}{path.translate(self._back)}")
        title, text = page.title.translate(self._there), page.text.translate(self._there)
        return page._replace(title=title, text=text, body=page.body and page.body + self._suffix)

    def links(self, page: Page) -> Sequence[Target]:
        return [self._target(one.url, nofollow=one.nofollow) for one in page.links if self._site.admits(one.url)]

    def host_in(self, other: Copy, host: str) -> str:
        """What the copy `other` of the same site calls `host` of this one."""
        return other._host(self._recorded_host(host))

    def words_in(self, other: Copy) -> dict[int, int]:
        """For `str.translate`: of a path of this copy it makes that of the copy `other` of the same site."""
        return {here: other._there[recorded] for here, recorded in self._back.items()}

    def _recorded_host(self, host: str) -> str:
        name, dot, end = host.rpartition(".")
        return f"{name.removesuffix(self._suffix)}{dot}{end}"

    def _host(self, recorded: str) -> str:
        name, dot, end = recorded.rpartition(".")
        return f"{name}{self._suffix}{dot}{end}"

    def seen(self, url: str) -> Page:
        """A page in the copy's own words, with the copy's links."""
        page = self.page(url)
        return page._replace(
            title=page.title.translate(self._there),
            text=page.text.translate(self._there),
            links=[Anchor(link.url, link.nofollow) for link in self.links(page)],
            content=page.content and f"{page.content}-{self.number}",
            body=f"{page.body}-{self.number}",
        )

    def _target(self, url: str, *, nofollow: bool) -> Target:
        host, slash, path = url[7:].partition("/")
        host = self._host(host)
        return Target(host, f"http://{host}{slash}{path.translate(self._there)}", nofollow)


def copies(folder: Path, number: int) -> list[Copy]:
    """So many copies of each of the sites in `folder`."""
    sites = [Recorded(path) for path in sorted(folder.glob("*.tsv.gz"))]
    return [Copy(site, copy) for copy in range(number) for site in sites]


class Copies:
    """All of them as one web (`webs.Web`), crawled from the front pages of all."""

    place = ""

    def __init__(self, folder: Path, number: int) -> None:
        self.name = f"recorded:{number}"
        self._sites = {site_of(copy.seed.host): copy for copy in copies(folder, number)}

    @property
    def seeds(self) -> list[str]:
        return [copy.seed.url for copy in self._sites.values()]

    @property
    def seed(self) -> str:
        return self.seeds[0]

    def contents(self) -> int:
        return sum(copy.contents() for copy in self._sites.values())

    def admits(self, url: str) -> bool:
        return site_of(host_of(url)) in self._sites

    def page(self, url: str) -> Page:
        return self._sites[site_of(host_of(url))].seen(url)
