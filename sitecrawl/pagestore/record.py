"""WARC 1.1 records (ISO 28500:2017), written and read.

Why no library writes them: a record is a dozen header lines and the bytes of an HTTP message.
This way the server's header bytes stay untouched (warcio re-encodes them), each record's offset and length are
known, and the compressor is free to choose: with ISA-L a page takes 0.7 of FastWARC's time and a fifth of warcio's
(`benchmarks/warc.py`). `warcio check` and `fastwarc check` read back every file in the tests.

A record is

    WARC/1.1 CRLF
    name: value CRLF   (any number)
    CRLF
    block              (Content-Length bytes)
    CRLF CRLF

and each is a gzip member of its own, so that a reader can begin at any record's offset (Annex D). The block of a
request or response is an HTTP message (`http_head`).

What came over FTP has no message around it: a file is the block itself, of a `resource` record, without a request.
So is what a browser made of a page: its DOM, `urn:rendered:URL`, and a picture of it, `urn:view:URL`, by which name
Browsertrix has it.
"""

from __future__ import annotations

import base64
import hashlib
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final, Literal, NamedTuple, get_args

from sitecrawl.base.compiled import native
from sitecrawl.base.expressions import expression
from sitecrawl.page.items import Exchange, Headers, sha1
from sitecrawl.pagestore.http_head import WRITTEN_PROTOCOLS, host_and_target, http_head, status_line


@dataclass(frozen=True, slots=True)
class WarcOptions:
    """Options of the WARC files."""

    name: str = "crawl"
    """The crawl's name: each file's name starts with it, and `isPartOf` of its warcinfo record says it."""
    software: str = "sitecrawl"
    """Name and version of the crawler, for the warcinfo record."""
    user_agent: str = ""
    """The User-Agent that servers saw, for the warcinfo record; empty leaves the field out."""
    operator: str = ""
    """Operator of the crawl with contact, for the warcinfo record; empty leaves the field out."""
    robots: str = "obey"
    """The robots.txt policy, for the warcinfo record: `obey` or `ignore`."""
    robots_exceptions: tuple[str, ...] = ()
    """Exceptions from that policy with their reasons, for the same record, a line each."""
    masked: frozenset[str] = frozenset({"authorization", "cookie", "x-api-key", "x-auth-token"})
    """Request headers, in lower case, whose values are masked: secrets entrusted to the crawl."""
    key: bytes = b""
    """The crawl's key, at most 64 bytes, by which records are sealed; empty: no seals."""
    max_file_size: int = 1_000_000_000
    """Bytes after which the next record opens a new file. Only a single larger record makes a larger file."""
    once: bool = True
    """Whether a known body is stored as a reference (WARC section 6.7.2) and not again."""


_REVISIT_PROFILE = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
_NOT_MODIFIED_PROFILE = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
NOT_MODIFIED = 304

_KIND = "X-Crawler-Kind"
_DEPTH = "X-Crawler-Depth"
_STATUS = "X-Crawler-Status"
"""Header with the status of an answer without a status line."""
_HTTP = "application/http"
_NOT_IN_URI = expression(rb"[\x00-\x20\x7f]")
_OF_REVISIT = (
    "warc-type:", "warc-profile:", "warc-refers-to", "warc-block-digest:", "content-length:", "x-crawler-seal:"
)  # fmt: skip
"""Header fields of a revisit record that differ in, or are missing from, the record with the body."""
_NOT_STORED = (b"proxy-authorization",)
"""Request headers for our proxy alone, which are no part of the exchange with the server."""
MASK = b"(masked)"


@dataclass(frozen=True, slots=True)
class Record:
    """One WARC record as read: its header fields by lower-case name, and its block."""

    head: bytes
    """Version line and header fields, unchanged, without the blank line."""
    fields: dict[str, str]
    block: bytes

    @property
    def type(self) -> str:
        return self.fields["warc-type"]


ANSWERS = frozenset({"response", "revisit", "resource", "metadata"})
"""Types of the records for which the page index has rows."""


@dataclass(frozen=True, slots=True)
class HttpMessage:
    """The HTTP message in a record's block; also for resources, which have no message."""

    start_line: bytes
    headers: Headers
    body: bytes


