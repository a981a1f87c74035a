from __future__ import annotations

import asyncio
import base64
import json
from types import SimpleNamespace

import pytest
import redis
from crawling import scrapy
from localweb import LocalWeb
from pagestore_helpers import NO_BATCH, exchange, page
from redis_server import running_redis
from scrapy.settings import Settings

from pipelines import RedisPipeline
from pipelines.redis import _serialize
from sitecrawl.base.errors import OptionError, StorageError
from sitecrawl.page.items import PageItem


@pytest.fixture(scope="module")
def server():
    with running_redis() as client:
        yield client


def pipeline_on(client: redis.Redis, **options) -> RedisPipeline:
    return _on(RedisPipeline(client, **options))


def _on(pipeline: RedisPipeline) -> RedisPipeline:
    """In a crawl of the spider `shop`."""
    pipeline.crawler = SimpleNamespace(spider=SimpleNamespace(name="shop"))
    return pipeline


def test_a_page_is_pushed_as_json(server):
    """The page is in Redis when the pipeline passes it on, in the spider's list of pages."""
    item = page(exchange(body="<p>Grüße</p>".encode("windows-1252")), charset="windows-1252", title="Hi")
    assert asyncio.run(pipeline_on(server).process_item(item)) is item
    pushed = json.loads(server.lpop("shop:pages"))
    assert not server.exists("shop:items")
    assert (pushed["url"], pushed["title"], pushed["body"]) == (item.url, "Hi", "<p>Grüße</p>")
    assert "exchange" not in pushed


# scrapy-redis passes this argument, with the value that is redis-py's default by now.
@pytest.mark.filterwarnings("ignore:.*retry_on_timeout:DeprecationWarning")
def test_a_users_key_and_serializer_are_kept(server):
    """REDIS_ITEMS_KEY and REDIS_ITEMS_SERIALIZER mean what they mean in scrapy-redis."""
    settings = Settings({"REDIS_ITEMS_KEY": "mine:%(spider)s", "REDIS_ITEMS_SERIALIZER": "builtins.str"})
    settings.set("REDIS_PARAMS", {"unix_socket_path": server.connection_pool.connection_kwargs["path"]})
    pipeline = RedisPipeline.from_settings(settings)
    assert (pipeline.key, pipeline.serialize) == ("mine:%(spider)s", str)
    asyncio.run(_on(pipeline).process_item(page(exchange())))
    assert server.llen("shop:pages") == 1


@pytest.mark.parametrize("key", ["%(host)s:pages", "100%"])
@pytest.mark.filterwarnings("ignore:.*retry_on_timeout:DeprecationWarning")
def test_a_key_that_is_none(key):
    """Said before the crawl begins, not by its first page."""
    with pytest.raises(OptionError, match=r"REDIS_ITEMS_KEY is .*: %\(spider\)s alone is replaced"):
        RedisPipeline.from_settings(Settings({"REDIS_ITEMS_KEY": key}))


SPIDER = """
from scrapy import Spider
from sitecrawl.page.items import PageItem

class Shop(Spider):
    name = "crawled"
    custom_settings = {"ITEM_PIPELINES": {"pipelines.RedisPipeline": 300}, "ROBOTSTXT_OBEY": False}

    def __init__(self, root):
        self.start_urls = [root]

    def parse(self, response):
        yield PageItem(response.url, 200, 1.0)
        yield {"price": 1}
"""


def test_a_crawls_items_are_in_redis(server, tmp_path):
    """In a crawl the pipeline takes its settings as scrapy-redis does, and all items arrive."""
    (tmp_path / "shop.py").write_text(SPIDER)
    params = json.dumps({"unix_socket_path": server.connection_pool.connection_kwargs["path"]})
    with LocalWeb(lambda path, host: "<title>Shop</title>") as web:
        words = ("runspider", str(tmp_path / "shop.py"), "-a", f"root={web.root}")
        done = scrapy(*words, settings={"JOBDIR": tmp_path / "job", "REDIS_PARAMS": params})
        assert done.returncode == 0, done.stderr
    items, pages = ([json.loads(one) for one in server.lrange(f"crawled:{of}", 0, -1)] for of in ("items", "pages"))
    assert items == [{"price": 1}]
    assert [page["url"] for page in pages] == [web.root]


def test_other_items_are_pushed_as_scrapy_redis_does(server):
    """A dict is what it was without us."""
    asyncio.run(pipeline_on(server, key="plain").process_item({"price": 1}))
    assert json.loads(server.lpop("plain")) == {"price": 1}


@pytest.mark.parametrize(
    ("body", "charset"),
    [(b"\x89PNG\r\n", None), (b"\xff\xfe", "utf-8"), (b"x", "x-unheard-of"), (b"+ADw-", "utf-7")],
)
def test_a_body_that_is_not_exactly_its_text_is_base64(body, charset):
    """No byte of a body is lost: what would not come back from its text is not sent as text."""
    sent = json.loads(_serialize(PageItem("http://site.example/", 200, 1.0, body=body, charset=charset)))
    assert base64.b64decode(sent["body_base64"]) == body
    assert "body" not in sent


def test_redis_that_is_gone():
    """An item that could not be pushed is an error that stops the crawl, and no checkpoint passes over it."""
    client = redis.Redis(port=1)
    pipeline = pipeline_on(client)
    pipeline.prepare(NO_BATCH)
    with pytest.raises(StorageError, match="Redis takes no items"):
        asyncio.run(pipeline.process_item(page(exchange())))
    with pytest.raises(StorageError, match="Redis takes no items"):
        pipeline.prepare(NO_BATCH)
    client.close()
