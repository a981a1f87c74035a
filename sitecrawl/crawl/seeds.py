"""Seeds as users give them: URLs, or a file of them."""

from __future__ import annotations

import gzip
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from io import BufferedReader
from pathlib import Path
from typing import Final

from sitecrawl.base.errors import InvalidUrl, OptionError
from sitecrawl.crawl.sitemaps.entry import ParseReport
from sitecrawl.crawl.sitemaps.parse import chunks_of, read_sitemap
from sitecrawl.page import charset
from sitecrawl.urls.url import WEB, Schemes, Url, guess_url, shortened, top_level_of

MAX_FILE_SIZE: Final = 256 << 20
"""Most unpacked bytes of a seed file: some millions of URLs."""

STANDARD_INPUT: Final = "-"
_NO_SEED: Final = "this is no seed: write a URL without user name and password, like https://example.com/"
_NAME_OF_FILE: Final = re.compile(r"[^\s,/:?#]+\.(?:csv|gz|json|jsonl|list|lst|tsv|txt|xml)", re.IGNORECASE).fullmatch
"""File names: their endings are no top-level domains."""
_LOOKED_AT: Final = 100
"""Bytes of a file searched for a NUL, the sign of UTF-16."""


def read_seeds(text: str, *, schemes: Schemes = WEB) -> list[Url]:
    """The seeds that `text` names, of one of `schemes`, each once, in their order.

    `text` is URLs or bare domains separated by commas or white space (a comma may stand in a URL); `@FILE`, or the
    path of an existing file: a text file with a URL a line (`#` begins a comment), a sitemap or a feed, gzipped or
    not; or `-`: the same on standard input. Raises `OptionError`, which names the seed that is wrong; or the file and
    the line, and not what stands there: a file that is given by mistake may hold a secret.
    """
    text = text.strip()
    if text == STANDARD_INPUT:
        return _from_input(schemes)
    if text.startswith("@"):
        return _from_file(Path(text[1:]), schemes)
    if names_file(text):
        return _from_file(Path(text), schemes)
    return seeds_of((seed for word in text.split() for seed in _parted(word)), schemes=schemes)


def _parted(word: str) -> Iterator[str]:
    """Seeds in `word`, separated by commas that are not part of a path. Raises `OptionError` if that is ambiguous."""
    seed, *others = word.split(",")
    for part in others:
        if not part or _BEGINS_SEED(part) or not _has_path(seed):
            yield from filter(None, (seed,))
            seed = part
        elif _is_host(part):
            raise OptionError(
                f"{shortened(part)!r} may be a seed, or belong to {shortened(seed)!r}: write http:// before it, or "
                "%2C for the comma; or put the seeds into a file, a line each"
            )
        else:
            seed += f",{part}"
    yield from filter(None, (seed,))


_BEGINS_SEED: Final = re.compile(r"[a-z][a-z0-9+.-]*:|//|@", re.IGNORECASE).match


def _has_path(seed: str) -> bool:
    seed = seed.replace("\\", "/")
    place = seed.partition("://")[2] or seed
    return "?" in place or "#" in place or "/" in place.strip("/")


def _is_host(text: str) -> bool:
    """Whether it begins with a name in an existing top-level domain, or an IP address."""
    try:
        url = guess_url(text)
    except InvalidUrl:
        return False
    host = text.partition("/")[0].partition(":")[0]
    return host == url.host.partition(":")[0] if host[-1:].isdigit() else top_level_of(url.host) != url.host


def seeds_of(urls: Iterable[str], *, schemes: Schemes = WEB) -> list[Url]:
    """The seeds among `urls`, each once, in their order. Raises `OptionError`."""
    seeds = _distinct(((url, "") for url in urls), schemes)
    if not seeds:
        raise OptionError("seeds is empty: say what to crawl, such as -a seeds=https://example.com")
    return seeds


