"""`scrapy rules FILE [URL]`: are rules sound, and what do they make of a page? `scrapy rules suggest URL URL`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from scrapy.exceptions import UsageError
from scrapy.http import Response

from sitecrawl.base.display import visible
from sitecrawl.console.base_command import DescribedCommand
from sitecrawl.console.single_crawl import obstacle, run_spider
from sitecrawl.page.items import Link, PageItem
from sitecrawl.pagestore.console import exit_code_on_error
from sitecrawl.plugins.export.sources import PageText
from sitecrawl.plugins.extract.extraction import Extraction, Outcome, Reading
from sitecrawl.plugins.extract.rule_files import RuleSet, read_rules
from sitecrawl.plugins.extract.suggest import suggested
from sitecrawl.spiders.site import SiteSpider

_SHOWN: Final = 100
"""Characters of a value."""
_EXAMPLES: Final = 3
"""Values that are shown of one field."""


class _Pages(SiteSpider):
    """Follows redirects, and no links; keeps what it has fetched."""

    name = "rules"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.pages: list[tuple[PageItem, PageText]] = []

    def admits(self, link: Link) -> bool:
        return False

    def admits_redirect(self, url: str, *, of_seed: bool) -> bool:
        target = self.redirect_target(url, of_seed=of_seed)
        return target is not None

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:
        page = self.page(response)
        self.pages.append((page, PageText(page.url, self.crawl.reading.text(page), page.content_type)))
        yield from ()


class Command(DescribedCommand):
    """Check a file of rules; each error is printed with file and line. With a URL, also fetch that page, store
    nothing, and show for every rule and field what was found and what it became. With `suggest` and two pages of one
    kind, such as two products, propose rules for what differs between them.
    """

    usage = "[options] <file> [<url>] | suggest <url> [<url>]"
    summary = "Check rules of the spider `extract`, and show what they match on one page"
    requires_crawler_process = True
    default_settings = {"LOG_LEVEL": "WARNING"}  # noqa: RUF012 - as the base class has it

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if args[:1] == ["suggest"] and 2 <= len(args) <= 3:
            with exit_code_on_error(self):
                self._suggest(args[1:])
            return
        if not 1 <= len(args) <= 2 or args == ["suggest"]:
            raise UsageError("a file of rules is needed, and a URL may follow; or `suggest` and one or two URLs")
        with exit_code_on_error(self):
            rules = read_rules(Path(args[0]))
            if len(args) == 2:
                self._try(rules, args[1])
            else:
                print(f"{args[0]}: sound, {len(rules.rules)} rules")

    def _suggest(self, urls: Sequence[str]) -> None:
        if len(set(urls)) < len(urls):
            raise UsageError(
                "one page shows no difference: take two pages of one kind, as two products", print_help=False
            )
        pages, stats = self._fetched(urls)
        texts = {page.url: text for page, text in pages if 200 <= page.status < 300 and page.charset is not None}
        if len(texts) < len(urls):
            print(f"scrapy: not all of these pages could be read: {obstacle(stats)}", file=sys.stderr)
            self.exitcode = 1
            return
        print(suggested(list(texts.values())), end="")

    def _try(self, rules: RuleSet, url: str) -> None:
        pages, stats = self._fetched([url])
        for page, text in pages:
            for line in _told(Extraction(rules, text), page):
                print(visible(line))
        if not any(200 <= page.status < 300 for page, _ in pages):
            print(f"scrapy: {visible(url)} could not be read: {obstacle(stats)}", file=sys.stderr)
            self.exitcode = 1

    def _fetched(self, urls: Sequence[str]) -> tuple[list[tuple[PageItem, PageText]], Mapping[str, Any]]:
        """The pages, and the statistics of their crawl, which stores nothing."""
        self.settings.set("ITEM_PIPELINES", {"pipelines.WarcPipeline": None})
        spider, stats = run_spider(self.crawler_process, _Pages, seeds=",".join(urls), scope="any")
        return spider.pages, stats


def _told(extraction: Extraction, page: PageItem) -> Iterator[str]:
    """The page, then rule by rule and item by item what was found, then what would be followed."""
    yield f"{page.url}  {page.status}  {page.content_type or 'of no known type'}"
    if page.charset is None:
        yield "  is no text: no rule can be tried"
        return
    rules = extraction.rules
    outcomes = list(extraction.outcomes())
    for rule in rules.rules:
        yield ""
        yield f"{rules.path}:{rule.line}  rule {rule.name}"
        if not rule.applies_to(extraction.page):
            yield "  is for other pages: its url does not match"
            continue
        own = [outcome for outcome in outcomes if outcome.rule is rule]
        if rule.each is not None:
            yield f"  each {rule.each}: {len(own)} found"
        for outcome in own:
            yield from _item(outcome, rules.path)
    if extraction.is_cut:
        yield "there may be more items: the time for one page was up"
    if stopped := extraction.page.match_time.stopped:
        yield f"{stopped} regular expressions were stopped: they took too long"
    yield ""
    links = extraction.links()
    yield "leads on to all links in scope" + (" and to" if links else "") if rules.follows_all else "leads on to"
    yield from (f"  {url.href}" for url in links)
    if not links and not rules.follows_all:
        yield "  nothing"


def _item(outcome: Outcome, path: Path) -> Iterator[str]:
    yield ""
    for reading in outcome.readings:
        yield f"  {reading.field.name:<16} {_value(reading)}"
        yield f"  {'':<16}   {_way(reading)}"
        for problem in reading.problems[:_EXAMPLES]:
            yield f"  {'':<16}   {path}:{reading.field.line}: {problem}"
    if outcome.item is None:
        yield f"  no item: {', '.join(outcome.missing)} required and missing"


def _value(reading: Reading) -> str:
    if reading.source is None:
        return "missing" if reading.value in (None, []) else f"{_short(reading.value)} (the default)"
    return _short(reading.value)


def _way(reading: Reading) -> str:
    sources = [reading.source] if reading.source is not None else list(reading.field.sources)
    found = ", ".join(_short(value) for value in reading.found[:_EXAMPLES])
    more = f" and {len(reading.found) - _EXAMPLES} more" if len(reading.found) > _EXAMPLES else ""
    return f"{' or '.join(map(str, sources))}: {f'found {found}{more}' if found else 'found nothing'}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
