"""`scrapy crawl extract` and `scrapy rules`, as a user runs them."""

from __future__ import annotations

import csv
import json
import re
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from crawling import PROJECT, environment, scrapy, scrapy_command, stats_of
from localweb import Answer, LocalWeb, Page
from waiting import PATIENCE

RULES = """\
follow: [a.item::attr(href)]
rules:
  - name: entry
    url: /list
    each: {css: li}
    next: {css: 'a.next::attr(href)'}
    fields:
      label: {css: a, required: true}
  - name: product
    url: /p/
    fields:
      name: {jsonld: Product.name, required: true}
      price: {css: .price, type: number}
"""
PRODUCT = '<script type="application/ld+json">{{"@type": "Product", "name": "{0}"}}</script><b class=price>{0}.5</b>'
PAGES: dict[str, Page] = {
    "/list/1": "<li><a class=item href=/p/1>One</a><li>none</li><a class=next href=2>next</a><a href=/other>o</a>",
    "/list/2": "<li><a class=item href=/p/2>Two</a><li><a class=item href=/p/3>Three</a>",
    "/p/1": PRODUCT.format(1),
    "/p/2": PRODUCT.format(2),
    "/p/3": "<p>sold out</p>",
    "/old": Answer(b"", 301, {"Location": "/p/1"}),
}


@pytest.fixture(scope="module")
def web() -> Iterator[LocalWeb]:
    with LocalWeb(PAGES) as served:
        yield served


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    path = tmp_path / "rules.yaml"
    path.write_text(RULES)
    return path


