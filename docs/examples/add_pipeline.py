"""Prices in a database: scrapy runspider add_pipeline.py -a seeds=https://shop.example/ -s PRICES_FILE=shop.db"""

import sqlite3

from scrapy.exceptions import DropItem

from sitecrawl.page.items import PageItem
from sitecrawl.spiders.site import SiteSpider


class PricesPipeline:
    """Keeps the last price of each product; drops what has none."""

    def __init__(self, path):
        self.database = sqlite3.connect(path)
        self.database.execute("CREATE TABLE IF NOT EXISTS prices (name TEXT PRIMARY KEY, price REAL, url TEXT)")

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler.settings.get("PRICES_FILE", "prices.sqlite"))

    def process_item(self, item):
        if isinstance(item, PageItem):
            return item  # pages pass through here, too
        try:
            price = float(item["price"].strip("€ ").replace(",", "."))
        except (AttributeError, ValueError):
            raise DropItem(f"no price: {item}") from None
        row = (item["name"], price, item["url"])
        self.database.execute("INSERT OR REPLACE INTO prices VALUES (?, ?, ?)", row)
        return item

    def close_spider(self):
        self.database.commit()
        self.database.close()


class PricesSpider(SiteSpider):
    name = "prices"
    start_urls = ["https://shop.example/"]
    custom_settings = SiteSpider.custom_settings | {"ITEM_PIPELINES": {PricesPipeline: 300}}

    def extract(self, response, page):
        for product in response.css(".product"):
            yield {
                "url": page.url,
                "name": product.css("h2::text").get(),
                "price": product.css(".price::text").get(),
            }
