"""What is read off a document, and how much of one is read."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final

from sitecrawl.base.errors import SitecrawlError

MAX_FACT: Final = 2_000
"""Characters of a title, and of whatever else a document says of itself."""


_STEPS: Final = 4096
"""Between two looks at the clock: one takes as long as an element."""

NOT_INSTALLED: Final = "not installed"
"""Why a PDF file cannot be read where the extra is missing."""


@dataclass(frozen=True, slots=True)
class Document:
    """A document that was read."""

    text: str
    title: str | None = None
    language: str | None = None
    """As the document has it: a tag of RFC 5646 if it is right."""
    pages: int | None = None
    """Pages, slides or sheets."""
    is_cut: bool = False
    """Whether it has more text than was read."""


@dataclass(frozen=True, slots=True)
class DocumentLimits:
    """How much of a document is read: what is beyond, is left out."""

    characters: int = 2_000_000
    """Of its text: a thousand pages."""
    unpacked: int = 256 << 20
    """Bytes that are unpacked of an archive."""
    seconds: float = 10.0
    """After which no other page or part is begun."""


class Unreadable(SitecrawlError):
    """A document without readable text. `reason`: one word, for statistics."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Full(SitecrawlError):
    """There is enough text, or time."""


class Gathered:
    """A text that grows until it is as long as it may be, or the time is up: then `add` raises `Full`."""

    def __init__(self, limits: DocumentLimits) -> None:
        self._left = limits.characters
        self._until = time.monotonic() + limits.seconds
        self._steps = 0
        self._parts: list[str] = []

    def add(self, text: str) -> None:
        self._parts.append(text[: self._left])
        self._left -= len(text)
        if self._left <= 0 or time.monotonic() > self._until:
            raise Full

    def step(self) -> None:
        """Something was read that may bring no text. Raises `Full` if there is no time for more."""
        self._steps += 1
        if self._steps % _STEPS == 0 and time.monotonic() > self._until:
            raise Full

    @property
    def text(self) -> str:
        """Without spaces at the ends of lines, and without empty lines."""
        lines = "".join(self._parts).replace("\r\n", "\n").split("\n")
        return "\n".join(line.rstrip() for line in lines if line.strip())
