"""Images of pages as items: Scrapy's `ImagesPipeline` takes those that rules, or a spider, have named."""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest
from crawling import scrapy
from localweb import Answer, LocalWeb, Page
from PIL import Image

RULES = """\
rules:
  - name: pictures
    fields:
      image_urls: {css: 'img::attr(src)', type: url, many: true, required: true}
"""
SPIDER = """\
from sitecrawl.spiders.site import SiteSpider


class Pictures(SiteSpider):
    name = "pictures"

    def extract(self, response, page):
        yield {"image_urls": [part.url for part in page.requisites if part.kind == "img"]}
"""
PIPELINE = json.dumps({"scrapy.pipelines.images.ImagesPipeline": 1})


def image(colour: str) -> Answer:
    written = BytesIO()
    Image.new("RGB", (8, 8), colour).save(written, "PNG")
    return Answer(written.getvalue(), 200, {"Content-Type": "image/png"})


@pytest.fixture
def web() -> Iterator[LocalWeb]:
    pages: dict[str, Page] = {
        "/": "<img src=/red.png><img src=/blue.png><a href=/b>b</a>",
        "/b": "<img src=/red.png>",
        "/red.png": image("red"),
        "/blue.png": image("blue"),
        "/robots.txt": "",
    }
    with LocalWeb(pages) as served:
        yield served


def taken(items: Path, store: Path) -> list[str]:
    """The names of the images that the items have; each has a file."""
    found = [json.loads(line) for line in items.read_text().splitlines()]
    images = [image for item in found for image in item["images"]]
    for image in images:
        with Image.open(store / image["path"]) as written:
            assert written.size == (8, 8)
    return sorted({image["url"].rpartition("/")[2] for image in images})


def test_rules_take_images(web: LocalWeb, tmp_path: Path) -> None:
    """What rules call `image_urls` is fetched into files, and the item says where."""
    rules, items, store = tmp_path / "rules.yaml", tmp_path / "items.jsonl", tmp_path / "images"
    rules.write_text(RULES)
    done = scrapy(
        *("crawl", "extract", "-a", f"rules={rules}", "-a", f"seeds={web.root}/", "-O", str(items)),
        settings={
            "JOBDIR": tmp_path / "job",
            "SITECRAWL_DELAY_FACTOR": 0,
            "ITEM_PIPELINES": PIPELINE,
            "IMAGES_STORE": store,
        },
    )
    assert done.returncode == 0, done.stderr
    assert taken(items, store) == ["blue.png", "red.png"]


def test_a_spider_takes_images(web: LocalWeb, tmp_path: Path) -> None:
    """What a page is made of stands in the page for its spider."""
    spider, items, store = tmp_path / "pictures.py", tmp_path / "items.jsonl", tmp_path / "images"
    spider.write_text(SPIDER)
    settings = {
        "JOBDIR": tmp_path / "job",
        "SITECRAWL_DELAY_FACTOR": 0,
        "ITEM_PIPELINES": PIPELINE,
        "IMAGES_STORE": store,
    }
    words = ("runspider", str(spider), "-a", f"seeds={web.root}/", "-a", "requisites=1", "-O", str(items))
    done = scrapy(*words, settings=settings)
    assert done.returncode == 0, done.stderr
    assert taken(items, store) == ["blue.png", "red.png"]
