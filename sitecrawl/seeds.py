"""What a user calls seeds: URLs, or a file of them."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

from scrapy.utils.sitemap import Sitemap

from sitecrawl.errors import InvalidUrl, OptionError
from sitecrawl.url import Url, guess_url


def read_seeds(text: str) -> list[Url]:
    """The seeds that `text` names, each once, in their order.

    `text` is URLs or bare domains separated by commas or white space; `@FILE`, or the path of an existing file: a
    text file with a URL a line (`#` begins a comment) or a sitemap, gzipped or not. Raises `OptionError`, which
    names the seed or the line that is wrong.
    """
    text = text.strip()
    if not text:
        raise OptionError("seeds is empty: say what to crawl, such as -a seeds=https://example.com")
    if text.startswith("@"):
        return _from_file(Path(text[1:]))
    if _is_file(text):
        return _from_file(Path(text))
    return _distinct((word, "") for word in text.replace(",", " ").split())


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # too long for a path, or with a NUL
        return False


def _from_file(path: Path) -> list[Url]:
    try:
        content = path.read_bytes()
        if content.startswith(b"\x1f\x8b"):
            content = gzip.decompress(content)
    except (OSError, EOFError, gzip.BadGzipFile) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise OptionError(f"The file of seeds {path} cannot be read: {reason}") from error
    seeds = _distinct(_entries(path, content))
    if not seeds:
        raise OptionError(f"There is no URL in the file of seeds {path}")
    return seeds


def _entries(path: Path, content: bytes) -> Iterator[tuple[str, str]]:
    """Pairs of what stands there and where it stands."""
    if content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        sitemap = Sitemap(content)
        for number, entry in enumerate(sitemap, 1):
            if location := entry.get("loc"):
                yield str(location), f"{path}, entry {number}: "
        return
    for number, line in enumerate(content.decode("utf-8-sig", errors="replace").splitlines(), 1):
        if (word := line.strip()) and not word.startswith("#"):
            yield word, f"{path}, line {number}: "


def _distinct(entries: Iterator[tuple[str, str]]) -> list[Url]:
    seeds: dict[str, Url] = {}
    for text, where in entries:
        try:
            url = guess_url(text)
        except InvalidUrl as error:
            raise OptionError(f"{where}{error}") from error
        seeds.setdefault(url.href, url)
    return list(seeds.values())
