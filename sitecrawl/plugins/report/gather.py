"""All that the report says of a crawl, read from its directory."""

from __future__ import annotations

import base64
import heapq
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from sitecrawl import __version__
from sitecrawl.crawl.outcomes import HostPages
from sitecrawl.crawl.refusals import ADVICE, summed_up
from sitecrawl.crawldir.directory import Manifest
from sitecrawl.crawldir.history import History
from sitecrawl.crawldir.outcomes import Outcomes, RefusalTotals
from sitecrawl.crawldir.terms import RobotsLeave
from sitecrawl.frontier.forms.duplicates import ContentFigures
from sitecrawl.frontier.judge.held import HeldSet
from sitecrawl.frontier.reader import FrontierReader, KnownUrl
from sitecrawl.frontier.urls.host import Host
from sitecrawl.frontier.urls.record import NO_REFERRER, Flag, UrlRecord, UrlState
from sitecrawl.pagestore import record
from sitecrawl.pagestore.capture import is_number, is_text, is_time, or_null
from sitecrawl.pagestore.reader import PageReader
from sitecrawl.pagestore.rounds import Round, read_rounds
from sitecrawl.pagestore.warc_store import INDEX_FILE
from sitecrawl.plugins.report.web import Web

_TOP_PAGES: Final = 25
_DEAD_LINKS: Final = 100


class _DeadLink(NamedTuple):
    """A URL that answers with an error, or not at all."""

    importance: float
    url: str
    status: int
    """0 where no answer came."""
    key: bytes
    referrer: bytes
    """Fingerprint of the page where it was first found; `NO_REFERRER` for none."""


_Kept = TypeVar("_Kept", _DeadLink, KnownUrl)


@dataclass(slots=True)
class UrlTotals:
    """Totals over all URL records."""

    states: Counter[str] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)
    """Last status of the URLs that have one."""
    depths: Counter[int] = field(default_factory=Counter)
    hosts: defaultdict[bytes, float] = field(default_factory=lambda: defaultdict(float))
    """The importance of their URLs together, by the host's key."""
    top: list[KnownUrl] = field(default_factory=list)
    dead: list[_DeadLink] = field(default_factory=list)
    """The most important of them."""
    dead_count: int = 0


def _count_urls(reader: FrontierReader) -> UrlTotals:
    """Raises `CorruptFile`."""
    found = UrlTotals()
    for key, known in reader.records():
        importance = reader.importance(known)
        _count(found, known, importance)
        page = KnownUrl(importance, known.depth, known.status, known.state.name.lower(), known.url)
        _keep(found.top, _TOP_PAGES, page)
        if _is_dead(known):
            found.dead_count += 1
            _keep(found.dead, _DEAD_LINKS, _DeadLink(importance, known.url, known.status, key, known.referrer))
    found.top.sort(reverse=True)
    found.dead.sort(reverse=True)
    return found


def _count(found: UrlTotals, record: UrlRecord, importance: float) -> None:
    found.states[record.state.name.lower()] += 1
    if record.flags & Flag.REQUISITE:  # what follows is about pages
        return
    found.depths[record.depth] += 1
    if record.status:
        found.statuses[record.status] += 1
    found.hosts[record.host] += importance


def _is_dead(record: UrlRecord) -> bool:
    """Whether a URL is dead. Seeds count; guessed URLs, such as a sitemap's, do not."""
    if record.referrer == NO_REFERRER and not record.history and not record.flags & Flag.SEED:
        return False
    return record.state == UrlState.FAILED or (record.state == UrlState.FETCHED and record.status >= 400)


def _keep(heap: list[_Kept], limit: int, item: _Kept) -> None:
    if len(heap) < limit:
        heapq.heappush(heap, item)
    elif item > heap[0]:
        heapq.heapreplace(heap, item)


def _first_referrers(reader: FrontierReader, dead: Iterable[_DeadLink]) -> dict[bytes, str]:
    """The pages on which dead links were first found, by the dead link's key."""
    found: dict[bytes, str] = {}
    for link in dead:
        if link.referrer != NO_REFERRER and (record := reader.record(link.referrer)) is not None:
            found[link.key] = record.url
    return found


_HOSTS: Final = 50
_ROUNDS: Final = 31
"""Rounds over what is known that are shown: the newest."""
_DEMOTED: Final = 100
_ROWS: Final = 25
PICTURES: Final = 12

_REPEATED = """
SELECT first.url, first.title, copies.n, first.payload_size, copies.example FROM
(SELECT revisit_of, count(*) AS n, min(url) AS example FROM pages
 WHERE revisit_of IS NOT NULL AND kind = 'page' AND NOT EXISTS
 (SELECT 1 FROM pages AS dom WHERE dom.url_key = 'urn:rendered:' || pages.url)
 GROUP BY revisit_of ORDER BY n DESC, revisit_of LIMIT 25) AS copies
JOIN pages AS first ON first.id = copies.revisit_of WHERE first.url <> copies.example OR copies.n > 1
ORDER BY copies.n DESC, first.url
"""
_FACTS = """
SELECT page.host, count(DISTINCT page.url) AS n, count(DISTINCT CASE WHEN page.noindex THEN page.url END),
count(DISTINCT CASE WHEN first.url <> page.url THEN page.url END), 0
FROM pages AS page LEFT JOIN pages AS first ON first.id = page.revisit_of WHERE page.kind = 'page'
GROUP BY page.host ORDER BY n DESC, page.host
"""
_STORED = """
SELECT count(*), coalesce(sum(payload_size), 0), min(fetched), max(fetched),
coalesce(sum(revisit_of > 0 AND kind = 'page' AND NOT EXISTS
(SELECT 1 FROM pages AS dom WHERE dom.url_key = 'urn:rendered:' || pages.url)), 0) FROM pages
"""
_PICTURES = "SELECT id FROM pages WHERE kind = ? ORDER BY id DESC LIMIT ?"
_OF_REPEATED: Final = (is_text, or_null(is_text), is_number, is_number, is_text)
_OF_STORED: Final = (is_number, is_number, or_null(is_time), or_null(is_time), is_number)


