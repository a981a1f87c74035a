"""Read sitemaps of every form, as a stream. No input raises an error.

    entries = read_sitemap(chunks, "https://example.com/sitemap.xml", report := ParseReport())

The form is told by the content, not by name or header. XML and text are read in constant memory; of HTML and JSON,
which are read as a whole, only the first `_MAX_WHOLE` bytes.
"""

from __future__ import annotations

import codecs
import json
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, Final

from sitecrawl.base.expressions import expression
from sitecrawl.base.limits import SCHEMES, AnyLimit
from sitecrawl.crawl.sitemaps.entry import (
    PROTOCOL_BYTES,
    PROTOCOL_ENTRIES,
    Entry,
    Form,
    Limits,
    ParseReport,
    Problem,
    Resolver,
    unix_time,
)
from sitecrawl.crawl.sitemaps.parse_xml import ROOTS, read_xml
from sitecrawl.page import charset
from sitecrawl.page.codings import MAX_MEMBERS
from sitecrawl.page.items import PageItem
from sitecrawl.page.links import read_page
from sitecrawl.urls.url import MAX_URL_LENGTH, Url

_ReadPage = Callable[..., PageItem]
"""`read_page`, or a function that has it done in another process."""
_MAGIC: Final = b"\x1f\x8b"
_GZIP: Final = zlib.MAX_WBITS | 16
_PIECE: Final = 64 << 10
"""Bytes unpacked at a time, so that the reader of a bomb can stop early."""


def _unpacked(chunks: Iterable[bytes], report: ParseReport, max_bytes: int) -> Iterator[bytes]:
    """Unpack `chunks` if they are gzip: all members, up to damage, `max_bytes` or `MAX_MEMBERS`. Each piece is a step
    of work, and may be empty.
    """
    stream = iter(chunks)
    head = b""
    for chunk in stream:
        head += chunk
        if len(head) >= len(_MAGIC):
            break
    if head.startswith(_MAGIC):
        yield from _limited(_members(chain((head,), stream), report), report, max_bytes)
    else:
        yield head
        yield from stream


def _limited(pieces: Iterator[bytes], report: ParseReport, left: int) -> Iterator[bytes]:
    for piece in pieces:
        yield piece
        left -= len(piece)
        if left < 0:
            report.problems |= Problem.CUT
            return


def _members(stream: Iterable[bytes], report: ParseReport) -> Iterator[bytes]:
    """Unpack gzip members one after the other, up to what is none."""
    member: zlib._Decompress | None = None
    count = 0
    try:
        for chunk in stream:
            data = chunk
            while data:
                if member is None:
                    data = data.lstrip(b"\0") if count else data  # RFC 1952, 2.2: padding may follow
                    if not data:
                        break
                    if count == MAX_MEMBERS or not data.startswith(_MAGIC[:1]):
                        report.problems |= Problem.CUT if data.startswith(_MAGIC[:1]) else Problem.NONE
                        return
                    member, count = zlib.decompressobj(_GZIP), count + 1
                yield member.decompress(data, _PIECE)
                data, member = (member.unused_data, None) if member.eof else (member.unconsumed_tail, member)
            yield b""
    except zlib.error:
        report.problems |= Problem.TORN
    if member is not None:
        report.problems |= Problem.TORN


_MAX_WHOLE: Final = 4 << 20
"""Bytes of a sitemap that is HTML or JSON."""
_CHUNK: Final = 64 << 10
"""Bytes that are read at a time."""
_HEAD: Final = 64 << 10
"""Bytes in which a sitemap has to show what it is."""

_IGNORED = expression(
    r"<!--.*?(?:-->|\Z)|<!DOCTYPE(?=\s)[^\[>]*+(?:\[.*?(?:\]\s*+>|\Z)|>)", re.DOTALL | re.IGNORECASE
)
_ROOT = expression(rf"<(?:[\w.-]{{1,40}}:)?({'|'.join(ROOTS)})(?=[\s/>])", re.IGNORECASE)
_RECORD = expression(
    r"<(?:[\w.-]{1,40}:)?(url|sitemap)(?=[\s>])[^<>]*+>.{0,1000}?<(?:[\w.-]{1,40}:)?loc\s*+>",
    re.IGNORECASE | re.DOTALL,
)
_HTML = expression(r"<(?:!doctype\s+html|html)[\s>]", re.IGNORECASE)
_MARKUP = expression(r"<(?:head|body|title|div|p|ul|ol|table|a)[\s>]", re.IGNORECASE)
_XML_ENCODING = expression(rb"<\?xml\s[^>]*?encoding\s*+=\s*+[\"']([\w.:-]{1,40})")
_UTF_16 = re.compile(rb"(?P<big>\xfe\xff|\0[<#h]\0[^\0])|\xff\xfe|[<#h]\0[^\0]\0")
"""A byte order mark, or what text begins with."""
_WEB = expression(r"https?://", re.IGNORECASE)
LIMITS: Final = Limits()
_BYTES_AS_TEXT: Final = "sitecrawl.bytes-as-text"


