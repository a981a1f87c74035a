"""Shared parts of the commands that read stored pages: errors, and text for people."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sitecrawl.base.display import visible
from sitecrawl.base.errors import OptionError, SitecrawlError, StorageError
from sitecrawl.crawldir.directory import WORKER_PREFIX
from sitecrawl.pagestore.capture import Capture
from sitecrawl.pagestore.index import ELSEWHERE
from sitecrawl.pagestore.reader import StoredPage
from sitecrawl.pagestore.record import HttpMessage
from sitecrawl.pagestore.warc_store import INDEX_FILE

_AGO = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def crawl_directory(asked: str | None, crawls: Path) -> Path:
    """The directory that was asked for, or else the newest below `crawls` that has a page index.

    Raises `StorageError` if there is none.
    """
    if asked is not None:
        return Path(asked)
    found = {index.parent for index in crawls.glob(f"*/{INDEX_FILE}")}
    found |= {index.parent.parent for index in crawls.glob(f"*/{WORKER_PREFIX}*/{INDEX_FILE}")}
    if not found:
        raise StorageError(f"there is no crawl below {crawls.absolute()}: name its directory with -d")
    return max(found, key=lambda path: (path.stat().st_mtime, path))


@contextmanager
def exit_code_on_error(command: object, code: int = 1) -> Iterator[None]:
    """Turn expected errors into a line on stderr and an exit code; end silently if the reader of a pipe closes
    it.
    """
    try:
        yield
        sys.stdout.flush()
    except SitecrawlError as error:
        print(f"scrapy: {error}", file=sys.stderr)
        command.exitcode = code  # type: ignore[attr-defined]
    except BrokenPipeError:
        # Python flushes stdout once more when it exits, and would complain about it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def visible_bytes(data: bytes, charset: str | None) -> str:
    """A body for a terminal: control characters other than line ends are escaped."""
    try:
        text = data.decode(charset or "utf-8", errors="backslashreplace")
    except LookupError:
        text = data.decode("utf-8", errors="backslashreplace")
    return visible(text.replace("\r\n", "\n"))


def headers(message: HttpMessage | StoredPage) -> str:
    """First line and headers of a stored message, one a line."""
    lines = [message.start_line, *(name + b": " + value for name, value in message.headers)]
    return "".join(visible(line.decode("utf-8", "backslashreplace")) + "\n" for line in lines)


def summary(capture: Capture) -> str:
    """One line about a capture."""
    target = f" -> {capture.redirect_to}" if capture.redirect_to else ""
    same = f" (body of capture {capture.revisit_of})" if capture.revisit_of else ""
    if capture.revisit_of == ELSEWHERE:
        same = " (body in an earlier crawl)"
    facts = f"{time_of(capture)}  {capture.status}  {capture.content_type or '-'}"
    return visible(f"{facts}  {capture.url}{target}{same}")


def parse_since(text: str, now: datetime) -> float:
    """A date or time of ISO 8601 (UTC unless it says otherwise), or how long ago: `30m`, `12h`, `7d`, `2w`.

    Returns Unix time in seconds. Raises `OptionError`.
    """
    if found := re.fullmatch(r"(\d{1,4})([mhdw])", text):
        return (now - timedelta(**{_AGO[found[2]]: int(found[1])})).timestamp()
    try:
        time = datetime.fromisoformat(text)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise OptionError(f"{text!r} is no time: write 2026-11-21, 2026-11-21T10:30, or 12h, 7d ago") from None


def time_of(capture: Capture) -> str:
    """Time of the fetch (UTC)."""
    return f"{datetime.fromtimestamp(capture.fetched, UTC):%Y-%m-%d %H:%M:%S}"
