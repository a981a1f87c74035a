"""What a job will do, and what it will do with a URL, before anything is fetched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from scrapy.settings import BaseSettings

from sitecrawl.base import declared
from sitecrawl.base.errors import InvalidUrl, SitecrawlError
from sitecrawl.crawl import configuration
from sitecrawl.crawl.outputs import outputs
from sitecrawl.crawldir.changed_terms import changes
from sitecrawl.crawldir.directory import database_to_read, read_manifest
from sitecrawl.crawldir.terms import terms_of
from sitecrawl.frontier.scope import Scope
from sitecrawl.http.sheets import Sheet, Sheets
from sitecrawl.http.sheets.kept import proxy_shown
from sitecrawl.http.sheets.sheet import names
from sitecrawl.page.items import Link
from sitecrawl.urls.url import CRAWLED, Url, guess_url

_NAMED: Final = 5
"""Seeds that are shown."""


@dataclass(frozen=True, slots=True)
class Plan:
    """All that a crawl has been told."""

    spider: str
    directory: Path
    settings: BaseSettings
    sheets: Sheets
    scope: Scope
    seeds: Sequence[Url]
    seeds_elsewhere: str = ""
    """Where seeds come from that are not read here."""

    def facts(self) -> dict[str, Any]:
        """What the crawl will do, for JSON."""
        politeness = configuration.politeness(self.settings)
        allow, deny = self.scope.patterns
        return {
            "spider": self.spider,
            "directory": str(self.directory),
            **self._standing(),
            "seeds": self.seeds_elsewhere or [seed.href for seed in self.seeds],
            "scope": self.scope.kind,
            "allow": allow,
            "deny": deny,
            "max_pages": declared.MAX_PAGES.read(self.settings),
            "max_depth": self.settings.getint("DEPTH_LIMIT"),
            "order": declared.ORDER.read(self.settings),
            "user_agent": self.settings.get("USER_AGENT"),
            "robots": self.settings.getbool("ROBOTSTXT_OBEY"),
            "delay": politeness.delay,
            "delay_factor": politeness.delay_factor,
            "concurrency": politeness.per_host,
            "sheets": [", ".join(sheet.hosts) for sheet in self.sheets.all],
            "feeds": [str(uri) for uri in self.settings.getdict("FEEDS")],
            "at_its_end": [output.target for output in outputs(self.settings)],
        }

    def _standing(self) -> dict[str, Any]:
        """Whether it is new, and what has changed since its last run. A crawl at work can be looked at, too."""
        manifest = read_manifest(self.directory)
        if manifest is None:
            return {"state": "new", "since_last_run": []}
        try:
            with database_to_read(self.directory) as database:
                before = terms_of(database)
        except SitecrawlError as error:
            return {"state": f"there, and cannot be read: {error}", "since_last_run": []}
        now = configuration.terms(self.settings, self.sheets, self.scope, self.seeds, manifest.fingerprint_key)
        return {"state": "resumed", "since_last_run": [*changes(before, now)] if before is not None else []}

    def of_url(self, text: str) -> dict[str, Any]:
        """What it will do with a URL, for JSON."""
        try:
            url = guess_url(text, schemes=CRAWLED)
        except InvalidUrl as error:
            return {"url": text, "in_scope": False, "why_not": str(error)}
        sheet = self.sheets.of(url.host)
        is_seed = any(seed.href == url.href for seed in self.seeds)
        why_not = "" if is_seed else self._why_not(url, sheet)
        politeness = configuration.politeness(self.settings)
        return {
            "url": url.href,
            "in_scope": not why_not,
            "why_not": why_not,
            "seed": is_seed,
            "sheets": [", ".join(one.hosts) for one in self.sheets.all if _holds(one, url.host)],
            "delay": _either(sheet.delay, politeness.delay),
            "concurrency": _either(sheet.concurrency, politeness.per_host),
            "priority": _either(sheet.priority, 1.0),
            "max_pages": sheet.max_pages or 0,
            "max_depth": _either(sheet.max_depth, self.settings.getint("DEPTH_LIMIT")),
            "headers": sorted(sheet.headers),
            "cookies": sorted(sheet.cookies),
            "proxy": "as the environment says" if sheet.proxy is None else proxy_shown(sheet.proxy),
            "robots": self._robots(url, sheet),
            "login": str(sheet.login.get("kind")) if sheet.login else "none",
        }

    def _why_not(self, url: Url, sheet: Sheet) -> str:
        if url.scheme == "ftp" and not declared.FTP.read(self.settings):
            return "FTP is off"
        link = Link(url.href, url.host)
        if why := self.scope.why_not(link):
            return why
        why = Scope("any", allow=sheet.allow, deny=sheet.deny).why_not(link)
        return f"its sheet: {why}" if why else ""

    def _robots(self, url: Url, sheet: Sheet) -> str:
        if sheet.robots is not None and url.path.startswith(sheet.robots.paths):
            return f"not obeyed: {sheet.robots.reason}"
        return "obeyed" if self.settings.getbool("ROBOTSTXT_OBEY") else "not obeyed, nowhere"


def _holds(sheet: Sheet, host: str) -> bool:
    return any(names(pattern, host) for pattern in sheet.hosts)


def _either(own: float | None, all_others: float) -> float:
    return all_others if own is None else own


def lines(facts: Mapping[str, Any]) -> Iterator[str]:
    """What `Plan.facts` has, for people."""
    yield f"{facts['directory']}: {facts['state']}, spider {facts['spider']}"
    if facts["since_last_run"]:
        yield f"  since the last run: {'; '.join(facts['since_last_run'])}"
    seeds = facts["seeds"]
    if isinstance(seeds, list):
        more = f" and {len(seeds) - _NAMED:,} more" if len(seeds) > _NAMED else ""
        seeds = f"{', '.join(seeds[:_NAMED])}{more}" or "none"
    yield _row("seeds", seeds)
    yield from _rows(facts, leave_out={"directory", "state", "spider", "since_last_run", "seeds"})


def lines_of_url(facts: Mapping[str, Any]) -> Iterator[str]:
    """What `Plan.of_url` has, for people."""
    yield facts["url"]
    if facts["why_not"]:
        yield _row("not followed", facts["why_not"])
    else:
        yield _row("followed", "it is a seed" if facts["seed"] else "it is in scope")
    yield from _rows(facts, leave_out={"url", "in_scope", "why_not", "seed"})


def _rows(facts: Mapping[str, Any], leave_out: set[str]) -> Iterator[str]:
    """One for each that says something."""
    for name, value in facts.items():
        if name not in leave_out and value not in ([], None, ""):
            yield _row(name, value)


def _row(name: str, value: object) -> str:
    if isinstance(value, bool):
        value = "yes" if value else "no"
    return f"  {name:<13} {', '.join(map(str, value)) if isinstance(value, list) else value}"
