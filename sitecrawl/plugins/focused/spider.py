"""`scrapy crawl focused -a topic=...`: what is about a topic comes first."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from scrapy.crawler import Crawler
from scrapy.http import Response

from sitecrawl.base.errors import OptionError, how_to_install
from sitecrawl.page import charset
from sitecrawl.page import media_type as media
from sitecrawl.page.budget import within
from sitecrawl.page.items import PageItem
from sitecrawl.page.text_lines import html_lines
from sitecrawl.page.xhtml import as_html
from sitecrawl.spiders.job_file import with_job_file
from sitecrawl.spiders.site import SiteSpider, name_fields

if TYPE_CHECKING:
    from sitecrawl.plugins.focused.shark_search import Focus

_THRESHOLD: Final = 0.1
_SEED_PRIORITY: Final = 10_000
"""Above all that a link can promise (`sitecrawl.plugins.focused.shark_search.SCALE`)."""
_MAX_EXAMPLES: Final = 20


class FocusedSpider(SiteSpider):
    """Fetches first what promises to be about a topic (`shark_search`); the crawl's order decides
    between links that promise the same. Yields an item for every page that is relevant.

    Besides those of `SiteSpider` it takes the arguments `topic`, words or a query; `examples`, files with pages about
    the topic; `threshold`, the relevance from which on a page counts; and `min_relevance`, below which the links of a
    page that is no seed are not followed.
    """

    name = "focused"
    own_arguments = ("topic", "examples", "threshold", "min_relevance")
    path_arguments = ("examples",)
    seed_priority = _SEED_PRIORITY

    focus: Focus
    min_relevance: float

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        kwargs = with_job_file(crawler, kwargs)
        topic, examples = kwargs.pop("topic", "").strip(), kwargs.pop("examples", "").replace(",", " ").split()
        threshold = _share("threshold", kwargs.pop("threshold", _THRESHOLD))
        least = kwargs.pop("min_relevance", None)
        min_relevance = 0.0 if least is None else _share("min_relevance", least)
        if not topic and not examples:
            raise OptionError(
                "topic is missing: say what to look for, -a topic='solar panels' or -a examples=page.html"
            )
        if len(examples) > _MAX_EXAMPLES:
            raise OptionError(f"examples names {len(examples)} pages, and {_MAX_EXAMPLES} are enough")
        texts = [_text_of_file(Path(name)) for name in examples]
        from sitecrawl.plugins.focused.shark_search import Focus, words  # noqa: PLC0415 - Scrapy imports all spiders

        try:
            from sitecrawl.plugins.focused.topic import Topic  # noqa: PLC0415 - an extra, which takes a second to import
        except ModuleNotFoundError as error:
            raise OptionError(f"The spider focused needs {error.name}: {how_to_install('focused')}") from error
        given = {"topic": topic} if topic else {}
        for what, text in {**given, **dict(zip(examples, texts, strict=True))}.items():
            if not any(words(text)):
                raise OptionError(f"There is no word in {what}: it says nothing of what is relevant")
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider.focus = Focus(Topic([topic, *texts] if topic else texts), threshold)
        spider.min_relevance = min_relevance
        name_fields(crawler.settings, ["url", "relevance", "title", "depth", "referrer"])
        return spider

    def page(self, response: Response) -> PageItem:
        page = super().page(response)
        if not 200 <= page.status < 300 or page.charset is None:
            for link in page.links:
                link.priority = response.request.priority if response.request is not None else 0
            return page
        text = _text(self.crawl.reading.text(page), page.content_type)
        relevance = self.focus.page(page.url, text)
        response.meta["relevance"] = relevance
        self._count(relevance)
        if page.depth and relevance < self.min_relevance:  # a seed has been chosen
            self._drop(page)
        promised = response.request.priority if response.request is not None else 0
        promises = self.focus.promises(page.links, relevance, promised)
        for link, promise in zip(page.links, promises, strict=True):
            link.priority = promise
        return page

    def _drop(self, page: PageItem) -> None:
        """It is off topic: the crawl ends here."""
        self.crawl.stats.inc_value("focused/dropped")
        self.crawl.stats.inc_value("focused/dropped_links", len(page.links))
        page.links = []

    def _count(self, relevance: float) -> None:
        stats, focus = self.crawl.stats, self.focus
        stats.set_value("focused/read", focus.read)
        stats.set_value("focused/relevant", focus.relevant)
        stats.set_value("focused/harvest_rate", round(focus.harvest_rate, 4))

    def extract(self, response: Response, page: PageItem) -> Iterable[Any]:
        relevance = response.meta.pop("relevance", 0.0)
        if relevance >= self.focus.threshold:
            yield {
                "url": page.url,
                "relevance": round(relevance, 4),
                "title": page.title,
                "depth": page.depth,
                "referrer": page.referrer,
            }

    def report(self) -> Iterable[tuple[str, str]]:
        """For the summary."""
        focus = self.focus
        yield "harvest", f"{focus.harvest_rate:.1%}: {focus.relevant:,} of {focus.read:,} pages are relevant"
        assert self.crawler.stats
        if dropped := self.crawler.stats.get_value("focused/dropped"):
            links = self.crawler.stats.get_value("focused/dropped_links")
            yield "off topic", f"{dropped:,} pages, whose {links:,} links were not followed"


def _text(text: str, content_type: str) -> str:
    text = as_html(text, content_type)
    return " ".join(line.text for line in html_lines(text)) if content_type in media.HTML else text


def _text_of_file(path: Path) -> str:
    try:
        body = path.read_bytes()
    except OSError as error:
        raise OptionError(f"The example {path} cannot be read: {error.strerror}") from error
    kind = media.actual_type(media.MediaType("", None), body)
    if kind not in media.HTML and kind != "text/plain":
        raise OptionError(f"The example {path} is {kind}: HTML and plain text can be read")
    body = within(body)
    default = charset.of_body(body, None, default="utf-8", prescan=kind in media.HTML)
    return _text(body.decode(default, "replace"), kind)


def _share(name: str, given: Any) -> float:
    try:
        number = float(given)
    except ValueError:
        number = -1.0
    if not 0 < number <= 1:
        raise OptionError(f"{name} is a number above 0 and at most 1, and not {given!r}")
    return number
