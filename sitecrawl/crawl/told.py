"""Keeps what the crawl was told beside what it did."""

from __future__ import annotations

import time
from dataclasses import replace

from sitecrawl.crawldir.database import Batch, Database
from sitecrawl.crawldir.meta import PLACE, TERMS
from sitecrawl.crawldir.participant import Participant
from sitecrawl.crawldir.terms import Terms
from sitecrawl.frontier.queue import next_prefix
from sitecrawl.frontier.scope import Scope


class Told(Participant):
    """Part of every checkpoint: `terms`, and what the seeds stand for in `scope`, if the spider has one."""

    def __init__(self, terms: Terms, scope: Scope | None, database: Database) -> None:
        self._terms = terms
        self._scope = scope
        self._database = database
        self._is_new = True
        self._begun = False

    def end(self, reason: str) -> None:
        """The run ends for Scrapy's finish `reason`: the last checkpoint says so."""
        self._terms, self._is_new = replace(self._terms, ended=time.time(), reason=reason), True

    def prepare(self, batch: Batch) -> None:
        if self._is_new:
            batch.put("meta", TERMS, self._terms.pack())
        if not self._begun:  # seeds of an earlier run may be seeds no more
            for key, _ in self._database.scan("meta", PLACE, next_prefix(PLACE)):
                batch.delete("meta", key)
        for place in self._scope.take_new() if self._scope is not None else ():
            batch.put("meta", PLACE + place.encode(), b"")

    def committed(self) -> None:
        self._is_new, self._begun = False, True
