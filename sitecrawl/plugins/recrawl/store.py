"""The pages that are fetched again, in the crawl's database: what they were like, and which is next.

The family `revisits` has a row a page, `P` and its fingerprint; an index by time, `D`, the Unix time of the next
visit in milliseconds and the fingerprint; and one row `M` with the figures that the plans share. Memory holds the
changes since the last checkpoint, whatever the number of pages.

Invariants: a page with a next visit has one entry in the index, under that time; no other page has one. A page whose
`interval` is 0 has no plan: rounds alone visit it (`sitecrawl.pagestore.rounds`).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Final

from sitecrawl.base.errors import CorruptFile
from sitecrawl.crawldir.database import Batch, Database, next_prefix
from sitecrawl.crawldir.overlay import Overlay
from sitecrawl.crawldir.participant import Participant
from sitecrawl.plugins.recrawl.schedule import DAY, RecrawlOptions, Visits, worth

_FAMILY: Final = "revisits"
_PAGE, _DUE, _FIGURES = b"P", b"D", b"M"
_TIME = struct.Struct(">Q")
_FIGURES_FORMAT = struct.Struct(">Qdd")
_FIRST_PRICE: Final = DAY
_SAVED: Final = 3600.0
"""Seconds for which what the budget allows can be saved up."""


class RevisitStore(Participant):
    """See the module. Of the budget in `options` there is a `share` for what is here."""

    def __init__(self, database: Database, options: RecrawlOptions, share: Callable[[], float] = lambda: 1.0) -> None:
        self._database = database
        self._whole = options
        self._share = share
        self._rows = Overlay(database, _FAMILY)
        self.pages = 0
        """Pages with a next visit, or under way to it."""
        self.planned = 0.0
        """Fetches a second that their intervals come to."""
        self.price = _FIRST_PRICE
        self._allowance = 0.0
        self._since = -_SAVED
        self._first = _DUE
        """No entry of the index is below it: what was deleted there would have to be passed over every time."""
        if (stored := self._rows.get(_FIGURES)) is not None:
            try:
                self.pages, self.planned, self.price = _FIGURES_FORMAT.unpack(stored)
            except struct.error as error:
                raise CorruptFile(
                    f"The figures of the revisits in {database.path} cannot be read: {error}"
                ) from error

    @property
    def _options(self) -> RecrawlOptions:
        """Options of the part of the crawl in this process."""
        return replace(self._whole, budget=self._whole.budget * self._share())

    def reload(self) -> None:
        """Count again what the figures sum up: the database has other pages than before."""
        rows = self._database.scan(_FAMILY, _PAGE, next_prefix(_PAGE))
        found = [interval for _, data in rows if (interval := Visits.unpack(data).interval)]
        self.pages, self.planned = len(found), sum(1 / interval for interval in found)
        self._first = _DUE

    def get(self, key: bytes) -> Visits | None:
        data = self._rows.get(_PAGE + key)
        return None if data is None else Visits.unpack(data)

    def keep(self, key: bytes, record: Visits) -> None:
        """Remember a visit, and leave the plan of its page, if it has one, as it is."""
        self._rows.put(_PAGE + key, record.pack())

    def plan(self, key: bytes, record: Visits, importance: float, now: float) -> None:
        """Set the next visit of a page that has just been visited, for the first time or again. `importance`: its
        share of all, from 0 to 1.
        """
        before = self.get(key)
        if before is None or not before.interval:
            self.pages += 1
        if before is not None:
            self._forget(key, before)
        seconds = self._options.interval(record, worth(importance, self.pages), self.price)
        if not record.visits:
            seconds = max(seconds, self._options.first_interval(self.pages))
        record = replace(record, next_visit=now + seconds, interval=seconds)
        self.planned += 1 / seconds
        self.price = self._options.new_price(self.price, self.planned, self.pages)
        self._rows.put(_PAGE + key, record.pack())
        entry = _entry(record.next_visit, key)
        self._rows.put(entry)
        self._first = min(self._first, entry)

    def take(self, now: float, most: int) -> list[tuple[bytes, Visits]]:
        """The pages whose time has come, the longest overdue first, at most so many, and no more than the budget
        allows. They are under way now, until each is planned again or dropped.
        """
        most = min(most, self._allowed(now))
        if most < 1:
            return []
        end = _DUE + _TIME.pack(round(now * 1000) + 1)
        due = sorted({*islice(self._stored(end), most), *(e for e in self._rows.pending(_DUE) if e < end)})
        self._first = max(self._first, due[most - 1] if len(due) >= most else end)
        self._allowance -= len(due[:most])
        return [self._begin(entry[1 + _TIME.size :]) for entry in due[:most]]

    def _allowed(self, now: float) -> int:
        """What the budget has left: never more than an hour's."""
        a_second = self._options.budget / DAY
        earned = (now - self._since) * a_second
        self._since, self._allowance = now, min(self._allowance + earned, max(_SAVED * a_second, 1.0))
        return int(self._allowance)

    def _begin(self, key: bytes) -> tuple[bytes, Visits]:
        record = self.get(key)
        if record is None:
            raise CorruptFile(f"{self._database.path} plans a visit of page {key.hex()}, and knows nothing of it")
        self._rows.delete(_entry(record.next_visit, key))
        record = replace(record, next_visit=0.0)
        self._rows.put(_PAGE + key, record.pack())
        return key, record

    def drop(self, key: bytes) -> None:
        """The page is not visited again."""
        if (record := self.get(key)) is not None:
            self._forget(key, record)
            self.pages -= record.interval > 0
            self._rows.delete(_PAGE + key)

    def _forget(self, key: bytes, record: Visits) -> None:
        """Take back the plan that the page had."""
        if record.next_visit:
            self._rows.delete(_entry(record.next_visit, key))
        if record.interval:
            self.planned = max(0.0, self.planned - 1 / record.interval)

    def next_time(self) -> float | None:
        """Unix time of the next visit that is planned."""
        first = min([*islice(self._stored(None), 1), *self._rows.pending(_DUE)], default=None)
        return None if first is None else _TIME.unpack_from(first, 1)[0] / 1000

    def _stored(self, end: bytes | None) -> Iterator[bytes]:
        """The index on disk, without changes that are still in memory."""
        end = end or bytes([_DUE[0] + 1])
        entries = self._database.scan(_FAMILY, min(self._first, end), end)
        return (entry for entry, _ in entries if not self._rows.has_changed(entry))

    def prepare(self, batch: Batch) -> None:
        self._rows.put(_FIGURES, _FIGURES_FORMAT.pack(self.pages, self.planned, self.price))
        self._rows.flush(batch)

    def committed(self) -> None:
        self._rows.flushed()


def _entry(at: float, key: bytes) -> bytes:
    return _DUE + _TIME.pack(round(at * 1000)) + key
