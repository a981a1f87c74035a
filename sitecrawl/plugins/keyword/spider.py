"""`scrapy crawl keyword -a start=URL -a keyword=TEXT`: the nearest page that says something.

With `output_dir` pages become files in one folder. A name is what can be read of the URL and 16 hexadecimal digits of
its digest, as in `example.org_a_b-0123456789abcdef.html`. The first part holds ASCII letters, digits and `._-` alone
and does not begin with a dot, so no URL leads out of the folder, hides its file or is too long for a file system; the
digits keep apart what the first part does not, also where case does not count. A page that is fetched again replaces
its file. Nothing is followed that lies in the folder: a file is written under another name and moved into place.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from hashlib import blake2b
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
    from sitecrawl.plugins.keyword.keyword import Found, Keyword

_READABLE: Final = 120
"""Characters of a name before its digits: with them well below the 143 bytes of the strictest file systems."""
_ODD = re.compile(r"[^A-Za-z0-9.-]+")
_ENDINGS: Final = {
    "text/html": ".html", "application/xhtml+xml": ".xhtml", "text/plain": ".txt", "text/css": ".css",
    "text/csv": ".csv", "text/xml": ".xml", "application/xml": ".xml", "application/rss+xml": ".xml",
    "application/atom+xml": ".xml", "application/json": ".json", "text/javascript": ".js",
    "application/javascript": ".js", "application/pdf": ".pdf", "image/png": ".png", "image/jpeg": ".jpg",
    "image/gif": ".gif", "image/svg+xml": ".svg", "image/webp": ".webp", "application/zip": ".zip",
}  # fmt: skip


class _PageFolder:
    """See the module. Makes the folder if it is missing; raises `OptionError` if it cannot be written to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OptionError(f"The folder {path} cannot be made: {error.strerror}") from error
        if not os.access(path, os.W_OK | os.X_OK):
            raise OptionError(f"The folder {path} cannot be written to")

    def save(self, url: str, content_type: str, body: bytes) -> Path:
        """Write the body of the page at `url`; returns its file. Raises `StorageError`."""
        target = self.path / _file_name(url, content_type)
        passing = target.with_name(f".{target.stem[-16:]}.{os.getpid()}.part")
        try:
            descriptor = os.open(passing, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o666)
            with os.fdopen(descriptor, "wb") as file:
                file.write(body)
            passing.replace(target)
        except OSError as error:
            with contextlib.suppress(OSError):
                passing.unlink()
            raise StorageError(f"{target} cannot be written: {error.strerror}") from error
        return target


def _file_name(url: str, content_type: str) -> str:
    """The name of the file for the page at `url`, an absolute http(s) URL."""
    readable = _ODD.sub("_", url.partition("://")[2])[:_READABLE].strip("._")
    digits = blake2b(url.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return f"{readable or 'page'}-{digits}{_ENDINGS.get(content_type, '.bin')}"


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
    folder: _PageFolder | None = None
    found: Found | None = None
    read = 0
    """Pages whose text was looked at, or that have none."""
    trouble = ""
    """Why a page could not be kept."""

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        from sitecrawl.plugins.keyword.keyword import Found, Keyword  # noqa: PLC0415 - Scrapy imports all spiders

        kwargs = with_job_file(crawler, kwargs)
        text, folder = kwargs.pop("keyword", None), kwargs.pop("output_dir", None)
        if text is None:
            raise OptionError("keyword is missing: say what to look for, such as -a keyword='annual report'")
        keyword = Keyword(text)
        spider = super().from_crawler(crawler, *args, **{**_DEFAULTS, **kwargs})
        spider.keyword = keyword
        if folder:
            spider.folder = _PageFolder(Path(folder))
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
