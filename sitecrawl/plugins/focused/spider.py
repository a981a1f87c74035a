"""`scrapy crawl focused -a topic=...`: what is about a topic comes first."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response

from sitecrawl.base.errors import CorruptFile, OptionError
from sitecrawl.base.extras import how_to_install
from sitecrawl.crawl.frontier_listener import SAID
from sitecrawl.page import charset
from sitecrawl.page import media_type as media
from sitecrawl.page.budget import within
from sitecrawl.page.items import PageItem
from sitecrawl.page.text_lines import html_lines
from sitecrawl.page.xhtml import as_html
from sitecrawl.spiders.feeds import name_fields
from sitecrawl.spiders.job_file import with_job_file
from sitecrawl.spiders.site import SiteSpider
from sitecrawl.urls.url import guess_url

if TYPE_CHECKING:
    from sitecrawl.plugins.focused.shark_search import Focus

THRESHOLD: Final = 0.1
_EXAMPLE: Final = "sitecrawl_example"
"""The key in `Request.meta` of a page that shows what is wanted."""
_SEED_PRIORITY: Final = 10_000
_EXAMPLE_PRIORITY: Final = 1_000_000
"""Both above all that a link can promise (`sitecrawl.plugins.focused.shark_search.SCALE`)."""
_MAX_EXAMPLES: Final = 20


class FocusedSpider(SiteSpider):
    """Fetches first what promises to be about a topic (`shark_search`); the crawl's order decides
    between links that promise the same. Yields an item for every page that is relevant.

    Besides those of `SiteSpider` it takes the arguments `topic`, words or a query; `examples`, files or URLs of pages
    about the topic; `threshold`, the relevance from which on a page counts; and `min_relevance`, below which the
    links of a page that is no seed are not followed.

    Of many workers one fetches an example, the one that has its site, and tells the others what they need of it.
    """

    name = "focused"
    own_arguments = ("topic", "examples", "threshold", "min_relevance")
    path_arguments = ("examples",)
    seed_priority = _SEED_PRIORITY

    focus: Focus
    example_urls: list[str]
    min_relevance: float
    known_examples: set[str]
    """Of these, those that are part of the topic."""

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        kwargs = with_job_file(crawler, kwargs)
        topic, examples = kwargs.pop("topic", "").strip(), kwargs.pop("examples", "").replace(",", " ").split()
        threshold = _share("threshold", kwargs.pop("threshold", THRESHOLD))
        least = kwargs.pop("min_relevance", None)
        min_relevance = 0.0 if least is None else _share("min_relevance", least)
        if not topic and not examples:
            raise OptionError(
                "topic is missing: say what to look for, -a topic='solar panels' or -a examples=page.html"
            )
        if len(examples) > _MAX_EXAMPLES:
            raise OptionError(f"examples names {len(examples)} pages, and {_MAX_EXAMPLES} are enough")
        files = [Path(name) for name in examples if Path(name).is_file()]
        urls = [guess_url(name).href for name in examples if not Path(name).is_file()]
        texts = [_text_of_file(path) for path in files]
        from sitecrawl.plugins.focused.shark_search import Focus  # noqa: PLC0415 - Scrapy imports all spiders, whichever runs
        from sitecrawl.plugins.focused.words import words  # noqa: PLC0415

        try:
            from sitecrawl.plugins.focused.topic import Topic  # noqa: PLC0415 - an extra, which takes a second to import
        except ModuleNotFoundError as error:
            raise OptionError(f"The spider focused needs {error.name}: {how_to_install('focused')}") from error
        given = {"topic": topic} if topic else {}
        for what, text in {**given, **dict(zip(map(str, files), texts, strict=True))}.items():
            if not any(words(text)):
                raise OptionError(f"There is no word in {what}: it says nothing of what is relevant")
        if "seeds" not in kwargs and not getattr(cls, "start_urls", None) and urls:
            kwargs["seeds"] = " ".join(urls)
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider.focus = Focus(Topic(topic), threshold)
        spider.example_urls = urls
        spider.min_relevance = min_relevance
        spider.known_examples = set()
        for text in texts:
            spider.focus.topic.add_example(text)
        name_fields(crawler.settings, ["url", "relevance", "title", "depth", "referrer"])
        return spider

    async def start(self) -> AsyncIterator[Any]:
        kept = getattr(self, "state", {}).get(_EXAMPLE, {})
        for url in self.example_urls:
            if url in kept:
                self._restore(url, kept[url])
                self._tell(url, kept[url])  # it may have been killed before the others had heard
            else:
                yield Request(url, meta={_EXAMPLE: url}, priority=_EXAMPLE_PRIORITY)
        async for one in super().start():
            yield one

    def page(self, response: Response) -> PageItem:
        page = super().page(response)
        if not 200 <= page.status < 300 or page.charset is None:
            for link in page.links:
                link.priority = response.request.priority if response.request is not None else 0
            return page
        text = _text(self.crawl.reading.text(page), page.content_type)
        if (example := response.meta.get(_EXAMPLE)) is not None:
            self._learn(example, text)
        relevance = self.focus.page(page.url, text)
        response.meta["relevance"] = relevance
        self._count(relevance)
        if page.depth and self.focus.topic.is_known and relevance < self.min_relevance:  # a seed has been chosen
            self._drop(page)
        promised = response.request.priority if response.request is not None else 0
        promises = self.focus.promises(page.links, relevance, promised)
        for link, promise in zip(page.links, promises, strict=True):
            link.priority = promise
        return page

    def _drop(self, page: PageItem) -> None:
        """It is off topic: the crawl ends here."""
        assert self.crawler.stats
        self.crawler.stats.inc_value("focused/dropped")
        self.crawler.stats.inc_value("focused/dropped_links", len(page.links))
        page.links = []

    def _learn(self, example: str, text: str) -> None:
        if example in self.known_examples:  # fetched once more, after a fault
            return
        kept = self.focus.topic.add_example(text)
        self._keep(example, kept)
        self._tell(example, kept)

    def _keep(self, example: str, kept: Mapping[str, float]) -> None:
        self.known_examples.add(example)
        if hasattr(self, "state"):
            self.state.setdefault(_EXAMPLE, {})[example] = kept

    def _restore(self, example: str, kept: Mapping[str, float]) -> None:
        if example in self.example_urls and example not in self.known_examples:
            self.focus.topic.restore_example(kept)
            self._keep(example, kept)

    def _tell(self, example: str, kept: Mapping[str, float]) -> None:
        self.crawl.peers.tell(f"{SAID} {json.dumps([example, kept])}")

    def heard(self, text: str) -> None:
        """Another worker has read an example. Raises `CorruptFile` for what none has said."""
        try:
            example, kept = json.loads(text)
            self._restore(example, kept)
        except (ValueError, TypeError, AttributeError) as error:
            raise CorruptFile(f"What another worker has said of an example cannot be read: {error}") from error

    def _count(self, relevance: float) -> None:
        assert self.crawler.stats
        stats, focus = self.crawler.stats, self.focus
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
        if not focus.topic.is_known:
            yield "harvest", "none: no example could be read, so nothing says what is relevant"
            return
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
