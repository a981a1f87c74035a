"""Sites whose pages stand under many URLs, crawled through a frontier on a bench."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from frontier_helpers import Bench, stored_records, url

from sitecrawl.frontier.forms.duplicates import Verdict
from sitecrawl.frontier.forms.evidence import State
from sitecrawl.frontier.urls.record import UrlState
from sitecrawl.frontier.urls.visit import Visit
from sitecrawl.page.items import sha1

LINKS = 8
"""Of each page, beside those to the home page and to the next one."""


@dataclass
class Site:
    """Pages that lead to one another. `name_of` gives a new form of a page's URL, `page_of` the page of a form."""

    pages: int
    name_of: Callable[[int, int], str]
    page_of: Callable[[str], int]
    text_of: Callable[[str, int], str] = lambda name, page: f"text of {page}"
    status_of: Callable[[str], int] = lambda name: 200
    came: set[str] = field(default_factory=set)
    fetched: list[str] = field(default_factory=list)
    ids: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    goes_on: bool = False
    """Whether a page leads to the next one and to those before it alone."""
    changes: bool = False
    """Whether a part of each page is new at each view, but for its title."""
    has_one_title: bool = False
    """Whether all pages have the same title."""

    def links(self, page: int) -> list[str]:
        others = [
            0,
            page + 1,
            *(random.Random(f"{page}{n}").randrange(page + 1 if self.goes_on else self.pages) for n in range(LINKS)),
        ]
        return [self.name_of(other, next(self.ids)) for other in others if other < self.pages]

    def fetch(self, bench: Bench, visit: Visit) -> None:
        name = visit.url.partition("/")[2].partition("/")[2].partition("/")[2]
        page, status = self.page_of(name), self.status_of(name)
        bench.frontier.downloaded(visit, 0.0)
        good = status == 200
        if good:
            bench.link(visit, *(url(link) for link in self.links(page)))
            text = self.text_of(name, page)
            self.came.add(text)
            body = f"{text}, view {next(self.ids)}" if self.changes else text
            title = "" if self.has_one_title else text
            verdict = bench.frontier.contents.judge(visit, sha1(body.encode()), title=title, text_hash=None)
            good = verdict == Verdict.NEW
        bench.frontier.done(visit, UrlState.FETCHED, status=status, good=good)
        self.fetched.append(name)

    def crawl(self, bench: Bench, *, budget: int = 20_000) -> None:
        """Up to the end of the crawl, or `budget` fetches."""
        for _ in range(budget):
            visit = bench.frontier.next()
            if visit is None:
                break
            self.fetch(bench, visit)
            if len(self.fetched) % 50 == 0:
                bench.commit()
        bench.commit()


def number(text: str) -> int:
    return int(text or 0)


def begin(bench: Bench, site: Site) -> None:
    bench.add(site.name_of(0, next(site.ids)))


def rules(bench: Bench) -> dict[str, State]:
    host = bench.frontier.hosts.find("a.example")
    return {} if host is None else {str(one.rule): one.evidence.state for one in learner(bench).learnt.values()}


def learner(bench: Bench):
    return bench.frontier.forms.learners.of(bench.host_key("a.example"))


def stored(bench: Bench) -> list[str]:
    return [record.url for _, record in stored_records(bench.frontier)]


def name_of(href: str) -> str:
    return href.removeprefix("http://a.example/")
