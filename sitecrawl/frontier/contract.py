"""A frontier's contract, kept by every frontier and by one suite of tests over all of them.

What goes in comes out: every URL that is added, only such URLs, each once, in the order's order and when its host may
be asked, unless it is put back (`retry`) or asked for `again`. Nothing is lost before `committed`: a crash forgets
what came after the last batch that is on disk, and URLs that were in flight then come out again. What is held back
waits, is counted (`Figures`) and never forgotten.

A crawl calls the twelve methods of `Frontier`, and asks its parts for the rest; those of `base.BaseFrontier` do
nothing. `disk.DiskFrontier` is the frontier of one process, `cluster.shared_frontier.SharedFrontier` a worker's,
`tests/helpers/memory_frontier.py` has the reference.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Flag as EnumFlag
from enum import auto
from pathlib import Path
from typing import NamedTuple, Protocol

from sitecrawl.crawldir.database import Batch, Database
from sitecrawl.frontier.forms.duplicates import Verdict
from sitecrawl.frontier.urls.host import Host
from sitecrawl.frontier.urls.record import NO_REFERRER, Flag, UrlRecord, UrlState
from sitecrawl.frontier.urls.trap_state import Reason
from sitecrawl.frontier.urls.visit import Visit
from sitecrawl.page.items import Link


class Capability(EnumFlag):
    """What a frontier can do beyond the contract. Here alone a mode says what it cannot."""

    RECORDS = auto()
    """It knows the record of every URL: `urls` answers for all, and `add` and `expand` tell how many were new."""
    AGAIN = auto()
    """URLs that have come to their end can be queued once more."""
    NONE = 0
    ALL = RECORDS | AGAIN


class Asked(NamedTuple):
    """What makes a request of a link: a spider, a middleware or the page it is a part of has asked for just this."""

    flags: int = Flag.NONE
    """`UNFILTERED`: queue it though it is known. `VOLATILE`: keep it in memory alone. `REQUISITE`: its referrer is
    made of it. Such go before all pages, cost them nothing, and are counted apart, until a page links to them.
    """
    request: bytes | None = None
    """What it is beside a GET."""
    brings_credit: bool = False
    """As a seed does, whatever its depth."""


@dataclass(frozen=True, slots=True)
class HeldBack:
    """What is held back on hosts that answer, but for other forms of pages."""

    urls: Counter[Reason] = field(default_factory=Counter)
    """That wait, by why."""
    sets: Counter[Reason] = field(default_factory=Counter)
    """Sections and hosts of which any wait."""


@dataclass(frozen=True, slots=True)
class Figures:
    """The crawl's counts now, in URLs."""

    queued: int = 0
    """Those in flight included, as in `held`, `joined` and `silent`, which are parts of it."""
    fetched: int = 0
    failed: int = 0
    excluded: int = 0
    requisites: int = 0
    """Fetched as parts of pages, which are not among `fetched`."""
    in_flight: int = 0
    held: HeldBack = field(default_factory=HeldBack)
    """Held back as traps, on hosts that answer."""
    joined: int = 0
    """Other forms of pages, of which only tests are fetched; on such hosts."""
    silent: int = 0
    """Of hosts that have ceased to answer."""
    silent_hosts: int = 0
    is_full: bool = False
    """Whether as many URLs have been fetched as are wanted; what these are made of may be to be fetched still."""

    @property
    def known(self) -> int:
        return self.queued + self.fetched + self.failed + self.excluded + self.requisites

    @property
    def waiting(self) -> int:
        """Queued and not in flight."""
        return max(0, self.queued - self.in_flight)

    @property
    def unread(self) -> int:
        """Queued, and no other forms of pages."""
        return self.queued - self.joined

    @property
    def held_back(self) -> int:
        """URLs of `held`."""
        return self.held.urls.total()

    @property
    def may_be_fetched(self) -> bool:
        """Whether anything waits that is not left alone."""
        return self.waiting > self.held_back + self.joined + self.silent


class Records(Protocol):
    """What is known of URLs, by their fingerprints. A record is changed by its frontier alone."""

    def get(self, key: bytes) -> UrlRecord | None: ...

    def get_many(self, keys: Sequence[bytes]) -> Mapping[bytes, UrlRecord | None]: ...


class LiveHosts(Protocol):
    """The hosts that are in memory: those with something to do here."""

    def live(self) -> Iterator[Host]: ...


class Manners(Protocol):
    """What hosts are told, and asked, beside their downloads. Of visits that are not in flight here, nothing."""

    def answered(self, visit: Visit, *, failed: bool, retry_after: float = 0.0) -> None:
        """What came of `visit`, whose download ended before that was known, has been looked at. As `downloaded`."""

    def slow_down(self, host_name: str, crawl_delay: float) -> None:
        """robots.txt of a host asks for `crawl_delay` seconds between requests."""

    def is_out(self, visit: Visit) -> bool:
        """Whether the host of `visit` has answered before, and now fails whatever it is asked for."""