CaptureKind = Literal["page", "redirect", "error", "robots", "quarantined", "requisite", "rendered", "view", "other"]
KINDS: tuple[CaptureKind, ...] = get_args(CaptureKind)
RENDERED: Final = "rendered"
SCREENSHOT: Final = "view"
OF_PAGES: Final[tuple[CaptureKind, ...]] = ("requisite", RENDERED, SCREENSHOT)
"""Kinds of captures stored with pages that are no pages."""


def urn(kind: str, url: str) -> str:
    """URN of what a browser made of the page at `url`."""
    return f"urn:{kind}:{url}"


class Reading(NamedTuple):
    """The crawl's reading of a response, kept in the record so that the page index can be made again."""

    kind: CaptureKind
    depth: int | None
    """Links from a seed to the page that a spider made of it; None without one."""


def reading_of(record: Record) -> Reading | None:
    """Return the crawl's reading in `record`; None if it is missing or invalid."""
    kind = next((kind for kind in KINDS if kind == record.fields.get(_KIND.lower())), None)
    depth = record.fields.get(_DEPTH.lower(), "")
    if kind is None or (depth and not (depth.isascii() and depth.isdigit())):
        return None
    return Reading(kind, int(depth) if depth else None)


def new_record_id() -> str:
    """A random UUID (RFC 9562, section 5.4): that of `uuid.uuid4`, at a third of its cost."""
    drawn = os.urandom(16).hex()
    variant = "89ab"[int(drawn[16], 16) % 4]
    return f"<urn:uuid:{drawn[:8]}-{drawn[8:12]}-4{drawn[13:16]}-{variant}{drawn[17:20]}-{drawn[20:]}>"


def digest(data: bytes) -> str:
    """The SHA-1 of `data` as WARC files have it."""
    return base32(sha1(data))


def base32(digest: bytes) -> str:
    """A SHA-1 in the form that CDX indexes and other crawlers' WARC files use (without the `sha1:` label)."""
    return native.base32(digest) if native is not None else _base32_in_python(digest)


def _base32_in_python(data: bytes) -> str:
    return base64.b32encode(data).decode("ascii")


_NO_PAYLOAD = digest(b"")


@lru_cache(maxsize=16)  # request and response of an exchange have the same
def _warc_date(seconds: float) -> str:
    """A WARC-Date (section 5.4) to the microsecond."""
    whole = math.floor(seconds)
    microseconds = round((seconds - whole) * 1e6)
    return f"{_to_the_second(whole + microseconds // 1_000_000)}.{microseconds % 1_000_000:06}Z"


@lru_cache(maxsize=16)  # as a second has many pages
def _to_the_second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().removesuffix("+00:00")


def warc_uri(url: str) -> str:
    """`url` with characters invalid in header lines percent-encoded."""
    if url.isascii() and url.isprintable() and " " not in url:
        return url
    return _NOT_IN_URI.sub(lambda found: b"%%%02X" % ord(found[0]), url.encode("utf-8", "replace")).decode("utf-8")


def warcinfo(options: WarcOptions, filename: str, created: float) -> bytes:
    """The record that each file begins with (section 6.2): who crawled, with what, under which rules."""
    described = {
        "software": options.software,
        "format": "WARC File Format 1.1",
        "conformsTo": "https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
        "isPartOf": options.name,
        "robots": options.robots,
        "http-header-user-agent": options.user_agent,
        "operator": options.operator,
    }
    fields_of = [*described.items(), *(("robots-exception", one) for one in options.robots_exceptions)]
    lines = (f"{name}: {_one_line(value)}\r\n" for name, value in fields_of if value)
    fields = (
        f"WARC-Type: warcinfo\r\nWARC-Record-ID: {new_record_id()}\r\nWARC-Date: {_warc_date(created)}\r\n"
        f"WARC-Filename: {filename}\r\nContent-Type: application/warc-fields\r\n"
    )
    return _record(fields, b"", "".join(lines).encode())


def _unsealed(_head: bytes, _message: bytes) -> bytes:
    """The seal of a record that has none."""
    return b""


HeadSeal = Callable[[bytes, bytes], bytes]
"""Function of a record's head, and of the HTTP head in its block if no digest vouches for that; returns what is put
behind the record's head (`sitecrawl.pagestore.files`)."""


