"""What the frontier's families say of one another, and how they are made to agree again.

The records of the URLs are what counts; queue, requests, counts and the numbers of hosts and sections follow from
them. Each step says what is wrong with one part and puts down what mends it: a check lets that go, a repair writes
it, in batches of which each by itself leaves the crawl no worse. So a crash in between costs nothing, the next repair
goes on. A step holds no more than one batch of rows and one tally a host and section, and looks twice only at what is
wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sitecrawl.base.batches import batches
from sitecrawl.base.errors import CorruptFile
from sitecrawl.crawldir.database import Database
from sitecrawl.crawldir.meta import LINKS_READ
from sitecrawl.credit.policies import owed
from sitecrawl.dust.learner import Learner
from sitecrawl.frontier.forms.classes import ROW_BYTES
from sitecrawl.frontier.forms.duplicates import TEXT_BYTES
from sitecrawl.frontier.hosts.host import KEY_BYTES, Host
from sitecrawl.frontier.hosts.sites import pool_of
from sitecrawl.frontier.urls.breadth import PLACE_BYTES
from sitecrawl.frontier.urls.link_credit import EDGE_BYTES
from sitecrawl.frontier.urls.record import Flag, UrlRecord, UrlState
from sitecrawl.pagestore.lookup import host_of
from sitecrawl.plugins.checking.changes import Changes
from sitecrawl.plugins.checking.numbers import mend_numbers
from sitecrawl.plugins.checking.problems import Problem
from sitecrawl.plugins.checking.survey import Survey, is_absurd, readable, records, unpacked
from sitecrawl.urls.fingerprint import SIZE

_LENGTHS: Final = {
    "content": {b"D": (17, 16), b"T": (17, TEXT_BYTES), b"N": (28, 16)},
    "edges": {b"": (KEY_BYTES, EDGE_BYTES)},
    "classes": {b"": (16, ROW_BYTES)},
    "sites": {b"": (KEY_BYTES, KEY_BYTES)},
    "given_up": {b"": (KEY_BYTES + 16, 1)},
    "levels": {b"": (KEY_BYTES + PLACE_BYTES, SIZE)},
    "children": {b"": (KEY_BYTES + SIZE, SIZE)},
}
"""How long a key is, and of how long pieces its value is made, by how the key begins (docs/formats/database.md)."""


def mend_frontier(database: Database, survey: Survey, *, dry: bool) -> Iterator[Problem]:
    """What does not agree with the records, and what of them cannot be read; mended unless `dry`.

    To be exhausted. Raises `StorageError`.
    """
    for step in _STEPS:
        changes = Changes(database, dry=dry)
        yield from step(database, survey, changes)
        changes.end()
        if changes.have_been_written:
            survey = Survey(database)


def _mend_hosts(database: Database, survey: Survey, changes: Changes) -> Iterator[Problem]:
    """Hosts that are missing, made again as far as their URLs tell."""
    missing: dict[bytes, Host] = {}
    if survey.missing_hosts():
        for _, record in records(database):
            if record.host not in survey.hosts:
                name = host_of(record.url)
                if database.get("sites", record.host) is not None:
                    name = pool_of(name) or name
                host = missing.setdefault(record.host, Host(record.host, name))
                if record.state == UrlState.QUEUED:  # the greatest mark is the nearest to what the dividend was
                    host.dividend = max(host.dividend, record.mark)
    unreadable = survey.unreadable_hosts
    for key in unreadable:
        changes.batch.delete("hosts", key)
    for key, host in missing.items():
        changes.batch.put("hosts", key, host.pack())
        changes.part()
    if missing or unreadable:
        yield Problem(
            "db/hosts",
            f"{len(missing):,} hosts that URLs belong to are missing, {len(unreadable):,} cannot be read",
            "makes them again from their URLs; what was learnt of them (Crawl-delay, signs of traps) is lost",
        )


def _mend_records(database: Database, survey: Survey, changes: Changes) -> Iterator[Problem]:
    if not survey.unreadable and not survey.absurd:
        return
    for key, data in database.scan("urls"):
        record = unpacked(data)
        if record is None:
            changes.batch.delete("urls", key)
        elif record.state == UrlState.QUEUED and is_absurd(
            owed(survey.dividend_of(record), record.mark), survey.ledger
        ):
            record.mark = survey.dividend_of(record)
            changes.batch.put("urls", key, record.pack())
        changes.part()
    if survey.unreadable:
        changes.batch.put("meta", LINKS_READ, bytes(8))
        yield Problem(
            "db/urls",
            f"{survey.unreadable:,} records of URLs cannot be read",
            "drops them, and has the links of the stored pages read again, which lead to those that waited",
        )
    if survey.absurd:
        yield Problem("credit", f"{survey.absurd:,} queued URLs are owed more than there is", "owes them nothing")


def _mend_requests(database: Database, survey: Survey, changes: Changes) -> Iterator[Problem]:
    good = stray = 0
    for keys in batches(key for key, _ in database.scan("requests")):
        for key, record in zip(keys, readable(database, keys), strict=True):
            if record is not None and _has_request(record):
                good += 1
            else:
                stray += 1
                changes.batch.delete("requests", key)
        changes.part()
    if missing := survey.requests - good:
        _forget_lost_requests(database, changes)
        changes.batch.put("meta", LINKS_READ, bytes(8))
        yield Problem(
            "db/requests",
            f"{missing:,} queued URLs are more than a plain GET, and what they are is missing",
            "forgets them, for nobody can say what was to be asked, and has the links of the stored pages read again",
        )
    if stray:
        yield Problem("db/requests", f"{stray:,} stored requests belong to no queued URL", "drops them")


def _has_request(record: UrlRecord) -> bool:
    return record.state == UrlState.QUEUED and bool(record.flags & Flag.REQUEST)


def _forget_lost_requests(database: Database, changes: Changes) -> None:
    for rows in batches((key, record) for key, record in records(database) if _has_request(record)):
        requests = database.get_many("requests", [key for key, _ in rows])
        for (key, _), request in zip(rows, requests, strict=True):
            if request is None:
                changes.batch.delete("urls", key)
        changes.part()


def _mend_queue(database: Database, survey: Survey, changes: Changes) -> Iterator[Problem]:
    good = stale = 0
    for entries in batches(key for key, _ in database.scan("queue")):
        keys = [entry[-16:] for entry in entries]
        for entry, key, record in zip(entries, keys, readable(database, keys), strict=True):
            if record is not None and record.state == UrlState.QUEUED and entry == entry_of(key, record):
                good += 1
            else:
                stale += 1
                changes.batch.delete("queue", entry)
        changes.part()
    missing = survey.states[UrlState.QUEUED] - good
    if missing:
        queued = (entry_of(key, record) for key, record in records(database) if record.state == UrlState.QUEUED)
        for entries in batches(queued):
            for entry, value in zip(entries, database.get_many("queue", entries), strict=True):
                if value is None:
                    changes.batch.put("queue", entry, b"")
            changes.part()
    if missing or stale:
        yield Problem(
            "db/queue",
            f"{missing:,} of {survey.states[UrlState.QUEUED]:,} queued URLs are not in the queue, {stale:,} entries "
            "of the queue stand for none, or under another rank",
            "makes the queue again from the records",
        )


def entry_of(key: bytes, record: UrlRecord) -> bytes:
    """The row of `queue` that stands for a queued URL."""
    return record.host + record.section + record.rank + key


def _drop_foreign_rows(database: Database, survey: Survey, changes: Changes) -> Iterator[Problem]:
    """Rows in `content`, `edges`, `classes`, `sites` and `given_up` that nothing of ours has written."""
    for family, lengths in _LENGTHS.items():
        foreign = 0
        for key, value in database.scan(family):
            length, piece = lengths.get(b"") or lengths.get(key[:1], (0, 0))
            if len(key) != length or (len(value) % piece if piece else value):
                foreign += 1
                changes.batch.delete(family, key)
                changes.part()
        if foreign:
            yield Problem(f"db/{family}", f"{foreign:,} rows are none of this family", "drops them")


def _drop_rules(database: Database, survey: Survey, changes: Changes) -> Iterator[Problem]:
    """What was learnt of hosts, where it cannot be read: their sections are set free when the crawl goes on."""
    lost = 0
    for key, value in database.scan("rules"):
        try:
            Learner.unpack(value)
        except CorruptFile:
            lost += 1
            changes.batch.delete("rules", key)
            changes.part()
    if lost:
        yield Problem(
            "db/rules",
            f"what was learnt of the URLs of {lost:,} hosts cannot be read",
            "drops it: it is learnt again, and what was held back by it is fetched",
        )


_STEPS: Final = (
    _mend_hosts, _mend_records, _mend_requests, _mend_queue, _drop_foreign_rows, _drop_rules, mend_numbers
)  # fmt: skip
"""What depends on the number of records comes last."""
