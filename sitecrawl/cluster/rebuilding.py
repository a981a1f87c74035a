"""One shard of a crawl on Redis, made whole again from what of it can be read, while no worker is at work.

The records of the URLs are what counts. Queues, workbench and numbers of hosts and sections follow from them, and so
do most of the counts; a record that cannot be read is dropped. What a host or a section has learnt stands in its own
record alone. Leases stay as far as they are whole: a worker's journal may have pages that it fetched under them.

Each write leaves the shard no worse, and all of it can be done again. So a repair that is killed costs nothing.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from time import gmtime
from typing import Any, Final

from sitecrawl.base.batches import batches
from sitecrawl.cluster.audit import DEADLINES, NUMBERS, endless, strangers
from sitecrawl.cluster.facts import Facts
from sitecrawl.cluster.options import MOST_CREDIT, SEED_SHARE
from sitecrawl.cluster.records import (
    A_TIME,
    FAR,
    HostRecord,
    SectionRecord,
    Url,
    lease_of,
    number_of,
)
from sitecrawl.cluster.shards import pack, script, unpack
from sitecrawl.cluster.survey import MOST_KEYS, Survey, Tally, literal
from sitecrawl.frontier.tables import section_key
from sitecrawl.urls.shape import shape_of
from sitecrawl.urls.trap_signs import trap_signs

_TOKENS: Final = 1 << 32
"""Tokens that are left out where nobody knows the last one: a journal may have pages under one that is forgotten."""
_ENDS: Final = ("fetched", "failed", "excluded")


class Rebuilding:
    """Of the shard `number`. Its calls raise `redis.RedisError`."""

    def __init__(self, client: Any, facts: Facts, number: int) -> None:
        self._client = client
        self._facts = facts
        self._number = number
        self._base = facts.keys.base(number)
        self._most = MOST_CREDIT
        self.lost: Counter[str] = Counter()
        """How many URLs, done URLs and links are gone: `urls`, `done`, `links`, at least."""

    def rebuild(self, most: int) -> None:
        """Where no strangers are left. `most` is more credit than a URL can have."""
        self._most = most
        self._drop_leases()
        survey = Survey(self._client, self._facts.keys, self._number, self._facts.fingerprints)
        promised, blobs = self._promised(survey), max(survey.count("outbox"), sum(1 for _ in survey.outbox()))
        self._drop_unreadable(survey)
        state = self._readable_state(survey)
        self._mend_urls(survey, int(state["dividend"]))
        self._mend_leases(survey)
        self._mend_sections(survey)
        self._mend_hosts(survey, int(state["dividend"]))
        self._mend_sets(survey)
        self._write_state(survey, state)
        self._queue_again(survey)
        self.lost["urls"] += max(0, promised - survey.waiting - survey.leased)
        self.lost["links"] += max(0, blobs - int(state["outbox"]))

    # What is none of the crawl's

    def drop_strangers(self) -> None:
        """Keys that are not of their type, and what stands where a number ought to."""
        for name, _, _ in strangers(self._client, self._base):
            self._client.delete(name)
        for family in NUMBERS:
            rows = self._client.hscan_iter(self._base + family, count=A_TIME)
            self._drop(family, [field for field, value in rows if number_of(value) is None])
        for family in DEADLINES:
            now = int(1000 * time.time())
            self._set_scores(family, dict.fromkeys(endless(self._client, self._base + family), now))

    def _drop(self, family: str | bytes, fields: Iterable[bytes]) -> None:
        key = self._base + family if isinstance(family, str) else family
        for chunk in batches(fields, A_TIME):
            self._client.hdel(key, *chunk)

    def _set_scores(self, name: str, scores: Mapping[bytes, float]) -> None:
        for chunk in batches(scores.items(), A_TIME):
            self._client.zadd(self._base + name, dict(chunk))

    def _drop_leases(self) -> None:
        """Those of which nobody can say whose they are: their URLs wait again."""
        for name in self._client.scan_iter(f"{literal(self._base)}l:*", count=MOST_KEYS):
            token = name[len(self._base) + 2 :]
            if not token.isdigit() or lease_of(self._client.hgetall(name)) is None:
                self._client.delete(name)

    # Records

    def _promised(self, survey: Survey) -> int:
        """How many URLs there ought to be that are not done, by what can be read."""
        by_host = sum(int(host.queued) for host in survey.hosts.values())
        by_section = sum(int(section.queued) for section in survey.sections.values())
        queued = sum(int(self._client.zcard(name)) for name in survey.keys_of("q"))
        return max(by_host, by_section, queued, survey.count("waiting") + survey.count("leased"))

    def _drop_unreadable(self, survey: Survey) -> None:
        for family, there in (("hosts", survey.hosts), ("sections", survey.sections)):
            self._drop(family, [key for key, _ in survey.rows(family) if key not in there])
        rows: dict[bytes, list[bytes]] = {}
        for name, field, state in survey.done():
            if state is None:
                rows.setdefault(name, []).append(field)
        for name, field, blob in survey.outbox():
            if blob is None:
                rows.setdefault(name, []).append(field)
        for name, fields in rows.items():
            self._drop(name, fields)

    def _readable_state(self, survey: Survey) -> dict[str, float]:
        """The numbers of the shard that follow from nothing else; the nearest to what is lost of them."""
        state, ended = dict(survey.state), survey.ended()
        counted = all(name in state for name in _ENDS)
        expected = sum(survey.count(name) for name in _ENDS) - survey.count("forgotten")
        if not counted or expected != sum(ended.values()):
            self.lost["done"] += max(0, expected - sum(ended.values()))
            state.update(ended, forgotten=0)
        # The greatest mark is the nearest to what the dividend was: none is owed more than it had.
        state.setdefault("dividend", max((host.mark for host in survey.hosts.values()), default=0))
        if "total" not in state:
            seeds = sum(int(number_of(number) or 0) for number in survey.all_of("seedhosts").values())
            state["total"] = min(seeds * SEED_SHARE, self._most)
        state.setdefault("fetches", ended["fetched"] + ended["failed"])
        state.setdefault("good", sum(host.good for host in survey.hosts.values()))
        return state

    def _mend_urls(self, survey: Survey, dividend: int) -> None:
        survey.state["dividend"] = dividend
        gone: list[bytes] = []
        for chunk in survey.urls():
            changed = {}
            for key, url in chunk:
                if url is None:
                    gone.append(key)
                    continue
                mended = self._mended(survey, key, url)
                survey.add(key, mended)
                if mended != url:
                    changed[key] = pack(list(mended))
            if changed:
                self._client.hset(self._base + "urls", mapping=changed)
        self._drop("urls", gone)
        self.lost["urls"] += len(gone)

    def _mended(self, survey: Survey, key: bytes, url: Url) -> Url:
        if url.credit > self._most:
            url = url._replace(credit=0)
        if url.token and not survey.is_lent(key, url):
            url = url._replace(token=0)
        host = survey.hosts.get(url.host)
        if url.token == 0 and host is not None and survey.owed(host, url) > self._most:
            url = url._replace(mark=survey.share(host)[0])
        return url

    def _mend_leases(self, survey: Survey) -> None:
        """What they lend is what records say is lent; the others are over, or have to be given back first."""
        for token, lease in list(survey.leases.items()):
            name, keys = f"{self._base}l:{token}", list(lease.urls)
            records = self._client.hmget(self._base + "urls", keys) if keys else []
            for key, packed in zip(keys, records, strict=True):
                url = survey.reading.url(key, packed)
                if url is None or url.token != token:
                    del lease.urls[key]
            if lease.host not in survey.hosts.keys() | survey.by_host.keys() or (
                lease.is_returned and not lease.urls
            ):
                del survey.leases[token]
                self._client.delete(name)
            else:
                kept = {b"h", b"s", b"r", *lease.urls}
                self._drop(name.encode(), [field for field in self._client.hkeys(name) if field not in kept])
        held = {str(token).encode() for token in survey.leases}
        listed = set(self._client.zrange(self._base + "leases", 0, -1))
        if listed - held:
            self._client.zrem(self._base + "leases", *(listed - held))
        self._set_scores("leases", dict.fromkeys(held - listed, int(1000 * time.time())))

    def _mend_sections(self, survey: Survey) -> None:
        year, changed = gmtime().tm_year, {}
        for key, tally in survey.by_section.items():
            if key not in survey.sections:
                signs = bool(trap_signs(tally.example.decode(), year))
                shape = _shape(tally.example.decode(), key.partition(b"\0")[2])
                survey.sections[key] = SectionRecord(trap_like=tally.queued * signs, shape=shape)
        for key, section in survey.sections.items():
            queued = survey.by_section[key].queued if key in survey.by_section else 0
            known = max(section.known, section.fetched + queued)
            survey.sections[key] = section._replace(queued=queued, known=known)
            changed[key] = pack(list(survey.sections[key]))
        self._write("sections", changed)

    def _mend_hosts(self, survey: Survey, dividend: int) -> None:
        counts, lent = survey.sections_of(), _lent_hosts(survey)
        for name in survey.by_host.keys() | counts.keys() | survey.hosts.keys():
            tally = survey.by_host.get(name, Tally())
            host = survey.hosts.get(name) or self._host_again(survey, name, tally, dividend)
            if not host.payees or survey.unpaid(host) > self._most:  # as if it began to wait now
                host = host._replace(mark=dividend, rest=0)
            survey.hosts[name] = host._replace(
                queued=tally.queued,
                known=max(host.known, host.fetched + tally.queued),
                payees=tally.waiting,
                rest=host.rest if tally.waiting else 0,
                sections=counts[name],
                token=lent.get(name, 0),
                free_at=host.free_at if host.free_at < 1000 * time.time() + FAR else 0,
                dead=int(host.dead == 1),
            )
        self._write("hosts", {name: pack(list(host)) for name, host in survey.hosts.items()})

    def _host_again(self, survey: Survey, name: bytes, tally: Tally, dividend: int) -> HostRecord:
        """A host whose record is gone, as far as its URLs and sections tell."""
        sections = [section for key, section in survey.sections.items() if key.partition(b"\0")[0] == name]
        return HostRecord(
            known=sum(section.known for section in sections),
            fetched=sum(section.fetched for section in sections),
            good=sum(section.good for section in sections),
            dividend=tally.mark,
            mark=dividend,
        )

    def _write(self, family: str, records: Mapping[bytes, bytes]) -> None:
        for chunk in batches(records.items(), A_TIME):
            self._client.hset(self._base + family, mapping=dict(chunk))

    # What follows from them

    def _mend_sets(self, survey: Survey) -> None:
        records: dict[bytes, HostRecord | SectionRecord] = {**survey.hosts, **survey.sections}
        outs = {survey.suffix(name, "out") for name in survey.keys_of("out")}
        silent = {name for name, host in survey.hosts.items() if host.dead}
        for name, members in (("demoted", {key for key, one in records.items() if one.is_held}), ("outs", outs)):
            self._client.delete(self._base + name)
            for chunk in batches(members, A_TIME):
                self._client.sadd(self._base + name, *chunk)
        listed = set(self._client.zrange(self._base + "silent", 0, -1))
        if listed - silent:
            self._client.zrem(self._base + "silent", *(listed - silent))
        self._set_scores("silent", dict.fromkeys(silent - listed, int(1000 * time.time())))

    def _write_state(self, survey: Survey, state: dict[str, float]) -> None:
        units: list[HostRecord | SectionRecord] = [*survey.hosts.values(), *survey.sections.values()]
        tokens = [0, *survey.leases, *(int(host.token) for host in survey.hosts.values())]
        state.setdefault("token", max(tokens) + _TOKENS)
        state.setdefault("spent", survey.history)
        state.setdefault("cost", sum(unit.trap[5] for unit in units if unit.is_held))
        state.update(
            serial=max(state.get("serial", 0), survey.serial),
            token=max(state["token"], *tokens),
            waiting=survey.waiting,
            leased=survey.leased,
            lent=survey.lent,
            known=survey.waiting + survey.leased + sum(state.get(name, 0) for name in _ENDS),
            payees=sum(host.payees > 0 for host in survey.hosts.values()),
            demoted=sum(unit.is_held for unit in units),
            silent=sum(host.queued for host in survey.hosts.values() if host.dead),
            outbox=sum(1 for _ in survey.outbox()),
            edges=self._client.hlen(self._base + "graph"),
        )
        self._client.hset(self._base + "state", mapping={name: _plain(value) for name, value in state.items()})

    def _queue_again(self, survey: Survey) -> None:
        """Queues and workbench, from nothing."""
        derived = [*survey.keys_of("q"), *survey.keys_of("best")]
        derived += [f"{self._base}{name}".encode() for name in ("ready", "rest", "deep")]
        for chunk in batches(derived, A_TIME):
            self._client.unlink(*chunk)
        for waiting in batches(self._waiting(survey), A_TIME):
            mend(self._client, self._base, waiting=waiting)

    def _waiting(self, survey: Survey) -> Iterator[tuple[bytes, bytes]]:
        for chunk in survey.urls():
            yield from ((url.host, key) for key, url in chunk if url is not None and not url.token)


def mend(client: Any, base: str, **what: Any) -> None:
    """The step `mend` on the shard whose keys begin with `base`. Raises `redis.RedisError`."""
    text, _ = script("mend")
    unpack(client.eval(text, 1, base, pack({"repair": 1, "waiting": [], "stored": [], **what})))


def _lent_hosts(survey: Survey) -> dict[bytes, int]:
    """Hosts and the tokens under which they are lent: the newest."""
    return {lease.host: token for token, lease in sorted(survey.leases.items()) if not lease.is_returned}


def _shape(url: str, section: bytes) -> bytes:
    """The shape of a section with this URL: one that stands for many has it for its name."""
    shape = shape_of(url)
    return str(shape).encode() if section_key(shape) == section else section


def _plain(number: float) -> str:
    return str(int(number)) if number == int(number) else repr(number)
