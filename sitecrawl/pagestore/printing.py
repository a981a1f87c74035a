"""Text about stored pages for people."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from sitecrawl.base.display import visible
from sitecrawl.base.errors import OptionError
from sitecrawl.pagestore.capture import Capture
from sitecrawl.pagestore.index import ELSEWHERE
from sitecrawl.pagestore.reader import StoredPage
from sitecrawl.pagestore.record import HttpMessage

_AGO = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


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