def chunks_of(body: bytes) -> Iterator[bytes]:
    """Split `body` into pieces of `_CHUNK` bytes."""
    return (body[start : start + _CHUNK] for start in range(0, len(body), _CHUNK))


def read_sitemap(
    chunks: Iterable[bytes],
    url: str | None,
    report: ParseReport,
    *,
    label: str | None = None,
    limits: Limits = LIMITS,
) -> Iterator[Entry]:
    """Yield the entries of the sitemap at `url`; at the end `report` is complete.

    `label`: charset by the header. Without `url`, relative URLs are skipped. Other content has no entries, and the
    form `UNKNOWN`.
    """
    return chain.from_iterable(read_in_steps(chunks, url, report, label=label, limits=limits))


def read_in_steps(
    chunks: Iterable[bytes],
    url: str | None,
    report: ParseReport,
    *,
    label: str | None = None,
    limits: Limits = LIMITS,
    page_reader: _ReadPage = read_page,
) -> Iterator[list[Entry]]:
    """As `read_sitemap`, in steps: each yields the entries, perhaps none, that end in the next `_CHUNK` bytes, so
    that the caller can pause. HTML and JSON are one step.
    """
    most = limits.max_bytes
    stream = _measured(_unpacked(_unpacked(chunks, report, most), report, most), report, limits)
    head = _head_of(stream)
    text = _decoded(chain((head,), stream), _charset(head, label))
    first = next(text, "")
    form = _form_of(first)
    report.form = form or Form.UNKNOWN
    resolver = Resolver(url)
    pieces = chain((first,), text)
    if form is None:
        return
    if form == Form.TEXT:
        steps = _read_text(pieces, resolver, report)
    elif form == Form.JSON:
        steps = iter([list(_read_json(pieces, resolver, report))])
    elif form == Form.HTML:
        steps = iter([list(_read_html(pieces, url, report, page_reader))])
    else:
        steps = read_xml(pieces, form, resolver, report)
    yield from _counted(steps, report, limits)


def _measured(stream: Iterator[bytes], report: ParseReport, limits: Limits) -> Iterator[bytes]:
    for chunk in stream:
        room = limits.max_bytes - report.size
        report.size += len(chunk)
        if report.size > PROTOCOL_BYTES:
            report.problems |= Problem.LARGE
        yield chunk[:room]
        if len(chunk) > room:
            report.problems |= Problem.CUT
            return


def _counted(steps: Iterator[list[Entry]], report: ParseReport, limits: Limits) -> Iterator[list[Entry]]:
    for entries in steps:
        room = limits.max_entries - report.entries
        is_full = len(entries) > room
        found = entries[:room] if is_full else entries
        report.entries += len(found)
        if report.entries > PROTOCOL_ENTRIES:
            report.problems |= Problem.LONG
        if is_full:
            report.problems |= Problem.CUT
        yield found
        if is_full:
            return


def _head_of(stream: Iterator[bytes]) -> bytes:
    head = bytearray()
    for chunk in stream:
        head += chunk
        if len(head) >= _HEAD:
            break
    return bytes(head)


# Text


def _charset(head: bytes, label: str | None) -> str:
    """Charset by byte order mark, XML declaration, header (the least reliable), or else UTF-8."""
    if match := _UTF_16.match(head):
        return "utf-16be" if match["big"] else "utf-16le"
    if declared := _XML_ENCODING.search(head[:1024]):
        label = declared[1].decode()
    found = charset.of_body(head, label, prescan=False, default="utf-8")
    return "utf-8" if found.startswith("utf-16") else found  # it could be read as ASCII so far


