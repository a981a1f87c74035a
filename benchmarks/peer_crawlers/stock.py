"""The spider that Scrapy's own documentation leads to: every link of every page."""

from pathlib import Path

import scrapy
from scrapy.linkextractors import LinkExtractor


class Stock(scrapy.Spider):
    name = "stock"

    def __init__(self, seeds: str, **arguments: str) -> None:
        super().__init__(**arguments)
        self.start_urls = Path(seeds).read_text(encoding="ascii").split()
        self.links = LinkExtractor()

    def parse(self, response):
        yield {"url": response.url, "title": response.css("title::text").get()}
        for link in self.links.extract_links(response):
            yield scrapy.Request(link.url)
