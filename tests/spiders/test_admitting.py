"""Which links of a page a spider follows: all at once, or as a method of its own says of each."""

from __future__ import annotations

from pathlib import Path

import pytest
from scrapy.crawler import Crawler

from sitecrawl.page.items import Link
from sitecrawl.spiders.site import SiteSpider

HERE, DRAFT, FAR = (
    Link(url, url.split("/")[2]) for url in ("http://a.example/1", "http://a.example/draft", "http://b.example/")
)


class Plain(SiteSpider):
    """As it comes."""

    name = "plain"


class NoDrafts(Plain):
    """Asks each link."""

    def admits(self, link: Link) -> bool:
        return super().admits(link) and not link.url.endswith("draft")


def made(kind: type[SiteSpider], folder: Path) -> SiteSpider:
    settings = {"ADDONS": {"sitecrawl.addon.Addon": 500}, "JOBDIR": str(folder)}
    return kind.from_crawler(Crawler(kind, settings), seeds="http://a.example/")


@pytest.mark.parametrize(("kind", "followed"), [(Plain, [HERE, DRAFT]), (NoDrafts, [HERE])])
def test_links_of_a_page(kind: type[SiteSpider], followed: list[Link], tmp_path: Path) -> None:
    """Those in scope, less what `admits` leaves out."""
    spider = made(kind, tmp_path)
    assert spider.admitted([HERE, DRAFT, FAR]) == followed
    assert [one for one in (HERE, DRAFT, FAR) if spider.admits(one)] == followed


def test_a_method_that_was_put_in_its_place(tmp_path: Path) -> None:
    """Of the instance alone: it is asked, too."""
    spider = made(Plain, tmp_path)
    spider.admits = lambda link: link is FAR  # type: ignore[method-assign]
    assert spider.admitted([HERE, FAR]) == [FAR]
