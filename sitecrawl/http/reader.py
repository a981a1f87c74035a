"""One HTTP/1.1 response (RFC 9112) out of the bytes of a connection.

llhttp parses, in the lenient form that browsers come close to, through httptools. It gives up at a line that is no
header; servers that write one (a stray line of PHP's output) are common enough, so such a head is read again without
its bad lines. Header names and values stay as they came.

Every byte that comes is either body, and counts towards `max_size`, or something else, and counts towards the size
of headers: the status line, headers, 1xx responses before the response (which are skipped), the sizes and extensions
of chunks, the headers behind a body. So nothing may come without end. The work on a byte does not grow with what came
before it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from sitecrawl.base import limits
from sitecrawl.base.limits import NO_LIMIT
from sitecrawl.http.errors import BadResponse, OverLimit, Truncated

_LENIENCIES: Final = dict.fromkeys(
    (
        "lenient_headers",
        "lenient_chunked_length",
        "lenient_keep_alive",
        "lenient_transfer_encoding",
        "lenient_version",
        "lenient_optional_lf_after_cr",
        "lenient_optional_cr_before_lf",
        "lenient_optional_crlf_after_chunk",
        "lenient_spaces_after_chunk_size",
    ),
    True,
)
_END_OF_HEAD: Final = re.compile(rb"\r?\n\r?\n")
_HEADER_LINE: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+[ \t]*:|[ \t]")  # a field, or its continuation
_LONGEST_END: Final = len(b"\r\n\r\n")
_UPGRADE: Final = 101
_CHUNK_LINE: Final = 16
"""Bytes that frame a chunk and are no header: its size, with the padding of some servers, and two ends of lines."""


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """How much of one response is read; limits on headers are on all that is no body, 1xx responses included."""

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
        self.headers: list[tuple[bytes, bytes]] = []
        """Names and values as they were sent."""
        self.body: list[bytes] = []
        """In pieces, one for what came at a time."""
        self.size = 0
        """Bytes of `body`."""
        self.received = 0
        """Bytes, body and all."""
        self.has_head = False
        self.is_whole = False
        self._told_head = False
        self._new: list[bytes] = []
        """Body that came last: a piece a chunk."""
        self._lines = 0
        self._line_bytes = 0
        """In lines that are whole, as if each had the least of white space."""
        self._chunks = 0
        self._goes_on = False
        """Whether something came behind the end of the response."""
        self._head = bytearray()
        """What has come, while it may have to be read again."""
        self._searched = 0
        """Bytes of `_head` in which its end is not."""
        self._is_refused = False
        """Whether llhttp has refused the head, whose end has yet to come."""
        self._mended = False
        self._reusable = False
        self._parser = self._new_parser()

    def _new_parser(self) -> HttpResponseParser:
        parser = HttpResponseParser(self)
        parser.set_dangerous_leniencies(**_LENIENCIES)
        return parser

    @property
    def is_reusable(self) -> bool:
        """Whether the connection may serve another request."""
        return self.is_whole and self._reusable

    @property
    def has_begun(self) -> bool:
        """Whether anything has come."""
        return self.received > 0

    def feed(self, data: bytes) -> None:
        """Read on. Raises `OverLimit`, `BadResponse`, and what the listeners raise."""
        self.received += len(data)
        if not self.has_head:
            self._head += data
        if self._is_refused:
            self._mend()
        else:
            self._parse(data)
        self._check()
        self._tell()

    def _parse(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except HttpParserUpgrade:
            self.is_whole, self._reusable = True, False
        except HttpParserError as error:
            if self.is_whole:  # what follows a whole response is nobody's
                self._goes_on = True
            elif self.has_head:
                raise BadResponse(f"The body cannot be read: {error}") from error
            elif self._mended:
                raise BadResponse(f"The headers cannot be read: {error}") from error
            else:
                self._is_refused = True
                self._mend()

    def end(self) -> None:
        """The connection has ended. Raises `Truncated` or `BadResponse` if the response has not."""
        self._reusable = False
        if self.is_whole:
            return
        if not self.has_head:
            raise BadResponse("The connection ended within the headers")
        if not self._ends_with_connection():
            raise Truncated(f"The body ended after {self.size} bytes")
        self.is_whole = True

    def values(self, name: bytes) -> list[bytes]:
        """Of all headers called `name`, which is in lower case."""
        return [value for key, value in self.headers if key.lower() == name]

    def _ends_with_connection(self) -> bool:
        """RFC 9112, section 6.3: a body without length, or in a coding whose end is not chunked."""
        codings = b",".join(self.values(b"transfer-encoding")).lower()
        return not codings.endswith(b"chunked") and (bool(codings) or not self.values(b"content-length"))

    # The limits

    def _check(self) -> None:
        if self._framing > self._limits.header_size + _CHUNK_LINE * self._chunks:
            raise OverLimit(limits.HEADER_SIZE, f"More than {self._limits.header_size} bytes of headers")
        if self._lines > self._limits.headers:
            raise OverLimit(limits.HEADERS, f"More than {self._limits.headers} header lines")
        if self._chunks > self._limits.chunks:
            raise OverLimit(limits.CHUNKS, f"More than {self._limits.chunks} chunks")
        if self.size > self.max_size:
            raise OverLimit(limits.BODY_SIZE, f"More than {self.max_size} bytes")

    @property
    def _framing(self) -> int:
        """Bytes that are no body. Nobody knows where a response has ended within what came at last."""
        return self._line_bytes if self._goes_on else self.received - self.size

    def _check_length(self) -> None:
        """A length that is announced counts before its bytes come."""
        for value in self.values(b"content-length") if self.max_size < NO_LIMIT else ():
            if self._has_body and value.isdigit() and int(value[:20]) > self.max_size:
                raise OverLimit(limits.BODY_SIZE, f"{value[:20].decode()} bytes, and {self.max_size} is the limit")

    def _tell(self) -> None:
        if self.has_head and not self._told_head:
            self._told_head = True
            self._head.clear()
            self._check_length()
            if self._on_head is not None:
                self._on_head()
        if self._new:
            piece = self._new[0] if len(self._new) == 1 else b"".join(self._new)
            self._new.clear()
            self.body.append(piece)
            if self._on_data is not None:
                self._on_data(piece)

    # Heads that llhttp refuses

    def _mend(self) -> None:
        """Read the head again without the lines that are no headers, once it is whole."""
        if not self._searched:
            self._searched = len(self._head) - len(self._head.lstrip(b"\r\n"))
        end = _END_OF_HEAD.search(self._head, self._searched)
        if end is None:
            self._searched = max(self._searched, len(self._head) - _LONGEST_END)
            return
        self._is_refused, self._mended = False, True
        status, *lines = bytes(self._head[: end.start()]).lstrip(b"\r\n").splitlines()
        kept = [status, *(line for line in lines if _HEADER_LINE.match(line))]
        rest = bytes(self._head[end.end() :])
        self.headers, self._lines, self._line_bytes = [], 1 + len(lines) - len(kept), 0
        self._parser = self._new_parser()
        self._parse(b"\r\n".join([*kept, b"", b""]))
        if rest:
            self._parse(rest)

    # What llhttp calls

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.is_whole:
            return
        self._lines += 1
        self._line_bytes += len(name) + len(value) + len(": \r\n")
        if not self.has_head:
            self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        if self.is_whole:
            return
        status = self._parser.get_status_code()
        if 100 <= status < 200 and status != _UPGRADE:
            return
        self.status = status
        self.version = self._parser.get_http_version()
        self._reusable = self._parser.should_keep_alive()
        self.has_head = True
        if not self._has_body:
            self.is_whole, self._reusable = True, False  # llhttp takes what follows for a body

    def on_chunk_header(self) -> None:
        self._chunks += not self.is_whole

    def on_body(self, data: bytes) -> None:
        if self.is_whole:
            self._goes_on = True
        else:
            self._new.append(data)
            self.size += len(data)

    def on_message_complete(self) -> None:
        if self.has_head:
            self.is_whole = True
        else:
            self.headers = []

    def on_message_begin(self) -> None:
        if self.is_whole:
            self._reusable, self._goes_on = False, True
