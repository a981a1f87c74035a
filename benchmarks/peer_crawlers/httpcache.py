"""A CrawlSpider behind Scrapy's HttpCache with the policy of RFC 2616, on a day of its own: for `week.py`.

    python httpcache.py SEED CACHE PAGES DAY

writes the URL and the text of each page with a status of 200 to the file PAGES, a JSON object a line.
"""

import json
import sys
import time
from pathlib import Path

import scrapy.extensions.httpcache
from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule


class Cached(CrawlSpider):
    name = "cached"
    rules = (Rule(LinkExtractor(), callback="take", follow=True),)

    def parse_start_url(self, response):
        self.take(response)
        return ()

    def take(self, response):
        text = " ".join(response.css("body ::text").getall())
        self.pages.write(json.dumps({"url": response.url, "text": text}) + "\n")


def main() -> None:
    seed, cache, pages, day = sys.argv[1:]
    scrapy.extensions.httpcache.time = lambda: time.time() + 86_400 * int(day)
    with Path(pages).open("w", encoding="utf-8") as file:
        Cached.pages = file
        process = CrawlerProcess(
            {
                "HTTPCACHE_ENABLED": True,
                "HTTPCACHE_POLICY": "scrapy.extensions.httpcache.RFC2616Policy",
                "HTTPCACHE_DIR": cache,
                "LOG_LEVEL": "WARNING",
                "ROBOTSTXT_OBEY": True,
                "TELNETCONSOLE_ENABLED": False,
                "ADDONS": {},
            }
        )
        process.crawl(Cached, start_urls=[seed])
        process.start()


if __name__ == "__main__":
    main()
