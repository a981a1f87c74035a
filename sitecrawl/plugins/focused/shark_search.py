"""Best first: what a link promises, after Hersovici and others, "The shark-search algorithm" (WWW 1998).

    promise = _LINK * relevance of the link's words + (1 - _LINK) * inherited
    inherited = the page's relevance, or _FADING * what was promised of the page, whichever is more

Besides, a link counts by where it leads: pages of one folder are about one thing, so the mean relevance of the pages
that were read there speaks for those that were not. The folders that are known are bounded, those longest unseen go.

The words of a text are runs of letters and digits without case; writing without spaces (Chinese, Japanese, Thai) goes
by pairs of characters.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from sitecrawl.page.items import Link

if TYPE_CHECKING:
    from sitecrawl.plugins.focused.topic import Topic

_MAX_TEXT: Final = 100_000
"""Characters of a text that are looked at: what a page is about, it says before."""

_SPACELESS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_SPACELESS}]+|[^\W_{_SPACELESS}]+")
_IS_SPACELESS = re.compile(f"[{_SPACELESS}]")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


def words(text: str) -> Iterator[str]:
    """The words of a text, in their order."""
    for run in _WORD.findall(text[:_MAX_TEXT].casefold()):
        if len(run) > 2 and _IS_SPACELESS.match(run):
            yield from (run[n : n + 2] for n in range(len(run) - 1))
        else:
            yield run


def _url_text(url: str) -> str:
    """Path and query of a URL as text: `/docs/LeftJoin_2.html?page=3` has the words docs, left, join, ..."""
    target = unquote(url.partition("://")[2].partition("/")[2])
    return _CAMEL.sub(" ", target)


_LINK: Final = 0.5
"""The weight of the link's own words."""
_FADING: Final = 0.5
"""What is left of a promise behind every page that does not keep it."""
_PLACE: Final = 0.3
"""The weight of the folder, where some of its pages are known."""
_MAX_FOLDERS: Final = 10_000
SCALE: Final = 1000
"""A promise of 1 as a priority."""


class _Folders:
    """The mean relevance of the pages of folders."""

    def __init__(self, limit: int = _MAX_FOLDERS) -> None:
        self._limit = limit
        self._sums: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def add(self, url: str, relevance: float) -> None:
        total, pages = self._sums.pop(_folder(url), (0.0, 0))
        self._sums[_folder(url)] = total + relevance, pages + 1
        if len(self._sums) > self._limit:
            self._sums.popitem(last=False)

    def mean(self, url: str) -> float | None:
        """None where no page of the folder has been read."""
        total, pages = self._sums.get(_folder(url), (0.0, 0))
        return total / pages if pages else None


def _folder(url: str) -> str:
    return url.partition("?")[0].rpartition("/")[0]


class Focus:
    """Scores the links of pages by their relevance."""

    def __init__(self, topic: Topic, threshold: float) -> None:
        self.topic = topic
        self.threshold = threshold
        """The relevance from which on a page is about the topic."""
        self.read = 0
        self.relevant = 0
        self._folders = _Folders()

    def page(self, url: str, text: str) -> float:
        """The relevance of a page. It counts, and is learned from."""
        relevance = self.topic.read(f"{text} {_url_text(url)}")
        self.read += 1
        self.relevant += relevance >= self.threshold
        self._folders.add(url, relevance)
        return relevance

    @property
    def harvest_rate(self) -> float:
        """Relevant pages for every page that was fetched."""
        return self.relevant / self.read if self.read else 0.0

    def promises(self, links: Sequence[Link], relevance: float, promised: int) -> list[int]:
        """The priorities of the links of a page: `relevance` is the page's, `promised` its own priority.

        A priority above all promises is someone else's, as a seed's.
        """
        inherited = max(relevance, _FADING * promised / SCALE if 0 < promised <= SCALE else 0.0)
        own = self.topic.relevance([f"{link.text} {_url_text(link.url)}" for link in links])
        return [round(SCALE * self._promise(link, words, inherited)) for link, words in zip(links, own, strict=True)]

    def _promise(self, link: Link, words: float, inherited: float) -> float:
        promise = _LINK * words + (1 - _LINK) * inherited
        place = self._folders.mean(link.url)
        return promise if place is None else (1 - _PLACE) * promise + _PLACE * place
