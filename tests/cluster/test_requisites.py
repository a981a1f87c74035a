"""What pages are made of, where many workers share a crawl: whoever has a host has its requisites."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from crawling import scrapy
from fleet import Worker, fleet, stored
from localweb import Answer, LocalWeb, Page, linked
from redis_servers import Server

from sitecrawl.pagestore import PageFilter, PageReader

PAGES = 24
CSS = {"Content-Type": "text/css"}
PNG = Answer(b"\x89PNG\r\n\x1a\n" + bytes(20), 200, {"Content-Type": "image/png"})


@pytest.fixture
def webs() -> Iterator[list[LocalWeb]]:
    """Two hosts of pages, and four that have nothing but what these are made of."""
    with ExitStack() as stack:
        found = [stack.enter_context(LocalWeb({}, address=f"127.0.0.{n}")) for n in range(1, 7)]
        for number, web in enumerate(found):
            web.pages = _Pages(number, found)
        yield found


class _Pages:
    def __init__(self, number: int, webs: list[LocalWeb]) -> None:
        self._number, self._webs = number, webs

    def __call__(self, path: str, host: str) -> Page | None:
        kind, _, number = path.strip("/").partition("/")
        if kind == "robots.txt":
            return ""
        if kind == "css":
            return Answer(f"a{{b:url({_of(self._webs, int(number) + 1)}/font/{number})}}".encode(), 200, CSS)
        if kind in {"img", "font"}:
            return PNG
        links = linked(*(f"{self._webs[n % 2].root}/page/{n}" for n in range(PAGES))) if path == "/" else ""
        return links + (_parts(self._webs, int(number)) if kind == "page" else "")


def _of(webs: list[LocalWeb], number: int) -> str:
    return webs[2 + number % 4].root


def _parts(webs: list[LocalWeb], number: int) -> str:
    style = f"<link rel=stylesheet href={_of(webs, number)}/css/{number}>"
    return f"<title>{number}</title>{style}<img src={_of(webs, number + 2)}/img/{number}>"


def requisites(workers: list[Worker]) -> Counter[str]:
    """How often each is stored, over all workers."""
    found: Counter[str] = Counter()
    for worker in workers:
        with PageReader(worker.folder / "job") as reader:
            found.update(capture.url for capture in reader.pages(PageFilter(kind="requisite")))
    return found


@pytest.mark.parametrize("max_pages", [10, pytest.param(0, marks=pytest.mark.deep)])
def test_requisites_of_a_shared_crawl(max_pages: int, webs: list[LocalWeb], redis: Server, tmp_path: Path) -> None:
    """All that the pages are made of is stored, once, by whatever worker; no limit of pages counts it."""
    seeds = f"{webs[0].root}/,{webs[1].root}/"
    arguments = ("requisites=1", f"max_pages={max_pages}")
    with fleet(tmp_path, 2, seeds, redis.url, arguments=arguments) as workers:
        assert [worker.wait() for worker in workers] == [0, 0], workers[0].log + workers[1].log
        pages, parts = stored(workers), requisites(workers)
    assert len(pages) == (max_pages or PAGES + 2)
    numbers = [int(url.rpartition("/")[2]) for url in pages if "/page/" in url]
    wanted = {f"{_of(webs, n)}/css/{n}" for n in numbers} | {f"{_of(webs, n + 2)}/img/{n}" for n in numbers}
    wanted |= {f"{_of(webs, n + 1)}/font/{n}" for n in numbers}
    assert parts == Counter(wanted)
    checked = scrapy("check-crawl", redis.url, *(str(worker.folder / "job") for worker in workers))
    assert checked.returncode == 0, checked.stdout + checked.stderr
