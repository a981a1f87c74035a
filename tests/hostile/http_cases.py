"""HTTP responses by structure: good ones in all forms that the RFCs allow, and what becomes of them in bad hands.

`cases(seed)` has no end, and is the same for a seed. The faults are the classes of malformed messages that the tests
of h11, llhttp and Scrapy know, and those of our own limits.
"""

from __future__ import annotations

import gzip
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count, pairwise
from random import Random
from typing import Final

import brotli  # type: ignore[import-untyped]

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

ONE_PACKET: Final = 30_000
"""Bytes that loopback brings together: what is behind a response may not come as the answer to the next request."""
FLOOD: Final = 3 << 20
"""Bytes of what has no end."""
CODERS: Final[dict[str, Callable[[bytes], bytes]]] = {
    "gzip": gzip.compress,
    "x-gzip": lambda data: b"".join(gzip.compress(data[at : at + 999]) for at in range(0, len(data) or 1, 999)),
    "deflate": zlib.compress,
    "br": lambda data: brotli.compress(data, quality=1),
    "zstd": zstd.compress,
}


@dataclass(frozen=True)
class Expected:
    """What a good response says."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes
    """As transferred."""
    content: bytes
    """Without its codings."""


@dataclass(frozen=True)
class Case:
    """What a server sends."""

    name: str
    method: str
    pieces: list[bytes]
    """One a packet, as far as a server can say."""
    closes: bool
    """Whether the server ends the connection behind it."""
    expected: Expected | None
    """None where any end will do that is no surprise."""

    def __str__(self) -> str:
        shown = b"|".join(self.pieces[:20])
        return f"{self.name} ({self.method}, {sum(map(len, self.pieces))} bytes): {shown[:600]!r}"


@dataclass
class Message:
    """A good response in parts."""

    start: bytes
    headers: list[tuple[bytes, bytes]]
    body: list[bytes]
    """In chunks, framed as they are sent."""
    end: bytes
    """Behind the last chunk: trailers."""
    before: bytes
    """1xx responses."""

    @property
    def head(self) -> bytes:
        return self.start + b"\r\n" + b"".join(b"%b: %b\r\n" % pair for pair in self.headers) + b"\r\n"

    def __bytes__(self) -> bytes:
        return self.before + self.head + b"".join(self.body) + self.end


def cases(seed: int) -> Iterator[Case]:
    for number in count():
        yield case(Random(f"{seed}/{number}"))


def case(random: Random) -> Case:
    """Two of three are good; of the others most have one fault, and some have no end."""
    kind = random.random()
    if kind < 0.6:
        return good(random)
    if kind < 0.95:
        return bad(random)
    return endless(random)


# Good ones


def good(random: Random) -> Case:
    message, expected, method, framing = _message(random)
    data, behind = bytes(message), b""
    name = f"good, {framing}"
    if framing != "closed" and len(data) < ONE_PACKET and random.random() < 0.1:
        behind = random.choice([b"\r\n", b"\0", b"extra", b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"])
        name += ", with more behind it"
    pieces = [data + behind] if behind else cut(random, data)
    return Case(name, method, pieces, closes=framing == "closed" or bool(behind), expected=expected)


def _message(random: Random) -> tuple[Message, Expected, str, str]:
    content = _content(random)
    codings = random.choices([*CODERS], k=random.choice([0, 0, 0, 1, 1, 2, 3, 5]))
    body = content
    for coding in codings:
        body = CODERS[coding](body)
    status = random.choice([200, 200, 200, 206, 301, 404, 429, 500, 599, 204, 304])
    method = random.choice(["GET"] * 9 + ["HEAD"])
    has_body = method == "GET" and status not in (204, 304)
    headers = _headers(random)
    if codings:
        headers.append((b"Content-Encoding", ", ".join(codings).encode()))
    framing = random.choice(["length", "length", "chunked", "chunked", "closed"]) if has_body else "none"
    chunks, end = [body] if has_body else [], b""
    if framing == "length" or (framing == "none" and status == 200):
        headers.append((random.choice([b"Content-Length", b"content-length"]), b"%d" % len(body)))
    elif framing == "chunked":
        headers.append((b"Transfer-Encoding", random.choice([b"chunked", b"Chunked"])))
        chunks, end = _chunked(random, body)
    random.shuffle(headers)
    start = b"HTTP/1.1 %d %b" % (status, random.choice([b"OK", b"", b"Not Found", b"\xe4\xf6"]))
    before = b"".join(random.choices([b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", b"HTTP/1.1 100 C\r\n\r\n"],
                                     k=random.choice([0, 0, 0, 1, 3])))  # fmt: skip
    transferred = body if has_body else b""
    expected = Expected(status, headers, transferred, content if has_body else b"")
    return Message(start, headers, chunks, end, before), expected, method, framing


def _content(random: Random) -> bytes:
    size = random.choice([0, 1, 10, 1000, 20_000, 200_000])
    return random.choice([random.randbytes(size), b"a page " * (size // 7), bytes(size)])


def _headers(random: Random) -> list[tuple[bytes, bytes]]:
    letters = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$&'*+.^_`|~-"
    values = (b"", b"1", b"text/html; charset=utf-8", b"a\tb c", bytes(range(0xA0, 0x100)), b"x" * 3000)
    return [
        (b"X-" + bytes(random.choices(letters, k=random.randint(1, 12))), random.choice(values))
        for _ in range(random.choice([0, 1, 5, 30]))
    ]


def _chunked(random: Random, body: bytes) -> tuple[list[bytes], bytes]:
    at, chunks, longest = 0, [], random.choice([7, 1000, 70_000]) if len(body) < 5000 else 70_000
    while at < len(body):
        part = body[at : at + random.randint(1, longest)]
        at += len(part)
        size = random.choice([b"%x", b"%X", b"%04x"]) % len(part)
        chunks.append(b"%b%b\r\n%b\r\n" % (size, _extension(random), part))
    trailers = b"".join(b"X-T%d: %d\r\n" % (n, n) for n in range(random.choice([0, 0, 1, 5])))
    return chunks, b"0%b\r\n%b\r\n" % (_extension(random), trailers)


def _extension(random: Random) -> bytes:
    return random.choice([b"", b"", b"", b";a", b";a=b", b';a="b c"', b";a=b;c=d"])


def cut(random: Random, data: bytes) -> list[bytes]:
    """As it comes: whole, in some pieces, or byte by byte."""
    if len(data) < 400 and random.random() < 0.2:
        return [data[at : at + 1] for at in range(len(data))]
    places = sorted({0, len(data), *(random.randrange(len(data)) for _ in range(random.choice([0, 1, 3, 8])))})
    return [data[a:b] for a, b in pairwise(places)]


# Bad ones


def bad(random: Random) -> Case:
    message, _, method, _ = _message(random)
    fault = random.choice(_FAULTS)
    data = _spoiled(random, message, fault)
    name = fault if isinstance(fault, str) else repr(fault)
    return Case(f"bad, {name}", method, cut(random, data), closes=True, expected=None)


_HEAD_FAULTS: Final = (
    b"no header",
    b"\0",
    b"X: a\0b",
    b": empty",
    b"X : space",
    b"X\0: y",
    b"X: a\rb",
    b"X: a\nY: b",
    b" folded",
    b"\tfolded",
    b"Content-Length: 5\r\nContent-Length: 5",
    b"Content-Length: 5\r\nContent-Length: 6",
    b"Content-Length: -1",
    b"Content-Length: +5",
    b"Content-Length: 0x5",
    b"Content-Length: 5, 5",
    b"Content-Length: ",
    b"Content-Length: 1e3",
    b"Content-Length: 99999999999999999999999",
    b"Content-Length: 5\r\nTransfer-Encoding: chunked",
    b"Transfer-Encoding: chunked, identity",
    b"Transfer-Encoding: xchunked",
    b"Transfer-Encoding: \x0bchunked",
    b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
    b"Transfer-Encoding: gzip, chunked",
    b"Transfer-Encoding: identity",
    b"Connection: upgrade\r\nUpgrade: h2c",
    b"Connection: close, keep-alive",
    b"Content-Encoding: gzip",
    b"Content-Encoding: strange, gzip",
    b"Content-Encoding: " + b"gzip, " * 50,
)
"""Lines within a head."""
_START_FAULTS: Final = (
    b"",
    b"HTTP/1.1",
    b"HTTP/1.1 ",
    b"HTTP/1.1 20",
    b"HTTP/1.1 2000 OK",
    b"HTTP/1.1 abc",
    b"HTTP/2 200",
    b"HTTP/9.9 200 OK",
    b"ICY 200 OK",
    b"http/1.1 200 ok",
    b"HTTP/1.1  200  OK",
    b"HTTP/1.1\t200\tOK",
    b"220 ESMTP",
    b"<html>",
    b"\x16\x03\x01",
    b"HTTP/1.1 101 Switching Protocols",
    b"HTTP/1.0 200 OK",
    b"HTTP/1.1 099 OK",
    b"HTTP/1.1 200 O\0K",
)
_BODY_FAULTS: Final = (
    b"-1\r\nx\r\n",
    b"+1\r\nx\r\n",
    b"0x1\r\nx\r\n",
    b"1 \r\nx\r\n",
    b"1\nx\n",
    b"1\r\nxx\r\n",
    b"5\r\nx\r\n",
    b"\r\n",
    b"g\r\n",
    b"fffffffffffffffff\r\nx",
    b"1;\0\r\nx\r\n",
    b"1\r\nx",
    b"00000000000000000001\r\nx\r\n",
    b"0\r\nno trailer\r\n\r\n",
    b"0\r\nContent-Length: 9\r\n\r\n",
    b"0\r\n: \0\r\n\r\n",
    b"0\n\n",
)
"""Chunks, and what is to be one."""
_FAULTS: Final[tuple[bytes | str, ...]] = (*_HEAD_FAULTS, *_BODY_FAULTS, *["bytes"] * 3, *["end"] * 3)
"""With bytes that are others, and an end that comes too early."""


def _spoiled(random: Random, message: Message, fault: bytes | str) -> bytes:
    if fault in _BODY_FAULTS:
        assert isinstance(fault, bytes)
        head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        return head + b"3\r\nabc\r\n" * random.randint(0, 3) + fault + random.choice([b"", b"0\r\n\r\n"])
    if isinstance(fault, bytes):
        if random.random() < 0.3:
            message.start = random.choice(_START_FAULTS)
        at = message.head.find(b"\r\n") + 2
        line_end = random.choice([b"\r\n", b"\r\n", b"\n"])
        return message.before + message.head[:at] + fault + line_end + message.head[at:] + b"".join(message.body)
    data = bytearray(bytes(message))
    if fault == "end":
        return bytes(data[: random.randrange(1, len(data))])
    for _ in range(random.choice([1, 3, 20])):
        data[random.randrange(min(len(data), 500))] = random.choice([0, 10, 13, 32, 58, 255, random.randrange(256)])
    return bytes(data)


# What has no end


def endless(random: Random) -> Case:
    name, first, again = random.choice(_ENDLESS)
    packet = again * max(1, random.choice([1000, 30_000]) // len(again))
    return Case(f"endless {name}", "GET", [first, *[packet] * (FLOOD // len(packet))], closes=True, expected=None)


_CHUNKED: Final = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
_ENDLESS: Final = (
    ("lines before it", b"", b"\r\n"),
    ("reason", b"HTTP/1.1 200 ", b"x"),
    ("header", b"HTTP/1.1 200 OK\r\nX: ", b"x"),
    ("name", b"HTTP/1.1 200 OK\r\nX", b"x"),
    ("headers", b"HTTP/1.1 200 OK\r\n", b"X: y\r\n"),
    ("folded header", b"HTTP/1.1 200 OK\r\nX: y\r\n", b" y\r\n"),
    ("no headers", b"HTTP/1.1 200 OK\r\n", b"no header\r\n"),
    ("hints", b"", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"),
    ("bare hints", b"", b"HTTP/1.1 100 C\r\n\r\n"),
    ("bad hints", b"", b"HTTP/1.1 103 Early Hints\r\nno header\r\n\r\n"),
    ("extension", _CHUNKED + b"5;a=", b"x"),
    ("size", _CHUNKED, b"0"),
    ("trailer", _CHUNKED + b"5\r\nhello\r\n0\r\nX: ", b"x"),
    ("trailers", _CHUNKED + b"5\r\nhello\r\n0\r\n", b"X: y\r\n"),
    ("chunks", _CHUNKED, b"1\r\nx\r\n"),
    ("extended chunks", _CHUNKED, b"1;" + b"e" * 50 + b"\r\nx\r\n"),
    ("body", b"HTTP/1.1 200 OK\r\n\r\n", b"x"),
    ("zeros", b"", b"\0"),
)
