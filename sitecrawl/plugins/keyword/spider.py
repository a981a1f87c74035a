"""`scrapy crawl keyword -a start=URL -a keyword=TEXT`: the nearest page that says something."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from scrapy.crawler import Crawler
from scrapy.exceptions import CloseSpider
from scrapy.http import Response

from sitecrawl.base.errors import OptionError, StorageError
from sitecrawl.crawl.build import Crawl
from sitecrawl.page.items import PageItem
from sitecrawl.spiders.arguments import SiteArguments
from sitecrawl.spiders.job_file import with_job_file
from sitecrawl.spiders.site import SiteSpider, name_fields

if TYPE_CHECKING:
    from sitecrawl.plugins.keyword.folder import PageFolder
    from sitecrawl.plugins.keyword.keyword import Found, Keyword

FOUND: Final = "keyword_found"
"""The reason with which a crawl ends that has found its keyword."""
_FOLDER_FAILED: Final = "output_dir_error"

_DEFAULTS: Final = {"order": "bfs", "max_depth": "4", "scope": "any"}
"""The start is depth 1 here and 0 elsewhere: 4 links from it are depth 5."""


class KeywordSpider(SiteSpider):
    """Reads pages level by level until one has the keyword in its text, and stops with one `Found`.

    Besides those of `SiteSpider` it takes the arguments `keyword`; `start`, one URL in the place of `seeds`; and
    `output_dir`, a folder in which every page is kept as a file.
    """

    name = "keyword"
    own_arguments = ("start", "keyword", "output_dir")
    path_arguments = ("output_dir",)
    keyword: Keyword
    folder: PageFolder | None = None
    found: Found | None = None
    read = 0
    """Pages whose text was looked at, or that have none."""
    trouble = ""
    """Why a page could not be kept."""

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        from sitecrawl.plugins.keyword.folder import PageFolder  # noqa: PLC0415 - Scrapy imports all spiders, whichever runs
        from sitecrawl.plugins.keyword.keyword import Found, Keyword  # noqa: PLC0415

        kwargs = with_job_file(crawler, kwargs)
        text, folder = kwargs.pop("keyword", None), kwargs.pop("output_dir", None)
        if text is None:
            raise OptionError("keyword is missing: say what to look for, such as -a keyword='annual report'")
        keyword = Keyword(text)
        spider = super().from_crawler(crawler, *args, **{**_DEFAULTS, **kwargs})
        spider.keyword = keyword
        if folder:
            spider.folder = PageFolder(Path(folder))
        name_fields(crawler.settings, [field.name for field in fields(Found)])
        return spider

    @classmethod
    def read_arguments(cls, given: Mapping[str, Any], *, has_queue: bool = False) -> SiteArguments:
        if "start" not in given:
            return super().read_arguments(given, has_queue=has_queue)
        others = {name: value for name, value in given.items() if name != "start"}
        if "seeds" in others:
            raise OptionError("start and seeds are two names for one thing: give one of them")
        return SiteArguments.read(others, [given["start"]], cls.own_arguments)

    def page(self, response: Response) -> PageItem:
        page = super().page(response)
        if self.folder is not None:
            try:
                self.folder.save(page.url, page.content_type, page.body)
            except StorageError as error:
                self.trouble = str(error)
                self.logger.error("%s", error)
                raise CloseSpider(_FOLDER_FAILED) from error
        return page

    def extract(self, response: Response, page: PageItem) -> Iterable[Any]:
        self.read += 1
        if self.found is None and (found := self.keyword.find(page, self.crawl.reading.text(page))) is not None:
            self.found = found
            yield found
            Crawl.of(self.crawler).peers.end(FOUND)
            raise CloseSpider(FOUND)

    def report(self) -> Iterator[tuple[str, str]]:
        """For the summary."""
        if self.found is not None:
            yield "found", self.found.url
            yield "", f"line {self.found.line}: {self.found.text}"
        else:
            yield "not found", f"on {self.read:,} pages"
