"""The frontier's contract, kept by every frontier and by one suite of tests over all of them.

What goes in comes out: every URL that is added, only such URLs, each once, in the order's order and when its host may
be asked, unless it is put back (`retry`) or asked for `again`. Nothing is lost before `flushed`: a crash forgets what
came after the last batch that is on disk, and URLs that were in flight then come out again. What is held back waits,
is counted (`held`, `joined`, `silent`) and never forgotten.

The reference is in `tests/helpers/memory_frontier.py`; `disk.DiskFrontier` is that of one process,
`cluster.shared_frontier.SharedFrontier` a worker's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import Flag as EnumFlag
from enum import auto
from typing import Protocol

from sitecrawl.crawldir.database import Batch
from sitecrawl.frontier.forms.duplicates import Verdict
from sitecrawl.frontier.hosts.host import Host
from sitecrawl.frontier.urls.record import NO_REFERRER, UrlRecord, UrlState
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


class Totals(Protocol):
    """The crawl's counts, in URLs. `queued` includes those in flight."""

    @property
    def known(self) -> int: ...
    @property
    def queued(self) -> int: ...
    @property
    def fetched(self) -> int: ...
    @property
    def failed(self) -> int: ...
    @property
    def excluded(self) -> int: ...
    @property
    def requisites(self) -> int:
        """Fetched as parts of pages, which are not among `fetched`."""


class Records(Protocol):
    """What is known of URLs, by their fingerprints. A record is changed by its frontier alone."""

    def get(self, key: bytes) -> UrlRecord | None: ...

    def get_many(self, keys: Sequence[bytes]) -> Mapping[bytes, UrlRecord | None]: ...


class LiveHosts(Protocol):
    """The hosts that are in memory: those with something to do here."""

    def live(self) -> Iterator[Host]: ...


class Listener(Protocol):
    """What a frontier tells the crawl by itself."""

    def given_up(self, key: bytes) -> None:
        """A URL has failed without having been handed out: its host has never answered."""

    def linked_to(self, key: bytes) -> None:
        """A page links to what was fetched as a part of pages, and read as such."""


class Frontier(Protocol):
    """See the module. Keys are fingerprints of 16 bytes. Calls that read the disk raise `StorageError`."""

    @property
    def can(self) -> Capability: ...
    @property
    def counts(self) -> Totals: ...
    @property
    def urls(self) -> Records: ...
    @property
    def hosts(self) -> LiveHosts: ...
    @property
    def in_flight(self) -> Mapping[bytes, Visit]:
        """Handed out and not yet done, by key."""

    # Growth

    def add(self, found: Sequence[Link], *, depth: int, referrer: bytes = NO_REFERRER) -> int:
        """Queue those of `found` that are new, all at `depth`; returns how many were, as far as that can be told.

        URLs of depth 0 are seeds, and bring credit with them. URLs beyond the depth limit are left unknown, so that a
        shorter way to them still counts. The links of a page go to `expand`.
        """

    def expand(self, visit: Visit, found: Sequence[Link], *, rest: int = 0) -> int:
        """The page of `visit` links to `found`: it spends its credit on them, and the new ones are queued.

        `rest`: it links to so many more, which come in later calls, and keeps credit for them. Returns as `add`.
        """

    def require(self, page: bytes, found: Sequence[Link], *, depth: int, request: bytes | None = None) -> int:
        """The page with the key `page` is made of `found`, its requisites: queue those that are new, at its `depth`.

        They go before all pages, cost none of them anything, and are counted apart, until a page links to them.
        `request`: what they are beside a GET. Returns as `add`.
        """

    def add_request(
        self,
        found: Link,
        *,
        depth: int,
        priority: int,
        flags: int,
        request: bytes | None,
        referrer: bytes = NO_REFERRER,
        brings_credit: bool = False,
    ) -> bool:
        """Queue one request that a spider asked for; False if it is filtered as seen, as far as that can be told.

        `request`: what it is beside a GET. `brings_credit`: as a seed does, whatever its depth.
        """

    def again(self, key: bytes, *, priority: int = 0, request: bytes | None = None) -> bool:
        """Queue a URL that has come to its end once more; False if it is not known, waits already, or `can` has no
        `AGAIN`.
        """

    # Work

    def next(self) -> Visit | None:
        """The next URL to fetch, or None if nothing may be fetched now."""

    def next_time(self) -> float | None:
        """Seconds until there may be something to fetch; None if only what is in flight can tell."""

    def is_finished(self) -> bool:
        """Whether nothing is left to hand out, now or later, but for what comes of the URLs in flight."""

    @property
    def is_full(self) -> bool:
        """Whether as many URLs have been fetched as are wanted; what these are made of may be to be fetched still."""

    @property
    def waiting(self) -> int:
        """URLs that are queued and not in flight."""

    @property
    def held(self) -> int:
        """Of these, those that are held back as traps, on hosts that answer."""

    @property
    def joined(self) -> int:
        """Of these, those that are other forms of pages, of which only tests are fetched; on such hosts."""

    @property
    def silent(self) -> int:
        """Of these, those of hosts that have ceased to answer."""

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

        `failed`: nothing came, or the host said no; None where what came has yet to be looked at, which `answered`
        will tell. `retry_after`: seconds it asked for.
        """

    def answered(self, visit: Visit, *, failed: bool, retry_after: float = 0.0) -> None:
        """What came of `visit`, whose download ended before that was known, has been looked at. As `downloaded`."""

    def slow_down(self, host_name: str, crawl_delay: float) -> None:
        """robots.txt of a host asks for `crawl_delay` seconds between requests."""

    def is_out(self, visit: Visit) -> bool:
        """Whether the host of `visit` has answered before, and now fails whatever it is asked for."""

    def is_repeated(self, visit: Visit, sha1: bytes) -> bool:
        """Whether another page, with which the crawl is done, has the body with this digest. To be asked before
        `judge_content`, as often as one likes: a frontier that compares nothing says no.
        """

    def judge_content(
        self, visit: Visit, sha1: bytes, *, title: str, text_hash: int | None, sample: bytes | None = b""
    ) -> Verdict:
        """Whether the page's body or text was seen before on its host. To be asked once a visit.

        `sample`: of its text (`sitecrawl.page.shingles`); empty for what has none.
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

    def pause(self) -> None:
        """`next` will not be called soon: what others could fetch meanwhile, they may."""

    # Durability

    @property
    def wants_checkpoint(self) -> bool:
        """Whether there is nothing to do before a checkpoint has been made."""

    def recording(self, batch: Batch) -> Batch:
        """What a checkpoint is to be written into instead of `batch`, by all who have a part in it."""

    def flush(self, batch: Batch) -> None:
        """Hand all changes to `batch`; call `flushed` when it is on disk, and nothing else in between."""

    def flushed(self) -> None: ...

    def save(self) -> None:
        """After the last checkpoint: make the next start quick."""

    # Life

    def start(self) -> None:
        """Begin to work, inside the event loop."""

    async def close(self) -> None:
        """Cease to work. What has been flushed stays."""

    def stats(self) -> Mapping[str, int | float]:
        """What it has counted for the crawl's statistics."""
