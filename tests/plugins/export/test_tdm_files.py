"""A crawl that says what it is for asks hosts what they reserve."""

from __future__ import annotations

import json
from pathlib import Path

from crawling import PROJECT, crawl, scrapy
from localweb import Answer, LocalWeb, linked

JSON = {"Content-Type": "application/json"}
RESERVED = Answer(json.dumps([{"location": "/kept/*", "tdm-reservation": 1}]).encode(), 200, JSON)
PAGES = {"/": linked("/kept/1", "/free"), "/kept/1": "kept", "/free": "free", "/robots.txt": ""}
FILE = "/.well-known/tdmrep.json"


def exported(jobdir: Path, **settings: str) -> tuple[list[str], str]:
    """Paths, and what is said on stderr."""
    done = scrapy("export", "-d", str(jobdir), "--fields", "url", settings=settings, cwd=PROJECT)
    assert done.returncode == 0, done.stderr
    return [
        json.loads(line)["url"].partition("/")[2].partition("/")[2] for line in done.stdout.splitlines()
    ], done.stderr


def test_what_is_reserved_is_not_exported(tmp_path: Path) -> None:
    """A host is asked once; its pages are stored, and left out of an export for a use that they refuse."""
    with LocalWeb({**PAGES, FILE: RESERVED}) as web:
        done = crawl(web.root, tmp_path, SITECRAWL_USE="train-ai", STATS_DUMP=True, LOG_LEVEL="INFO")
        assert done.returncode == 0, done.stderr
        assert web.paths().count(FILE) == 1
    assert "responses                  3" in done.stderr
    everything, _ = exported(tmp_path)
    assert sorted(path.partition("/")[2] for path in everything) == ["", "free", "kept/1"]
    some, said = exported(tmp_path, SITECRAWL_USE="train-ai")
    assert sorted(path.partition("/")[2] for path in some) == ["", "free"]
    assert "left out, for they refuse train-ai: 1 page" in said


def test_a_host_without_such_a_file(tmp_path: Path) -> None:
    """It is no error of the crawl."""
    with LocalWeb(PAGES) as web:
        done = crawl(web.root, tmp_path, SITECRAWL_USE="search")
    assert done.returncode == 0, done.stderr
    assert "responses                  3" in done.stderr
    assert "4xx errors" not in done.stderr


def test_nobody_is_asked_without_a_use(tmp_path: Path) -> None:
    """It is a request that most crawls have no need of."""
    with LocalWeb({**PAGES, FILE: RESERVED}) as web:
        assert crawl(web.root, tmp_path).returncode == 0
        assert FILE not in web.paths()
