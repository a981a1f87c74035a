"""Which URL stands for a class of URLs: it was fetched with success, or is to be.

It is asked for with each URL of the class that comes, under the rules of the present, which may have made another
class of that URL. Where it comes to nothing, the shortest URL that it stood for takes its place.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import NamedTuple

from sitecrawl.frontier.forms.classes import (
    MAX_FAILURES,
    NOBODY,
    UNKNOWN,
    Classes,
    ClassRow,
    is_one_content,
    is_one_title,
    without_title,
)
from sitecrawl.frontier.forms.learner import Learner, Learnt
from sitecrawl.frontier.urls.record import GONE, UrlRecord, UrlState
from sitecrawl.frontier.urls.tables import UrlTable
from sitecrawl.frontier.urls.url_states import UrlStates


class UrlClass(NamedTuple):
    """The class of a URL under the rules of the present."""

    text: str
    """What the rules leave of the URL."""
    name: bytes
    """The fingerprint of that, by which the class is known."""
    row: ClassRow | None
    by: Learnt | None
    """Of the rules that changed the URL the one that is trusted least; None if none did."""


class Representatives:
    """See the module. `fingerprint` is that of a URL; `in_flight` holds the keys of those that are being fetched."""

    def __init__(
        self,
        classes: Classes,
        urls: UrlTable,
        states: UrlStates,
        *,
        in_flight: Container[bytes],
        fingerprint: Callable[[str], bytes],
    ) -> None:
        self._classes = classes
        self._urls = urls
        self._states = states
        self._in_flight = in_flight
        self._fingerprint = fingerprint

    def class_of(self, learner: Learner, url: str) -> UrlClass:
        text, by = learner.form(url)
        name = self._fingerprint(text)
        return UrlClass(text, name, self._classes.get(name), by)

    def page(self, learner: Learner, of: UrlClass, key: bytes) -> tuple[bytes, UrlRecord] | None:
        """Who stands for a class: a URL other than `key`, and its record."""
        page = of.name if of.row is None else of.row.page
        if page in (key, NOBODY) or (record := self._urls.get(page)) is None:
            return None
        if page != of.name and learner.form(record.url)[0] != of.text:
            return None  # it did under other rules
        return (page, record) if self._stands(page, record, of.row) else None

    def _stands(self, key: bytes, record: UrlRecord, row: ClassRow | None) -> bool:
        """Whether a URL brings its class's content, or has."""
        if record.state == UrlState.QUEUED:
            return key in self._in_flight or not self._states.host_of(record).sections[record.section].trap.is_joined
        fetched = record.state == UrlState.FETCHED and (record.has_page or record.status in GONE)
        return fetched or (row is not None and row.failures >= MAX_FAILURES)

    def is_same(
        self, page: tuple[bytes, UrlRecord], row: ClassRow | None, content: bytes, *, by_title: bool
    ) -> bool | None:
        """Whether `content` is that of its class's page, or has its title (`by_title`); None while nobody knows."""
        key, record = page
        if record.state != UrlState.FETCHED:
            return None
        if record.status in GONE:
            return False
        if row is None or row.content == UNKNOWN:
            row = self._classes.get(key)  # as it was fetched, before it stood for others
        known = without_title(key) if row is None or row.content == UNKNOWN else row.content
        return is_one_content(known, content) or (is_one_title(known, content) if by_title else False)

    # Changes

    def appoint(self, of: UrlClass, key: bytes, other: bytes = NOBODY) -> None:
        """From now on `key` stands for the class; `other` would if it failed."""
        row = of.row or ClassRow()
        if row.page != key:
            self._classes.put(of.name, row._replace(page=key, content=UNKNOWN, other=other or row.other))

    def fetched(self, of: UrlClass, key: bytes, content: bytes) -> None:
        """The page of `key` has come, and stands for the class."""
        self._classes.put(of.name, (of.row or ClassRow())._replace(page=key, content=content))

    def repeats(self, key: bytes, content: bytes) -> None:
        """The page of `key`, on a host without rules, has the content of another."""
        self._classes.put(key, ClassRow(key, content))

    def note_other(self, of: UrlClass, page: bytes, key: bytes, url: str) -> None:
        """Remember the URL if it is the shortest of those that `page` stands for."""
        row = of.row or ClassRow(page)
        if row.other != NOBODY:
            known = self._urls.get(row.other)
            if known is not None and known.state == UrlState.QUEUED and len(known.url) <= len(url):
                return
        self._classes.put(of.name, row._replace(other=key))

    def ended(self, learner: Learner, key: bytes, record: UrlRecord) -> bytes:
        """A visit is over. Returns who takes the place of `key`, if that came to nothing; `NOBODY` for none."""
        if self._stands(key, record, None):
            return NOBODY
        of = self.class_of(learner, record.url)
        if of.row is None or of.row.page != key:
            return NOBODY
        failures = min(of.row.failures + 1, MAX_FAILURES)
        self._classes.put(of.name, ClassRow(of.row.other, UNKNOWN, NOBODY, failures))
        return of.row.other
