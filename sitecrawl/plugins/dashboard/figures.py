"""The figures of a crawl at one moment: what page, metrics and history are made of.

Each is a number that a part keeps anyway, so a sample costs about a tenth of a millisecond, however large the crawl.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import sys
import time
from bisect import bisect_left
from collections import deque
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sitecrawl.crawl.build import Crawl
from sitecrawl.crawl.fetch import Fetch
from sitecrawl.crawl.traffic import Rate, Traffic
from sitecrawl.frontier.disk import DiskFrontier

if TYPE_CHECKING:
    from sitecrawl.cluster.shared_frontier import SharedFrontier

BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Upper bounds of the histogram's classes, in seconds; one more class is for what took longer."""

_RECENT: Final = 1000
"""Downloads of which the percentiles are."""
EXAMPLES: Final = 8
"""That are kept of a kind of error."""
_KINDS: Final = 60
"""Kinds of error that are told apart; further ones share `other`."""


class _Example(NamedTuple):
    """A URL that went wrong."""

    url: str
    referrer: bytes
    """Fingerprint of the page where it was first found."""
    at: float
    """Unix time, in seconds."""


class _ErrorKind:
    """One kind of error."""

    __slots__ = ("count", "examples")

    def __init__(self) -> None:
        self.count = 0
        self.examples: deque[_Example] = deque(maxlen=EXAMPLES)
        """The last ones."""