def check_ftp(seeds: Iterable[Url], *, ftp: bool) -> None:
    """Raise `OptionError` for an FTP seed if FTP is off. The message does not show it, because it may come from a
    file.
    """
    if not ftp and any(seed.scheme == "ftp" for seed in seeds):
        raise OptionError("A seed is an ftp: URL, and FTP is off: switch it on with -a ftp=1 or SITECRAWL_FTP=True")


def names_file(text: str) -> bool:
    """Whether `text` is the path of an existing file, or can only be a path."""
    try:
        return bool(_NAME_OF_FILE(text)) or Path(text).is_file()
    except (OSError, ValueError):  # too long for a path, or with a NUL
        return False


def _from_input(schemes: Schemes) -> list[Url]:
    if os.isatty(0):
        raise OptionError("seeds=- reads the seeds from standard input: COMMAND | scrapy crawl ..., or < FILE")

    def read() -> bytes:
        with open(0, "rb", closefd=False) as file:
            return _unpacked(file)

    return _from_bytes(read, "standard input", schemes)


def _from_file(path: Path, schemes: Schemes) -> list[Url]:
    def read() -> bytes:
        with path.open("rb") as file:
            return _unpacked(file)

    return _from_bytes(read, str(path), schemes)


def _from_bytes(read: Callable[[], bytes], name: str, schemes: Schemes) -> list[Url]:
    """Seeds in the bytes that `read` returns; `name` is for messages."""
    try:
        content = read()
    except (OSError, EOFError, ValueError, zlib.error) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise OptionError(f"The file of seeds {name} cannot be read: {reason}") from error
    seeds = _distinct(_entries(name, content), schemes)
    if not seeds:
        raise OptionError(f"There is no URL in the file of seeds {name}")
    return seeds


def _unpacked(file: BufferedReader) -> bytes:
    """Unpacked content. Raises `ValueError` if it is too large."""
    packed = file.peek(2).startswith(b"\x1f\x8b")
    content = (gzip.GzipFile(fileobj=file) if packed else file).read(MAX_FILE_SIZE + 1)
    if len(content) > MAX_FILE_SIZE:
        raise ValueError(f"it holds more than {MAX_FILE_SIZE} bytes; split it")
    return content


def _entries(name: str, content: bytes) -> Iterator[tuple[str, str]]:
    """Yield pairs of an entry and its place."""
    text = _text(content)
    if text.lstrip().startswith("<"):
        yield from _locations(name, content.lstrip())
        return
    for number, line in enumerate(text.splitlines(), 1):
        if (word := line.strip()) and not word.startswith("#"):
            yield word, f"{name}, line {number}: "


def _text(content: bytes) -> str:
    """Decode UTF-8, UTF-16 with or without a byte order mark, or windows-1252."""
    name = charset.of_body(content, None, prescan=False)
    if name == charset.DEFAULT and b"\0" in content[:_LOOKED_AT]:
        name = "utf-16be" if content.startswith(b"\0") else "utf-16le"
    return charset.without_bom(content).decode(name, "replace")


def _locations(name: str, content: bytes) -> Iterator[tuple[str, str]]:
    for entry in read_sitemap(chunks_of(content), None, report := ParseReport()):
        if entry.is_sitemap:
            raise OptionError(f"{name} is an index of sitemaps: give one of the sitemaps that it names")
        yield entry.url.href, f"{name}: "
    if report.wrong:
        raise OptionError(f"The sitemap {name} lists {shortened(report.wrong)!r}, which is no http(s) URL")


def _distinct(entries: Iterable[tuple[str, str]], schemes: Schemes) -> list[Url]:
    seeds: dict[str, Url] = {}
    for text, where in entries:
        try:
            url = guess_url(text, schemes=schemes)
        except InvalidUrl as error:
            if where:
                raise OptionError(f"{where}{_NO_SEED}") from None
            raise OptionError(str(error)) from error
        seeds.setdefault(url.href, url)
    return list(seeds.values())
