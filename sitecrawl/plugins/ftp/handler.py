"""The handler for ftp: with the limits of docs/limits.md, and with folders, whose listings come as pages of HTML.

FTP_USER and FTP_PASSWORD are in force, and so are Scrapy's keys of `Request.meta`: `ftp_user`, `ftp_password` and
`ftp_local_filename`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from functools import partial
from html import escape
from mimetypes import MimeTypes
from time import monotonic
from typing import Final
from urllib.parse import quote, unquote

from scrapy import Request
from scrapy.core.downloader.handlers.base import BaseDownloadHandler
from scrapy.crawler import Crawler
from scrapy.exceptions import DownloadCancelledError, DownloadTimeoutError, UnsupportedURLSchemeError
from scrapy.http import Headers, Response
from scrapy.responsetypes import responsetypes

from sitecrawl import http
from sitecrawl.base import limits
from sitecrawl.base.errors import InvalidUrl
from sitecrawl.base.setting import NO_LIMIT
from sitecrawl.crawl.download_errors import STATS, IdleTimeout, LimitExceeded, excuse, for_scrapy
from sitecrawl.extensions.network import bind_address, check_address, client_of
from sitecrawl.extensions.watch import Watch
from sitecrawl.page.media_type import MediaType, actual_type
from sitecrawl.plugins.ftp.listing import Entry, Listing, Location, folder_url
from sitecrawl.plugins.ftp.session import FtpReply, Login, Session
from sitecrawl.urls.url import FTP, Url, parse

logger = logging.getLogger(__name__)

_PROTOCOL: Final = "FTP"
"""The protocol of the responses."""
_SKIPPED: Final = "ftp/skipped_entries"
"""Counts lines of listings that name nothing to be fetched."""
_LOOPS: Final = "ftp/loops"
"""Counts folders that are folders above themselves, by a symbolic link."""
_NOT_LINKS: Final = 3
"""Elements of a listing's page that count as links do, and are none."""