def test_a_crawl(web: LocalWeb, rules: Path, tmp_path: Path) -> None:
    """Items of lists and of the pages behind them go to feeds and to a database; other links are left."""
    before = len(web.hits)
    database = tmp_path / "items.sqlite"
    done = scrapy(
        "crawl", "extract", "-a", f"rules={rules}", "-a", f"seeds={web.root}/list/1",
        "-O", f"{tmp_path}/items.jsonl", "-O", f"{tmp_path}/items.csv",
        settings={
            "JOBDIR": tmp_path / "job", "SITECRAWL_DELAY_FACTOR": 0, "STATS_DUMP": True, "LOG_LEVEL": "INFO",
            "ITEM_PIPELINES": '{"pipelines.ItemsPipeline": 500}', "SITECRAWL_DATABASE_URL": f"sqlite:///{database}",
        },
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert {hit.path for hit in web.hits[before:]} == {"/robots.txt", "/list/1", "/list/2", "/p/1", "/p/2", "/p/3"}
    items = [json.loads(line) for line in (tmp_path / "items.jsonl").read_text().splitlines()]
    assert sorted(item["label"] for item in items if item["rule"] == "entry") == ["One", "Three", "Two"]
    products = sorted((item["name"], item["price"]) for item in items if item["rule"] == "product")
    assert products == [("1", 1.5), ("2", 2.5)]
    with (tmp_path / "items.csv").open(newline="") as file:
        assert next(csv.reader(file)) == ["rule", "url", "label", "name", "price"]
    with closing(sqlite3.connect(database)) as connection:
        stored = [json.loads(item) for (item,) in connection.execute("SELECT item FROM items")]
    assert sorted(map(json.dumps, stored)) == sorted(json.dumps(item, sort_keys=True) for item in items)
    stats = stats_of(done.stderr)
    assert stats["extract/entry/dropped"] == stats["extract/product/missing/name"] == 1
    assert "2 product, 1 dropped for want of name (1)" in done.stderr


def test_a_dry_run(web: LocalWeb, rules: Path, tmp_path: Path) -> None:
    """What each rule matched on one page, behind a redirect; nothing is kept."""
    done = scrapy("rules", str(rules), f"{web.root}/old", env={"TMPDIR": str(tmp_path)})
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{web.root}/p/1  200  text/html" in done.stdout
    assert f'{rules}:9  rule product\n\n  name             "1"\n' in done.stdout
    assert 'jsonld Product.name: found "1"' in done.stdout
    assert "is for other pages" in done.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rules.yaml"]


@pytest.mark.deep
def test_a_dry_run_whose_reader_has_enough(web: LocalWeb, rules: Path) -> None:
    """As behind `| head`: no error."""
    command = scrapy_command("rules", str(rules), f"{web.root}/p/1")
    with subprocess.Popen(
        command, cwd=PROJECT, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None
        assert run.stderr is not None
        run.stdout.close()
        assert run.stderr.read() == ""
        assert run.wait(PATIENCE) == 0


def test_a_dry_run_that_fails(web: LocalWeb, rules: Path) -> None:
    """A page that cannot be read is exit code 1 and the reason."""
    done = scrapy("rules", str(rules), f"{web.root}/none")
    assert done.returncode == 1
    assert "could not be read: the server answered with status 404" in done.stderr


def test_rules_are_checked_before_the_crawl(web: LocalWeb, tmp_path: Path) -> None:
    """An error names file and line, and nothing is fetched or made."""
    before = len(web.hits)
    path = tmp_path / "bad.yaml"
    path.write_text("rules:\n  - name: a\n    fields: {b: {css: '['}}\n")
    words = ("crawl", "extract", "-a", f"rules={path}", "-a", f"seeds={web.root}", "-s", f"JOBDIR={tmp_path}/job")
    for done in (scrapy(*words), scrapy("rules", str(path))):
        assert done.returncode == 1
        assert f"{path}:3: '[' is no CSS selector" in done.stderr
    assert len(web.hits) == before
    assert not (tmp_path / "job").exists()


@pytest.mark.deep
def test_a_hostile_page_costs_a_bounded_time(tmp_path: Path) -> None:
    """A page that is too large is not searched, a pattern that would not end finds nothing, a page whose time is up
    keeps the items that it has; all three are counted, and the summary says so.

    The pattern takes the time that patterns have, which is more than a page has: the second of `/many` is its last.
    """
    rules = tmp_path / "rules.yaml"
    rules.write_text(
        "rules: [{name: many, url: /many, each: {css: i}, fields: {all: {css: b}, found: {regex: '(a|aa)+b'}}},"
        " {name: one, fields: {found: {regex: '(a|aa)+b'}, title: {css: title}}}]"
    )
    endless = "a" * 5000
    pages: dict[str, Page] = {
        "/": "<title>home</title><a href=/slow>s</a><a href=/large>l</a><a href=/many>m</a>",
        "/many": f"<title>many</title><i><b>1</b></i><i><b>2</b>{endless}</i>" + "<i><b>x</b></i>" * 600,
        "/slow": "<title>slow</title>" + endless,
        "/large": "<title>large</title>" + "x" * 20_000,
    }
    with LocalWeb(pages) as web:
        done = scrapy(
            "crawl", "extract", "-a", f"rules={rules}", "-a", f"seeds={web.root}/", "-O", f"{tmp_path}/items.jsonl",
            settings={
                "JOBDIR": tmp_path / "job", "SITECRAWL_DELAY_FACTOR": 0, "STATS_DUMP": True, "LOG_LEVEL": "INFO",
                "LIMITS": {"REGEX_TIME": 1.5, "EXTRACT_TIME": 1.0, "EXTRACT_SIZE": 18_000},
            },
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    stats = stats_of(done.stderr)
    assert stats["limits/extract_size"] == 1
    assert stats["limits/regex_time"] == 2
    assert stats["limits/extract_time"] == 1
    for limit, number in {"extract_size": 1, "extract_time": 1, "regex_time": 2}.items():
        assert re.search(rf"(?m)^ +\S.*: {number} \(limits/{limit}\)$", done.stderr)
    items = [json.loads(line) for line in (tmp_path / "items.jsonl").read_text().splitlines()]
    assert sorted(item["title"] for item in items if item["rule"] == "one") == ["home", "slow"]
    assert [item["all"] for item in items if item["rule"] == "many"] == ["1", "2"]
