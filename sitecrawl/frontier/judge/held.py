"""What is held back, as a person judges of it: numbers, the reason in words, and some of its URLs.

A set is a section, or a whole host. Its samples cost as much for a set of millions as for one of a hundred: a section
knows the URLs that were fetched of it last (`Section.fetched_last`), and those that wait are drawn from the first
rows of its queue.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, islice
from random import Random
from typing import Final, NamedTuple

from sitecrawl.base.display import counted
from sitecrawl.crawldir.database import Database, next_prefix
from sitecrawl.frontier.urls.host import KEY_BYTES as HOST_BYTES
from sitecrawl.frontier.urls.host import Host
from sitecrawl.frontier.urls.options import ENOUGH
from sitecrawl.frontier.urls.record import RANK_BYTES, UrlRecord, UrlState
from sitecrawl.frontier.urls.sections import KEY_BYTES as SECTION_BYTES
from sitecrawl.frontier.urls.sections import SAMPLES, Section
from sitecrawl.frontier.urls.trap_state import Reason

LOOKED_AT: Final = 1000
"""Rows of the queue that samples are drawn from: about a millisecond."""
_CANDIDATES: Final = 4 * SAMPLES
"""URLs that are drawn: of some, the record may say that they wait no longer."""

_BEFORE_KEY: Final = HOST_BYTES + SECTION_BYTES + RANK_BYTES


class Unit(NamedTuple):
    """A host, or one of its sections."""

    host: str
    shape: str
    """Empty for the host as a whole."""
    waiting: int
    """URLs that are queued or in flight."""
    known: int
    fetched: int
    good: int
    """Of the fetched, those that gave a page worth having."""
    novelty: float
    """New URLs of its own that a fetch brings, of late."""
    demoted: bool
    reason: str
    """Why it is demoted, or that a person has set it free, in words; else empty."""


class Sample(NamedTuple):
    """A URL that was fetched, and what came of it."""

    url: str
    status: int
    """0 where no answer came."""
    good: bool
    """Whether it was worth having."""


class HeldSet(NamedTuple):
    """A host or a section that is held back. The first nine fields are those of `Unit`."""

    host: str
    shape: str
    """Empty for the host as a whole."""
    waiting: int
    known: int
    fetched: int
    good: int
    novelty: float
    demoted: bool
    reason: str
    why: str
    """`grows`, `dry`, `worthless`, `blocked` or `joined`."""
    since: int
    """How many URLs the crawl had fetched when it was demoted."""
    elsewhere: float | None
    """The share of its known URLs that were first seen on pages of other sections, from 0 to 1; None of a host."""
    fetched_urls: Sequence[Sample]
    """The last that were fetched, at most three."""
    waiting_urls: Sequence[str]
    """Some that wait, at most three."""


def name_of(host: str, shape: str) -> str:
    """How a set is called: a shape goes on where its host ends, the name of a rule does not."""
    return host + (shape if shape[:1] in {"", "/"} else f" {shape}")


def unit_of(host: Host, unit: Host | Section, fetches: int) -> Unit:
    """`host`, or one of its sections, as a row, after `fetches` of the crawl."""
    return Unit(
        host=host.name,
        shape=unit.shape if isinstance(unit, Section) else "",
        waiting=unit.queued,
        known=unit.known,
        fetched=unit.fetched,
        good=unit.good,
        novelty=unit.trap.novelty,
        demoted=unit.trap.demoted,
        reason=explain(unit, fetches),
    )


class HeldSets:
    """Reads samples from a crawl's database, as of its last checkpoint. `looked_at`: rows of a queue at the most."""

    def __init__(self, database: Database, looked_at: int = LOOKED_AT) -> None:
        self._database = database
        self._looked_at = looked_at

    def read(self, host: Host, section: Section | None, fetches: int) -> HeldSet:
        """`section` of `host`, or all of it, after `fetches` of the crawl. Raises `CorruptFile`."""
        sections = [section] if section is not None else list(host.sections.values())
        unit = section or host
        return HeldSet(
            *unit_of(host, unit, fetches),
            why=Reason(unit.trap.reason).name.lower(),
            since=unit.trap.since,
            elsewhere=None if section is None else max(0, section.known - section.own) / max(section.known, 1),
            fetched_urls=self._fetched(sections),
            waiting_urls=self._waiting(sections),
        )

    def _fetched(self, sections: Sequence[Section]) -> list[Sample]:
        most = sorted(sections, key=lambda section: section.fetched, reverse=True)
        last = list(islice(chain.from_iterable(section.fetched_last for section in most), _CANDIDATES))
        records = self._records(key for key, _ in last)
        found = [
            Sample(record.url, record.status, good)
            for record, (_, good) in zip(records, last, strict=True)
            if record is not None
        ]
        return found[:SAMPLES]

    def _waiting(self, sections: Sequence[Section]) -> list[str]:
        """Some URLs that wait: the same ones as long as nothing changes."""
        waiting = sorted((one for one in sections if one.queued), key=lambda one: one.queued, reverse=True)
        rows = chain.from_iterable(
            self._database.scan("queue", section.key, next_prefix(section.key)) for section in waiting
        )
        keys = [key[_BEFORE_KEY:] for key, _ in islice(rows, self._looked_at)]
        drawn = Random(len(keys)).sample(keys, min(len(keys), _CANDIDATES))  # noqa: S311 - it is no secret
        records = self._records(drawn)
        return [one.url for one in records if one is not None and one.state == UrlState.QUEUED][:SAMPLES]

    def _records(self, keys: Iterable[bytes]) -> list[UrlRecord | None]:
        found = self._database.get_many("urls", list(keys))
        return [None if data is None else UrlRecord.unpack(data) for data in found]


