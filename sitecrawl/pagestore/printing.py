"""Stored pages for people: one on a terminal, and the formats of `scrapy pages`."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import TextIO

from sitecrawl.base.display import visible
from sitecrawl.base.errors import OptionError
from sitecrawl.pagestore.capture import Capture
from sitecrawl.pagestore.reader import StoredPage

_TABLE_LINE_BREAKS = re.compile(r"[\t\n]+")
_TITLE_WIDTH = 50
_AGO = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def visible_bytes(data: bytes, charset: str | None) -> str:
    """A body for a terminal. Line ends stay; the other control characters are written out."""
    try:
        text = data.decode(charset or "utf-8", errors="backslashreplace")
    except LookupError:
        text = data.decode("utf-8", errors="backslashreplace")
    return visible(text.replace("\r\n", "\n"))


def headers(page: StoredPage) -> str:
    """Status line and headers of a stored response, one a line."""
    lines = [page.start_line, *(name + b": " + value for name, value in page.headers)]
    return "".join(visible(line.decode("utf-8", "backslashreplace")) + "\n" for line in lines)


def summary(capture: Capture) -> str:
    """One line about a capture."""
    target = f" -> {capture.redirect_to}" if capture.redirect_to else ""
    same = f" (body of capture {capture.revisit_of})" if capture.revisit_of else ""
    return visible(f"{_time(capture)}  {capture.status}  {capture.content_type or '-'}  {capture.url}{target}{same}")


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


def _write_urls(captures: Iterable[Capture], out: TextIO) -> None:
    out.writelines(visible(capture.url) + "\n" for capture in captures)


def _write_jsonl(captures: Iterable[Capture], out: TextIO) -> None:
    out.writelines(json.dumps(capture._asdict()) + "\n" for capture in captures)


def _write_csv(captures: Iterable[Capture], out: TextIO) -> None:
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(Capture._fields)
    for capture in captures:
        writer.writerow([visible(value) if isinstance(value, str) else value for value in capture])


def _write_table(captures: Iterable[Capture], out: TextIO) -> None:
    for number, capture in enumerate(captures):
        if not number:
            out.write(f"{'fetched (UTC)':<19}  {'status':>6}  {'size':>9}  {'title':<{_TITLE_WIDTH}}  url\n")
        title = visible(_TABLE_LINE_BREAKS.sub(" ", capture.title or f"({capture.kind})"))
        size = capture.payload_size if capture.size is None else capture.size
        row = f"{_time(capture)}  {capture.status:>6}  {size:>9}  {_fit(title)}  {visible(capture.url)}"
        out.write(row + "\n")


def _fit(text: str) -> str:
    cut = text if len(text) <= _TITLE_WIDTH else text[: _TITLE_WIDTH - 1] + "\N{HORIZONTAL ELLIPSIS}"
    return f"{cut:<{_TITLE_WIDTH}}"


def _time(capture: Capture) -> str:
    return f"{datetime.fromtimestamp(capture.fetched, UTC):%Y-%m-%d %H:%M:%S}"


WRITERS: dict[str, Callable[[Iterable[Capture], TextIO], None]] = {
    "table": _write_table,
    "jsonl": _write_jsonl,
    "csv": _write_csv,
    "urls": _write_urls,
}
"""The formats of `scrapy pages`, by name. Each is written line by line, and holds no list in memory."""
