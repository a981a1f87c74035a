"""What Scrapy's and scrapy-redis' documents tell a user to do, with the add-on and without: the same comes out.

Scrapy's examples are those that it ships: the project of `startproject` and the spiders of `genspider`, as they are
written, with the lines filled in that a user fills in. scrapy-redis ships none, so its settings and spiders are those
that its guide describes. Nothing is changed for us but the one line that names the add-on.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import forks
import pytest
import redis
from crawling import PROJECT, environment, scrapy, with_settings
from localweb import Answer, LocalWeb, Page, linked
from redis_server import running_redis, socket_of
from waiting import PATIENCE

from sitecrawl.pagestore import PageFilter, PageReader

pytestmark = pytest.mark.deep

Items = dict[str, list[str]]
ADDON = 'ADDONS = {"sitecrawl.addon.Addon": 500}'
FEED = "<items>" + "".join(f'<item id="{n}"><name>n{n}</name></item>' for n in range(3)) + "</items>"
TABLE = "id,name\n1,one\n2,two\n"
PIPELINE = """
from scrapy.exceptions import DropItem

class {name}:
    def open_spider(self):
        self.seen = set()

    def process_item(self, item):
        if item["name"] in self.seen:
            raise DropItem("twice")
        self.seen.add(item["name"])
        item["shop"] = "ours"
        return item
"""


def site(path: str, host: str) -> Page | None:
    if path in {"/", "/Items/0", "/Items/1"}:
        return linked("/Items/1", "/Items/2", "/about", title=path)
    pages: dict[str, Page] = {
        "/Items/2": linked("/Items/0", title="/Items/2"),
        "/about": linked(title="/about"),
        "/feed.xml": Answer(FEED.encode(), headers={"Content-Type": "application/xml"}),
        "/table.csv": Answer(TABLE.encode(), headers={"Content-Type": "text/csv"}),
    }
    return pages.get(path)


@pytest.fixture(scope="module")
def web() -> Iterator[LocalWeb]:
    with LocalWeb(site) as served:
        yield served


def filled(text: str, *pairs: tuple[str, str]) -> str:
    """`text` with each first half replaced: every one has to be there."""
    for before, after in pairs:
        assert before in text
        text = text.replace(before, after)
    return text


SPIDERS = {
    "basic": (
        "/",
        ("        pass", '        for a in response.css("a::text").getall():\n            yield {"name": a}'),
    ),
    "crawl": ("/", ("        item = {}", '        item = {"name": response.css("title::text").get()}')),
    "xmlfeed": ("/feed.xml", ("        item = {}", '        item = {"name": selector.xpath("name/text()").get()}')),
    "csvfeed": ("/table.csv", ("        i = {}", '        i = {"name": row["name"]}')),
}
"""Template → where it starts, and the line that a user fills in."""


@pytest.fixture(scope="module")
def project(web: LocalWeb, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("documented")
    assert scrapy("startproject", "shop", ".", cwd=folder).returncode == 0
    settings = folder / "shop" / "settings.py"
    text = filled(
        settings.read_text(),
        ("#ITEM_PIPELINES", "ITEM_PIPELINES"),
        ('#    "shop.pipelines', '    "shop.pipelines'),
        ("300,\n#}", "300,\n}"),
        ("DOWNLOAD_DELAY = 1", "DOWNLOAD_DELAY = 0"),
    )
    settings.write_text(text)
    (folder / "shop" / "pipelines.py").write_text(PIPELINE.format(name="ShopPipeline"))
    for template, (path, line) in SPIDERS.items():
        words = ("genspider", "-t", template, f"a{template}", web.root + path)
        assert scrapy(*words, cwd=folder).returncode == 0
        # genspider writes the host with its port, which Scrapy does not take for a domain.
        port = (f'["{web.root.partition("//")[2]}"]', '["127.0.0.1"]')
        spider = folder / "shop" / "spiders" / f"a{template}.py"
        spider.write_text(filled(spider.read_text(), line, port))
    return folder


@pytest.fixture(scope="module", params=[False, True], ids=["stock", "add-on"])
def items(request: pytest.FixtureRequest, project: Path, tmp_path_factory: pytest.TempPathFactory) -> Items:
    """Of each spider, the items as text."""
    folder = tmp_path_factory.mktemp("run") / "project"
    shutil.copytree(project, folder)
    if request.param:
        settings = folder / "shop" / "settings.py"
        settings.write_text(filled(settings.read_text(), ("ADDONS = {}", ADDON)) + "SITECRAWL_DELAY_FACTOR = 0\n")
    found = {}
    for template in SPIDERS:
        feed = folder / f"{template}.jsonl"
        done = scrapy("crawl", f"a{template}", "-O", str(feed), cwd=folder, env={"PYTHONPATH": str(PROJECT)})
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr, done.stderr
        assert ("sitecrawl.scheduler.Scheduler" in done.stderr) is request.param
        found[template] = sorted(feed.read_text().splitlines())
    return found


EXPECTED = {
    "basic": ["/Items/1", "/Items/2", "/about"],
    "crawl": ["/Items/0", "/Items/1", "/Items/2"],
    "xmlfeed": ["n0", "n1", "n2"],
    "csvfeed": ["one", "two"],
}


@pytest.mark.parametrize("template", SPIDERS)
def test_scrapy(items: Items, template: str) -> None:
    """A new project with one spider of each template and a pipeline."""
    assert [json.loads(line) for line in items[template]] == [
        {"name": name, "shop": "ours"} for name in EXPECTED[template]
    ]


Job = tuple[str, bool]
Jobs = dict[Job, Path]
"""A spider, and whether the scheduler is ours."""
REDIS_SPIDERS = """
from urllib.parse import urlsplit
from scrapy_redis.spiders import RedisCrawlSpider, RedisSpider
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import Rule