def request(
    exchange: Exchange, response_id: str, masked: frozenset[str] = frozenset(), *, seal: HeadSeal = _unsealed
) -> bytes:
    """The request record (section 6.4) of an exchange, concurrent to its response; without the values of headers
    that are `masked`, names in lower case.
    """
    host, target = host_and_target(exchange.url)
    names = [name.lower() for name, _ in exchange.request_headers]
    headers = [
        (name, MASK if lower.decode("latin-1") in masked else value)
        for lower, (name, value) in zip(names, exchange.request_headers, strict=True)
        if lower not in _NOT_STORED
    ]
    if b"host" not in names:
        headers.insert(0, (b"Host", host.encode("utf-8", "replace")))
    payload_digest = digest(exchange.request_body) if exchange.request_body else _NO_PAYLOAD
    fields = (
        f"{_exchange_fields('request', new_record_id(), exchange)}WARC-Concurrent-To: {response_id}\r\n"
        f"WARC-Payload-Digest: sha1:{payload_digest}\r\nContent-Type: application/http; msgtype=request\r\n"
    )
    start_line = f"{exchange.method} {warc_uri(target)} HTTP/1.1"
    return _record(fields, http_head(start_line, headers, exchange.request_body), exchange.request_body, seal)


def response(
    exchange: Exchange,
    response_id: str,
    payload_digest: str,
    *,
    reading: Reading | None = None,
    seal: HeadSeal = _unsealed,
) -> bytes:
    """The response record (section 6.3) of an exchange. Its block has no digest: that is optional (section 5.8), and
    would be a second SHA-1 of nearly the same bytes as the payload's, 4% of what a page costs.
    """
    fields = (
        f"{_exchange_fields('response', response_id, exchange)}{_reading_fields(reading)}"
        f"WARC-Payload-Digest: sha1:{payload_digest}\r\nContent-Type: application/http; msgtype=response\r\n"
    )
    message = http_head(status_line(exchange), exchange.headers, exchange.body)
    return _joined(fields, message, exchange.body, seal, message)


def revisit(
    exchange: Exchange,
    response_id: str,
    payload_digest: str,
    original: tuple[str, float],
    *,
    reading: Reading | None = None,
    seal: HeadSeal = _unsealed,
) -> bytes:
    """The revisit record (section 6.7.2) of a response whose body is that of `original`: its URL and time; or, for a
    304, that says so (section 6.7.3).
    """
    profile = _NOT_MODIFIED_PROFILE if exchange.status == NOT_MODIFIED else _REVISIT_PROFILE
    fields = (
        f"{_exchange_fields('revisit', response_id, exchange)}{_reading_fields(reading)}"
        f"{_reference(profile, original)}"
        f"WARC-Payload-Digest: sha1:{payload_digest}\r\nContent-Type: application/http; msgtype=response\r\n"
    )
    return _record(fields, http_head(status_line(exchange), exchange.headers, exchange.body), b"", seal)


def resource(
    exchange: Exchange,
    record_id: str,
    payload_digest: str,
    original: tuple[str, float] | None = None,
    *,
    reading: Reading | None = None,
    seal: HeadSeal = _unsealed,
) -> bytes:
    """The record of a resource without an HTTP message (`Exchange.is_resource`): a resource record (section
    6.5), or a revisit record if `original` has the same body; for an FTP failure a metadata record (section
    6.6).
    """
    kind = "revisit" if original is not None else "resource" if exchange.status < 400 else "metadata"
    types = [value.decode("latin-1") for name, value in exchange.headers if name.lower() == b"content-type"]
    reference = _reference(_REVISIT_PROFILE, original) if original is not None else ""
    content_type = _one_line(types[-1]) if types else "application/octet-stream"
    fields = (
        f"{_exchange_fields(kind, record_id, exchange)}{_reading_fields(reading)}{_STATUS}: {exchange.status}\r\n"
        f"{reference}WARC-Payload-Digest: sha1:{payload_digest}\r\nContent-Type: {content_type}\r\n"
    )
    return _record(fields, b"", exchange.body if original is None else b"", seal)


