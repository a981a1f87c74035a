"""One HTTP/1.1 response (RFC 9112) out of the bytes of a connection.

llhttp parses, in the lenient form that browsers come close to, through httptools. It gives up at a line that is no
header; servers that write one (a stray line of PHP's output) are common enough, so such a head is read again without
its bad lines. Header names and values stay as they came.

Responses 1xx before the response are skipped, and count towards its limits.
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
_UPGRADE: Final = 101


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """How much of one response is read; the head's limits are on all 1xx responses together with it."""

    headers: int = NO_LIMIT
    """Lines."""
    header_size: int = NO_LIMIT
    """Bytes."""
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
        """In pieces."""
        self.size = 0
        """Bytes of `body`."""
        self.has_head = False
        self.is_whole = False
        self._told_head = False
        self._new = 0
        """The first piece of `body` that `on_data` has not seen."""
        self._lines = 0
        self._chunks = 0
        self._fed = 0
        """Bytes that came before the head was whole."""
        self._head = b""
        """Those bytes, while they may have to be read again."""
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
        return self._fed > 0

    def feed(self, data: bytes) -> None:
        """Read on. Raises `OverLimit`, `BadResponse`, and what the listeners raise."""
        in_head = not self.has_head
        if in_head:
            self._fed += len(data)
            self._head += data
        try:
            self._parser.feed_data(data)
        except HttpParserUpgrade:
            self.is_whole, self._reusable = True, False
        except HttpParserError as error:
            if not self.is_whole:  # what follows a whole response is nobody's
                self._mend(error)
        if in_head:
            self._check_head(len(data))
        self._check_body()
        self._tell()

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

    def _check_head(self, new: int) -> None:
        """`new`: bytes that came last, of which some may belong to the body."""
        if self._fed > self._limits.header_size:
            last = sum(len(name) + len(value) + len(": \r\n") for name, value in self.headers)
            if not self.has_head or self._fed - new + last > self._limits.header_size:
                raise OverLimit(limits.HEADER_SIZE, "The headers are too large")
        if not self.has_head:
            return
        self._head = b""
        for value in self.values(b"content-length") if self.max_size < NO_LIMIT else ():
            if self._has_body and value.isdigit() and int(value[:20]) > self.max_size:
                raise OverLimit(limits.BODY_SIZE, f"{value[:20].decode()} bytes, and {self.max_size} is the limit")

    def _check_body(self) -> None:
        if self._lines > self._limits.headers:  # a body may have headers behind it
            raise OverLimit(limits.HEADERS, f"More than {self._limits.headers} header lines")
        if self._chunks > self._limits.chunks:
            raise OverLimit(limits.CHUNKS, f"More than {self._limits.chunks} chunks")
        if self.size > self.max_size:
            raise OverLimit(limits.BODY_SIZE, f"More than {self.max_size} bytes")

    def _tell(self) -> None:
        if self.has_head and not self._told_head:
            self._told_head = True
            if self._on_head is not None:
                self._on_head()
        if self._on_data is not None:
            while self._new < len(self.body):
                self._new += 1
                self._on_data(self.body[self._new - 1])

    # Heads that llhttp refuses

    def _mend(self, error: HttpParserError) -> None:
        """Read the head again without the lines that are no headers. It may not be whole yet."""
        if self.has_head:
            raise BadResponse(f"The body cannot be read: {error}") from error
        head = self._head.lstrip(b"\r\n")
        end = _END_OF_HEAD.search(head)
        if end is None:
            return  # feeding a parser that has failed fails again, so this is tried with the next bytes
        if self._mended:
            raise BadResponse(f"The headers cannot be read: {error}") from error
        self._mended = True
        status, *lines = head[: end.start()].splitlines()
        kept = [status, *(line for line in lines if _HEADER_LINE.match(line))]
        rest = head[end.end() :]
        self.headers, self._lines = [], len(lines)
        self._parser = self._new_parser()
        try:
            self._parser.feed_data(b"\r\n".join([*kept, b"", b""]))
            if rest:
                self._parser.feed_data(rest)
        except HttpParserUpgrade:
            self.is_whole, self._reusable = True, False
        except HttpParserError as again:
            if not self.is_whole:
                raise BadResponse(f"The headers cannot be read: {again}") from again

    # What llhttp calls

    def on_header(self, name: bytes, value: bytes) -> None:
        self._lines += 1
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
        self._chunks += 1

    def on_body(self, data: bytes) -> None:
        if not self.is_whole:
            self.body.append(data)
            self.size += len(data)

    def on_message_complete(self) -> None:
        if self.has_head:
            self.is_whole = True
        else:
            self.headers = []

    def on_message_begin(self) -> None:
        if self.is_whole:
            self._reusable = False  # it goes on sending