class MySpider(RedisSpider):
    name = "myspider"
    max_idle_time = 1

    def parse(self, response):
        yield {"path": urlsplit(response.url).path, "job": response.meta.get("job-id")}


class MyCrawler(RedisCrawlSpider):
    name = "mycrawler"
    redis_key = "mycrawler:urls"
    max_idle_time = 1
    rules = (Rule(LinkExtractor(), callback="parse_page", follow=True),)

    def parse_page(self, response):
        return {"path": urlsplit(response.url).path}
"""
REDIS_SETTINGS = """
BOT_NAME = "shop"
SPIDER_MODULES = ["shop.spiders"]
ITEM_PIPELINES = {{"scrapy_redis.pipelines.RedisPipeline": 300}}
REDIS_PARAMS = {{"unix_socket_path": {socket!r}, "db": {number}}}
"""
REDIS_SCHEDULER = """
SCHEDULER = "scrapy_redis.scheduler.Scheduler"
DUPEFILTER_CLASS = "scrapy_redis.dupefilter.RFPDupeFilter"
SCHEDULER_PERSIST = False
"""


@pytest.fixture(scope="module")
def store() -> Iterator[redis.Redis]:
    with running_redis() as client:
        yield client


@pytest.fixture(scope="module")
def jobs(store: redis.Redis, web: LocalWeb, tmp_path_factory: pytest.TempPathFactory) -> dict[Job, Path]:
    """Both spiders under both schedulers, all at once: they spend their time waiting for Redis."""
    folders, processes = {}, []
    for number, job in enumerate((spider, ours) for spider in ("myspider", "mycrawler") for ours in (False, True)):
        spider, ours = job
        folder = folders[job] = tmp_path_factory.mktemp(f"{spider}")
        (folder / "shop").mkdir()
        (folder / "shop" / "__init__.py").touch()
        (folder / "shop" / "spiders.py").write_text(REDIS_SPIDERS)
        settings = REDIS_SETTINGS.format(socket=socket_of(store), number=number) + ("" if ours else REDIS_SCHEDULER)
        (folder / "shop" / "settings.py").write_text(f"{settings}{ADDON}\nSITECRAWL_DELAY_FACTOR = 0\n")
        (folder / "scrapy.cfg").write_text("[settings]\ndefault = shop.settings\n")
        start = json.dumps({"url": f"{web.root}/", "meta": {"job-id": "123"}})
        with redis.Redis(unix_socket_path=socket_of(store), db=number) as own:
            own.lpush("mycrawler:urls" if spider == "mycrawler" else "myspider:start_urls", start)
        words = with_settings("crawl", spider, settings={"JOBDIR": "job"})
        processes.append(forks.start(words, environment(PYTHONPATH=str(PROJECT)), folder / "log", folder=folder))
    assert [process.wait(PATIENCE) for process in processes] == [0] * 4
    return folders


@pytest.mark.parametrize("ours", [False, True], ids=["its scheduler", "ours"])
@pytest.mark.parametrize(
    ("spider", "paths"), [("myspider", ["/"]), ("mycrawler", ["/Items/0", "/Items/1", "/Items/2", "/about"])]
)
def test_scrapy_redis(jobs: Jobs, store: redis.Redis, *, spider: str, paths: list[str], ours: bool) -> None:
    """Start URLs from Redis, its scheduler or ours, its pipeline, our page store."""
    folder = jobs[spider, ours]
    log = (folder / "log").read_text()
    assert "Traceback" not in log, log
    with redis.Redis(unix_socket_path=socket_of(store), db=[*jobs].index((spider, ours))) as own:
        pushed = [json.loads(item) for item in own.lrange(f"{spider}:items", 0, -1)]
    assert sorted(item["path"] for item in pushed) == paths
    assert spider != "myspider" or pushed[0]["job"] == "123"
    assert scrapy("check-crawl", str(folder / "job")).returncode == 0
    with PageReader(folder / "job") as reader:
        stored = {urlsplit(capture.url).path for capture in reader.pages(PageFilter(status=200))}
    assert set(paths) <= stored
