"""`scrapy crawl extract -a rules=rules.yaml -a seeds=...`: structured data by rules (docs/extract.md)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self
from weakref import WeakKeyDictionary

from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.settings import BaseSettings

from sitecrawl.base.errors import OptionError
from sitecrawl.base.limits import EXTRACT_SIZE, EXTRACT_TIME, REGEX_TIME, AnyLimit
from sitecrawl.base.patterns import MatchTime
from sitecrawl.page.items import Link, PageItem
from sitecrawl.spiders.job_file import with_job_file
from sitecrawl.spiders.site import SiteSpider, name_fields

if TYPE_CHECKING:
    from sitecrawl.plugins.extract.extraction import Extraction, Outcome
    from sitecrawl.plugins.extract.rule_files import RuleSet


_CUT_OFF: Final[dict[AnyLimit, str]] = {
    EXTRACT_SIZE: "pages that were not searched, for their length",
    EXTRACT_TIME: "pages whose items are not all there, for the time they took",
    REGEX_TIME: "regular expressions that were stopped on a page, for the time they took",
}
"""What a summary says of items that may be missing."""


class ExtractSpider(SiteSpider):
    """Takes items from pages as the file `rules` says, and follows what it says. Feeds hold the items alone."""

    name = "extract"
    own_arguments = ("rules",)
    path_arguments = ("rules",)

    rules: RuleSet

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        from sitecrawl.plugins.extract.rule_files import read_rules  # noqa: PLC0415 - Scrapy imports all spiders, whichever runs

        kwargs = with_job_file(crawler, kwargs)
        path = kwargs.pop("rules", None)
        if not path:
            raise OptionError("rules is missing: name the file that says what to take, such as -a rules=rules.yaml")
        rules = read_rules(Path(path))
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider.begin(rules)
        name_fields(crawler.settings, list(_with_media(rules.columns(), crawler.settings)))
        return spider

    def begin(self, rules: RuleSet) -> None:
        self.rules = rules
        self._extractions: WeakKeyDictionary[Response, Extraction] = WeakKeyDictionary()

    def page(self, response: Response) -> PageItem:
        from sitecrawl.plugins.export.sources import PageText  # noqa: PLC0415 - as above
        from sitecrawl.plugins.extract.extraction import Extraction  # noqa: PLC0415 - as above

        page = super().page(response)
        if not 200 <= page.status < 300 or page.charset is None:
            return page
        if page.size > EXTRACT_SIZE.value:
            self._count(EXTRACT_SIZE.stat)
            return page
        text = PageText(page.url, self.crawl.reading.text(page), page.content_type, MatchTime())
        extraction = self._extractions[response] = Extraction(self.rules, text, EXTRACT_TIME.value)
        links = {link.url: link for link in page.links} if self.rules.follows_all else {}
        for url in extraction.links():
            links.setdefault(url.href, Link(url.href, url.host, kind="next"))
        page.links = list(links.values())
        return page

    def extract(self, response: Response, page: PageItem) -> Iterable[Any]:
        extraction = self._extractions.pop(response, None)
        if extraction is None:
            return
        for outcome in extraction.outcomes():
            self._judge(outcome)
            if outcome.item is not None:
                yield outcome.item
        if extraction.is_cut:
            self._count(EXTRACT_TIME.stat)
        if stopped := extraction.page.match_time.stopped:
            self._count(REGEX_TIME.stat, stopped)

    def _judge(self, outcome: Outcome) -> None:
        rule = outcome.rule.name
        self._count(f"extract/{rule}/{'dropped' if outcome.item is None else 'items'}")
        for name in outcome.missing:
            self._count(f"extract/{rule}/missing/{name}")
        for reading in outcome.readings:
            if reading.problems:
                self._count(f"extract/{rule}/unfit/{reading.field.name}", len(reading.problems))

    def _count(self, stat: str, number: int = 1) -> None:
        self.crawl.stats.inc_value(stat, number)

    def report(self) -> Iterable[tuple[str, str]]:
        """For the summary."""
        assert self.crawler.stats
        stats = self.crawler.stats.get_stats()
        label = "items"
        for rule in self.rules.rules:
            items, dropped = (stats.get(f"extract/{rule.name}/{what}", 0) for what in ("items", "dropped"))
            prefix = f"extract/{rule.name}/missing/"
            missing = [f"{name[len(prefix) :]} ({n:,})" for name, n in stats.items() if name.startswith(prefix)]
            why = f", {dropped:,} dropped for want of {', '.join(sorted(missing))}" if dropped else ""
            yield label, f"{items:,} {rule.name}{why}"
            label = ""
        for limit, what in _CUT_OFF.items():
            if number := stats.get(limit.stat):
                yield label, f"{what}: {number:,} ({limit.stat})"


def _with_media(columns: Sequence[str], settings: BaseSettings) -> Iterator[str]:
    """The columns, and behind the URLs of images and files what Scrapy's pipelines say of them."""
    for column in columns:
        yield column
        if column in {"image_urls", "file_urls"}:
            kind = column.partition("_")[0]
            yield settings.get(f"{kind.upper()}S_RESULT_FIELD") or f"{kind}s"
