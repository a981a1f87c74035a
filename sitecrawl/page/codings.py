"""Content codings taken off a body (RFC 9110, section 8.4.1), a step at a time.

Who packs a body chooses what it costs to unpack it. So all of it is counted: bytes that come out, codings on top of
one another, and members of gzip or frames of zstd, for an empty one takes 9 bytes and more time than 9 KB of text. A
step is about `_STEP` bytes, in or out: who has other things to do can do them in between.

Servers are wrong in their checksums, pad their bodies, and end them too early. What came out until then counts, as in
browsers; checksums are not looked at.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Final, NamedTuple, TypeVar

import brotli  # type: ignore[import-untyped]

from sitecrawl.base.errors import SitecrawlError
from sitecrawl.base.expressions import expression
from sitecrawl.page.items import Headers

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MAX_CONTENT: Final = 64 << 20
"""Most unpacked bytes if the caller sets no limit."""
_MAX_CODINGS: Final = 5
"""Most nested codings, as in curl; a body can be made that unpacks to itself for ever."""
MAX_MEMBERS: Final = 10_000
"""Most gzip members and zstd frames in one body, over all its codings. A frame takes some 20 us, a member 5."""
_STEP: Final = 64 << 10

_FIRST_STEP: Final = 1 << 10
"""First input of a member; what follows its end is copied."""
_RAW: Final = -zlib.MAX_WBITS
_GZIP: Final = b"\x1f\x8b\x08"
_GZIP_HEAD: Final = 10
_GZIP_TAIL: Final = 8
_EXTRA, _STRINGS, _CHECKSUM = 4, (8, 16), 2
"""Flags of the fields in a gzip member's head, in their order."""
_PADDING: Final = expression(rb"\0*+")
_ERRORS: Final = (zlib.error, brotli.error, zstd.ZstdError)

_T = TypeVar("_T")


class Decoded(NamedTuple):
    """Result of decoding a body."""

    body: bytes
    left: tuple[str, ...] = ()
    """Remaining codings, the last applied last, in lower case."""
    is_too_much: bool = False
    """Whether removing the next one would exceed a limit."""
    is_bad: bool = False
    """Whether `body` is not valid in the next one."""


class TooLarge(SitecrawlError):
    """A body that unpacks to too much, or has too many codings."""


class Damaged(SitecrawlError):
    """A body that is not in the content coding that its headers name."""


class _TooMuch(Exception):
    """A body that unpacks to more than it may."""


