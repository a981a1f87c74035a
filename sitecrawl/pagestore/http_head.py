"""The head of an HTTP message as WARC records have it.

Readers take its Content-Length and Transfer-Encoding at their word, and the body stored is de-chunked: so where one
of the two does not describe the body as stored, its line is kept under the name `X-Crawler-...`, as Common Crawl
does, and a Content-Length that does is added.
"""

from __future__ import annotations

from http.client import responses

from sitecrawl.base.compiled import native
from sitecrawl.base.expressions import expression
from sitecrawl.page.items import Exchange, Headers

WRITTEN_PROTOCOLS = ("HTTP/1.0", "HTTP/1.1")
"""Protocols of which a message is stored as it was sent."""

_MAX_HEAD = 30_000
"""Bytes of an HTTP message's start line and headers; what passes it is left out. FastWARC gives up on a whole file
where a header is longer than 32 KB."""
_LINE_BREAKS = expression(rb"[\r\n\x00]+")
_HEADER_NAME = expression(rb"[!-9;-~]+")
"""Valid header names, which need no change."""
_FRAMING = (b"content-length", b"transfer-encoding")
_PATH_START = expression("[/?]")


def host_and_target(url: str) -> tuple[str, str]:
    """Values of the Host header and the request line; urllib would refuse some URLs that a browser fetches."""
    rest = url.partition("://")[2].partition("#")[0]
    path = _PATH_START.search(rest)
    end = path.start() if path is not None else len(rest)
    target = rest[end:]
    return rest[:end].rpartition("@")[2], target if target.startswith("/") else f"/{target}"


def status_line(exchange: Exchange) -> str:
    """That of the response. HTTP/2 has none; readers parse that of HTTP/1.1, and WARC-Protocol keeps the truth."""
    protocol = exchange.protocol if exchange.protocol in WRITTEN_PROTOCOLS else "HTTP/1.1"
    return f"{protocol} {exchange.status} {responses.get(exchange.status, '')}"


def http_head(start_line: str, headers: Headers, body: bytes) -> bytes:
    """The HTTP message with this body, up to the body: start line and headers, with the blank line."""
    start = start_line.encode("ascii", "replace")
    head = native.http_head(start, headers, len(body), _MAX_HEAD) if native is not None else None
    return head if head is not None else _http_head_in_python(start, headers, len(body), _MAX_HEAD)


def _http_head_in_python(start_line: bytes, headers: Headers, body_size: int, room: int) -> bytes:
    """Start line and headers of an HTTP message, with the blank line, at most `room` bytes (line breaks not
    counted). Headers added here are not counted.
    """
    lines = [start_line]
    room -= len(start_line)
    framed, dropped = True, 0
    for name, value in headers:
        line = _header_line(name, value)
        if name.lower() in _FRAMING and not _describes(name, value, body_size):
            line = b"X-Crawler-" + line
            framed = False
        if len(line) > room:
            dropped += 1
            continue
        room -= len(line) + 2
        lines.append(line)
    if not framed:
        lines.append(b"Content-Length: %d" % body_size)
    if dropped:
        lines.append(b"X-Crawler-Dropped-Headers: %d" % dropped)
    return b"\r\n".join((*lines, b"", b""))


def _header_line(name: bytes, value: bytes) -> bytes:
    if _HEADER_NAME.fullmatch(name) and not _LINE_BREAKS.search(value):
        return name + b": " + value
    # A line that began with a space would continue the one before (RFC 9112, section 5.2).
    return _LINE_BREAKS.sub(b" ", name).strip().replace(b":", b"_") + b": " + _LINE_BREAKS.sub(b" ", value)


def _describes(name: bytes, value: bytes, body_size: int) -> bool:
    return name.lower() == b"content-length" and value.strip() == b"%d" % body_size