def _decoded(stream: Iterable[bytes], name: str) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(name)(_BYTES_AS_TEXT if name == "utf-8" else "replace")
    for chunk in stream:
        if text := decoder.decode(chunk):
            yield text
    if text := decoder.decode(b"", True):  # noqa: FBT003 - its only name is `final`
        yield text


def _bytes_as_text(error: UnicodeError) -> tuple[str, int]:
    """Error handler: decode invalid UTF-8 as Windows-1252."""
    assert isinstance(error, UnicodeDecodeError)
    return error.object[error.start : error.end].decode("windows-1252", "replace"), error.end


codecs.register_error(_BYTES_AS_TEXT, _bytes_as_text)


# Forms


def _form_of(head: str) -> Form | None:
    head = head.lstrip("\ufeff\0 \t\r\n")
    if head.startswith("{"):
        return Form.JSON
    if _WEB.match(_first_line(head)):
        return Form.TEXT
    markup = _IGNORED.sub(" ", head)
    html, root = _HTML.search(head), _ROOT.search(markup)
    if root and not (html and _HTML.search(markup[: root.start()])):
        return ROOTS[root[1].lower()]
    if html or (markup.lstrip().startswith("<") and _MARKUP.match(markup.lstrip())):
        return Form.HTML
    record = _RECORD.search(markup)
    return record and (Form.INDEX if record[1].lower() == "sitemap" else Form.URLSET)


def _first_line(text: str) -> str:
    for line in text.splitlines():
        if (word := line.strip()) and not word.startswith("#"):
            return word
    return ""


def _read_text(pieces: Iterable[str], resolver: Resolver, report: ParseReport) -> Iterator[list[Entry]]:
    """Read one URL a line, up to white space; `#` begins a comment."""
    for lines in _lines(pieces):
        found = []
        for line in lines:
            word = line.strip().partition(" ")[0].partition("\t")[0]
            if not word or word.startswith("#"):
                continue
            url = resolver.url(word, absolute=True)
            if url is None:
                report.skip(word)
            else:
                found.append(Entry(url))
        yield found


def _lines(pieces: Iterable[str]) -> Iterator[list[str]]:
    """Yield the lines that end in each piece; long ones are cut."""
    tail = ""
    for piece in pieces:
        *lines, tail = (tail + piece.replace("\ufeff", "").replace("\r", "\n")).split("\n")
        yield lines
        tail = tail[: MAX_URL_LENGTH * 2]
    yield [tail]


def _read_json(pieces: Iterable[str], resolver: Resolver, report: ParseReport) -> Iterator[Entry]:
    """JSON Feed 1.1 (jsonfeed.org)."""
    try:
        feed = json.loads(_whole(pieces, report))
    except (ValueError, RecursionError):
        report.problems |= Problem.TORN
        return
    items = feed.get("items") if isinstance(feed, dict) else None
    for item in items if isinstance(items, list) else ():
        fields: dict[str, Any] = item if isinstance(item, dict) else {}
        text = fields.get("url") or fields.get("external_url") or fields.get("id")
        url = resolver.url(text, absolute=text == fields.get("id")) if isinstance(text, str) else None
        if url is None:
            report.skip(text if isinstance(text, str) else "")
            continue
        date = fields.get("date_modified") or fields.get("date_published")
        yield Entry(url, lastmod=unix_time(date) if isinstance(date, str) else None)
    if not isinstance(items, list):
        report.form = Form.UNKNOWN


def _read_html(
    pieces: Iterable[str], url: str | None, report: ParseReport, page_reader: _ReadPage
) -> Iterator[Entry]:
    if url is None:
        return
    met: Counter[AnyLimit] = Counter()
    body = _whole(pieces, report).encode("utf-8", "replace")
    page = page_reader(url, body, [(b"content-type", b"text/html;charset=utf-8")], met=met)
    report.skipped += met[SCHEMES]
    for link in page.links:
        if not link.nofollow:
            yield Entry(Url(link.url, link.host))


def _whole(pieces: Iterable[str], report: ParseReport) -> str:
    text, length = [], 0
    for piece in pieces:
        text.append(piece)
        length += len(piece)
        if length > _MAX_WHOLE:
            report.problems |= Problem.CUT
            break
    return "".join(text)[:_MAX_WHOLE]
