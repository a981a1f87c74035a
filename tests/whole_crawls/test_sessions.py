"""Whole crawls of a site with session ids under a name that nothing knows in all links, and what is done by hand."""

from __future__ import annotations

import itertools
import json
import random
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from console import command
from crawling import crawl
from killing import killed_at
from localweb import LocalWeb, Page

PAGES = 150
LINKS = 6


@contextmanager
def site(form: str) -> Iterator[tuple[LocalWeb, set[int]]]:
    """Pages that lead to one another, each link with another id where `form` has `{id}`; and which of them came."""
    came: set[int] = set()
    ids = itertools.count(1)

    def page(path: str, host: str) -> Page | None:
        if path == "/robots.txt":
            return None
        number = 0 if path == "/" else int(path.partition("/item")[2].partition("?")[0])
        came.add(number)
        choice = random.Random(number)
        targets = [number + 1, *(choice.randrange(PAGES) for _ in range(LINKS))]
        links = [(n, form.format(page=n, id=f"x{next(ids)}y")) for n in targets if n < PAGES]
        words = " ".join(f"{choice.getrandbits(64):x}" for _ in range(60))
        menu = "".join(f"<a href='{link}'>Item {n}</a> " for n, link in links)
        return f"<title>Item {number}</title><p>{words}</p>{menu}"

    with LocalWeb(page) as web:
        yield web, came


@dataclass
class Crawled:
    """A site that was crawled to its end."""

    web: LocalWeb
    came: set[int]
    job: Path
    done: CompletedProcess[str]


RARER = [pytest.param(form, marks=pytest.mark.deep) for form in ("/{id}/item{page}", "/(S({id}))/item{page}")]


@pytest.fixture(scope="module", params=["/item{page}?wombat={id}", *RARER])
def crawled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    job = tmp_path_factory.mktemp("sessions") / "job"
    with site(request.param) as (web, came):
        yield Crawled(web, came, job, crawl(web.root, job))


in_query = pytest.mark.parametrize("crawled", ["/item{page}?wombat={id}"], indirect=True)


def test_session_ids(crawled: Crawled) -> None:
    """All pages come in, with at most one and a half fetches a page; the crawl ends, and says what it has left."""
    assert crawled.done.returncode == 0, crawled.done.stderr
    assert crawled.came == set(range(PAGES))
    assert len(crawled.web.paths()) <= 1.5 * PAGES
    ended = r"finished: nothing is left to fetch \([\d,]+ URLs that wait are other forms of pages that were"
    assert re.search(ended, crawled.done.stderr)
    assert {"trusted", "minted"} & {rule["state"] for rule in rules(crawled.job)}


@in_query
def test_a_rule_that_is_not_there(crawled: Crawled) -> None:
    """One line says what to do."""
    for name in ("7@a.example", "x", "@"):
        done = command("frontier", "--refuse-rule", name, "-d", str(crawled.job))
        assert done.returncode == 1
        assert "scrapy frontier --rules lists them" in done.stderr


@in_query
def test_a_rule_that_is_refused(crawled: Crawled, tmp_path: Path) -> None:
    """It is listed, refused by its ID, and all that it held is fetched by the next crawl; then it can be trusted."""
    web, job = crawled.web, shutil.copytree(crawled.job, tmp_path / "job")
    before = len(web.paths())
    held = [rule for rule in rules(job) if rule["waiting"]]
    assert held
    for rule in rules(job):
        done = command("frontier", "--refuse-rule", rule["id"], "-d", str(job))
        assert (done.returncode, done.stdout) == (0, f"{rule['id']} is refused: {rule['rule']}\n")
    crawl(web.root, job, SITECRAWL_MAX_PAGES=before + 60)
    assert len(web.paths()) >= before + 60
    assert not sum(rule["waiting"] for rule in rules(job))
    trusted = ("frontier", "--trust-rule", held[0]["id"], "-d", str(job))
    killed_at("frontier.forms.rule_orders._write: batch", trusted, tmp_path / "log")
    done = command(*trusted)
    assert "is ordered" in done.stdout
    again = len(web.paths())
    last = crawl(web.root, job)
    assert len(web.paths()) < again + 20
    assert "other forms" in last.stderr


def rules(job: Path) -> list[dict[str, Any]]:
    listed = command("frontier", "--rules", "--format", "jsonl", "-d", str(job))
    return [json.loads(line) for line in listed.stdout.splitlines()]