class Contents(Protocol):
    """The content-seen test."""

    def is_repeated(self, visit: Visit, sha1: bytes) -> bool:
        """Whether another page, with which the crawl is done, has the body with this digest. To be asked before
        `judge`, as often as one likes.
        """

    def judge(
        self, visit: Visit, sha1: bytes, *, title: str, text_hash: int | None, sample: bytes | None = b""
    ) -> Verdict:
        """Whether the page's body or text was seen before on its host. To be asked once a visit, before it is done:
        content of a page that is not would meet itself after a crash.

        `sample`: of its text (`sitecrawl.page.shingles`); empty for what has none.
        """


class Listener(Protocol):
    """What a frontier tells the crawl by itself."""

    @property
    def directory(self) -> Path:
        """The crawl's, for a frontier that has files of its own."""

    @property
    def database(self) -> Database:
        """The crawl's, to read at the start what `Frontier.prepare` has put into batches."""

    def given_up(self, key: bytes) -> None:
        """A URL has failed without having been handed out: its host has never answered."""

    def linked_to(self, key: bytes) -> None:
        """A page links to what was fetched as a part of pages, and read as such."""


class Frontier(Protocol):
    """See the module. Keys are fingerprints of 16 bytes. Calls that read the disk raise `StorageError`."""

    # Parts

    @property
    def can(self) -> Capability: ...
    @property
    def figures(self) -> Figures: ...
    @property
    def urls(self) -> Records: ...
    @property
    def hosts(self) -> LiveHosts: ...
    @property
    def manners(self) -> Manners: ...
    @property
    def contents(self) -> Contents: ...

    # Growth

    def add(
        self, found: Sequence[Link], *, depth: int, referrer: bytes = NO_REFERRER, asked: Asked | None = None
    ) -> int:
        """Queue those of `found` that are new, all at `depth`; returns how many were, as far as that can be told.

        Without `asked` they are links: of depth 0 they are seeds, and bring credit with them, and those beyond the
        depth limit are left unknown, so that a shorter way to them still counts. The links of a page that is in
        flight go to `expand`.
        """

    def expand(self, visit: Visit, found: Sequence[Link], *, rest: int = 0) -> int:
        """The page of `visit` links to `found`: it spends its credit on them, and the new ones are queued.

        `rest`: it links to so many more, which come in later calls, and keeps credit for them. Returns as `add`.
        """

    def again(self, key: bytes, *, priority: int = 0, request: bytes | None = None) -> bool:
        """Queue a URL that has come to its end once more, with no attempt counted; False if it is not known, waits
        already, or `can` has no `AGAIN`.
        """

    # Work

    def next(self) -> Visit | None:
        """The next URL to fetch, or None if nothing may be fetched now."""

    def next_time(self) -> float | None:
        """Seconds until there may be something to fetch; None if only what is in flight can tell."""

    def is_finished(self) -> bool:
        """Whether nothing is left to hand out, now or later, but for what comes of the URLs in flight."""

    # Completion

    def downloaded(
        self,
        visit: Visit,
        seconds: float,
        *,
        ip: str | None = None,
        failed: bool | None = False,
        retry_after: float = 0.0,
    ) -> None:
        """The download of `visit` ended after `seconds`: its host may be asked again when politeness allows.

        `failed`: nothing came, or the host said no; None where what came has yet to be looked at, which
        `Manners.answered` will tell. `retry_after`: seconds it asked for.
        """

    def done(self, visit: Visit, state: UrlState, *, status: int = 0, good: bool = True, row: int = 0) -> None:
        """The URL has been dealt with. Its page, if it has one, is in the page store's next checkpoint.

        `good`: the page is worth having, so more like it is. `row`: of the page index, where its response is; 0 where
        none was stored.
        """

    def retry(self, visit: Visit, *, priority: int, request: bytes | None, volatile: bool = False) -> None:
        """Put the URL back behind those that wait, with `request` in the place of the old one."""

    def put_back(self, visit: Visit, *, rest: float = 0.0) -> None:
        """Nothing was asked, for no fault of the host: the URL waits where it did, and no attempt is counted.

        `rest`: seconds for which its host is not to be asked either.
        """

    # Durability: a frontier is a `crawldir.participant.Participant`, the last of them

    def prepare(self, batch: Batch) -> None:
        """Hand all changes to `batch`; call `committed` when it is on disk, and nothing else in between."""

    def committed(self) -> None: ...
