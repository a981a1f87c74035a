"""The same on scrapy-redis, whose queue gives it its seeds."""

import scrapy
from scrapy.linkextractors import LinkExtractor
from scrapy_redis.spiders import RedisSpider


class RedisStock(RedisSpider):
    name = "redis-stock"
    redis_key = "seeds"
    max_idle_time = 5
    redis_batch_size = 1000

    def __init__(self, **arguments: str) -> None:
        super().__init__(**arguments)
        self.links = LinkExtractor()

    def parse(self, response):
        yield {"url": response.url, "title": response.css("title::text").get()}
        for link in self.links.extract_links(response):
            yield scrapy.Request(link.url)
