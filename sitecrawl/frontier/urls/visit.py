"""What comes out of a frontier."""

from __future__ import annotations

from typing import Final

from sitecrawl.frontier.urls.causes import Cause
from sitecrawl.frontier.urls.host import Host
from sitecrawl.frontier.urls.order import priority_of
from sitecrawl.frontier.urls.record import RANK_BYTES, Flag, UrlRecord
from sitecrawl.frontier.urls.sections import KEY_BYTES, Section
from sitecrawl.page.items import Link

_NO_PRIORITY: Final = (1 << 31).to_bytes(4, "big") + bytes(RANK_BYTES - 4)


class News:
    """What a page has brought that was not known."""

    __slots__ = ("in_circle", "is_new", "is_redirect", "leads", "led", "on_host")

    def __init__(self) -> None:
        self.in_circle = 0
        """New URLs of the page's own circle of sections."""
        self.on_host = 0.0
        """New URLs of its host, but for what is held back and, in other circles, for what has shown its worth."""
        self.led = False
        """Whether it brought a new URL outside of its own circle."""
        self.is_new: bool | None = None
        """Whether it says what its host had not shown, be it worth having or not; None while nobody has looked at it.
        A visit that comes again does."""
        self.is_redirect = False
        """A redirect says nothing itself: it is worth what it leads to."""
        self.leads = 0.0
        """What the best section has shown of which it brought a URL, its own circle left out."""

    def add(self, host: Host, section: Section, target: Host, to: Section) -> None:
        """A page of `section` of `host` has brought a URL of `to`, a section of `target`."""
        if host is target:
            section.bring(to.key[-KEY_BYTES:])
            if to.feeder == section.key:
                to.trap.grow()
            if section.circle == to.circle:
                self.in_circle += 1
                self.on_host += 1
                to.own += 1
                return
            if not to.trap.demoted:
                self.on_host += 1 - to.shown
        self.led = True
        self.leads = max(self.leads, to.shown)


class Visit:
    """A URL in flight."""

    @classmethod
    def of(
        cls, found: Link, depth: int, referrer: bytes, flags: int = Flag.NONE, request: bytes | None = None
    ) -> Visit:
        """That of a URL of which its frontier keeps no record."""
        record = UrlRecord(found.url, flags=flags, depth=depth, referrer=referrer, rank=_NO_PRIORITY)
        return cls(found.key, record, Host(b"", found.host), request)

    def __init__(self, key: bytes, record: UrlRecord, host: Host, request: bytes | None) -> None:
        self.key = key
        self.url = record.url
        self.depth = record.depth
        self.referrer = record.referrer
        self.attempts = record.attempts
        self.priority = priority_of(record.rank)
        self.dead = False
        """Its host was given up: nothing is to be asked, and whoever waits is to be told."""
        self.volatile = bool(record.flags & Flag.VOLATILE)
        self.again = bool(record.flags & Flag.AGAIN)
        """It had come to its end before, and was queued once more."""
        self.is_requisite = bool(record.flags & Flag.REQUISITE)
        """Pages are made of it: it is not followed."""
        self.is_linked_to = False
        """A page has come to link to it since it was handed out as a requisite."""
        self.host: Host | None = host
        """None once the download has ended: the host is free, the page is not yet safe."""
        self.rooms: tuple[str, ...] = ()
        """Where it has a seat (`workbench`)."""
        self.request = request
        """The rest of a request that is more than a GET."""
        self.news = News()
        self.news.is_new = True if self.again else None
        self.status = 0
        """Of the answer; 0 without one. This and the next are set before the visit ends, or is put back."""
        self.cause = Cause.NONE
        """Why it brought nothing, if it did."""
