"""Whole crawls of a site with session ids under a name that nothing knows in all links, and what is done by hand."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from crawling import crawl, scrapy
from localweb import LocalWeb, Page, linked

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


@pytest.mark.parametrize("form", ["/item{page}?wombat={id}", "/{id}/item{page}", "/(S({id}))/item{page}"])
def test_session_ids(tmp_path: Path, form: str) -> None:
    """All pages come in, with at most one and a half fetches a page; the crawl ends, and says what it has left."""
    with site(form) as (web, came):
        done = crawl(web.root, tmp_path / "job")
        assert done.returncode == 0, done.stderr
        assert came == set(range(PAGES))
        assert len(web.paths()) <= 1.5 * PAGES
    assert "nothing is left to fetch but" not in done.stderr
    assert "other forms" in done.stderr
    listed = scrapy("frontier", "--rules", "--format", "jsonl", "-d", str(tmp_path / "job"))
    assert "trusted" in {json.loads(line)["state"] for line in listed.stdout.splitlines()}


def test_a_rule_that_is_refused(tmp_path: Path) -> None:
    """It is listed, refused by its ID, and all that it held is fetched by the next crawl; then it can be trusted."""
    job = str(tmp_path / "job")
    with site("/item{page}?wombat={id}") as (web, _):
        crawl(web.root, tmp_path / "job")
        before = len(web.paths())
        rules = [json.loads(line) for line in listed(job)]
        held = [rule for rule in rules if rule["waiting"]]
        assert held
        for rule in rules:
            done = scrapy("frontier", "--refuse-rule", rule["id"], "-d", job)
            assert (done.returncode, done.stdout) == (0, f"{rule['id']} is refused: {rule['rule']}\n")
        crawl(web.root, tmp_path / "job", SITECRAWL_MAX_PAGES=before + 60)
        assert len(web.paths()) >= before + 60
        assert not sum(json.loads(line)["waiting"] for line in listed(job))
        done = scrapy("frontier", "--trust-rule", held[0]["id"], "-d", job)
        assert "is ordered" in done.stdout
        again = len(web.paths())
        done = crawl(web.root, tmp_path / "job")
        assert len(web.paths()) < again + 20
    assert "other forms" in done.stderr


def listed(job: str) -> list[str]:
    return scrapy("frontier", "--rules", "--format", "jsonl", "-d", job).stdout.splitlines()


def test_a_rule_that_is_not_there(tmp_path: Path) -> None:
    """One line says what to do."""
    with LocalWeb({"/": linked("/a")}) as web:
        crawl(web.root, tmp_path / "job")
    for name in ("7@a.example", "x", "@"):
        done = scrapy("frontier", "--refuse-rule", name, "-d", str(tmp_path / "job"))
        assert done.returncode == 1
        assert "scrapy frontier --rules lists them" in done.stderr
