"""Every error that sitecrawl raises on purpose. A message says what happened, to what, and what to do."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches
from typing import Final


class SitecrawlError(Exception):
    """Base of all errors that sitecrawl raises on purpose."""


class InvalidUrl(SitecrawlError, ValueError):
    """A string that no browser would take for an absolute http(s) URL."""


class OptionError(SitecrawlError, ValueError):
    """A spider argument or setting with a value that makes no sense."""


class StorageError(SitecrawlError):
    """A file of a crawl's directory that cannot be used."""


class CorruptFile(StorageError):
    """A file whose content does not match its magic, its checksum or its own lengths."""


class FormatMismatch(StorageError):
    """A file written by another format version, another hash or another crawl."""


class NothingYet(StorageError):
    """A crawl without a first entry yet."""


class EarlierCrawlMissing(StorageError):
    """The directory of another crawl that has bodies of this one is not there."""


class CrawlDirectoryInUse(StorageError):
    """Another process has this crawl's directory open."""


class NoParser(SitecrawlError):
    """There is no process that could read the page: none can be started, or the crawl is over."""


def meant(word: str, names: Collection[str]) -> str:
    """End of a message on an unknown `word`: the nearest of `names`, if one is near."""
    nearest = [name for name in names if word and name.startswith(word)] or _alike(word, names)
    return f": is {nearest[0]} meant?" if nearest else ""


def _alike(word: str, names: Collection[str]) -> list[str]:
    """The name most like `word`, or one that begins or ends like it, because many remember only half of a long name.
    A beginning that all names share is ignored.
    """
    head = f"{word.partition('_')[0]}_"
    start = len(head) if all(name.startswith(head) for name in names) else 0
    parts: dict[str, str] = {}
    words = word.count("_", start) + 1
    for name in names:
        pieces = name[start:].split("_")
        for part in (name[start:], "_".join(pieces[:words]), "_".join(pieces[-words:])):
            parts.setdefault(part, name)
    return [parts[part] for part in get_close_matches(word[start:], parts, 1)]


DISTRIBUTION: Final = "scrapy-sitecrawl"
"""What `pip` calls it: `sitecrawl` on PyPI is another project."""


def how_to_install(extra: str) -> str:
    """The command, for messages. If sitecrawl is installed already, pip adds only what the extra needs."""
    return f"pip install '{DISTRIBUTION}[{extra}]'"
