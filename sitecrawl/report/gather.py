"""All that the report says of a crawl, read from its directory."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

from sitecrawl import __version__
from sitecrawl.crawldir.directory import Manifest
from sitecrawl.crawldir.history import History
from sitecrawl.frontier.hosts import Host
from sitecrawl.frontier.reader import FrontierReader, Unit
from sitecrawl.pagestore.reader import PageReader
from sitecrawl.pagestore.store import INDEX_FILE
from sitecrawl.report import graph
from sitecrawl.report.linkers import Linkers, find_linkers
from sitecrawl.report.survey import UrlSurvey, first_referrers, survey
from sitecrawl.urls.fingerprint import Fingerprinter

HOSTS: Final = 50
DEMOTED: Final = 100
EXAMPLES: Final = 4
ROWS: Final = 25
SEARCHED: Final = 5000
"""HTML pages whose links are read to find who links to dead ones, by default."""

_SLOW = """
SELECT host, count(*), avg(seconds), max(seconds) FROM pages WHERE kind <> 'robots'
GROUP BY host HAVING count(*) > 2 ORDER BY avg(seconds) DESC, host LIMIT 25
"""
_TYPES = """
SELECT content_type, count(*), sum(payload_size) FROM pages WHERE kind <> 'robots'
GROUP BY content_type ORDER BY count(*) DESC, content_type LIMIT 25
"""
_REPEATED = """
SELECT first.url, first.title, copies.n, first.payload_size, copies.example FROM
(SELECT revisit_of, count(*) AS n, min(url) AS example FROM pages
 WHERE revisit_of IS NOT NULL AND kind = 'page' GROUP BY revisit_of ORDER BY n DESC, revisit_of LIMIT 25) AS copies
JOIN pages AS first ON first.id = copies.revisit_of WHERE first.url <> copies.example OR copies.n > 1
ORDER BY copies.n DESC, first.url
"""
_STORED = """
SELECT count(*), coalesce(sum(payload_size), 0), min(fetched), max(fetched),
coalesce(sum(revisit_of IS NOT NULL AND kind = 'page'), 0) FROM pages
"""


@dataclass(frozen=True, slots=True)
class HeldUnit:
    """What is demoted."""

    unit: Unit
    examples: list[str]


@dataclass(frozen=True, slots=True)
class DeadUrl:
    url: str
    status: int
    importance: float
    linkers: list[str]


@dataclass(frozen=True, slots=True)
class Stored:
    """The page store's side; of a crawl without one, nothing."""

    captures: int = 0
    size: int = 0
    """Bytes of bodies, as transferred."""
    first: float | None = None
    last: float | None = None
    copies: int = 0
    """Pages whose body was stored before."""
    slow: tuple[tuple[Any, ...], ...] = ()
    types: tuple[tuple[Any, ...], ...] = ()
    repeated: tuple[tuple[Any, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """See the module. Times are Unix seconds."""

    directory: Path
    manifest: Manifest
    made: float
    version: str
    urls: UrlSurvey
    history: History | None
    hosts: list[tuple[Host, float]]
    """The largest, with their importance."""
    host_count: int
    graph: graph.Graph
    held: list[HeldUnit]
    held_count: int
    dead: list[DeadUrl]
    searched: Linkers
    stored: Stored


def gather(directory: Path, *, search_pages: int = SEARCHED) -> Report:
    """Read the crawl in `directory`, as of its last checkpoint. Raises `StorageError` and its kin."""
    with FrontierReader(directory) as reader:
        manifest = reader.manifest
        urls = survey(reader)
        hosts = list(reader.hosts())
        largest = sorted(hosts, key=lambda host: (-host.known, host.name))
        held = list(reader.units(demoted=True))
        referrers = first_referrers(reader, urls.dead)
        stored, searched = _read_pages(directory, manifest, {link.key for link in urls.dead}, search_pages)
        return Report(
            directory=directory,
            manifest=manifest,
            made=time.time(),
            version=__version__,
            urls=urls,
            history=reader.history(),
            hosts=[(host, _importance(urls, host)) for host in largest[:HOSTS]],
            host_count=len(hosts),
            graph=_graph(reader, largest, urls),
            held=[HeldUnit(unit, reader.examples(unit, EXAMPLES)) for unit in held[:DEMOTED]],
            held_count=len(held),
            dead=[
                DeadUrl(d.url, d.status, d.importance, _distinct(referrers.get(d.key), searched.pages.get(d.key, ())))
                for d in urls.dead
            ],
            searched=searched,
            stored=stored,
        )


def _distinct(first: str | None, others: Iterable[str]) -> list[str]:
    return list(dict.fromkeys([*([first] if first is not None else []), *others]))


def _importance(urls: UrlSurvey, host: Host) -> float:
    totals = urls.hosts.get(host.key)
    return totals.importance if totals is not None else 0.0


def _graph(reader: FrontierReader, largest: list[Host], urls: UrlSurvey) -> graph.Graph:
    places = [
        graph.Place(
            host.key,
            host.name,
            host.known,
            host.trap.demoted,
            f"{host.name}: {host.known:,} URLs known, {host.fetched:,} fetched, "
            f"importance {_importance(urls, host):.2%}",
        )
        for host in largest[: graph.MAX_NODES]
    ]
    keys = {place.key for place in places}
    links = {(s, t): pages for s, t, pages in reader.links() if s in keys and t in keys}
    return graph.draw(places, links, max(0, len(largest) - len(places)))


def _read_pages(directory: Path, manifest: Manifest, dead: set[bytes], search_pages: int) -> tuple[Stored, Linkers]:
    if not (directory / INDEX_FILE).exists():
        return Stored(), Linkers({}, 0, 0)
    with PageReader(directory) as reader:
        fingerprints = Fingerprinter(bytes.fromhex(manifest.key))
        searched = find_linkers(reader, fingerprints, dead, search_pages if dead else 0)
        captures, size, first, last, copies = reader.rows(_STORED)[0]
        return Stored(
            captures, size, first, last, copies,
            tuple(reader.rows(_SLOW)), tuple(reader.rows(_TYPES)), tuple(islice(reader.rows(_REPEATED), ROWS)),
        ), searched  # fmt: skip
