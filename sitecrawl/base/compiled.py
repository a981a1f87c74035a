"""The inner loops in C, for where they could be built: `native` has them, and is None elsewhere.

Each has a twin in Python, which gives the same results: `sitecrawl.page.simhash` is one. docs/design/compiled.md says
what is worth being here, and how the two are kept the same.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Final, Protocol, cast

PURE: Final = "SITECRAWL_PURE"
"""The variable of the environment that has everything done in Python, unless it is empty or 0."""
INTERFACE: Final = 12
"""Of the C: who changes what its functions take, give or mean adds one here and in `_native.c`."""


class Native(Protocol):
    """What is in C. What a function does not know it leaves to its twin."""

    INTERFACE: int

    def simhash(self, text: str, /) -> int | None:
        """Of a text whose letters beyond ASCII are in lower case; None where the twin has to make it."""

    def shingles(self, text: str, /) -> bytes | None:
        """As `simhash` is asked; the sample of `sitecrawl.page.shingles`."""

    def shown_compare(
        self, sample: bytes, level: int, layers: list[bytearray], votes: bytearray, half: int, /
    ) -> tuple[int, int, int, bytes, bytes]:
        """This and the next two are those of `sitecrawl.page.shown_text`."""

    def shown_fill(self, layer: bytearray, units: bytes, /) -> None: ...

    def shown_vote(self, votes: bytearray, runs: bytes, /) -> None: ...

    def bloom_add(self, bits: Any, digest: bytes, size: int, slices: int, slice_bits: int, /) -> None:
        """This and the next are those of `sitecrawl.frontier.seen.bloom`; `bits` is a buffer."""

    def bloom_has(self, bits: Any, digest: bytes, size: int, slices: int, slice_bits: int, /) -> bool: ...

    def clock_mark(self, slots: dict[bytes, int], marks: bytearray, keys: list[bytes], start: int, /) -> int:
        """That of `sitecrawl.frontier.seen.clock`."""

    def owe(
        self,
        owed: dict[bytes, int],
        counts: dict[bytes, int] | None,
        links: dict[bytes, Any],
        follow: int,
        nofollow: int,
        /,
    ) -> None:
        """That of `sitecrawl.frontier.urls.link_credit`."""

    def base32(self, data: bytes, /) -> str:
        """As `base64.b32encode` has it."""

    def http_head(
        self, start_line: bytes, headers: Sequence[tuple[bytes, bytes]], body_size: int, room: int, /
    ) -> bytes | None:
        """An HTTP message up to its body; None where the twin has to make it."""

    anchors: Callable[..., int]
    """Adds the links of a page's elements, and returns how many: `_Links.read` in `sitecrawl.page.links` calls it."""

    tree: Callable[..., tuple[list[Any], str] | None]
    """The elements of a page and its text, where `use_lexbor` has found what it takes: `elements` in
    `sitecrawl.page.markup` calls it."""

    def use_lexbor(self, path: str, /) -> bool:
        """Whether the library at `path`, which is loaded, has lexbor's functions for callers from elsewhere."""


def load(pure: str) -> tuple[Native | None, str]:
    """The C, if it is there and wanted, and in words whether it is in use; `pure` is the value of `PURE`."""
    if pure not in {"", "0"}:
        return None, f"no, {PURE} is set"
    try:
        found = cast("Native", import_module("sitecrawl.base._native"))
    except ImportError as error:
        return None, f"no, it was not built here, and Python does its work ({error})"
    if found.INTERFACE != INTERFACE:
        return None, "no, another version of sitecrawl has built it: install this one again"
    return found, "yes"


native, IN_USE = load(os.environ.get(PURE, ""))