def explain(unit: Host | Section, fetches: int) -> str:
    """Why a unit is demoted, in words, after `fetches` of the crawl; of what is not, whether a person set it free."""
    trap = unit.trap
    if trap.reason == Reason.VOUCHED:
        return "set free by hand: it will not be demoted again"
    if not trap.demoted:
        return ""
    numbers = f"{counted(unit.known, 'URL')} known, {unit.fetched:,} fetched, {unit.good:,} good"
    if isinstance(unit, Section):
        numbers += f", {unit.known - unit.own:,} first seen elsewhere"
    if trap.reason == Reason.BLOCKED:
        return f"blocked by hand at fetch {trap.since:,} of {fetches:,} ({numbers})"
    if trap.reason == Reason.FULL:
        return f"{counted(unit.fetched, 'page')} fetched, as many as its sheet allows ({numbers})"
    if trap.reason == Reason.JOINED:
        waiting = f"{unit.queued:,} of {unit.known:,} URLs wait"
        return f"other forms of pages that were fetched, joined since fetch {trap.since:,} of {fetches:,} ({waiting})"
    return f"demoted since fetch {trap.since:,} of {fetches:,}: {_sign(unit)} ({numbers})"


def _sign(unit: Host | Section) -> str:
    """What a unit was demoted for, with the figures that decided."""
    trap = unit.trap
    if isinstance(unit, Section) and trap.reason == Reason.WORTHLESS:
        return f"{unit.recent:.0%} of its last pages were worth having"
    growth = f"every page of it brings {trap.novelty:.1f} new ones"
    if trap.reason == Reason.DRY:
        return f"{growth}, and hardly one of its host said anything new"
    if isinstance(unit, Host):
        return f"{growth}, and it has outgrown what the seeds' sites vouch for"
    links = f"of the links to it {trap.then:.0%} were the first to their URL"
    if trap.links >= ENOUGH:
        links += f" ({trap.share:.0%} since then)"
    good = unit.successes / unit.trials if unit.trials else 0.0
    lately = f"{good:.0%} of its last pages were good"
    return f"{growth}, {links}, {lately}" + (", and it has had its share beside the rest" if unit.gives else "")
