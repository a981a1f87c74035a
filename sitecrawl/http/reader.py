"""One HTTP/1.1 response (RFC 9112) out of the bytes of a connection.

Read is what curl and browsers read alike, for servers write it: ends of lines without CR, `http/1.1`, white space
before a colon or behind the size of a chunk, one length several times (RFC 9110, section 8.6), lines that are no
headers, which are left out. Names of headers are trimmed; else names and values stay as they came. Refused is what
has no one meaning: two lengths that differ, a length or a size of a chunk that is no number.

Every byte that comes is either body, and counts towards `max_size`, or something else, and counts towards the size
of headers: the status line, headers, 1xx responses before the response (which are skipped), the sizes and extensions
of chunks, the headers behind a body. So nothing may come without end. The work on a byte does not grow with what came
before it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from sitecrawl.base import limits
from sitecrawl.base.expressions import expression
from sitecrawl.base.setting import NO_LIMIT
from sitecrawl.http.errors import BadResponse, OverLimit, Truncated

_Fields = list[tuple[bytes, bytes]]

_END_OF_HEAD: Final = expression(rb"\n\r?\n")
_LONGEST_END: Final = len(b"\n\r\n")
_STATUS_LINE: Final = expression(rb"[\t ]*(?:HTTP|ICY)(?:/(\d+)(?:\.(\d+))?)?[\t ]+([1-9]\d\d)(?!\d)", re.IGNORECASE)
_HEADER: Final = expression(
    rb"""(?<=[\r\n]) ([!#$%&'*+.^_`|~0-9A-Za-z-]++) [\t ]*+ : [\t ]*+ ([^\r\n]*+) ((?:\r?\n[\t ][^\r\n]*+)*+)""",
    re.VERBOSE,
)
"""Name, value, and the lines in which it goes on. Other lines are none."""
_CHUNK: Final = expression(rb"(?:\r?\n)?([0-9A-Fa-f]{1,16})[\t ]*+(?:;[^\n]*+)?\r?\n")
"""From the end of one to the beginning of the next; some servers end them with nothing."""
_CHUNK_SIZE: Final = re.compile(rb"([0-9A-Fa-f]{1,16})[\t ]*+(?:;.*+)?", re.DOTALL).fullmatch
_FRAMES: Final = frozenset({b"connection", b"content-length", b"proxy-connection", b"transfer-encoding"})
_UPGRADE: Final = 101
_NO_CONTENT: Final = frozenset({_UPGRADE, 204, 304})
"""RFC 9112, section 6.3, rule 1."""
_CHUNK_LINE: Final = 16
"""Bytes that frame a chunk and are no header: its size, with the padding of some servers, and two ends of lines."""
_LONGEST_NUMBER: Final = 18
"""Digits of a length that are read."""
_SHOWN: Final = 60


_HEAD, _BODY, _CHUNKS, _TRAILERS, _BEHIND = range(5)
"""Where in a response the next byte stands: a body that is no chunks has a length, or ends with the connection;
trailers are the headers behind the last chunk; behind it all it is whole."""


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """Limits on reading one response. Those on headers hold for all that is no body, 1xx responses included."""

    headers: int = NO_LIMIT
    """Lines."""
    header_size: int = NO_LIMIT
    """Bytes, and `_CHUNK_LINE` more for each chunk."""
    chunks: int = NO_LIMIT
    """Pieces of a chunked body."""


class ResponseReader:
    """Feed it what comes; `is_whole` says when to stop.

    `on_head` is called once, when the headers are whole, and `on_data` with every piece of the body; what they raise
    goes through `feed`. `has_body` is False for the answer to HEAD or CONNECT.
    """

    def __init__(
        self,
        limits: ReadLimits,
        *,
        max_size: int = NO_LIMIT,
        has_body: bool = True,
        on_head: Callable[[], None] | None = None,
        on_data: Callable[[bytes], None] | None = None,
    ) -> None:
        self._limits = limits
        self.max_size = max_size
        """Bytes of body."""
        self._has_body = has_body
        self._on_head = on_head
        self._on_data = on_data
        self.status = 0
        self.version = "1.1"
        self.headers: _Fields = []
        """Names and values as they were sent."""
        self.length: int | None = None
        """Announced length of the body in bytes."""
        self.body: list[bytes] = []
        """Body in pieces as received."""
        self.size = 0
        """Bytes of `body`."""
        self.received = 0
        """Bytes, body and all."""
        self._part = _HEAD
        self._told_head = False
        self._new: list[bytes] = []
        """Body that came last: a piece a chunk."""
        self._left: int | None = 0
        """Bytes of body, or of the chunk, that have yet to come; None up to the end of the connection."""
        self._open = bytearray()
        """Received part of a head, or of a line between chunks."""
        self._searched = 0
        """Bytes of `_open` in which the end of the head is not."""
        self._lines = 0
        self._open_lines = 0
        """Lines in `_open`."""
        self._chunks = 0
        self._behind = 0
        """Bytes that came behind the end of the response."""
        self._keeps_alive = False

    @property
    def has_head(self) -> bool:
        return self._part != _HEAD

    @property
    def is_whole(self) -> bool:
        return self._part == _BEHIND

    @property
    def is_reusable(self) -> bool:
        """Whether the connection may serve another request."""
        return self.is_whole and self._keeps_alive and not self._behind

    @property
    def has_begun(self) -> bool:
        """Whether anything has come."""
        return self.received > 0

    def feed(self, data: bytes) -> None:
        """Read on. Raises `OverLimit`, `BadResponse`, and what the listeners raise."""
        self.received += len(data)
        if self._part == _HEAD:
            data = self._read_head(data)
        if self._part == _BODY:
            data = self._take(data)
            self._end_of_body()
        elif self._part in (_CHUNKS, _TRAILERS):
            data = self._read_chunks(data)
        self._behind += len(data)
        self._check()
        self._tell()

    def end(self) -> None:
        """The connection has ended. Raises `Truncated` or `BadResponse` if the response has not."""
        self._keeps_alive = False
        if self._part == _HEAD:
            raise BadResponse("The connection ended within the headers")
        if self._part == _CHUNKS or (self._part == _BODY and self._left is not None):
            raise Truncated(f"The body ended after {self.size} bytes")
        self._part = _BEHIND

    def values(self, name: bytes) -> list[bytes]:
        """Values of all headers called `name` (lower case)."""
        return [value for key, value in self.headers if key.lower() == name]

    # The limits

    def _check(self) -> None:
        if self.received - self.size - self._behind > self._limits.header_size + _CHUNK_LINE * self._chunks:
            raise OverLimit(limits.HEADER_SIZE, f"More than {self._limits.header_size} bytes of headers")
        self._check_lines()
        if self._chunks > self._limits.chunks:
            raise OverLimit(limits.CHUNKS, f"More than {self._limits.chunks} chunks")
        if self.size > self.max_size:
            raise OverLimit(limits.BODY_SIZE, f"More than {self.max_size} bytes")

    def _check_lines(self) -> None:
        if self._lines + self._open_lines > self._limits.headers:
            raise OverLimit(limits.HEADERS, f"More than {self._limits.headers} header lines")

    def _tell(self) -> None:
        if self._part != _HEAD and not self._told_head:
            self._told_head = True
            if self._on_head is not None:
                self._on_head()
        if self._new:
            piece = self._new[0] if len(self._new) == 1 else b"".join(self._new)
            self._new.clear()
            self.body.append(piece)
            if self._on_data is not None:
                self._on_data(piece)

    # The head

    def _read_head(self, data: bytes) -> bytes:
        """Returns what is behind it."""
        while self._part == _HEAD:
            if self._open:
                self._open += data
            else:
                data = data.lstrip(b"\r\n")
            head = self._open or data
            end = _END_OF_HEAD.search(head, self._searched)
            if end is None:
                self._open_lines += data.count(b"\n")
                self._searched = max(0, len(head) - _LONGEST_END)
                self._open = bytearray(head) if head is data else self._open
                return b""
            whole, data = bytes(head[: end.start()]), bytes(head[end.end() :])
            self._open, self._open_lines, self._searched = bytearray(), 0, 0
            self._take_head(whole)
        return data

    def _take_head(self, head: bytes) -> None:
        match = _STATUS_LINE.match(head)
        if match is None:
            raise BadResponse(f"The headers cannot be read: {head[:_SHOWN]!r} is no status line")
        fields = _HEADER.findall(head, match.end())
        self._lines += max(head.count(b"\n"), len(fields))
        self._check_lines()
        status = int(match[3])
        if status >= 200 or status == _UPGRADE:
            version = int(match[1] or 1), int(match[2] or 0)
            self.status, self.version = status, f"{version[0]}.{version[1]}"
            self.headers = [(name, _value(value, more)) for name, value, more in fields]
            self._frame(is_persistent=version >= (1, 1))

    def _frame(self, *, is_persistent: bool) -> None:
        """Find out where the body ends (RFC 9112, section 6.3), and whether another response may follow it (9.3)."""
        of = _framing(self.headers)
        options = _items(of[b"connection"] or of[b"proxy-connection"])
        self._keeps_alive = b"close" not in options and (is_persistent or b"keep-alive" in options)
        codings = [coding for coding in _items(of[b"transfer-encoding"]) if coding != b"identity"]
        self.length = None if codings else _length(of[b"content-length"])
        if not self._has_body or self.status in _NO_CONTENT:
            self._part = _BEHIND
            self._keeps_alive &= self._has_body and self.status != _UPGRADE
        elif codings and codings[-1] == b"chunked":
            self._part = _CHUNKS
        else:
            self._part, self._left = _BODY, self.length
            if self.length is not None and self.length > self.max_size:  # before its bytes come
                raise OverLimit(limits.BODY_SIZE, f"{self.length} bytes, and {self.max_size} is the limit")
            self._end_of_body()

    # The body

    def _take(self, data: bytes) -> bytes:
        """Take of `data` what is body; returns the rest."""
        piece = data if self._left is None else data[: self._left]
        if piece:
            self._new.append(piece)
            self.size += len(piece)
            self._left = None if self._left is None else self._left - len(piece)
        return data[len(piece) :]

    def _end_of_body(self) -> None:
        if self._part == _BODY and self._left == 0:
            self._part = _BEHIND

    def _read_chunks(self, data: bytes) -> bytes:
        """Returns what is behind them, and the headers that follow."""
        at = 0
        while at < len(data) and self._part != _BEHIND:
            if self._left:
                self._new.append(piece := data[at : at + self._left])
                at += len(piece)
                self.size += len(piece)
                self._left -= len(piece)
                continue
            if self._part == _CHUNKS and not self._open and (match := _CHUNK.match(data, at)) is not None:
                self._begin_chunk(match[1])
                at = match.end()
                continue
            end = data.find(b"\n", at)
            if end < 0:
                self._open += data[at:]
                return b""
            line = bytes(self._open) + data[at:end]
            self._open.clear()
            self._take_line(line.rstrip(b"\r\t "))
            at = end + 1
        return data[at:]

    def _take_line(self, line: bytes) -> None:
        """Take a line between chunks, or behind the last. An empty one ends a chunk; some servers have none."""
        if self._part == _TRAILERS:
            self._lines += bool(line)
            self._part = _TRAILERS if line else _BEHIND
        elif line:
            match = _CHUNK_SIZE(line)
            if match is None:
                raise BadResponse(f"The body cannot be read: {line[:_SHOWN]!r} is no size of a chunk")
            self._begin_chunk(match[1])

    def _begin_chunk(self, size: bytes) -> None:
        self._chunks += 1
        self._left = int(size, 16)
        self._part = _CHUNKS if self._left else _TRAILERS


def _value(value: bytes, more: bytes) -> bytes:
    """Join the value of a header with its continuation line."""
    return (
        b" ".join(filter(None, map(bytes.strip, (value, *more.splitlines())))).rstrip()
        if more
        else value.rstrip(b"\t ")
    )


def _framing(headers: _Fields) -> defaultdict[bytes, list[bytes]]:
    """The values of those that frame a message, by names in lower case."""
    found: defaultdict[bytes, list[bytes]] = defaultdict(list)
    for name, value in headers:
        if (lower := name.lower()) in _FRAMES:
            found[lower].append(value)
    return found


def _items(values: list[bytes]) -> list[bytes]:
    """Items of list headers in lower case, without empty ones (RFC 9110, section 5.6.1)."""
    return [item for item in map(bytes.strip, b",".join(values).lower().split(b",")) if item] if values else []


def _length(values: list[bytes]) -> int | None:
    """The one that all `values` of Content-Length give; None where there are none. Raises `BadResponse`."""
    if not values:
        return None
    lengths = _items(values)
    if not lengths or not all(length.isdigit() for length in lengths):
        raise BadResponse(f"The length of the body is no number: {b', '.join(values)[:_SHOWN]!r}")
    found = {int(length.lstrip(b"0")[:_LONGEST_NUMBER] or b"0") for length in lengths}
    if len(found) > 1:
        raise BadResponse(f"The body has two lengths: {b', '.join(values)[:_SHOWN]!r}")
    return found.pop()
