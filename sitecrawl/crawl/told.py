"""Keep arguments and settings of a run in the crawl's database."""

from __future__ import annotations

import time
from dataclasses import replace

from sitecrawl.crawldir.database import Batch, Database
from sitecrawl.crawldir.meta import TERMS
from sitecrawl.crawldir.participant import Participant
from sitecrawl.crawldir.terms import Terms
from sitecrawl.frontier.places import delete_place, places_of, write_place
from sitecrawl.frontier.scope import Scope


class Told(Participant):
    """Participant of checkpoints: `terms`, and the places that seeds stand for in `scope`, if the spider has one."""

    def __init__(self, terms: Terms, scope: Scope | None, database: Database) -> None:
        self._terms = terms
        self._scope = scope
        self._database = database
        self._is_new = True
        self._begun = False
        if scope is not None:
            for place, led_to in places_of(database):
                if led_to:
                    scope.add_place(place, led_to=True)

    def end(self, reason: str) -> None:
        """Record the run's finish `reason` for the last checkpoint."""
        self._terms, self._is_new = replace(self._terms, ended=time.time(), reason=reason), True

    def prepare(self, batch: Batch) -> None:
        if self._is_new:
            batch.put("meta", TERMS, self._terms.pack())
        if not self._begun:  # seeds of an earlier run may be seeds no more
            for place, _ in places_of(self._database):
                delete_place(batch, place)
        for place, led_to in self._scope.take_new().items() if self._scope is not None else ():
            write_place(batch, place, led_to=led_to)

    def committed(self) -> None:
        self._is_new, self._begun = False, True
