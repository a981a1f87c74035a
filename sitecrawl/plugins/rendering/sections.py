"""Where rendering is worth it (`SITECRAWL_RENDER=auto`), learnt by section: a host, the first two folders of the
path, for the first one is often a language, and the names in the query, which may be a script's routes. Where that
has very many folders or names, what is in more is one section with it.

A page without a script is what it is: it is never rendered. Of the others

- each section is two: its shells, which say next to nothing without a browser, and all else;
- of each the first `_SAMPLES` pages are rendered and compared with what came: a page may have a menu and be empty
  beneath it;
- after that, where rendering brought something to half of the pages, all are rendered. Elsewhere the fourth of the
  next pages is, then the eighth of those after it, and so on up to one of `_AGAIN`. If it has gained, the first ones
  were not like the others, and the section is learnt anew.

What is rendered goes on to count, and what is long ago counts less: a site that is built anew is learnt anew.

On disk it is one value: a MessagePack map of sections to `[pages, gains]`. What cannot be read is nothing: it is
learnt once more. How many pages were passed over since one was rendered is not stored.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Final
from urllib.parse import urlsplit

import msgpack

from sitecrawl.base.figures import unpacked
from sitecrawl.crawl.requests import host_of
from sitecrawl.crawldir.database import Batch, Database
from sitecrawl.crawldir.meta import RENDERING
from sitecrawl.crawldir.participant import Participant
from sitecrawl.page.items import PageItem
from sitecrawl.page.refusals import SHELL_TEXT, visible

_SAMPLES: Final = 3
_AGAIN: Final = 100
"""Of so many pages of a section where rendering has long been in vain one is rendered."""
_AGAIN_FIRST: Final = 4
"""The same where it has just turned out to be."""
_MAX_FOLDERS: Final = 30
"""In one, that are sections of their own, and as many kinds of queries."""
_MAX_NAMES: Final = 4
"""In a query that is told apart from others."""
_MAX_SECTIONS: Final = 10_000
"""That are remembered: the first ones. In others shells alone are rendered."""
_SHELLS: Final = " shells"
"""Behind the name of a section, that of its shells: no URL has a space."""
_MEMORY: Final = 16
"""Pages of a section after which those before count half."""
_FEW_LINKS: Final = 5
"""A page has gained if it has a fifth more links than before, and one at least."""
_MORE_TEXT: Final = 200
"""Bytes of text, above half more than there was before, with which it has gained as well: header and footer of a page
that is empty between them have a good deal of text."""


def _section_of(url: str) -> str:
    """The host, the first two folders of the path, as far as it has them, and the names in a query."""
    parts = urlsplit(url)
    folders = parts.path.split("/")[1:-1][:2]
    names = sorted({pair.partition("=")[0] for pair in parts.query.split("&") if pair})
    return "/".join([host_of(url), *folders, f"?{'&'.join(names)}" if 0 < len(names) <= _MAX_NAMES else ""])


def _around(path: str) -> str:
    """The section of a path, without its second folder."""
    return "/".join([*path.split("/")[:2], ""]) if path.count("/") > 1 else path


def has_gained(before: PageItem, after: PageItem) -> bool:
    """Whether a browser has made more of a page than there was."""
    links = {link.url for link in before.links}
    new = sum(link.url not in links for link in after.links)
    if new > len(links) // _FEW_LINKS:
        return True
    return len(visible(after.body)) > 1.5 * len(visible(before.body)) + _MORE_TEXT


class Sections(Participant):
    """See the module."""

    def __init__(self, database: Database) -> None:
        self._known = _unpack(database.get("meta", RENDERING))
        self._inside: defaultdict[str, set[str]] = defaultdict(set)
        """Folders that are known, by the one around them; and queries, by the folder and a question mark."""
        for section in self._known:
            self._note(section)
        self._passed = Counter[str]()
        """Pages of each section that were not rendered since one was."""
        self._has_changed = False

    def wants(self, page: PageItem) -> bool:
        """Whether to render `page`, judged by its source."""
        if b"<script" not in page.body.lower():
            return False
        section = self._section_of(page)
        if section not in self._known:
            return len(self._known) < _MAX_SECTIONS or _is_shell(page)
        if not self._is_in_vain(section):
            return True
        self._passed[section] += 1
        pages, _ = self._known[section]
        return self._passed[section] >= min(_AGAIN, _AGAIN_FIRST << (pages - _SAMPLES))

    def _section_of(self, page: PageItem) -> str:
        """Its own, or one around it; or that of the shells there."""
        path, mark, query = _section_of(page.url).partition("?")
        if not self._tells_apart(around := _around(path), path):
            path = around
        if mark and not self._tells_apart(path + mark, query):
            mark = query = ""
        return path + mark + query + (_SHELLS if _is_shell(page) else "")

    def _tells_apart(self, around: str, what: str) -> bool:
        known = self._inside.get(around, ())
        return what in known or len(known) < _MAX_FOLDERS

    def _note(self, section: str) -> None:
        path, mark, query = section.removesuffix(_SHELLS).partition("?")
        self._inside[_around(path)].add(path)
        if mark:
            self._inside[path + mark].add(query)

    def _is_in_vain(self, section: str) -> bool:
        pages, gains = self._known.get(section, (0, 0))
        return pages >= _SAMPLES and 2 * gains < pages

    def learn(self, page: PageItem, *, gained: bool) -> None:
        """A page, here as it came, has been rendered."""
        section = self._section_of(page)
        if section not in self._known:
            if len(self._known) >= _MAX_SECTIONS:
                return
            self._note(section)
        pages, gains = self._known.get(section, (0, 0))
        if gained and self._is_in_vain(section):
            pages, gains = 0, 0
        elif pages >= _MEMORY:
            pages, gains = pages // 2, gains // 2
        self._known[section] = pages + 1, gains + gained
        self._passed.pop(section, None)
        self._has_changed = True

    def prepare(self, batch: Batch) -> None:
        if self._has_changed:
            batch.put("meta", RENDERING, msgpack.packb(self._known))
            self._has_changed = False


def _is_shell(page: PageItem) -> bool:
    return len(visible(page.body)) <= SHELL_TEXT


def _unpack(data: bytes | None) -> dict[str, tuple[int, int]]:
    found = unpacked(data)
    try:
        return {str(section): (int(pages), int(gains)) for section, (pages, gains) in found.items()}
    except (AttributeError, TypeError, ValueError):
        return {}