class Meter:
    """Give `finished` every fetch whose visit is over (`Crawl.fetches.on_finish`)."""

    def __init__(self) -> None:
        self.histogram = [0] * (len(BUCKETS) + 1)
        self.seconds = 0.0
        """Of all downloads together."""
        self.errors: dict[str, _ErrorKind] = {}
        """By kind: a status such as `404`, the name of an exception, `robots.txt`."""
        self.fetched = 0
        """URLs that answered."""
        self.good = 0
        """Fetches that were worth it."""
        self._recent: deque[float] = deque(maxlen=_RECENT)

    def finished(self, fetch: Fetch) -> None:
        self.good += fetch.is_good
        self.fetched += fetch.status > 0
        if fetch.exchange is not None:
            self._took(fetch.exchange.seconds)
        kind = _kind(fetch)
        if kind:
            self._note(kind, _Example(fetch.visit.url, fetch.visit.referrer, time.time()))

    def _took(self, seconds: float) -> None:
        self.histogram[bisect_left(BUCKETS, seconds)] += 1
        self.seconds += seconds
        self._recent.append(seconds)

    def _note(self, kind: str, example: _Example) -> None:
        if kind not in self.errors and len(self.errors) >= _KINDS:
            kind = "other"
        found = self.errors.setdefault(kind, _ErrorKind())
        found.count += 1
        found.examples.append(example)

    def percentiles(self) -> tuple[float, float]:
        """Median and 95th percentile of the last downloads, in seconds; 0 before any."""
        if not self._recent:
            return 0.0, 0.0
        ordered = sorted(self._recent)
        return ordered[len(ordered) // 2], ordered[min(len(ordered) - 1, len(ordered) * 95 // 100)]


def _kind(fetch: Fetch) -> str:
    if fetch.status >= 400:
        return "" if fetch.is_miss else str(fetch.status)
    if fetch.status:
        return ""
    return fetch.error or ("excluded" if fetch.excluded else "")


COLUMNS: Final = (
    "fetched", "failed", "excluded", "waiting", "in_flight", "known", "received", "errors", "ok", "redirects",
    "refused", "broken", "good", "p50", "p95", "hosts", "demoted", "memory", "cpu",
)  # fmt: skip
"""What the history keeps (docs/formats/database.md)."""
_TOTALS: Final = ("received", "errors", "ok", "redirects", "refused", "broken", "good")
"""Of these, what counts from the start of the run: earlier runs are added."""

_SIZE_SECONDS: Final = 30.0
"""Between two looks at the database's files."""


def _told(metric: str, about: str, *, label: str = "", **more: Any) -> Any:
    """A field that is a metric as well (`metrics`). `label` tells the numbers of one metric apart."""
    return field(metadata={"metric": metric, "about": about, "label": label}, **more)


def _several(metric: str, label: str, about: str) -> Any:
    return _told(metric, about, label=label, default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """One sample. Times in seconds, sizes in bytes, counts in URLs unless named otherwise."""

    at: float
    """Unix time."""
    seconds: float = _told("run_seconds_total", "How long this run has lasted.")
    fetched: int
    """Over all runs, like the six that follow."""
    failed: int
    excluded: int
    requisites: int
    """Fetched as parts of pages, which are not among `fetched`."""
    waiting: int
    in_flight: int
    known: int
    rate: float
    """Fetched a second, over the last ten."""
    byte_rate: float
    received: int = _told("received_bytes_total", "Bytes of responses, as transferred.")
    errors: int
    """Of this run, like all that follows."""
    duplicates: int = _told("duplicate_links_total", "Links to URLs that were known.")
    lost: int = _told("lost_pages_total", "Pages that a worker fetched for nothing, as others had them.")
    good: int = _told("good_fetches_total", "Fetches that gave something worth having.")
    p50: float
    """Of the last 1,000 downloads."""
    p95: float
    hosts: int
    """Hosts in memory: those with URLs waiting, and those that rest."""
    active: int
    """Hosts that are being asked."""
    demoted: int = _told("demoted_units", "Sections and hosts that are held back.")
    silent: int = _told("silent_urls", "URLs that wait for hosts that ceased to answer.")
    reserve: float = _told("lambda_credit_ratio", "The lambda page's share of all credit.")
    checkpoint_age: float = _told("checkpoint_age_seconds", "Since the last checkpoint.")
    checkpoints: int = _told("checkpoints_total", "Checkpoints of this run.")
    memory: int = _told("resident_memory_bytes", "Memory of the process.")
    cpu: float
    """Cores in use, over the last sample's time."""
    database: int = _told("database_bytes", "Size of the crawl's database on disk.")
    statuses: Mapping[int, int] = _several("responses_total", "status", "Responses by status.")
    failures: Mapping[str, int] = _several(
        "failed_downloads_total", "reason", "Downloads that brought nothing, by what went wrong."
    )
    refusals: Mapping[str, int] = _several("refusals_total", "kind", "Answers by which a site said no, by kind.")
    without_page: Mapping[str, int] = _several(
        "hosts_without_page", "reason", "Hosts at which the crawl began that have given no page, by why."
    )
    certificates: Mapping[str, int] = _several(
        "distrusted_hosts",
        "fault",
        "Hosts whose certificates do not hold, and that were asked all the same.",
    )
    sitemaps: Mapping[str, int] = _several("sitemap_events_total", "event", "What sitemaps brought.")
    rendering: Mapping[str, int] = _several("rendering_events_total", "event", "What became of pages in the browser.")
    seen: Mapping[str, int] = field(default_factory=dict)
    """Of `SeenFigures`."""
    content: Mapping[str, int] = field(default_factory=dict)
    """Of `ContentFigures`."""
    remote: Mapping[str, int] = field(default_factory=dict)
    """Of the statistics below `remote/`; empty where the pages stay here."""
    browser: Mapping[str, int] = field(default_factory=dict)
    """Of `BrowserLoad`; empty where pages are taken as they come."""

    def of_class(self, digit: int) -> int:
        """Responses with a status of that first digit."""
        return sum(n for status, n in self.statuses.items() if status // 100 == digit)

    def point(self, before: Mapping[str, float]) -> dict[str, float]:
        """A point of the history, totals of earlier runs added."""
        values: dict[str, float] = {name: getattr(self, name) for name in COLUMNS if hasattr(self, name)}
        values |= {"ok": self.of_class(2), "redirects": self.of_class(3)}
        values |= {"refused": self.of_class(4), "broken": self.of_class(5)}
        return values | {name: values[name] + before.get(name, 0.0) for name in _TOTALS}


NUMBERS: Final = tuple(one.name for one in fields(Figures) if one.default_factory is MISSING)
"""Figures that are one number."""


class Sampler:
    """Takes samples of one crawler."""

    def __init__(self, crawl: Crawl, meter: Meter) -> None:
        self._crawl = crawl
        self._meter = meter
        self._pages, self._bytes = Rate(), Rate()
        self._started = time.monotonic()
        self._cpu = 0.0, self._started
        self._size, self._measured = 0, -_SIZE_SECONDS
        """The database's on disk, and when that was looked at."""
        self.checkpoints = 0
        self.checkpoint_at = self._started

    def checkpoint(self) -> None:
        """A checkpoint has been made."""
        self.checkpoints += 1
        self.checkpoint_at = time.monotonic()

    def take(self) -> Figures:
        now = time.monotonic()
        stats = self._crawl.stats.get_stats()
        traffic = Traffic.read(stats)
        p50, p95 = self._meter.percentiles()
        whole, team = self._crawl.ours.whole, self._crawl.ours.team
        counts = _of_frontier(whole) if whole is not None else self._of_worker(team) if team is not None else {}
        return Figures(
            at=time.time(),
            seconds=now - self._started,
            rate=self._pages.update(now, counts["fetched"]),
            byte_rate=self._bytes.update(now, traffic.received),
            received=traffic.received,
            errors=traffic.errors,
            duplicates=traffic.duplicates,
            lost=traffic.lost,
            good=self._meter.good,
            p50=p50,
            p95=p95,
            active=len({host.key for one in self._crawl.fetches.values() if (host := one.visit.host) is not None}),
            checkpoint_age=now - self.checkpoint_at,
            checkpoints=self.checkpoints,
            memory=_resident(),
            cpu=self._cores(now),
            database=self._size_on_disk(now),
            statuses=dict(sorted(traffic.statuses.items())),
            failures=dict(traffic.failures),
            refusals=dict(traffic.refusals),
            certificates={cause.why: cause.hosts for cause in self._crawl.outcomes.whole.distrusted()},
            without_page={cause.why: cause.hosts for cause in self._crawl.outcomes.causes},
            content=self._crawl.fetches.content_figures().counts(),
            sitemaps={name.replace("/", "_"): number for name, number in sorted(_under(stats, "sitemaps/"))},
            rendering={name: number for name, number in _under(stats, "rendering/") if "/" not in name},
            browser=next((load()._asdict() for load in self._crawl.browsers), {}),
            remote={name: number for name, number in _under(stats, "remote/") if name != "place"},
            **counts,
        )

    def _of_worker(self, frontier: SharedFrontier) -> dict[str, Any]:
        """Figures of this worker. Its own fetches: its partitions count those of other workers as well."""
        own = {"in_flight": len(frontier.in_flight), "fetched": self._meter.fetched}
        return {**_of_frontier(frontier.frontier), **own}

    def _size_on_disk(self, now: float) -> int:
        """Looked at every now and then: it takes a look at each file."""
        if now >= self._measured + _SIZE_SECONDS:
            self._measured = now
            with contextlib.suppress(OSError):  # whoever needs the files will say what is wrong with them
                self._size = self._crawl.database.size_on_disk()
        return self._size

    def _cores(self, now: float) -> float:
        usage = resource.getrusage(resource.RUSAGE_SELF)
        (before, since), self._cpu = self._cpu, (usage.ru_utime + usage.ru_stime, now)
        return (self._cpu[0] - before) / (now - since) if before and now > since else 0.0


def _under(stats: Mapping[str, Any], prefix: str) -> list[tuple[str, int]]:
    """Statistics whose names begin with `prefix`, by the rest of the name."""
    return [(name.removeprefix(prefix), number) for name, number in stats.items() if name.startswith(prefix)]


def _of_frontier(frontier: DiskFrontier) -> dict[str, Any]:
    counts, ledger = frontier.counts, frontier.link_credit.ledger
    return {
        "in_flight": len(frontier.in_flight),
        "fetched": counts.fetched,
        "failed": counts.failed,
        "excluded": counts.excluded,
        "requisites": counts.requisites,
        "waiting": frontier.dispatcher.waiting,
        "known": counts.known,
        "hosts": len(frontier.hosts),
        "demoted": len(frontier.judge.demoted),
        "silent": frontier.dispatcher.silent,
        "reserve": ledger.reserve / ledger.total if ledger.total else 0.0,
        "seen": frontier.seen.figures().counts(),
    }


def _resident() -> int:
    """Bytes of memory that the process holds; the most it ever held where the system does not say more."""
    try:
        pages = int(Path("/proc/self/statm").read_bytes().split()[1])
    except (OSError, IndexError, ValueError):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
    return pages * os.sysconf("SC_PAGE_SIZE")


NOTHING: Final[Mapping[str, int]] = dict.fromkeys(
    ("rate", "byte_rate", "in_flight", "waiting", "hosts", "active", "memory", "cpu", "partitions"), 0
)
"""Figures of one that is gone."""
GONE: Final = frozenset({"ended", "lost"})
"""States of such a worker."""
_NAMES: Final = ("name", "place", "spider")
_CHARACTERS: Final = 100
_LINE: Final = 500
"""Characters of what is said of its last fetches."""
_KEYS: Final = {*_NAMES, "state", "last", "figures", "rows"}
_FIGURES: Final = {*NUMBERS, "partitions"}

Worker = dict[str, Any]


def worker_of(
    names: Mapping[str, str], state: str, figures: Figures, partitions: int, *, last: str, rows: Mapping[str, Any]
) -> Worker:
    """A worker as others are told of it. It has so many `partitions`; `last` says what is fetched there when nothing
    is left but what is held back.
    """
    numbers = {name: round(getattr(figures, name), 4) for name in NUMBERS}
    told = {**numbers, "partitions": partitions}
    short = {name: names[name][:_CHARACTERS] for name in _NAMES}
    return {**short, "state": state, "last": last[:_LINE], "figures": told, "rows": dict(rows)}


def read(text: bytes) -> Worker | None:
    """Another worker's JSON; None unless it has exactly the keys of `worker_of`."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    is_worker = isinstance(found, dict) and found.keys() == _KEYS and isinstance(found["figures"], dict)
    return found if is_worker and found["figures"].keys() == _FIGURES else None
