"""`scrapy crawl sitemap -a domains=...`: what sites list of themselves, and what they add to it."""

from __future__ import annotations

from typing import Any, Self

from scrapy.crawler import Crawler

from sitecrawl.page.items import Link
from sitecrawl.spiders.arguments import SiteArguments
from sitecrawl.spiders.job_file import with_job_file
from sitecrawl.spiders.site import SiteSpider


class SitemapSpider(SiteSpider):
    """Finds the sitemaps of some sites and fetches every page in scope that they list; links of pages are left.

    Its arguments are those of `SiteSpider`, with `domains` for `seeds`; where there are neither, the sites of the
    sitemaps and hubs that are named.
    """

    name = "sitemap"

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        kwargs = with_job_file(crawler, kwargs)
        if "domains" in kwargs:
            kwargs["seeds"] = kwargs.pop("domains")
        elif "seeds" not in kwargs and (named := SiteArguments.named_in(kwargs)):
            kwargs = {"sitemaps": "0", **kwargs, "seeds": [url.href for url in named]}
        return super().from_crawler(crawler, *args, **{"sitemaps": "1", **kwargs})

    def admits(self, link: Link) -> bool:
        return False

    def admits_redirect(self, url: str, *, of_seed: bool) -> bool:
        target = self.redirect_target(url, of_seed=of_seed)
        return target is not None and self.arguments.scope.admits(target)
