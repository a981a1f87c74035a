"""Text and figures for people: no control characters, sizes and times in words."""

from __future__ import annotations

import json
from io import TextIOWrapper
from typing import Any, TextIO

from sitecrawl.base.expressions import expression

# C0 without tab and line feed, DEL, C1, and the marks that turn the writing direction: all can make a terminal lie.
_CONTROL = expression("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_SPACE = expression(r"\s")
_FORMULA = expression("\\s*[=+@\uff1d\uff0b\uff0d\uff20-]")
"""First characters of what a spreadsheet takes for a formula (OWASP, CSV injection), also in full width."""


def forgive(*streams: TextIO) -> None:
    """Let `streams` escape characters that their encoding lacks, as a terminal's under LANG=C."""
    for stream in streams:
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def visible(text: str) -> str:
    """`text` with control characters escaped, so that no terminal acts on them."""
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def one_line(text: str) -> str:
    """`text` with all control characters escaped, including line ends and tabs."""
    return visible(text).replace("\t", r"\t").replace("\n", r"\n")


def csv_cell(value: Any) -> Any:
    """A value of a CSV file: lists as JSON, text on one line. What a spreadsheet would take for a formula gets an
    apostrophe before it.
    """
    if isinstance(value, list):
        return json.dumps(value)
    if not isinstance(value, str):
        return value
    line = one_line(value)
    return f"'{line}" if _FORMULA.match(line) else line


def printable(text: str, limit: int = 200) -> str:
    """At most `limit` characters of `text`, on one line and without control characters."""
    return visible(_SPACE.sub(" ", text[:limit]))


def size(number: float) -> str:
    """Bytes in the largest unit that fits, in powers of 1,000."""
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:,.1f} TB"


def counted(number: int, what: str) -> str:
    """So many of `what`, which is a singular: `1 page`, `1,234 pages`."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def duration(seconds: float) -> str:
    """Hours, minutes and seconds: `1:02:03`."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


def without_query(url: str) -> str:
    """A URL without its query, in which a site may have put a secret."""
    return url.partition("#")[0].partition("?")[0]
