"""Text files that people write for a crawl: UTF-8, bounded in size."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sitecrawl.base.errors import OptionError

MAX_SIZE: Final = 1 << 20
"""Bytes."""


class Wrong(Exception):
    """A mistake in a line of such a file."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


def text_in(path: Path, what: str) -> str:
    r"""Text of the file, with `\n` line ends and no byte order mark. Raises `OptionError`, naming `what` was
    expected, if the file cannot be read, and `Wrong` if it is no text.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MAX_SIZE + 1)
    except (OSError, ValueError) as error:  # the latter: a name that no file can have
        reason = getattr(error, "strerror", None) or "no file has such a name"
        raise OptionError(f"The {what} {path} cannot be read: {reason}") from error
    if len(content) > MAX_SIZE:
        raise OptionError(f"The {what} {path} cannot be read: more than {MAX_SIZE} bytes")
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise Wrong(content.count(b"\n", 0, error.start) + 1, "this is no UTF-8") from None
