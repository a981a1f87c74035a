"""Spiders whose pages are longer than pages are read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from crawling import PROJECT, scrapy, stats_of
from localweb import Answer, LocalWeb, Page

from sitecrawl.base.limits import READ_ELEMENTS, READ_SIZE

LONG = "<p>early</p><a href=/near>a</a>" + "<br>x" * 500 + "<p>late</p><a href=/far>b</a>"
PLAIN = {"Content-Type": "text/plain"}
PAGES: dict[str, Page] = {"/": LONG, "/near": Answer(b"word " * 1000, 200, PLAIN), "/far": "far"}
ALL = 1 << 40
RULES = "rules:\n  - name: p\n    each: {css: p}\n    fields: {text: {css: p, required: true}}\n"


@pytest.fixture(scope="module")
def web() -> Iterator[LocalWeb]:
    with LocalWeb(PAGES) as served:
        yield served


def crawled(
    web: LocalWeb, tmp_path: Path, spider: str, *words: str, elements: int
) -> tuple[list[dict[str, object]], str]:
    """The items, and the log."""
    seed = "start" if spider == "keyword" else "seeds"
    done = scrapy(
        "crawl", spider, "-a", f"{seed}={web.root}/", *words, "-O", f"{tmp_path}/{elements}.jsonl",
        settings={
            "SITECRAWL_DELAY_FACTOR": 0, "STATS_DUMP": True, "LOG_LEVEL": "INFO",
            "LIMITS": {"READ_ELEMENTS": elements, "READ_SIZE": 4000}, "JOBDIR": tmp_path / f"job-{elements}",
        },
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in (tmp_path / f"{elements}.jsonl").read_text().splitlines()], done.stderr


def test_keyword(web: LocalWeb, tmp_path: Path) -> None:
    """What stands behind the end is not found, and links there are not followed; both limits are counted once."""
    found, log = crawled(web, tmp_path, "keyword", "-a", "keyword=late", elements=100)
    assert found == []
    assert (stats_of(log)[READ_ELEMENTS.stat], stats_of(log)[READ_SIZE.stat]) == (1, 1)
    assert web.paths().count("/near") == 1
    assert "/far" not in web.paths()
    assert len(crawled(web, tmp_path, "keyword", "-a", "keyword=late", elements=ALL)[0]) == 1


@pytest.mark.deep
def test_focused(web: LocalWeb, tmp_path: Path) -> None:
    """A page is about what is read of it."""
    arguments = "-a", "topic=late", "-a", "threshold=0.01"
    assert crawled(web, tmp_path, "focused", *arguments, elements=100)[0] == []
    assert len(crawled(web, tmp_path, "focused", *arguments, elements=ALL)[0]) == 1


def test_rules(web: LocalWeb, tmp_path: Path) -> None:
    """Items are taken from what is read."""
    rules = tmp_path / "rules.yaml"
    rules.write_text(RULES)
    items = {
        elements: [
            item["text"] for item in crawled(web, tmp_path, "extract", "-a", f"rules={rules}", elements=elements)[0]
        ]
        for elements in (100, ALL)
    }
    assert items == {100: ["early"], ALL: ["early", "late"]}


def test_nobody_reads_all() -> None:
    """A page's whole text is nobody's but that of style sheets, which have a limit of their own."""
    files = [path for path in (PROJECT / "sitecrawl").rglob("*.py") if re.search(r"\bpage\.text\b", path.read_text())]
    # A record of an export, of which changes are told, and an element of XML have a `text`, too.
    assert {path.relative_to(PROJECT).as_posix() for path in files} == {
        "sitecrawl/plugins/export/changes.py", "sitecrawl/plugins/export/formats.py",
        "sitecrawl/plugins/export/fulltext.py", "sitecrawl/plugins/export/wacz.py",
        "sitecrawl/page/links.py", "sitecrawl/plugins/export/sources.py",
    }  # fmt: skip
