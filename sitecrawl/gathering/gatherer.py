"""Looks after the sitemaps of a crawl: finds them, visits them when they are due, learns from what they bring.

Everything that is asked for is a URL of the frontier like any other: polite to its host, stored, retried. What comes
back is told from a page by its key alone, which is that of a record in the store: so a sitemap that was found as a
link of some page is read as a sitemap, too, and a crash loses nothing, for the store is part of each checkpoint.

A host's discovery goes from one answer to the next: robots.txt and front page first, then what these name, then the
usual addresses, one at a time, as long as no sitemap has been found. Which is next can be told from the records.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable, Iterable
from typing import Final

from scrapy.http import Response

from sitecrawl.errors import InvalidUrl
from sitecrawl.gathering.answer import Arrival
from sitecrawl.gathering.harvest import Harvester
from sitecrawl.gathering.registry import Registry
from sitecrawl.links import Link
from sitecrawl.runtime import Fetch, Runtime
from sitecrawl.sitemap import schedule
from sitecrawl.sitemap.discover import How, in_robots, on_page, usual
from sitecrawl.sitemap.entry import Form, Limits
from sitecrawl.sitemap.record import NEVER, Kind, SitemapRecord, State
from sitecrawl.sitemap.schedule import ScheduleOptions
from sitecrawl.url import Url, parse

_FEEDS: Final = frozenset({Form.RSS, Form.ATOM, Form.JSON})
"""What lists the newest pages alone."""


class Gatherer:
    """See the module. `admits` says which links belong to the crawl."""

    def __init__(
        self, runtime: Runtime, options: ScheduleOptions, admits: Callable[[Link], bool], limits: Limits
    ) -> None:
        self._runtime = runtime
        self._admits = admits
        self._stats = runtime.stats
        self._registry = Registry(runtime, options)
        self.store = self._registry.store
        self._harvester = Harvester(runtime, self._registry, admits, limits)
        self._answered: set[bytes] = set()
        """Sitemaps whose visit is not over, though its answer has been dealt with."""
        runtime.on_finish.append(self._finished)

    # What is looked for

    def discover(self, sites: Iterable[Url]) -> None:
        """Look for sitemaps on the hosts of `sites`."""
        for site in sites:
            root = parse(f"{site.scheme}://{site.host}/")
            self._registry.look(parse(root.href + "robots.txt"), Kind.ROBOTS)
            self._registry.look(root, Kind.FRONT)

    def add(self, urls: Iterable[Url]) -> None:
        """Visit the sitemaps, feeds or hub pages that a person names."""
        for url in urls:
            self._runtime.seed_hosts.add(url.host)
            self._registry.look(url, Kind.SITEMAP)

    def tick(self) -> int:
        """Queue the sitemaps whose time has come; gives how many."""
        due = list(self.store.due(time.time()))
        for key in due:
            record = self.store.get(key)
            assert record is not None
            self._registry.queue(key, record)
        return len(due)

    # What comes back

    def receive(self, response: Response) -> bool:
        """Deal with the answer to a sitemap's request; False if it is, or is also, a page of the crawl."""
        fetch = self._runtime.fetch_of(response.request) if response.request is not None else None
        if fetch is None:
            return False
        known = self.store.get(fetch.visit.key) or self._registry.told_by(response)
        record = known or self._moved_here(fetch.visit.key, response)
        if record is None:
            return False
        arrival = Arrival.of(record, fetch, response)
        self._answered.add(arrival.key)
        record.status, record.final = response.status, response.url
        if record.kind == Kind.SITEMAP:
            self._read_sitemap(arrival)
        elif arrival.is_success:
            self._read_source(arrival)
        else:
            schedule.failed(record, arrival.now, seconds=arrival.seconds)
        self._plan(arrival.key, record, arrival.now)
        is_guess = record.kind == Kind.MISSING or (record.how == How.USUAL and record.state != State.VALID)
        is_page = arrival.is_page and not is_guess
        fetch.good = None if is_page else True  # what is no page says nothing of the pages of its section
        return not is_page

    def _plan(self, key: bytes, record: SitemapRecord, now: float) -> None:
        self._stats.inc_value("sitemaps/visits")
        self.store.plan(key, now)
        if record.how != How.INDEX:
            self._advance(record.host)

    def _moved_here(self, key: bytes, response: Response) -> SitemapRecord | None:
        """The record of a sitemap that has been found where another one redirects to."""
        before = next(iter(response.meta.get("redirect_urls", ())), None)
        if before is None:
            return None
        try:
            old_key, url = self._registry.key(parse(before)), parse(response.url)
        except InvalidUrl:
            return None
        old = self.store.get(old_key)
        if old is None or self._registry.key(url) != key:
            return None
        old.state, old.next_visit = State.MOVED, NEVER
        self.store.put(old_key, old)
        if old.kind == Kind.FRONT and url.host != old.host:
            self.discover([url])
        vouchers = {*old.vouchers, old.host} if old.how == How.ROBOTS else old.vouchers
        self._registry.remember(url, old.kind, old.how, parent=old.parent or old.url, vouchers=vouchers)
        return self.store.get(key)

    def _read_source(self, arrival: Arrival) -> None:
        """robots.txt, a front page, or the page that cannot exist."""
        record, response = arrival.record, arrival.response
        new = 0
        if record.kind == Kind.MISSING:
            record.text_hash = arrival.answer.text_hash
        else:
            is_robots = record.kind == Kind.ROBOTS
            named = in_robots(response.body, response.url) if is_robots else on_page(response.body, arrival.facts)
            how = How.ROBOTS if is_robots else How.LINK
            record.entries = len(named)
            for url in named:
                if is_robots or self._admits(Link(url.href, url.host)):
                    new += self._registry.look(url, Kind.SITEMAP, how, parent=record.url, vouchers=[record.host])
        schedule.visited(record, arrival.now, new=new, seconds=arrival.seconds)

    def _read_sitemap(self, arrival: Arrival) -> None:
        record, response = arrival.record, arrival.response
        before = record.visited
        digest = hashlib.blake2b(response.body, digest_size=16).digest()
        is_same = response.status == 200 and digest == record.digest
        if record.successes and (is_same or response.status == 304):
            self._stats.inc_value("sitemaps/unchanged")
            schedule.visited(record, arrival.now, new=0, seconds=arrival.seconds, unchanged=True)
        elif response.status == 200 and (new := self._harvester.harvest(arrival)) is not None:
            record.digest = digest
            record.etag, record.modified = arrival.header("ETag"), arrival.header("Last-Modified")
            schedule.visited(record, arrival.now, new=new, seconds=arrival.seconds)
        else:
            self._stats.inc_value("sitemaps/failed")
            schedule.failed(record, arrival.now, seconds=arrival.seconds)
            return
        arrival.fetch.expanded = True
        self._judge_index(record, before)

    def _judge_index(self, record: SitemapRecord, before: float) -> None:
        """Was its index right in what it says of the sitemap's last change?"""
        if record.how != How.INDEX or not record.lastmod or not before:
            return
        key = self._registry.key(parse(record.parent))
        index, has_news = self.store.get(key), record.news[-1][1] > 0
        if index is not None and (has_news or record.lastmod > before):
            schedule.learn(index, came_true=has_news and record.lastmod > before)
            self.store.put(key, index)

    # What becomes of it

    def _finished(self, fetch: Fetch, good: bool) -> None:  # noqa: FBT001 - the runtime calls it
        visit = fetch.visit
        if visit.key in self.store:
            self._end_visit(visit.key, fetch)
        elif (sitemap := self._harvester.claims.pop(visit.key, None)) is not None:
            record = self.store.get(sitemap)
            if record is not None and fetch.changed is not None:
                schedule.learn(record, came_true=fetch.changed)
                self.store.put(sitemap, record)
        elif not visit.again and (record := self.store.get(visit.referrer)) is not None:
            record.judged += 1
            record.good += good
            self.store.put(visit.referrer, record)

    def _end_visit(self, key: bytes, fetch: Fetch) -> None:
        """An answer that no spider has seen was none: a failure, a rule of robots.txt, or a redirect."""
        if key in self._answered:
            self._answered.discard(key)
            return
        record = self.store.get(key)
        assert record is not None
        was_status, record.status = record.status, fetch.status
        if fetch.status == 200 != was_status and not record.visits:  # it was under way as a page when it was found
            self._registry.queue(key, record)
        elif record.state != State.MOVED:
            now = time.time()
            schedule.failed(record, now, seconds=0.0)
            self._plan(key, record, now)

    def _advance(self, host: str) -> None:
        """Ask for the next usual address, if nothing is under way on the host and no sitemap was found."""
        records = self.store.of_host(host)
        fronts = [record for record in records if record.kind == Kind.FRONT]
        if all(record.state == State.MOVED or 300 <= record.status < 400 for record in fronts):
            return
        found = any(r.state == State.VALID and r.kind == Kind.SITEMAP and r.form not in _FEEDS for r in records)
        if found or any(record.state == State.OPEN for record in records):
            return
        front = fronts[0].url
        if not any(record.kind == Kind.MISSING for record in records):
            self._registry.look(parse(f"sitemap-{secrets.token_hex(8)}.html", front), Kind.MISSING)
            return
        for url in usual(parse(front)):
            if self._registry.look(url, Kind.SITEMAP, How.USUAL, parent=front):
                return
