"""`scrapy crawl focused`, as a user runs it."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from crawling import scrapy
from localweb import LocalWeb, Page
from scrapy.utils.test import get_crawler

from sitecrawl.base.errors import OptionError, SitecrawlError
from sitecrawl.plugins.focused.spider import _THRESHOLD, FocusedSpider

SOLAR = "solar panels turn light into power; solar cells, panels on roofs"
NOISE = "cooking with butter, flour and eggs in small kitchens"


def page(number: int, text: str, *paths: str) -> str:
    links = "".join(f'<a href="{path}">{path.strip("/")}</a> ' for path in paths)
    return f"<title>{number}</title><p>{text} n{number}</p>{links}"


def site() -> dict[str, Page]:
    """A front page with six folders; what is wanted is behind the last of them."""
    pages: dict[str, Page] = {"/": page(0, "all we have", *(f"/f{n}/" for n in range(6)))}
    for n in range(6):
        text, name = (SOLAR, "energy") if n == 5 else (NOISE, "food")
        pages[f"/f{n}/"] = page(n, text, *(f"/f{n}/{name}{m}" for m in range(6)))
        pages |= {f"/f{n}/{name}{m}": page(100 * n + m, text) for m in range(6)}
    return pages


@pytest.fixture(scope="module")
def web() -> Iterator[LocalWeb]:
    with LocalWeb(site()) as served:
        yield served


def focused(web: LocalWeb, tmp_path: Path, *words: str) -> CompletedProcess[str]:
    return scrapy(
        "crawl", "focused", "-a", f"seeds={web.root}/", *words, "-O", f"{tmp_path}/found.jsonl",
        settings={"JOBDIR": tmp_path / "job", "SITECRAWL_DELAY_FACTOR": 0, "STATS_DUMP": True, "LOG_LEVEL": "INFO"},
    )  # fmt: skip


def energy(paths: list[str]) -> int:
    """How many of the pages that are wanted are among `paths`."""
    return sum(path.startswith("/f5/energy") for path in paths)


def test_what_is_relevant_comes_first(web: LocalWeb, tmp_path: Path) -> None:
    """Of the pages behind the folders, those about the topic come before all others; the harvest is told."""
    before = len(web.hits)
    done = focused(web, tmp_path, "-a", "topic=solar panels")
    assert done.returncode == 0, done.stderr
    paths = [hit.path for hit in web.hits[before:]]
    first = paths.index("/f5/") + 1
    assert energy(paths[first : first + 8]) == 6  # the next one or two were handed out before that page was read
    found = [json.loads(line) for line in (tmp_path / "found.jsonl").read_text().splitlines()]
    assert {item["url"].removeprefix(web.root) for item in found} == {"/f5/", *(f"/f5/energy{m}" for m in range(6))}
    assert all(item["relevance"] >= _THRESHOLD for item in found)
    assert "'focused/relevant': 7" in done.stderr
    assert re.search(r"harvest +16\.3%: 7 of 43 pages are relevant", done.stderr)


def test_what_is_off_topic_is_dropped(web: LocalWeb, tmp_path: Path) -> None:
    """The links of its pages are not followed, but for the seed's; the page itself is stored, and counted."""
    before = len(web.hits)
    done = focused(web, tmp_path, "-a", "topic=solar panels", "-a", "min_relevance=0.05")
    assert done.returncode == 0, done.stderr
    paths = {hit.path for hit in web.hits[before:]} - {"/robots.txt"}
    assert paths == {"/", *(f"/f{n}/" for n in range(6)), *(f"/f5/energy{m}" for m in range(6))}
    assert re.search(r"off topic +5 pages, whose 30 links were not followed", done.stderr)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({}, "topic is missing"),
        ({"topic": "!?"}, "There is no word in topic"),
        ({"topic": "x", "threshold": "2"}, "threshold is a number above 0"),
        ({"topic": "x", "min_relevance": "low"}, "min_relevance is a number above 0"),
        ({"topic": "x", "treshold": "0.5"}, r"is threshold meant\?"),
        ({"examples": "none.html"}, "none.html cannot be read"),
    ],
)
def test_bad_arguments(given: dict[str, str], why: str) -> None:
    """They are told in a line, before anything is fetched."""
    with pytest.raises(SitecrawlError, match=why):
        FocusedSpider.from_crawler(get_crawler(FocusedSpider), seeds="http://a.example/", **given)


def test_an_example_without_a_word(tmp_path: Path) -> None:
    """It says nothing of what is wanted."""
    example = tmp_path / "empty.html"
    example.write_text("<!doctype html><title></title>")
    with pytest.raises(OptionError, match=r"There is no word in .*empty\.html"):
        FocusedSpider.from_crawler(get_crawler(FocusedSpider), seeds="http://a.example/", examples=str(example))


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """What to install is said."""
    monkeypatch.setitem(sys.modules, "sitecrawl.plugins.focused.topic", None)
    with pytest.raises(OptionError, match=r"pip install 'scrapy-sitecrawl\[focused\]'"):
        FocusedSpider.from_crawler(get_crawler(FocusedSpider), seeds="http://a.example/", topic="x")