class _Members:
    """Count of one body's members."""

    def __init__(self) -> None:
        self._left = MAX_MEMBERS

    def begin(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise _TooMuch


def decoding(body: bytes, codings: Iterable[str], max_size: int = MAX_CONTENT) -> Generator[None, None, Decoded]:
    """Take `codings` off `body`, that applied last first (section 8.4), until one is unknown or goes wrong.

    `codings` are values of the header Content-Encoding. `max_size` is on what each coding gives, in bytes.
    """
    names = [name for part in ",".join(codings).split(",") if (name := part.strip().lower()) not in {"", "identity"}]
    if len(names) > _MAX_CODINGS:
        return Decoded(body, tuple(names), is_too_much=True)
    members = _Members()
    while names and body and (decoder := _DECODERS.get(names[-1])) is not None:
        pieces: list[bytes] = []
        try:
            for piece in _limited(decoder(body, members), max_size):
                pieces.append(piece)
                yield
        except _TooMuch:
            return Decoded(body, tuple(names), is_too_much=True)
        except _ERRORS:
            if not any(pieces):
                return Decoded(body, tuple(names), is_bad=True)
        body = b"".join(pieces)
        names.pop()
    return Decoded(body, tuple(names))


def checked(decoded: Decoded) -> Decoded:
    """Return `decoded` if it is valid. Raises `TooLarge` and `Damaged`."""
    if decoded.is_too_much:
        raise TooLarge("it unpacks to too much, or is packed too often")
    if decoded.is_bad:
        raise Damaged(f"it is not in the content coding {decoded.left[-1]}")
    return decoded


def at_once(steps: Generator[None, None, _T]) -> _T:
    """Run all `steps`; return their result."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]


def without_codings(body: bytes, headers: Headers, max_size: int = MAX_CONTENT) -> bytes:
    """`body` without the codings in `headers`; undecoded from the first that is invalid or unpacks to too much."""
    codings = (value.decode("latin-1") for name, value in headers if name.lower() == b"content-encoding")
    return at_once(decoding(body, codings, max_size)).body


def _limited(pieces: Iterator[bytes], left: int) -> Iterator[bytes]:
    for piece in pieces:
        left -= len(piece)
        if left < 0:
            raise _TooMuch
        yield piece


def _gunzip(data: bytes, members: _Members) -> Iterator[bytes]:
    """Unpack all members; other bytes after them are ignored."""
    at = 0
    while data.startswith(_GZIP, at):
        members.begin()
        end = yield from _inflate(data, _gzip_content(data, at))
        at = _behind_padding(data, end + _GZIP_TAIL)
    if not at:
        raise zlib.error("no gzip")


def _gzip_content(data: bytes, at: int) -> int:
    """Start of the content of the member at `at` (RFC 1952, section 2.3)."""
    flags = data[at + 3] if len(data) > at + 3 else 0
    at += _GZIP_HEAD
    if flags & _EXTRA:
        at += 2 + int.from_bytes(data[at : at + 2], "little")
    for flag in _STRINGS:
        if flags & flag:
            at = data.find(b"\0", at) + 1 or len(data)
    return at + 2 if flags & _CHECKSUM else at


def _behind_padding(data: bytes, at: int) -> int:
    padding = _PADDING.match(data, at)
    return len(data) if padding is None else padding.end()


def _inflate(data: bytes, at: int) -> Generator[bytes, None, int]:
    """Yield the content of the deflate stream at `at`; return its end."""
    stream, view = zlib.decompressobj(_RAW), memoryview(data)
    size, piece = _FIRST_STEP, b""
    while not stream.eof and (at < len(data) or piece):
        given = view[at : at + size]
        piece = stream.decompress(given, _STEP)
        at += len(given) - len(stream.unused_data if stream.eof else stream.unconsumed_tail)
        size = min(2 * size, _STEP)
        yield piece
    if not stream.eof:
        raise zlib.error("it ends too early")
    return at


def _undeflate(data: bytes, members: _Members) -> Iterator[bytes]:
    """Unpack deflate with or without zlib's header (RFC 9110, 8.4.1.2: some servers omit it)."""
    members.begin()
    is_zlib = data[0] & 15 == zlib.DEFLATED and int.from_bytes(data[:2], "big") % 31 == 0
    came = False
    try:
        for piece in _inflate(data, 2 if is_zlib else 0):
            came = came or bool(piece)
            yield piece
    except zlib.error:
        if came or not is_zlib:
            raise
        yield from _inflate(data, 0)


def _unbrotli(data: bytes, members: _Members) -> Iterator[bytes]:
    members.begin()
    stream, at, piece = brotli.Decompressor(), 0, b""
    while not stream.is_finished() and (at < len(data) or piece):
        given = data[at : at + _STEP] if stream.can_accept_more_data() else b""
        piece = stream.process(given, output_buffer_limit=_STEP)
        at += len(given)
        yield piece
    if not stream.is_finished():
        raise brotli.error("it ends too early")


def _unzstd(data: bytes, members: _Members) -> Iterator[bytes]:
    at, view = 0, memoryview(data)
    while at < len(data):
        members.begin()
        stream, size, piece = zstd.ZstdDecompressor(), _FIRST_STEP, b""
        while not stream.eof and (at < len(data) or piece):
            given = view[at : at + size] if stream.needs_input else b""
            piece = stream.decompress(given, max_length=_STEP)
            at += len(given)
            size = min(2 * size, _STEP)
            yield piece
        if not stream.eof:
            raise zstd.ZstdError("it ends too early")
        at -= len(stream.unused_data)


_DECODERS: Final[dict[str, Callable[[bytes, _Members], Iterator[bytes]]]] = {
    "gzip": _gunzip,
    "x-gzip": _gunzip,
    "deflate": _undeflate,
    "br": _unbrotli,
    "zstd": _unzstd,
}
