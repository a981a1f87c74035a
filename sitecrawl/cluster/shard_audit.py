"""What the keys of one shard promise one another, where all of them can be read."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, Final

from sitecrawl.base.batches import batches
from sitecrawl.base.display import one_line
from sitecrawl.cluster.records import A_TIME, FAR, HostRecord, SectionRecord, Url, readable
from sitecrawl.cluster.survey import Survey, Tally

_BELOW: Final = -(2.0**100)
"""The score of a URL that waits for its level (`shard.lua`)."""


class ShardAudit:
    """Compares the numbers that stand on Redis with what `survey` adds up to: it is filled on the way."""

    def __init__(self, client: Any, survey: Survey, *, keeps_levels: bool) -> None:
        self._keeps_levels = keeps_levels
        self._deep = 0
        """URLs that wait for their level."""
        self._client = client
        self._survey = survey
        self._base = survey.base

    def problems(self) -> Iterator[str]:
        yield from self._of_urls()
        yield from self._of_leases()
        yield from self._of_hosts()
        yield from self._of_sections()
        yield from self._of_queues()
        yield from self._of_workbench()
        yield from self._of_sets()
        yield from self._of_done()
        yield from self._of_state()

    def _of_urls(self) -> Iterator[str]:
        """A URL that waits is in the queue of its section, once, and its host's; one that is lent is in no queue."""
        for chunk in self._survey.urls():
            urls = [(key, url) for key, url in chunk if url is not None]
            with self._client.pipeline(transaction=False) as pipeline:
                for key, url in urls:
                    pipeline.zscore(self._base.encode() + b"q:" + url.section_key, key)
                scores = pipeline.execute()
            for (key, url), score in zip(urls, scores, strict=True):
                self._survey.add(key, url)
                yield from self._of_url(key, url, is_queued=score is not None)

    def _of_url(self, key: bytes, url: Url, *, is_queued: bool) -> Iterator[str]:
        text, is_lent = one_line(url.url.decode()), self._survey.is_lent(key, url)
        is_deep = self._keeps_levels and url.depth > self._survey.count("level") and url.priority <= 0
        self._deep += is_deep and not is_lent
        if url.host not in self._survey.hosts:
            yield f"{self._base}hosts: there is no host for {text}"
        if url.section_key not in self._survey.sections:
            yield f"{self._base}sections: there is no section for {text}"
        if url.token and not is_lent:
            yield f"{self._base}urls: {text} is lent by its record, and by no lease"
        if is_queued == is_lent:
            yield f"{self._base}urls: {text} is {'lent, and waits' if is_queued else 'neither lent, nor waits'}"

    def _of_leases(self) -> Iterator[str]:
        """What is lent has its token in its record, and a deadline."""
        listed = set(self._client.zrange(self._base + "leases", 0, -1))
        held = {str(token).encode() for token in self._survey.leases}
        for token in listed ^ held:
            yield f"{self._base}leases: the lease {one_line(token.decode(errors='replace'))} is not whole"
        for token, lease in self._survey.leases.items():
            if lease.host not in self._survey.hosts:
                yield f"{self._base}l:{token}: it lends a host that is unknown"
            keys = list(lease.urls)
            records = self._client.hmget(self._base + "urls", keys) if keys else []
            for key, packed in zip(keys, records, strict=True):
                url = self._survey.reading.url(key, packed)
                if url is None or url.token != token:
                    yield f"{self._base}l:{token}: {key.hex()} is not lent by its record"

    def _of_hosts(self) -> Iterator[str]:
        sections = self._survey.sections_of()
        for name, host in self._survey.hosts.items():
            tally = self._survey.by_host.get(name, Tally())
            shown = f"{self._base}hosts: {one_line(name.decode())}"
            if host.payees != tally.waiting:
                yield f"{shown}: {host.payees:,} URLs are to be paid, and {tally.waiting:,} wait"
            if host.queued != tally.queued:
                yield f"{shown}: {host.queued:,} URLs are queued, and {tally.queued:,} are there"
            if host.sections != sections[name]:
                yield f"{shown}: {host.sections:,} sections are counted, and {sections[name]:,} are there"
            lease = self._survey.leases.get(host.token)
            if host.token and (lease is None or lease.host != name):
                yield f"{shown} is lent, and by no lease"
            if host.free_at > 1000 * time.time() + FAR:
                yield f"{shown} rests for ever"

    def _of_sections(self) -> Iterator[str]:
        for key, section in self._survey.sections.items():
            queued = self._survey.by_section[key].queued if key in self._survey.by_section else 0
            if section.queued != queued:
                yield f"{self._base}sections: {readable(key)}: {section.queued:,} are queued, not {queued:,}"

    def _of_queues(self) -> Iterator[str]:
        """A section with waiting URLs is among its host's best, unless it is held back."""
        queued, queues = 0, set()
        for name in self._survey.keys_of("q"):
            queued += self._client.zcard(name)
            ((_, score),) = self._client.zrevrange(name, 0, 0, withscores=True)
            if score > _BELOW:
                queues.add(self._survey.suffix(name, "q"))
        deep = self._client.zcard(self._base + "deep")
        if deep != self._deep:
            yield f"{self._base}deep: {deep:,} URLs, and {self._deep:,} wait for their level"
        if queued != self._survey.waiting:
            yield f"{self._base}q:*: {queued:,} entries for {self._survey.waiting:,} URLs that wait"
        best = {
            self._survey.suffix(name, "best") + b"\0" + section
            for name in self._survey.keys_of("best")
            for section in self._client.zrange(name, 0, -1)
        }
        sections = self._survey.sections
        wanted = {key for key in queues if key in sections and not sections[key].is_held}
        for key in best ^ wanted:
            told = "is missing" if key in wanted else "has nothing to offer"
            yield f"{self._base}best:*: the section {readable(key)} {told}"

    def _of_workbench(self) -> Iterator[str]:
        """A host that may be lent is ready, or rests."""
        placed = set(self._client.zrange(self._base + "ready", 0, -1))
        resting = set(self._client.zrange(self._base + "rest", 0, -1))
        yield from (f"{self._base}rest: {readable(name)} rests, and is ready" for name in placed & resting)
        names = list(self._survey.hosts)
        for chunk in batches(names, A_TIME):
            with self._client.pipeline(transaction=False) as pipeline:
                for name in chunk:
                    pipeline.exists(self._base.encode() + b"best:" + name)
                offers = pipeline.execute()
            for name, offer in zip(chunk, offers, strict=True):
                if (name in placed | resting) != may_be_lent(self._survey.hosts[name], offers=bool(offer)):
                    yield f"{self._base}ready: {readable(name)} is there, or is not, against its record"
        for name in (placed | resting) - self._survey.hosts.keys():
            yield f"{self._base}ready: {readable(name)} is no host"

    def _of_sets(self) -> Iterator[str]:
        records: dict[bytes, HostRecord | SectionRecord] = {**self._survey.hosts, **self._survey.sections}
        held = {name for name, unit in records.items() if unit.is_held}
        silent = {name for name, host in self._survey.hosts.items() if host.dead}
        outs = {self._survey.suffix(name, "out") for name in self._survey.keys_of("out")}
        found = {
            "demoted": (held, self._client.smembers(self._base + "demoted")),
            "silent": (silent, set(self._client.zrange(self._base + "silent", 0, -1))),
            "outs": (outs, self._client.smembers(self._base + "outs")),
        }
        for name, (wanted, there) in found.items():
            yield from (f"{self._base}{name}: {readable(one)} is missing" for one in wanted - there)
            yield from (f"{self._base}{name}: {readable(one)} does not belong there" for one in there - wanted)
        for key, field, blob in self._survey.outbox():
            if blob is None:
                yield f"{readable(key)}: {readable(field)} cannot be read"

    def _of_done(self) -> Iterator[str]:
        """A URL that is done has a record of its own size, unless it was to be forgotten."""
        found = 0
        for name, field, state in self._survey.done():
            found += 1
            if state is None:
                yield f"{readable(name)}: {readable(field)} cannot be read"
        ended = sum(self._survey.count(name) for name in ("fetched", "failed", "excluded"))
        wanted = ended - self._survey.count("forgotten")
        if found != wanted:
            yield f"{self._base}done:*: {found:,} URLs, not {wanted:,}"

    def _of_state(self) -> Iterator[str]:
        survey = self._survey
        ended = sum(survey.count(name) for name in ("fetched", "failed", "excluded"))
        promised = {
            "waiting": survey.waiting,
            "leased": survey.leased,
            "lent": survey.lent,
            "known": survey.waiting + survey.leased + ended,
            "payees": sum(host.payees > 0 for host in survey.hosts.values()),
            "demoted": self._client.scard(self._base + "demoted"),
            "outbox": sum(1 for _ in survey.outbox()),
            "edges": self._client.hlen(self._base + "graph"),
        }
        for name, number in promised.items():
            if survey.count(name) != number:
                yield f"{self._base}state: {name} is {survey.count(name):,}, not {number:,}"


def may_be_lent(host: HostRecord, *, offers: bool) -> bool:
    """Whether a host belongs on the workbench, now or after its rest."""
    return offers and not host.token and not host.dead and not host.is_held