class FtpDownloadHandler(BaseDownloadHandler):
    """See the module."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        settings = crawler.settings
        assert crawler.stats
        self._stats = crawler.stats
        self._max_size = limits.BODY_SIZE.read(settings)
        self._timeout = limits.TOTAL_TIME.read(settings)
        self._max_entries = max(1, limits.FTP_ENTRIES.value - _NOT_LINKS)
        self._login = Login(settings["FTP_USER"], settings["FTP_PASSWORD"])
        self._bind = bind_address(settings.get("DOWNLOAD_BIND_ADDRESS"))
        self._client = client_of(crawler)
        self._watch = Watch(crawler)

    async def download_request(self, request: Request) -> Response:
        try:
            return await self._download(request, _url(request))
        except (LimitExceeded, DownloadTimeoutError, DownloadCancelledError) as error:
            self._stats.inc_value(STATS[type(error)])
            if isinstance(error, LimitExceeded):  # Scrapy says nothing of an `IgnoreRequest`
                logger.info("Given up: %s: %s", request, error)
            raise

    async def _download(self, request: Request, url: Url) -> Response:
        started = monotonic()
        session = self._session(request, url)
        try:
            with self._watch.over(session, request.url, request.meta.get("download_timeout", self._timeout)):
                answer = await session.run()
        except DownloadTimeoutError as error:
            if isinstance(error, IdleTimeout) or session.progress <= 0:
                await excuse(error, session)
            raise
        except http.HttpError as error:
            await excuse(error, session)
            raise for_scrapy(error) from error
        request.meta["download_latency"] = monotonic() - started
        return self._response(url, session, answer)

    def _session(self, request: Request, url: Url) -> Session:
        meta = request.meta
        login = Login(meta.get("ftp_user", self._login.user), meta.get("ftp_password", self._login.password))
        return Session(
            self._client,
            Location.of(url),
            login,
            may_connect=partial(check_address, self.crawler, request.url, url.host),
            bind=bind_address(meta.get("bindaddress")) or self._bind,
            max_size=meta.get("download_maxsize", self._max_size) or NO_LIMIT,
            max_entries=self._max_entries,
            filename=meta.get("ftp_local_filename"),
        )

    def _response(self, url: Url, session: Session, answer: FtpReply) -> Response:
        status, headers = 200, Headers()
        if answer.listing is not None:
            body = self._page(url, answer.listing, is_loop=answer.is_loop)
            headers["Content-Type"] = _CONTENT_TYPE
        elif answer.file is not None:
            body = answer.file
            headers["Content-Type"] = _media_type_of(Location.of(url).path, body)
            headers["Local Filename"], headers["Size"] = session.filename or b"", str(session.arrived)
        else:
            status, body = _status_of(answer.code), answer.reply
            headers["Content-Type"] = "text/plain"
        kind = responsetypes.from_args(headers=headers, url=url.href, body=body)
        return kind(url.href, status=status, headers=headers, body=body, ip_address=session.ip, protocol=_PROTOCOL)

    def _page(self, url: Url, listing: Listing, *, is_loop: bool) -> bytes:
        if is_loop:
            self._stats.inc_value(_LOOPS)
            return _page_of(folder_url(url), (), "This is a folder above, which is listed there.")
        if listing.skipped:
            self._stats.inc_value(_SKIPPED, listing.skipped)
        if listing.is_full:
            logger.info("%s has more than %d entries: the others are left out", url.href, len(listing.entries))
            self._stats.inc_value(limits.FTP_ENTRIES.stat)
        return _page_of(folder_url(url), listing.entries, "There is more." if listing.is_full else "")

    async def close(self) -> None:
        self._watch.stop()
        self._client.close()


def _status_of(code: int) -> int:
    """HTTP status for an FTP reply that refuses: gone, forbidden, or temporarily unavailable."""
    if code in _STATUSES:
        return _STATUSES[code]
    return 503 if code < 500 else 501


_STATUSES: Final = {530: 401, 532: 401, 550: 404, 551: 404, 553: 404}


def _url(request: Request) -> Url:
    if request.meta.get("proxy"):
        raise UnsupportedURLSchemeError(f"FTP goes through no proxy of ours: {request.url}")
    try:
        return parse(request.url, max_length=4 * len(request.url), schemes=FTP)
    except InvalidUrl as error:
        raise UnsupportedURLSchemeError(str(error)) from error


_CONTENT_TYPE: Final = "text/html; charset=utf-8"
_IN_NAMES: Final = "!$&'()*+,:=@~"
"""What RFC 3986 allows in a segment of a path, but for the semicolon: behind it comes a type (RFC 1738)."""
_TYPES: Final = MimeTypes()
"""Python's own: what this machine says of endings, another may not."""
_PACKED: Final = {
    "br": "application/x-brotli",
    "bzip2": "application/x-bzip2",
    "compress": "application/x-compress",
    "gzip": "application/gzip",
    "xz": "application/x-xz",
}
_UNTYPED: Final = MediaType("", None)


def _page_of(folder: str, entries: Iterable[Entry], note: str = "") -> bytes:
    """The page of the folder at the URL `folder`, which ends with a slash; `note` is for who reads it. Its links are
    read as those of any other page.
    """
    title = escape(f"Index of {unquote(folder)}")
    rows = "\n".join(map(_row, entries))
    note = f"<p>{escape(note)}</p>\n" if note else ""
    page = (
        f'<!DOCTYPE html>\n<html><head><meta charset="utf-8"><title>{title}</title>\n'
        f'<base href="{escape(folder)}"></head>\n<body><h1>{title}</h1>\n'
        f"<pre>\n{rows}\n</pre>\n{note}</body></html>\n"
    )
    return page.encode("utf-8", "replace")


def _row(entry: Entry) -> str:
    slash = "/" if entry.is_folder else ""
    address = f"./{quote(entry.name, safe=_IN_NAMES)}{slash}"  # without the dot a colon would end a scheme
    name = entry.name.decode("utf-8", "replace") + slash
    size = "" if entry.size is None else str(entry.size)
    return f'<a href="{escape(address)}">{escape(name)}</a>  {size}  {escape(entry.modified)}'.rstrip()


def _media_type_of(name: bytes, body: bytes) -> str:
    """By the ending of `name`, or else by a look at `body`."""
    found, coding = _TYPES.guess_type(name.decode("latin-1").rpartition("/")[2], strict=False)
    if coding is not None:
        return _PACKED.get(coding, "application/octet-stream")
    return found or actual_type(_UNTYPED, body)
