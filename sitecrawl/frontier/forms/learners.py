"""The learners of hosts (`sitecrawl.frontier.forms.learner`): the last few in memory, all others on disk."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from sitecrawl.crawldir.database import Batch, Database
from sitecrawl.crawldir.overlay import Overlay
from sitecrawl.frontier.forms.learner import Learner, Learnt, rule_number
from sitecrawl.frontier.urls.host import Host
from sitecrawl.frontier.urls.sections import Section

KEPT: Final = 128
"""Learners in memory: about 60 kB each with the last URLs of its host, and up to 1 MB with all the candidates that a
host can have."""


class Learners:
    """Host key → `Learner`, in the `rules` family."""

    def __init__(self, database: Database) -> None:
        self._rows = Overlay(database, "rules")
        self._kept: OrderedDict[bytes, Learner] = OrderedDict()
        self._changed: set[bytes] = set()

    def of(self, host: bytes) -> Learner:
        """That of the host with this key, made if there is none. Raises `CorruptFile`."""
        learner = self._kept.get(host)
        if learner is not None:
            self._kept.move_to_end(host)
            return learner
        data = self._rows.get(host)
        learner = self._kept[host] = Learner() if data is None else Learner.unpack(data)
        if len(self._kept) > KEPT:
            oldest, gone = self._kept.popitem(last=False)
            if oldest in self._changed:
                self._changed.discard(oldest)
                self._rows.put(oldest, gone.pack())
        return learner

    def rule_of(self, host: Host, section: Section) -> Learnt | None:
        """The rule whose section it is."""
        number = rule_number(section.shape)
        return None if number is None else self.of(host.key).numbered(number)

    def changed(self, host: bytes) -> None:
        """What `of` gave for the host is to be kept."""
        self._changed.add(host)

    def flush(self, batch: Batch) -> None:
        """Hand the changes to `batch`."""
        for host in self._changed:
            self._rows.put(host, self._kept[host].pack())
        self._changed.clear()
        self._rows.flush(batch)

    def flushed(self) -> None:
        """The batch is on disk."""
        self._rows.flushed()
