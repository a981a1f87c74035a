"""Products of a shop: scrapy runspider extract_fields.py -a seeds=https://shop.example/ -O products.jsonl"""

import json

from sitecrawl.spiders.site import SiteSpider


class ProductsSpider(SiteSpider):
    name = "products"
    start_urls = ["https://shop.example/"]

    def extract(self, response, page):
        for text in response.css('script[type="application/ld+json"]::text').getall():
            try:
                data = json.loads(text)
            except ValueError:
                continue  # many pages have broken JSON: it is no reason to stop
            if isinstance(data, dict) and data.get("@type") == "Product":
                yield self.product(data, response, page)

    def product(self, data, response, page):
        offer = data.get("offers") or {}
        return {
            "url": page.canonical or page.url,
            "name": data.get("name"),
            "price": offer.get("price"),
            "currency": offer.get("priceCurrency"),
            "in_stock": response.css(".stock::text").re_first(r"\d+"),
        }
