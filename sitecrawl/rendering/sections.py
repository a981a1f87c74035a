"""Where rendering is worth it (`SITECRAWL_RENDER=auto`), learnt by section: a host, and the first part of the path.

A page without a script is what it is: it is never rendered. Of the others

- a shell, which says next to nothing without a browser, is rendered wherever that has not been in vain;
- of each section the first `SAMPLES` pages are rendered, shells or not, and compared with what came: a page may
  have a menu and be empty beneath it;
- after that a section in which rendering brought something to half of the pages is rendered at once, and any other
  never, but for its shells.

What is rendered goes on to count, and what is long ago counts less: a site that is built anew is learnt anew.

On disk it is one value: a MessagePack map of sections to `[pages, gains]`. What cannot be read is nothing: it is
learnt once more.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

import msgpack

from sitecrawl.base.packed import unpacked
from sitecrawl.crawl.requests import host_of
from sitecrawl.crawldir.database import Batch, Database
from sitecrawl.crawldir.meta import RENDERING
from sitecrawl.crawldir.participant import Participant
from sitecrawl.page.items import PageItem
from sitecrawl.page.refusals import SHELL_TEXT, visible

SAMPLES: Final = 3
MAX_SECTIONS: Final = 10_000
"""That are remembered: the first ones. In others shells alone are rendered."""
_MEMORY: Final = 16
"""Pages of a section after which those before count half."""
_FEW_LINKS: Final = 5
"""A page has gained if it has a fifth more links than before, and one at least."""
_MORE_TEXT: Final = 200
"""Bytes of text, above twice what there was before, with which it has gained as well."""


def section_of(url: str) -> str:
    """The host, and the first part of the path where there are more."""
    first, slash, _ = urlsplit(url).path.lstrip("/").partition("/")
    return f"{host_of(url)}/{first}{slash}" if slash else f"{host_of(url)}/"


def has_gained(before: PageItem, after: PageItem) -> bool:
    """Whether a browser has made more of a page than there was."""
    links = {link.url for link in before.links}
    new = sum(link.url not in links for link in after.links)
    if new > len(links) // _FEW_LINKS:
        return True
    return len(visible(after.body)) > 2 * len(visible(before.body)) + _MORE_TEXT


class Sections(Participant):
    """See the module."""

    def __init__(self, database: Database) -> None:
        self._known = _unpack(database.get("meta", RENDERING))
        self._has_changed = False

    def wants(self, page: PageItem) -> bool:
        """Whether `page`, as it came, is to be rendered."""
        if b"<script" not in page.body.lower():
            return False
        section = section_of(page.url)
        pages, gains = self._known.get(section, (0, 0))
        if pages < SAMPLES:
            return section in self._known or len(self._known) < MAX_SECTIONS or _is_shell(page)
        return 2 * gains >= pages or (gains > 0 and _is_shell(page))

    def learn(self, url: str, *, gained: bool) -> None:
        """A page has been rendered."""
        section = section_of(url)
        if section not in self._known and len(self._known) >= MAX_SECTIONS:
            return
        pages, gains = self._known.get(section, (0, 0))
        if pages >= _MEMORY:
            pages, gains = pages // 2, gains // 2
        self._known[section] = pages + 1, gains + gained
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