class _Picture(NamedTuple):
    """The screenshot of a page."""

    url: str
    data: str
    """WebP, in base64."""


@dataclass(frozen=True, slots=True)
class _Stored:
    """The page store's side; of a crawl without one, nothing."""

    captures: int = 0
    size: int = 0
    """Bytes of bodies, as transferred."""
    first: float | None = None
    last: float | None = None
    copies: int = 0
    """Pages whose body was stored before."""
    repeated: tuple[tuple[Any, ...], ...] = ()
    facts: tuple[str, ...] = ()
    """What is so of nearly all pages of a host."""
    pictures: tuple[_Picture, ...] = ()
    """Of the pages that were rendered last."""


@dataclass(frozen=True, slots=True)
class ReportData:
    """See the module. Times are Unix seconds."""

    directory: Path
    manifest: Manifest
    made: float
    version: str
    urls: UrlTotals
    history: History | None
    content: ContentFigures
    refused: list[tuple[str, str, str]]
    """Hosts that said no most often: name, in which ways, and what can be done."""
    refused_count: int
    exceptions: tuple[RobotsLeave, ...]
    """Where robots.txt was not obeyed."""
    outcomes: Outcomes
    hosts: list[tuple[Host, float]]
    """The largest, with their importance."""
    host_count: int
    held: list[HeldSet]
    """What is demoted, with some of its URLs."""
    held_count: int
    dead: list[tuple[_DeadLink, str]]
    """With the page where it was first found; empty for a seed."""
    stored: _Stored
    rounds: list[Round]
    """The last ones, the newest first."""
    web: Web


def gather(directory: Path) -> ReportData:
    """Read the crawl in `directory`, as of its last checkpoint. Raises `StorageError` and its kin."""
    with FrontierReader(directory) as reader:
        manifest = reader.manifest
        urls = _count_urls(reader)
        hosts = list(reader.hosts())
        largest = sorted(hosts, key=lambda host: (-host.known, host.name))
        held_count = sum(1 for _ in reader.units(demoted=True))
        referrers = _first_referrers(reader, urls.dead)
        refusals = reader.refusals()
        stored, web = _read_pages(directory)
        return ReportData(
            directory=directory,
            manifest=manifest,
            made=time.time(),
            version=__version__,
            urls=urls,
            history=reader.history(),
            content=reader.content(),
            refused=list(islice(_refused(refusals), _HOSTS)),
            refused_count=len(refusals),
            exceptions=reader.exceptions(),
            outcomes=reader.outcomes(),
            hosts=[(host, urls.hosts[host.key]) for host in largest[:_HOSTS]],
            host_count=len(hosts),
            held=list(islice(reader.held(), _DEMOTED)),
            held_count=held_count,
            dead=[(link, referrers.get(link.key, "")) for link in urls.dead],
            stored=stored,
            rounds=read_rounds(reader.database)[: -_ROUNDS - 1 : -1],
            web=web,
        )


def _refused(refusals: RefusalTotals) -> Iterator[tuple[str, str, str]]:
    for host in dict.fromkeys(row.host for row in refusals.rows()):
        rows = refusals.of(host)
        yield host, summed_up(rows), ADVICE.get(rows[0].kind, "")


def _facts(reader: PageReader) -> Iterator[str]:
    for host, *numbers in reader.rows(_FACTS, checks=[is_text, *[is_number] * 4]):
        yield from HostPages(*numbers).facts(host)


def _pictures(reader: PageReader) -> Iterator[_Picture]:
    prefix = record.urn(record.SCREENSHOT, "")
    ids = reader.rows(_PICTURES, (record.SCREENSHOT, PICTURES), checks=[is_number])
    for (number,) in ids:
        if (capture := reader.get(number)) is not None:
            body = reader.read(reader.get(capture.revisit_of or number) or capture).body
            yield _Picture(capture.url.removeprefix(prefix), base64.b64encode(body).decode())


def _read_pages(directory: Path) -> tuple[_Stored, Web]:
    if not (directory / INDEX_FILE).exists():
        return _Stored(), Web()
    with PageReader(directory) as reader:
        captures, size, first, last, copies = reader.rows(_STORED, checks=_OF_STORED)[0]
        return _Stored(
            captures, size, first, last, copies,
            tuple(islice(reader.rows(_REPEATED, checks=_OF_REPEATED), _ROWS)),
            tuple(islice(_facts(reader), _ROWS)),
            tuple(_pictures(reader)),
        ), Web.read(reader)  # fmt: skip