def with_body(found: Record, body: bytes) -> bytes:
    """The record that a revisit record stands for, with the body that it refers to: a response, or a resource."""
    is_http = found.fields.get("content-type", "").startswith(_HTTP)
    lines = found.head.decode("utf-8", "replace").split("\r\n")[1:]
    kept = "".join(f"{line}\r\n" for line in lines if not line.lower().startswith(_OF_REVISIT))
    return _record(f"WARC-Type: {'response' if is_http else 'resource'}\r\n{kept}", found.block, body)


def parse(data: bytes) -> Record:
    """The record that the uncompressed `data` holds. Raises `ValueError` for anything else."""
    head, separator, rest = data.partition(b"\r\n\r\n")
    version, *lines = head.decode("utf-8", "replace").split("\r\n")
    if not separator or not version.startswith("WARC/"):
        raise ValueError("no WARC record")
    fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    length = int(fields["content-length"]) if fields.get("content-length", "").isdigit() else -1
    if "warc-type" not in fields or rest[length:] != b"\r\n\r\n" or length < 0:
        raise ValueError("a WARC record whose lengths do not agree")
    return Record(head, fields, rest[:length])


def parse_http(block: bytes) -> HttpMessage:
    """The HTTP message that the block of a request, response or revisit record is."""
    head, _, body = block.partition(b"\r\n\r\n")
    start_line, *lines = head.split(b"\r\n")
    pairs = (line.partition(b": ") for line in lines)
    return HttpMessage(start_line, [(name, value) for name, _, value in pairs], body)


def message_of(record: Record) -> HttpMessage:
    """HTTP message of an answer's record, of one of the types `ANSWERS`."""
    kind = record.fields.get("content-type", "")
    if kind.startswith(_HTTP):
        return parse_http(record.block)
    scheme = record.fields.get("warc-target-uri", "").partition(":")[0].upper()
    start_line = f"{scheme} {record.fields.get(_STATUS.lower(), '')}"
    return HttpMessage(start_line.encode(), [(b"Content-Type", kind.encode())], record.block)


# Header fields, each with the line break after it.


def _exchange_fields(kind: str, record_id: str, exchange: Exchange) -> str:
    ip = f"WARC-IP-Address: {exchange.ip}\r\n" if exchange.ip else ""
    return (
        f"WARC-Type: {kind}\r\nWARC-Record-ID: {record_id}\r\nWARC-Date: {_warc_date(exchange.started)}\r\n"
        f"WARC-Target-URI: {warc_uri(exchange.url)}\r\n{ip}{_protocol_field(exchange)}"
    )


def _protocol_field(exchange: Exchange) -> str:
    if exchange.is_resource:
        return "WARC-Protocol: ftp\r\n" if exchange.url.startswith("ftp:") else ""
    if exchange.protocol in WRITTEN_PROTOCOLS:
        return ""
    return f"WARC-Protocol: {_one_line(exchange.protocol).lower()}\r\n"


def _reading_fields(reading: Reading | None) -> str:
    if reading is None:
        return ""
    depth = "" if reading.depth is None else f"{_DEPTH}: {reading.depth}\r\n"
    return f"{_KIND}: {reading.kind}\r\n{depth}"


def _reference(profile: str, original: tuple[str, float]) -> str:
    url, fetched = original
    return (
        f"WARC-Profile: {profile}\r\nWARC-Refers-To-Target-URI: {warc_uri(url)}\r\n"
        f"WARC-Refers-To-Date: {_warc_date(fetched)}\r\n"
    )


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _record(fields: str, message: bytes, body: bytes, seal: HeadSeal = _unsealed) -> bytes:
    """The record of these header fields, and of the digest of its block, which is `message` and `body`."""
    block = hashlib.sha1(message, usedforsecurity=False)
    block.update(body)
    return _joined(f"{fields}WARC-Block-Digest: sha1:{base32(block.digest())}\r\n", message, body, seal)


def _joined(fields: str, message: bytes, body: bytes, seal: HeadSeal, sealed: bytes = b"") -> bytes:
    """The record of these header fields; `body` is copied once, into the record. `sealed`: see `HeadSeal`."""
    head = f"WARC/1.1\r\n{fields}Content-Length: {len(message) + len(body)}".encode("utf-8", "replace")
    return b"".join((head, seal(head, sealed), b"\r\n\r\n", message, body, b"\r\n\r\n"))
