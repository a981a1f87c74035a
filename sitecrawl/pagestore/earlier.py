"""Earlier crawls whose stored bodies this one refers to instead of storing them again: `earlier.json`.

A row with `revisit_of` 0 (`ELSEWHERE`) has its body in one of them, found by its digest in that crawl's index, which
is only read and not kept in memory. The list includes the earlier crawls of those crawls, so each body is one
look-up away. It is written before the first row refers to it, and only grows.

A crash costs nothing.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from sitecrawl.base.errors import CorruptFile, EarlierCrawlMissing, OptionError, StorageError
from sitecrawl.crawldir.directory import database_to_read
from sitecrawl.crawldir.durable import write_atomically
from sitecrawl.crawldir.faults import file_errors
from sitecrawl.crawldir.meta import PAGES
from sitecrawl.pagestore.capture import Capture
from sitecrawl.pagestore.index import ELSEWHERE, Original
from sitecrawl.pagestore.reader import LAST_ID, PageReader
from sitecrawl.pagestore.workers import stores_of

logger = logging.getLogger(__name__)

FILE: Final = "earlier.json"
_MAGIC: Final = "sitecrawl earlier crawls"
_FORMAT: Final = 1


class EarlierCrawls:
    """Earlier crawls of the crawl in `directory`, if any.

    `lasting`: only bodies that cannot be cut off when their crawl is resumed, for new references. Raises
    `StorageError`.
    """

    def __init__(self, directory: Path, *, lasting: bool = False) -> None:
        self._directory = directory
        self._lasting = lasting
        self.directories = [_found(named, directory) for named in _named_in(directory)]
        self.missing: list[Path] = []
        """Directories without readable pages."""
        self._stores: list[tuple[PageReader, int]] = []
        """Stores, each with the last id that counts."""
        try:
            for crawl in self.directories:
                self._open(crawl)
        except BaseException:
            self.close()
            raise

    def _open(self, crawl: Path) -> None:
        stores = stores_of(crawl)
        if not stores:
            self.missing.append(crawl)
        for store in stores:
            self._stores.append((PageReader(store), _last_id(store) if self._lasting else LAST_ID))

    def find(self, digest: str) -> tuple[PageReader, Capture] | None:
        """Capture with a body of this digest, and the reader of its store; None without. Raises `StorageError`."""
        found = ((reader, reader.holding(digest, last)) for reader, last in self._stores)
        return next(((reader, capture) for reader, capture in found if capture is not None), None)

    def held(self, capture: Capture) -> tuple[PageReader, Capture]:
        """The same for a capture whose body must be in one of them. Raises `StorageError`."""
        found = self.find(capture.digest)
        if found is not None:
            return found
        if self.missing:
            names = ", ".join(map(str, self.missing))
            raise EarlierCrawlMissing(
                f"the body of {capture.url} is stored in an earlier crawl, and {names} is not there: bring it "
                f"back, or name its new place in {self._directory / FILE}"
            )
        raise CorruptFile(
            f"the body of {capture.url} is in none of the crawls that {self._directory / FILE} names: "
            f"`scrapy check-crawl --repair {self._directory}` has it fetched again"
        )

    def original(self, digest: str) -> Original | None:
        """Capture with a body of this digest. Unreadable crawls are not asked again."""
        try:
            found = self.find(digest)
        except StorageError as error:
            logger.warning("Bodies of earlier crawls are of no use from here on: %s", error)
            self.missing = self.directories
            self.close()
            return None
        return None if found is None else Original(ELSEWHERE, found[1].url, found[1].fetched)

    def close(self) -> None:
        for reader, _ in self._stores:
            reader.close()
        self._stores = []


def refer_to(directory: Path, crawls: Iterable[Path]) -> None:
    """Let the crawl in `directory` also refer to `crawls` and their earlier crawls.

    Raises `OptionError` for a directory without pages, `StorageError` for an invalid list.
    """
    known = _named_in(directory)
    names = dict.fromkeys(known)
    for crawl in map(Path.resolve, crawls):
        if crawl == directory.resolve():
            raise OptionError(f"SITECRAWL_DEDUPE_FROM: {crawl} is this crawl's own directory: name an earlier one's")
        if not (stores := stores_of(crawl)):
            raise OptionError(f"SITECRAWL_DEDUPE_FROM: {crawl} holds no stored pages")
        own = directory.resolve()
        behind = [_found(name, store).resolve() for store in stores for name in _named_in(store)]
        names.update(dict.fromkeys([str(one) for one in (crawl, *behind) if one != own]))
    if list(names) != known:
        write_list(directory, names)


def write_list(directory: Path, names: Iterable[str]) -> None:
    """Write the list durably. Raises `StorageError`."""
    content = {"magic": _MAGIC, "format": _FORMAT, "directories": list(names)}
    with file_errors(directory / FILE):
        write_atomically(directory / FILE, [json.dumps(content, indent=2).encode()])


def _named_in(directory: Path) -> list[str]:
    """Paths of the list in `directory`; empty without one. Raises `StorageError`."""
    file = directory / FILE
    try:
        with file_errors(file):
            content = json.loads(file.read_bytes()) if file.exists() else None
    except ValueError:
        content = {}
    if content is None:
        return []
    names = content.get("directories") if isinstance(content, dict) else None
    if not isinstance(names, list) or (content.get("magic"), content.get("format")) != (_MAGIC, _FORMAT):
        raise CorruptFile(f"{file} is no list of earlier crawls of this version: restore it from a copy")
    return [str(name) for name in names]


def _found(name: str, directory: Path) -> Path:
    """Find an earlier crawl: at its path or, if both were moved, beside the crawl in `directory`."""
    path, beside = Path(name), directory.resolve().parent / Path(name).name
    return beside if not stores_of(path) and stores_of(beside) else path


def _last_id(store: Path) -> int:
    """Last id that the crawl's database counts; the last of all if only the pages were kept."""
    position = None
    with suppress(StorageError), database_to_read(store) as database:
        position = database.get("meta", PAGES)
    return LAST_ID if position is None else int(json.loads(position)["last_id"])
