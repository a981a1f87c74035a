"""All that is looked up about one URL, before anything is said of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Self

from sitecrawl.base.errors import InvalidUrl, OptionError
from sitecrawl.frontier.forms.learner import Learnt
from sitecrawl.frontier.urls.host import Host
from sitecrawl.frontier.urls.record import UrlRecord, UrlState
from sitecrawl.frontier.urls.sections import Section
from sitecrawl.frontier.urls.trap_state import Reason
from sitecrawl.http.robots_txt import Rule, quoted, rules_for
from sitecrawl.http.sheets import RobotsException
from sitecrawl.page.items import Link
from sitecrawl.pagestore.capture import Capture
from sitecrawl.plugins.why.source import Source
from sitecrawl.urls.url import CRAWLED, Url, guess_url, parse, target_of

_PAGES: Final = frozenset({"page", "other"})
"""Kinds of captures whose bodies are compared."""


@dataclass(frozen=True, slots=True)
class _Robots:
    """The stored robots.txt for a URL."""

    capture: Capture
    rule: Rule | None
    """The line that decides; None where none does."""
    leave: RobotsException | None
    """By which the crawl does not obey it."""

    @property
    def is_answer(self) -> bool:
        """Whether the host has said what it allows (RFC 9309 §2.3.1)."""
        return self.capture.status < 500 and self.capture.status != 429

    @property
    def forbids(self) -> bool:
        return self.leave is None and self.is_answer and self.rule is not None and not self.rule.allows


@dataclass(frozen=True, slots=True)
class Case:
    """See the module."""

    source: Source
    url: Url
    canonical: str
    key: bytes
    record: UrlRecord | None
    host: Host | None
    """Where it is, or would be; None for a host of which the crawl knows nothing."""
    versions: list[Capture]
    """The newest first."""
    robots: _Robots | None
    rule: Learnt | None
    """By which it is another form of a page."""
    stands: str
    """The URL that is fetched for all of its class; empty if that is itself."""
    linker: Capture | None
    """Of a URL that is not known: a stored page that links to it all the same."""
    original: str
    """The URL that has its body, or had nearly its text first; empty if that is itself, or nobody knows."""

    @classmethod
    def of(cls, source: Source, text: str) -> Self:
        """The case of what a person typed for a URL. Raises `OptionError` for what is none."""
        url = _meant(source, text)
        key = source.key(url)
        record = source.record(key)
        host = source.host(record.host) if record is not None else source.host_named(url.host)
        learner = source.learner(host) if host is not None else None
        form, rule = learner.form(url.href) if learner is not None else (url.href, None)
        name = source.fingerprints.url(form) if rule is not None else key
        row = source.class_row(name)
        page = name if row is None else row.page
        content = b"" if row is None else row.original
        versions = list(source.versions(url))
        return cls(
            source=source,
            url=url,
            canonical=source.canonical(url),
            key=key,
            record=record,
            host=host,
            versions=versions,
            robots=_robots(source, url),
            rule=rule,
            stands="" if rule is None or page == key else source.name(page),
            linker=source.linker(key) if record is None else None,
            original=_body_of(source, versions) or ("" if key.startswith(content) else source.begins(content)),
        )

    @property
    def section(self) -> Section | None:
        """The URL's section; None if unknown."""
        return None if self.record is None or self.host is None else self.host.sections.get(self.record.section)

    @property
    def held(self) -> Host | Section | None:
        """The host or section that holds the URL back; None if neither does."""
        units = (self.host, self.section)
        return next((unit for unit in units if unit is not None and unit.trap.demoted), None)

    @property
    def is_joined(self) -> bool:
        """Whether it waits as another form of a page."""
        return self.held is not None and self.held.trap.reason == Reason.JOINED

    @property
    def waits(self) -> bool:
        return self.record is not None and self.record.state == UrlState.QUEUED

    @property
    def last(self) -> Capture | None:
        """The newest stored answer."""
        return self.versions[0] if self.versions else None

    @property
    def of_a_browser(self) -> Capture | None:
        """What a browser got at a URL of which the frontier has never heard; None where that is not so."""
        first = self.versions[-1] if self.record is None and self.versions else None
        return first if first is not None and first.kind == "requisite" else None

    @property
    def is_full(self) -> bool:
        """Whether the crawl has as many pages as it was to have."""
        terms = self.source.terms
        return terms is not None and 0 < terms.max_pages <= self.source.counts.fetched

    def out_of_scope(self, url: str = "") -> str:
        """The rule of scope that leaves the URL out, or another one; empty if none does, or nobody knows."""
        scope = self.source.scope
        if scope is None:
            return ""
        try:
            link = parse(url, schemes=self.source.schemes) if url else self.url
        except InvalidUrl as error:
            return str(error)
        return scope.why_not(Link(link.href, link.host))


def _meant(source: Source, text: str) -> Url:
    """The URL that a person means: of one without a scheme the known one."""
    try:
        url = guess_url(text, schemes=CRAWLED)
        if "://" in text or source.record(source.key(url)) is not None:
            return url
        secure = parse(f"https{url.href.removeprefix('http')}")
    except InvalidUrl as error:
        raise OptionError(str(error)) from error
    return secure if source.record(source.key(secure)) is not None else url


def _body_of(source: Source, versions: Sequence[Capture]) -> str:
    """The URL with whose page the body of the newest version is stored; empty if that is itself."""
    newest = next((one for one in versions if one.payload_size and one.kind in _PAGES), None)
    original = source.pages.original_of(newest) if newest is not None and source.pages is not None else None
    return "" if newest is None or original is None or original.url_key == newest.url_key else original.url


def _robots(source: Source, url: Url) -> _Robots | None:
    found = source.robots(url) if url.scheme != "ftp" else None
    if found is None:
        return None
    capture, body = found
    agent = source.terms.agent if source.terms is not None else ""
    rule = _deciding_rule(body, url.href, agent) if capture.status < 300 else None
    leave = source.leaves.of(url.host).robots
    return _Robots(capture, rule, leave if leave is not None and leave.covers(target_of(url.href)) else None)


def _deciding_rule(body: bytes, url: str, agent: str) -> Rule | None:
    """The rule of a robots.txt by which `agent` may fetch `url`, or may not; None where the file says nothing of it.

    The crawl itself asks `RobotsTxt`, which tells no lines.
    """
    target = quoted(target_of(url))
    found = [rule for rule in rules_for(body, agent) if rule.matches(target)]
    return max(found, key=lambda rule: rule.precedence, default=None)


def moment(seconds: float) -> str:
    """A Unix time, for people."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"
